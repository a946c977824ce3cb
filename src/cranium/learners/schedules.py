"""Numbers that change while a learner trains: learning rates and exploration rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cranium.arguments import check_count, check_number
from cranium.errors import InvalidArgumentError, shorten

__all__ = ["Schedule", "Visits", "check_rate", "rate_at"]

Unit = Literal["samples", "episodes"]
MOST_OVER = 10**15


@dataclass(frozen=True)
class Schedule:
    """A number that changes evenly: from ``first`` to ``last``, then it stays.

    Attributes:
        first: What it is at first.
        last: What it is in the end.
        over: How many samples, or training episodes, that takes.
        unit: ``"samples"``, or ``"episodes"``: then it changes when one ends.

    Example:
        >>> Schedule(1.0, 0.1, over=100).at(50)
        0.55
        >>> Schedule(1.0, 0.1, over=100, unit="s")
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: the unit of a schedule is samples or episodes, not 's'
    """

    first: float
    last: float
    over: int
    unit: Unit = "samples"

    def __post_init__(self) -> None:
        if self.unit not in ("samples", "episodes"):
            raise InvalidArgumentError(
                f"the unit of a schedule is samples or episodes, not {shorten(self.unit)}"
            )
        if check_count(f"the {self.unit} that a schedule takes", self.over) > MOST_OVER:
            raise InvalidArgumentError(
                f"a schedule takes at most {MOST_OVER:,} {self.unit}, not {shorten(self.over)}"
            )

    def at(self, count: int) -> float:
        """The number after so many samples or ended episodes."""
        return self.first + (self.last - self.first) * min(count / self.over, 1.0)


def rate_at(value: float | Schedule, samples: int, episodes: int) -> float:
    """What a rate is after so many samples and ended episodes.

    Example:
        >>> rate_at(0.3, 7, 1), rate_at(Schedule(1.0, 0.0, over=4, unit="episodes"), 7, 1)
        (0.3, 0.75)
    """
    if not isinstance(value, Schedule):
        return float(value)
    return value.at(episodes if value.unit == "episodes" else samples)


@dataclass(frozen=True)
class Visits:
    """A learning rate that falls with the visits of an entry: 1 / n^power.

    With a power above 1/2 and up to 1 the values converge in random worlds, too.

    Example:
        >>> Visits(0.8).power
        0.8
    """

    power: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < check_number("the power of Visits", self.power) <= 1:
            raise InvalidArgumentError(f"the power of Visits is above 0, up to 1, not {self.power}")


def check_rate(name: str, value: object) -> None:
    """Accept a number from 0 to 1, or a schedule of such numbers."""
    for number in (value.first, value.last) if isinstance(value, Schedule) else (value,):
        check_number(name, number, 0, 1)
