"""Counters that can be one: those that are never in use at the same time."""

from __future__ import annotations

from cranium.languages.network import Network
from cranium.languages.syntax import Counter

__all__ = ["never_together"]


def never_together(network: Network, one: Counter, other: Counter) -> bool:
    """Whether on every way one of the counters is zero whenever the other is used.

    Then their sum is always the one that matters, and a single counter can hold it.
    """
    return _is_zero_where_used(network, one, other) and _is_zero_where_used(network, other, one)


def _is_zero_where_used(network: Network, counter: Counter, user: Counter) -> bool:
    positive = _places_with_rest(network, counter)
    for place, steps in network.steps.items():
        if place not in positive:
            continue
        for step in steps:
            uses = user in dict(step.tests) or user in dict(step.changes)
            if uses and (counter, False) not in step.tests:
                return False
        for tests in network.accepting[place]:
            if user in dict(tests) and (counter, False) not in tests:
                return False
    return True


def _places_with_rest(network: Network, counter: Counter) -> set[int]:
    """The places where the counter may be above zero."""
    positive: set[int] = set()
    changed = True
    while changed:
        changed = False
        for place, steps in network.steps.items():
            for step in steps:
                step_up = dict(step.changes).get(counter, 0) > 0
                stays = place in positive and (counter, False) not in step.tests
                if (step_up or stays) and step.target not in positive:
                    positive.add(step.target)
                    changed = True
    return positive
