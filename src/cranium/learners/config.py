"""What a tabular learner is told: rates, exploration, discount, and what it imagines.

Configs are frozen: what a result was made with can be read off it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cranium.errors import InvalidArgumentError, shorten

__all__ = ["Configurations", "Schedule", "TabularConfig", "Visits"]

Configurations = Literal["current", "seen", "reachable"]


@dataclass(frozen=True)
class Schedule:
    """A number that changes evenly with the samples: from ``first`` to ``last``, then it stays.

    Example:
        >>> Schedule(1.0, 0.1, over=100).at(50)
        0.55
    """

    first: float
    last: float
    over: int

    def at(self, sample: int) -> float:
        """The number at a sample."""
        return self.first + (self.last - self.first) * min(sample / self.over, 1.0)


@dataclass(frozen=True)
class Visits:
    """A learning rate that falls with the visits of an entry: 1 / n^power.

    With a power above 1/2 and up to 1 the values converge in random worlds, too.

    Example:
        >>> Visits(0.8).power
        0.8
    """

    power: float = 1.0


@dataclass(frozen=True)
class TabularConfig:
    """The settings of Q-learning on the product, with or without imagined experience.

    Attributes:
        configurations: From which configurations every experience is imagined: the ``"current"``
            one only (Q-learning, Algorithm 2), those whose counters were ``"seen"`` (CQL as in the
            paper, Algorithm 1), or all that are ``"reachable"``.
        learning_rate: α: a number, a schedule over the samples, or 1 / visits.
        discount: γ.
        exploration: ε of ε-greedy: a number or a schedule over the samples.
        initial_value: What every Q value is at first. Above what can be earned it makes the learner
            try everything. Left out it is 0.5, hopeful without being patient; with shaping it is 0,
            because a potential is the same as a hope of its size.
        shaping: Whether potentials are added that are worked out on the machine alone.
        shaping_discount: The discount with which they are worked out.

    Example:
        >>> TabularConfig(configurations="seen").discount
        0.99
        >>> TabularConfig(discount=2)
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: discount is from 0 to 1, not 2
    """

    configurations: Configurations = "reachable"
    learning_rate: float | Schedule | Visits = 0.5
    discount: float = 0.99
    exploration: float | Schedule = 0.05
    initial_value: float | None = None
    shaping: bool = False
    shaping_discount: float = 0.9

    def __post_init__(self) -> None:
        if self.initial_value is None:
            object.__setattr__(self, "initial_value", 0.0 if self.shaping else 0.5)
        if self.configurations not in ("current", "seen", "reachable"):
            raise InvalidArgumentError(
                f"configurations are current, seen or reachable, not {shorten(self.configurations)}"
            )
        for name in ("learning_rate", "exploration"):
            value = getattr(self, name)
            ends = (value.first, value.last) if isinstance(value, Schedule) else (value,)
            for number in ends:
                if not isinstance(number, Visits):
                    _check_share(name, number)
        for name in ("discount", "shaping_discount"):
            _check_share(name, getattr(self, name))
        if isinstance(self.exploration, Visits):
            raise InvalidArgumentError("exploration is a number or a schedule, not Visits")


def _check_share(name: str, value: object) -> None:
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidArgumentError(f"{name} is from 0 to 1, not {shorten(value)}")
