"""Limits of a trial: how much memory it may use, and how long it may take."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cranium._runtime.usage import can_measure
from cranium.arguments import check_number
from cranium.errors import InvalidArgumentError, shorten

__all__ = [
    "NO_LIMITS",
    "Limits",
    "format_memory",
    "format_time",
    "make_limits",
    "read_memory",
    "read_time",
]

MEMORY = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12} | {
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
TIME = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600} | {
    "d": 86_400,
    "day": 86_400,
}
LEAST_MEMORY = 10**7
"""Less is a forgotten unit: Python alone needs more."""
NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Limits:
    """The limits of a trial. They are no part of its key.

    Attributes:
        memory: The most resident memory in bytes, Python and the libraries included; None: no
            limit.
        seconds: The longest wall-clock time in seconds; None: no limit.

    Example:
        >>> make_limits("2 GB", "90 min")
        Limits(memory=2000000000, seconds=5400.0)
    """

    memory: int | None = None
    seconds: float | None = None


NO_LIMITS = Limits()


def make_limits(memory: object, time: object) -> Limits:
    """Read the limits that a user gives; None is no limit.

    Example:
        >>> make_limits(None, None) == NO_LIMITS
        True
    """
    limits = Limits(
        None if memory is None else read_memory(memory), None if time is None else read_time(time)
    )
    if limits.memory is not None and not can_measure():
        raise InvalidArgumentError(
            "this system does not tell how much memory a process uses",
            fix="leave trial_memory out, or run on Linux or macOS",
        )
    return limits


def read_memory(value: object) -> int:
    """Read an amount of memory: a number of bytes, or a text with a unit.

    Example:
        >>> read_memory("1.5 GB"), read_memory("512MiB")
        (1500000000, 536870912)
        >>> read_memory("2")
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: trial_memory is '2', which is less than Python needs
          fix: give a unit, such as "2 GB"
    """
    found = _read("trial_memory", value, MEMORY, '"2 GB"')
    if found < LEAST_MEMORY:
        raise InvalidArgumentError(
            f"trial_memory is {shorten(value)}, which is less than Python needs",
            fix='give a unit, such as "2 GB"',
        )
    return int(found)


def read_time(value: object) -> float:
    """Read a duration: a number of seconds, or a text with a unit.

    Example:
        >>> read_time("30 min"), read_time(90), read_time("1.5h")
        (1800.0, 90.0, 5400.0)
        >>> read_time("soon")
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: trial_time is a number with a unit, not 'soon'
          fix: such as "30 min"
    """
    found = _read("trial_time", value, TIME, '"30 min"')
    return check_number("trial_time", found, 0, above=True)


def _read(what: str, value: object, units: dict[str, int], example: str) -> float:
    if not isinstance(value, str):
        return check_number(what, value, 0, above=True)
    told = NUMBER.fullmatch(value)
    unit = told[2].lower() if told else ""
    unit = unit if unit in units else unit.removesuffix("s")
    if told is None or (unit and unit not in units):
        raise InvalidArgumentError(
            f"{what} is a number with a unit, not {shorten(value)}", fix=f"such as {example}"
        )
    return float(told[1]) * units.get(unit, 1)


def format_memory(size: float) -> str:
    """Format an amount of memory.

    Example:
        >>> format_memory(2_340_000_000), format_memory(512_000_000)
        ('2.34 GB', '512 MB')
    """
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"


def format_time(seconds: float) -> str:
    """Format a duration.

    Example:
        >>> format_time(0.5), format_time(75), format_time(600), format_time(9000)
        ('0.5 s', '75 s', '10 min', '2.5 hours')
    """
    value, unit = seconds, "s"
    for size, name in ((60, "min"), (3600, "hours")):
        if seconds >= 2 * size:
            value, unit = seconds / size, name
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.2g} {unit}"
