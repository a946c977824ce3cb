"""Exploration rules: how a learner chooses actions while it trains.

A rule turns the values of the actions into probabilities. It is written once, with functions that
NumPy and JAX arrays share, and serves tables and networks alike. How its rate changes in the course
of training is the business of a :class:`~cranium.learners.schedules.Schedule`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cranium.arguments import check_number
from cranium.errors import InvalidArgumentError, shorten
from cranium.learners.schedules import Schedule, Visits, check_rate
from cranium.tables.pay import array_namespace

__all__ = ["Boltzmann", "EpsilonGreedy", "Exploration", "Optimism", "exploration_rule"]

Floats = NDArray[np.floating[Any]]


@runtime_checkable
class Exploration(Protocol):
    """The interface of an exploration rule. Any object with these attributes will do.

    Example:
        >>> isinstance(EpsilonGreedy(0.1), Exploration)
        True
    """

    @property
    def rate(self) -> float | Schedule:
        """The parameter of the rule, such as ε or a temperature: a number or a schedule."""

    def probabilities(self, values: Floats, rate: float) -> Floats:
        """Compute the probability of each action.

        Args:
            values: The values of the actions, Q(s, ·), as NumPy or JAX arrays: [..., A].
            rate: The current value of :attr:`rate`.

        Returns:
            Probabilities that sum to 1 along the last axis, as the same kind of array: [..., A].
        """


@dataclass(frozen=True)
class EpsilonGreedy:
    """ε-greedy: a random action with probability ε, otherwise one of the best actions.

    Example:
        >>> EpsilonGreedy(0.2).probabilities(np.array([0.0, 1.0]), 0.2)
        array([0.1, 0.9])
    """

    rate: float | Schedule = 0.05

    def __post_init__(self) -> None:
        if isinstance(self.rate, Visits):
            raise InvalidArgumentError("exploration is a number or a schedule, not Visits")
        check_rate("exploration", self.rate)

    def probabilities(self, values: Floats, rate: float) -> Floats:
        """Mix the uniform distribution with that of :class:`Optimism`."""
        greedy = _greedy(values)
        found: Floats = rate / values.shape[-1] + (1.0 - rate) * greedy
        return found


@dataclass(frozen=True)
class Boltzmann:
    """Boltzmann (softmax) exploration: probabilities proportional to exp(Q / temperature).

    Example:
        >>> Boltzmann(1.0).probabilities(np.array([0.0, np.log(3.0)]), 1.0)
        array([0.25, 0.75])
    """

    rate: float | Schedule = 0.1  # the temperature

    def __post_init__(self) -> None:
        rate = self.rate
        for number in (rate.first, rate.last) if isinstance(rate, Schedule) else (rate,):
            if not check_number("the temperature", number) > 0:
                raise InvalidArgumentError(f"the temperature is above 0, not {shorten(number)}")

    def probabilities(self, values: Floats, rate: float) -> Floats:
        """Compute the softmax of the values, divided by the temperature."""
        xp = array_namespace(values)
        weights = xp.exp((values - values.max(axis=-1, keepdims=True)) / rate)
        found: Floats = weights / weights.sum(axis=-1, keepdims=True)
        return found


@dataclass(frozen=True)
class Optimism:
    """Optimism in the face of uncertainty: always a best action, from hopeful initial values.

    Attributes:
        initial_value: The first value of every entry of a table. Above what can be earned it makes
            the learner try everything. Networks have no initial values: there it is just greedy.

    Example:
        >>> Optimism(2.0).probabilities(np.array([2.0, 1.0, 2.0]), 0.0)
        array([0.5, 0. , 0.5])
    """

    initial_value: float = 1.0
    rate: float | Schedule = 0.0

    def __post_init__(self) -> None:
        check_number("initial_value", self.initial_value)

    def probabilities(self, values: Floats, rate: float) -> Floats:  # noqa: ARG002
        """Divide the probability evenly among the best actions."""
        return _greedy(values)


def _greedy(values: Floats) -> Floats:
    best = values == values.max(axis=-1, keepdims=True)
    found: Floats = best / best.sum(axis=-1, keepdims=True)
    return found


def exploration_rule(exploration: float | Schedule | Exploration) -> Exploration:
    """Return the rule; a number or a schedule is the ε of ε-greedy.

    Example:
        >>> exploration_rule(0.1)
        EpsilonGreedy(rate=0.1)
        >>> exploration_rule("ε")
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: exploration is a number, a schedule or a rule, not 'ε'
          fix: a rule is an object with `rate` and `probabilities(values, rate)`
    """
    if isinstance(exploration, int | float | Schedule | Visits) and not isinstance(
        exploration, bool
    ):
        return EpsilonGreedy(exploration)
    if isinstance(exploration, Exploration) and not isinstance(exploration, type):
        return exploration
    raise InvalidArgumentError(
        f"exploration is a number, a schedule or a rule, not {shorten(exploration)}",
        fix="a rule is an object with `rate` and `probabilities(values, rate)`",
    )
