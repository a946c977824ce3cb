"""A nondeterministic machine with counters: an NFA whose steps test and change counters.

While it is built, an edge reads a letter, or comes *before* a letter (and may test counters), or
comes *after* one (and changes counters). :func:`join_edges` joins edges to steps that read one
letter each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

from cranium.errors import LanguageError
from cranium.languages.compiler.budget import Budget
from cranium.languages.compiler.ir import Counter

__all__ = ["Edge", "Nfa", "Step", "join_edges"]

MAX_NFA_STATES = 20_000
T = TypeVar("T")

Tests = Mapping[Counter, bool]
"""Which counters must be above zero (True) or zero (False)."""
Changes = Mapping[Counter, int]


class Edge(NamedTuple):
    """An edge of the machine while it is built. Edges are joined to steps."""

    kind: Literal["before", "letter", "after"]
    target: int
    letter: str = ""
    tests: tuple[tuple[Counter, bool], ...] = ()
    changes: tuple[tuple[Counter, int], ...] = ()


class Step(NamedTuple):
    """A step that reads one letter: its tests, its changes and its target."""

    letter: str
    tests: frozenset[tuple[Counter, bool]]
    changes: frozenset[tuple[Counter, int]]
    target: int


@dataclass(slots=True)
class Nfa:
    """The nondeterministic machine.

    Attributes:
        start: The initial state.
        steps: The steps from each state; only states from which a word can end are kept.
        accepting: The tests under which a word may end in a state, each a conjunction.
        live: The counters of each state that are tested there or later.
    """

    start: int
    steps: dict[int, list[Step]]
    accepting: dict[int, list[frozenset[tuple[Counter, bool]]]]
    live: dict[int, frozenset[Counter]] = field(default_factory=dict)


Edges = Mapping[int, list[Edge]]


def is_consistent(tests: frozenset[tuple[Counter, bool]]) -> bool:
    """Whether no counter has to be zero and above zero at once."""
    return len({counter for counter, _ in tests}) == len(tests)


def join_edges(edges: Edges, start: int, end: int, budget: Budget) -> Nfa:
    """Join edges to steps that read one letter each, and drop states that cannot reach an end."""
    steps: dict[int, list[Step]] = {}
    accepting: dict[int, list[frozenset[tuple[Counter, bool]]]] = {}
    queue = [start]
    letters: dict[int, list[tuple[int, dict[Counter, int]]]] = {}
    while queue:
        state = queue.pop()
        if state in steps:
            continue
        found = dict.fromkeys(_steps_from(edges, state, letters, budget))
        steps[state] = list(found)
        accepting[state] = [
            frozenset(tests.items())
            for inner, tests, _ in _before(edges, state, budget)
            if inner == end
        ]
        queue += [step.target for step in found]
    nfa = Nfa(start, steps, accepting)
    _trim(nfa)
    _find_live(nfa)
    return nfa


def _before(
    edges: Edges, state: int, budget: Budget
) -> Iterator[tuple[int, dict[Counter, bool], dict[Counter, int]]]:
    """Yield the states that "before" edges reach, with the tests and changes of the path."""
    stack: list[tuple[int, dict[Counter, bool], dict[Counter, int]]] = [(state, {}, {})]
    seen = set()
    while stack:
        here, tests, changes = stack.pop()
        mark = (here, frozenset(tests.items()), frozenset(changes.items()))
        if mark in seen:
            continue
        seen.add(mark)
        budget.spend(1 + len(edges[here]) + 4 * (len(tests) + len(changes)))
        yield here, tests, changes
        for edge in edges[here]:
            if edge.kind == "before" and all(tests.get(c, want) == want for c, want in edge.tests):
                more = {**tests, **dict(edge.tests)}
                stack.append((edge.target, more, add_changes(changes, edge.changes)))


def _steps_from(
    edges: Edges,
    state: int,
    letters: dict[int, list[tuple[int, dict[Counter, int]]]],
    budget: Budget,
) -> Iterator[Step]:
    """Yield the steps from a state; ``letters`` caches the result of ``_after`` for each state."""
    for here, tests, changes in _before(edges, state, budget):
        for edge in edges[here]:
            if edge.kind == "letter":
                if edge.target not in letters:
                    letters[edge.target] = list(_after(edges, edge.target, budget))
                budget.spend(len(letters[edge.target]) * (1 + 2 * (len(tests) + len(changes))))
                for target, later in letters[edge.target]:
                    total = add_changes(changes, later.items())
                    kept = frozenset((c, m) for c, m in total.items() if m)
                    # A counter that is decremented at the last letter is above zero at the first.
                    needed = frozenset((c, True) for c, m in total.items() if m < 0)
                    wanted = frozenset(tests.items()) | needed
                    if is_consistent(wanted):
                        yield Step(edge.letter, wanted, kept, target)


def _after(edges: Edges, state: int, budget: Budget) -> Iterator[tuple[int, dict[Counter, int]]]:
    """Yield the states after a letter, with the changes that are applied after it.

    A complete repetition is counted at once, so states before its "after" edge are passed through.
    """
    stack: list[tuple[int, dict[Counter, int]]] = [(state, {})]
    while stack:
        here, changes = stack.pop()
        is_target = False
        for inner in _epsilon_closure(edges, here):
            there = edges[inner]
            budget.spend(1 + len(there))
            is_target = is_target or not there
            for edge in there:
                if edge.kind == "after":
                    stack.append((edge.target, add_changes(changes, edge.changes)))
                else:
                    is_target = (
                        is_target or edge.kind == "letter" or bool(edge.tests or edge.changes)
                    )
        if is_target:
            yield here, changes


def _epsilon_closure(edges: Edges, state: int) -> set[int]:
    """Return the states that are reached without a letter, a test or a change."""
    found = {state}
    stack = [state]
    while stack:
        for edge in edges[stack.pop()]:
            plain = edge.kind == "before" and not edge.tests and not edge.changes
            if plain and edge.target not in found:
                found.add(edge.target)
                stack.append(edge.target)
    return found


def add_changes(changes: Changes, more: Iterable[tuple[Counter, int]]) -> dict[Counter, int]:
    """Return the sum of two changes of the counters."""
    result = dict(changes)
    for counter, step in more:
        result[counter] = result.get(counter, 0) + step
    return result


def _trim(nfa: Nfa) -> None:
    """Remove the states from which no word can end, whatever the counters are."""
    before: dict[int, set[int]] = {}
    for state, steps in nfa.steps.items():
        for step in steps:
            before.setdefault(step.target, set()).add(state)
    useful = {state for state, ways in nfa.accepting.items() if ways}
    queue = list(useful)
    while queue:
        for state in before.get(queue.pop(), ()):
            if state not in useful:
                useful.add(state)
                queue.append(state)
    for state in list(nfa.steps):
        kept = [s for s in nfa.steps[state] if s.target in useful]
        nfa.steps[state] = kept
        if state not in useful and state != nfa.start:
            del nfa.steps[state], nfa.accepting[state]


def propagate_live(live: dict[int, set[Counter]], before: Mapping[int, Iterable[int]]) -> None:
    """Propagate live counters to all predecessors."""
    queue = list(live)
    while queue:
        here = queue.pop()
        for source in before[here]:
            if not live[here] <= live[source]:
                live[source] |= live[here]
                queue.append(source)


def _find_live(nfa: Nfa) -> None:
    live = {
        state: {c for ways in (*nfa.accepting[state], *(s.tests for s in steps)) for c, _ in ways}
        for state, steps in nfa.steps.items()
    }
    before: dict[int, list[int]] = {state: [] for state in nfa.steps}
    for state, steps in nfa.steps.items():
        for target in {step.target for step in steps}:
            before[target].append(state)
    propagate_live(live, before)
    nfa.live = {state: frozenset(found) for state, found in live.items()}


def expand_bounded_counters(nfa: Nfa, budget: Budget) -> Nfa:
    """Replace counters that have finitely many values by states, one for each value."""
    used = {c for steps in nfa.steps.values() for step in steps for c, _ in step.changes}
    if not any(counter.bounded for counter in used):
        return nfa
    start = (nfa.start, frozenset[tuple[Counter, int]]())
    numbers = {start: 0}
    queue = [start]
    expanded = Nfa(0, {}, {})
    while queue:
        here = queue.pop()
        state, values = here[0], dict(here[1])
        steps = []
        for step in nfa.steps[state]:
            budget.spend(1 + len(values) + len(step.tests) + len(step.changes))
            if not _is_allowed(step.tests, values):
                continue
            after = add_changes(values, ((c, m) for c, m in step.changes if c.bounded))
            kept = frozenset((c, m) for c, m in after.items() if m and c in nfa.live[step.target])
            target = (step.target, kept)
            if target not in numbers:
                check_state_count(len(numbers))
                numbers[target] = len(numbers)
                queue.append(target)
            steps.append(
                Step(
                    step.letter,
                    _drop_bounded(step.tests),
                    _drop_bounded(step.changes),
                    numbers[target],
                )
            )
        expanded.steps[numbers[here]] = list(dict.fromkeys(steps))
        expanded.accepting[numbers[here]] = [
            _drop_bounded(tests) for tests in nfa.accepting[state] if _is_allowed(tests, values)
        ]
    _trim(expanded)
    _find_live(expanded)
    return expanded


def _is_allowed(tests: frozenset[tuple[Counter, bool]], values: Mapping[Counter, int]) -> bool:
    return all((values.get(c, 0) > 0) == up for c, up in tests if c.bounded)


def _drop_bounded(found: frozenset[tuple[Counter, T]]) -> frozenset[tuple[Counter, T]]:
    return frozenset((c, x) for c, x in found if not c.bounded)


def check_state_count(count: int) -> None:
    """Raise an error if there are too many states."""
    if count >= MAX_NFA_STATES:
        raise LanguageError(
            f"the nondeterministic machine would have more than {MAX_NFA_STATES:,} states",
            fix="use smaller numbers, or fewer alternatives",
        )
