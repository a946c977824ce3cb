"""Counters that can be one: those that are never in use at the same time."""

from __future__ import annotations

from cranium.languages.compiler.budget import Budget
from cranium.languages.compiler.ir import Counter
from cranium.languages.compiler.nfa import Network

__all__ = ["Sharing"]


class Sharing:
    """Which counters of a network could share one counter.

    Args:
        network: The nondeterministic machine.
        budget: The steps that compilation may still take.
    """

    def __init__(self, network: Network, budget: Budget) -> None:
        self.network = network
        self.budget = budget
        self.size = sum(map(len, network.steps.values()))
        self._positive: dict[Counter, set[int]] = {}

    def never_together(self, one: Counter, other: Counter) -> bool:
        """Whether on every way one of the counters is zero whenever the other is used.

        Then their sum is always the one that matters, and a single counter can hold it.
        """
        return self._is_zero_where_used(one, other) and self._is_zero_where_used(other, one)

    def _is_zero_where_used(self, counter: Counter, user: Counter) -> bool:
        positive = self._places_with_rest(counter)
        for place, steps in self.network.steps.items():
            if place not in positive:
                continue
            self.budget.spend(len(steps))
            for step in steps:
                uses = user in dict(step.tests) or user in dict(step.changes)
                if uses and (counter, False) not in step.tests:
                    return False
            for tests in self.network.accepting[place]:
                if user in dict(tests) and (counter, False) not in tests:
                    return False
        return True

    def _places_with_rest(self, counter: Counter) -> set[int]:
        """The places where the counter may be above zero."""
        if counter in self._positive:
            return self._positive[counter]
        positive: set[int] = set()
        changed = True
        while changed:
            changed = False
            self.budget.spend(self.size)
            for place, steps in self.network.steps.items():
                for step in steps:
                    step_up = dict(step.changes).get(counter, 0) > 0
                    stays = place in positive and (counter, False) not in step.tests
                    if (step_up or stays) and step.target not in positive:
                        positive.add(step.target)
                        changed = True
        self._positive[counter] = positive
        return positive
