"""Sets of states of the nondeterministic machine: the states of the deterministic one.

All states of a set share the counters. So every way to read a letter must make the same change to
the counters that are still needed. Two steps that do not are a :class:`Clash`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

from cranium.languages.compiler.budget import Budget
from cranium.languages.compiler.ir import Counter
from cranium.languages.compiler.nfa import Nfa, Step

__all__ = [
    "Clash",
    "StateSet",
    "ZeroTests",
    "above_after",
    "can_end",
    "common_changes",
    "enabled_steps",
    "tested_counters",
    "visit_cost",
]

StateSet = frozenset[int]


class ZeroTests(dict[Counter, bool]):
    """Whether each counter is above zero, computed from counter values. Missing counters are zero.

    Example:
        >>> from cranium.languages.compiler.ir import Counter
        >>> n, m = Counter("N", 1), Counter("M", 1)
        >>> tests = ZeroTests({n: 2})
        >>> tests[n], tests[m]
        (True, False)
    """

    def __init__(self, counters: Mapping[Counter, int]) -> None:
        super().__init__({c: value > 0 for c, value in counters.items()})

    def __missing__(self, counter: Counter) -> bool:
        return False


class Clash(NamedTuple):
    """Two steps that read the same letter and change a counter differently."""

    one: Step
    other: Step
    counter: Counter


def tested_counters(nfa: Nfa, states: StateSet) -> tuple[Counter, ...]:
    """Return the counters that any step or end of these states tests."""
    found: set[Counter] = set()
    for state in states:
        for tests in (*nfa.accepting[state], *(step.tests for step in nfa.steps[state])):
            found.update(counter for counter, _ in tests)
    return tuple(sorted(found))


def enabled_steps(
    nfa: Nfa, states: StateSet, above: Mapping[Counter, bool]
) -> dict[str, list[Step]]:
    """Return the steps whose zero tests hold, by letter."""
    found: dict[str, list[Step]] = {}
    for state in sorted(states):
        for step in nfa.steps[state]:
            if all(above[c] == up for c, up in step.tests):
                found.setdefault(step.letter, []).append(step)
    return found


def can_end(nfa: Nfa, states: StateSet, above: Mapping[Counter, bool]) -> bool:
    """Whether a word may end in one of these states."""
    return any(
        all(above[c] == up for c, up in tests) for state in states for tests in nfa.accepting[state]
    )


def common_changes(nfa: Nfa, steps: list[Step]) -> dict[Counter, int] | Clash:
    """Return the changes that all steps make to their live counters, or two steps that differ."""
    common: dict[Counter, tuple[int, Step]] = {}
    for step in steps:
        changes = dict(step.changes)
        for counter in sorted(nfa.live[step.target]):
            change = changes.get(counter, 0)
            known, other = common.setdefault(counter, (change, step))
            if known != change:
                return Clash(other, step, counter)
    return {counter: change for counter, (change, _) in common.items() if change}


def visit_cost(nfa: Nfa, states: StateSet) -> int:
    """Return the cost of visiting a set: its steps, and the live counters after them."""
    return sum(
        1 + len(step.tests) + len(nfa.live[step.target])
        for state in states
        for step in nfa.steps[state]
    )


def above_after(
    above: frozenset[Counter],
    live: Iterable[Counter],
    changes: Mapping[Counter, int],
    budget: Budget,
) -> Iterator[frozenset[Counter]]:
    """Yield each set of live counters that may be above zero after a change."""
    sure = {c for c in live if changes.get(c, 0) > 0 or (c in above and not changes.get(c))}
    doubtful = sorted(c for c in live if changes.get(c, 0) < 0)
    budget.spend(2 ** len(doubtful) * (1 + len(sure)))
    for signs in product([True, False], repeat=len(doubtful)):
        more = {c for c, up in zip(doubtful, signs, strict=True) if up}
        yield frozenset(sure | more)
