"""A test whether two counters can share one, because they are never in use at the same time."""

from __future__ import annotations

from cranium.languages.compiler.budget import Budget
from cranium.languages.compiler.ir import Counter
from cranium.languages.compiler.nfa import Nfa

__all__ = ["Sharing"]


class Sharing:
    """Decides which counters of an NFA can share one counter.

    Args:
        nfa: The nondeterministic machine.
        budget: The steps that compilation may still take.
    """

    def __init__(self, nfa: Nfa, budget: Budget) -> None:
        self.nfa = nfa
        self.budget = budget
        self.size = sum(map(len, nfa.steps.values()))
        self._positive: dict[Counter, set[int]] = {}

    def can_share(self, one: Counter, other: Counter) -> bool:
        """Whether, on every run, one of the counters is zero whenever the other is used.

        Then a single counter can hold their sum.
        """
        return self._is_zero_where_used(one, other) and self._is_zero_where_used(other, one)

    def _is_zero_where_used(self, counter: Counter, user: Counter) -> bool:
        positive = self._states_above_zero(counter)
        for state, steps in self.nfa.steps.items():
            if state not in positive:
                continue
            self.budget.spend(len(steps))
            for step in steps:
                uses = user in dict(step.tests) or user in dict(step.changes)
                if uses and (counter, False) not in step.tests:
                    return False
            for tests in self.nfa.accepting[state]:
                if user in dict(tests) and (counter, False) not in tests:
                    return False
        return True

    def _states_above_zero(self, counter: Counter) -> set[int]:
        """Return the states in which the counter may be above zero."""
        if counter in self._positive:
            return self._positive[counter]
        positive: set[int] = set()
        changed = True
        while changed:
            changed = False
            self.budget.spend(self.size)
            for state, steps in self.nfa.steps.items():
                for step in steps:
                    step_up = dict(step.changes).get(counter, 0) > 0
                    stays = state in positive and (counter, False) not in step.tests
                    if (step_up or stays) and step.target not in positive:
                        positive.add(step.target)
                        changed = True
        self._positive[counter] = positive
        return positive
