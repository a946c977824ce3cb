"""Determinisation: the subset construction with counters, or the reason why it is impossible."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from cranium.errors import LanguageError
from cranium.languages.compiler.budget import Budget
from cranium.languages.compiler.counterexamples import CounterexampleSearch
from cranium.languages.compiler.ir import Counter
from cranium.languages.compiler.nfa import Nfa, Step
from cranium.languages.compiler.subsets import (
    Clash,
    StateSet,
    ZeroTests,
    above_after,
    can_end,
    common_changes,
    enabled_steps,
    tested_counters,
    visit_cost,
)

__all__ = ["Machine", "Move", "Zeros", "determinise"]

MAX_STATES = 5000
MAX_TESTED = 8
MAX_EXPLORED = 50_000

Zeros = tuple[tuple[Counter, bool], ...]
"""The outcomes of a state's zero tests: each tested counter, and whether it is above zero."""


class Move(NamedTuple):
    """The effect of a letter in a state, for one outcome of its zero tests."""

    letter: str
    zeros: Zeros
    changes: tuple[tuple[Counter, int], ...]
    target: int


@dataclass(slots=True)
class Machine:
    """A deterministic machine with counters; state 0 is the initial one.

    Attributes:
        moves: The moves of each state. A letter without a move is in no word at this point.
        accepts: For each state, the outcomes of the zero tests with which a word ends there.
        tested: For each state, the counters that it tests.
        possible: For each state, the outcomes of its tests that can occur; empty until
            ``prune_impossible`` has found them.
    """

    moves: list[list[Move]]
    accepts: list[set[Zeros]]
    tested: list[tuple[Counter, ...]]
    possible: list[set[Zeros]] = field(default_factory=list)


def determinise(
    nfa: Nfa, *, first: bool, explain: bool = True, budget: Budget | None = None
) -> Machine:
    """Construct the equivalent deterministic machine, whose states are sets of states of the NFA.

    Args:
        nfa: The nondeterministic machine.
        first: Whether a word ends as soon as it can. If not, a complete word that can be continued
            is an error, because its end could not be seen when it happens.
        explain: Whether to search for two words that show an ambiguity.
        budget: The steps that compilation may still take.

    Raises:
        LanguageError: A complete word can be continued, or the machine is too large.
        AmbiguityError: Two ways to read a word change a counter differently.
    """
    return _Construction(nfa, first, explain, budget or Budget()).run()


class _Construction:
    def __init__(self, nfa: Nfa, first: bool, explain: bool, budget: Budget) -> None:
        self.nfa = nfa
        self.budget = budget
        self.first = first
        self.explain = explain
        self.counterexamples = CounterexampleSearch(nfa)
        self.numbers: dict[StateSet, int] = {}
        self.queue: deque[StateSet] = deque()
        self.machine = Machine([], [], [])
        self.possible: dict[StateSet, set[frozenset[tuple[Counter, bool]]]] = {}

    def run(self) -> Machine:
        self.explore()
        self.number(frozenset({self.nfa.start}))
        while self.queue:
            self.visit(self.queue.popleft())
        return self.machine

    def number(self, states: StateSet) -> int:
        if states not in self.numbers:
            if len(self.numbers) >= MAX_STATES:
                raise _too_many_states()
            self.numbers[states] = len(self.numbers)
            self.machine.moves.append([])
            self.machine.accepts.append(set())
            self.machine.tested.append(())
            self.queue.append(states)
        return self.numbers[states]

    def visit(self, states: StateSet) -> None:
        number = self.numbers[states]
        tested = tested_counters(self.nfa, states)
        self.machine.tested[number] = tested
        for zeros in self._outcomes(states, tested):
            self.budget.spend(visit_cost(self.nfa, states))
            enabled = enabled_steps(self.nfa, states, dict(zeros))
            if can_end(self.nfa, states, dict(zeros)):
                self.machine.accepts[number].add(zeros)
                continue
            for letter, steps in enabled.items():
                changes = common_changes(self.nfa, steps)
                # Steps clash only under outcomes that cannot occur: explore() has found no others.
                if not isinstance(changes, Clash):
                    target = self.number(frozenset(step.target for step in steps))
                    self.machine.moves[number].append(
                        Move(letter, zeros, tuple(changes.items()), target)
                    )

    def explore(self) -> None:
        """Find which counters may be above zero together in each state, and report clashes.

        The search abstracts each counter to whether it is zero, so it finds every combination that
        can occur, and perhaps more.
        """
        start = (frozenset({self.nfa.start}), frozenset[Counter]())
        seen = {start}
        queue = deque([start])
        while queue:
            states, above = queue.popleft()
            outcome = ZeroTests(dict.fromkeys(above, 1))
            live = frozenset().union(*(self.nfa.live[state] for state in states))
            zeros = tuple((c, c in above) for c in sorted(live))
            self.possible.setdefault(states, set()).add(frozenset(zeros))
            self.budget.spend(visit_cost(self.nfa, states))
            enabled = enabled_steps(self.nfa, states, outcome)
            if can_end(self.nfa, states, outcome):
                if enabled and not self.first:
                    raise self.counterexamples.prefix_error(states, zeros)
                continue
            for steps in enabled.values():
                changes = common_changes(self.nfa, steps)
                if isinstance(changes, Clash):
                    raise self.counterexamples.ambiguity_error(states, zeros, changes, self.explain)
                # In order, so that which clash is reported does not depend on hashing.
                new = [after for after in self._after(steps, above, changes) if after not in seen]
                if len(seen) + len(new) > MAX_EXPLORED:
                    raise _too_many_states()
                seen.update(new)
                queue.extend(new)

    def _after(
        self, steps: list[Step], above: frozenset[Counter], changes: dict[Counter, int]
    ) -> Iterator[tuple[StateSet, frozenset[Counter]]]:
        """Yield the set of states after the steps, with each set of counters above zero there."""
        states = frozenset(step.target for step in steps)
        live = frozenset().union(*(self.nfa.live[state] for state in states))
        for after in above_after(above, live, changes, self.budget):
            yield states, after

    def _outcomes(self, states: StateSet, tested: tuple[Counter, ...]) -> list[Zeros]:
        """Return the outcomes of the tests; all, if they are few, so that more states are equal."""
        if len(tested) <= MAX_TESTED:
            signs = product([False, True], repeat=len(tested))
            return [tuple(zip(tested, one, strict=True)) for one in signs]
        known = (dict(outcome) for outcome in self.possible.get(states, ()))
        return sorted({tuple((c, found[c]) for c in tested) for found in known})


def _too_many_states() -> LanguageError:
    return LanguageError(
        f"the machine would have more than {MAX_STATES:,} states",
        fix="use smaller numbers, or fewer alternatives",
    )
