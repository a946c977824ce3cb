"""Measures: the number that a study compares, read from the record of a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cranium.errors import UnknownNameError
from cranium.experiments.comparison import area_under_curve
from cranium.experiments.records import Record

__all__ = ["MEASURES", "Measure", "find_measure"]

OWN = "measured"
"""The field of results with the value of a function of the user's."""


@dataclass(frozen=True)
class Measure:
    """A measure of trials.

    Attributes:
        name: Its name.
        title: What it is called in figures and tables.
        read: Returns the value of a record; None if the trial was censored: it did not solve its
            task within its budget.
        lower_is_better: Whether a lower value is better.

    Example:
        >>> MEASURES["samples_to_solve"].title
        'samples until solved'
    """

    name: str
    title: str
    read: Callable[[Record], float | None]
    lower_is_better: bool


def _mean(name: str) -> Callable[[Record], float | None]:
    def read(record: Record) -> float | None:
        found = record.result.get(name) or {}
        return sum(found.values()) / len(found) if found else None

    return read


def _area(record: Record) -> float | None:
    """The mean success over the budget; None without a curve."""
    curve, budget = record.result.get("curve") or [], record.config.get("steps")
    if not curve or not budget:
        return None
    return area_under_curve([point[:2] for point in curve], max(budget, curve[-1][0]), initial=0.0)


def _field(name: str) -> Callable[[Record], float | None]:
    def read(record: Record) -> float | None:
        found = record.result.get(name)
        # A flag is no number.
        return float(found) if isinstance(found, float) or type(found) is int else None

    return read


MEASURES: Mapping[str, Measure] = {
    each.name: each
    for each in (
        Measure(
            "samples_to_solve", "samples until solved", _field("samples"), lower_is_better=True
        ),
        Measure("final_success", "success at the end", _mean("success"), lower_is_better=False),
        Measure("final_return", "return at the end", _mean("returns"), lower_is_better=False),
        Measure("area_under_curve", "mean success over the budget", _area, lower_is_better=False),
        Measure("wall_time", "seconds", lambda record: record.wall, lower_is_better=True),
        Measure("cpu_time", "seconds of CPU", lambda record: record.cpu, lower_is_better=True),
    )
}
"""The measures that come with Cranium, by name."""


def find_measure(name: str, *, field: str = "", lower_is_better: bool = False) -> Measure:
    """Return a measure by its name; with a ``field`` it is read from this field of results.

    Example:
        >>> find_measure("wall_time").lower_is_better
        True
        >>> find_measure("speed")
        Traceback (most recent call last):
        cranium.errors.UnknownNameError: no such measure: 'speed'
          fix: known: samples_to_solve, final_success, final_return, area_under_curve, wall_time,
          cpu_time
    """
    if field:
        return Measure(name, name.replace("_", " "), _field(field), lower_is_better)
    if name not in MEASURES:
        raise UnknownNameError.of("measure", name, MEASURES)
    return MEASURES[name]
