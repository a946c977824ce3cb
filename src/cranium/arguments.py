"""Checks of plain arguments: whole numbers, numbers, choices, switches and sizes in memory.

Each check of a value returns it in its plain type, or raises ``InvalidArgumentError`` with the rule
and the value that broke it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from numbers import Integral, Real
from typing import Any

from cranium.errors import InvalidArgumentError, SpaceError, shorten

__all__ = ["check_choice", "check_count", "check_memory", "check_number", "check_switch"]

INFINITY = float("inf")
LARGEST = 1e300
"""Sums and differences of a few smaller numbers are finite."""


def check_count(what: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """Check that a value is a whole number in a range, and return it.

    Args:
        what: How the message names the value.
        value: The value; NumPy's integers count as whole numbers, booleans do not.
        least: The smallest number that is accepted.
        most: The largest number that is accepted, if there is one.

    Example:
        >>> check_count("the bound", 0)
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: the bound is a whole number of at least 1, not 0
        >>> check_count("delay", 10**6, most=100_000)
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: delay is at most 100,000, not 1000000
    """
    given: Any = value
    if not isinstance(value, Integral) or isinstance(value, bool) or int(given) < least:
        raise InvalidArgumentError(
            f"{what} is a whole number of at least {least}, not {shorten(value)}"
        )
    if most is not None and int(given) > most:
        raise InvalidArgumentError(f"{what} is at most {most:,}, not {shorten(value)}")
    return int(given)


def check_number(
    what: str,
    value: object,
    low: float = -INFINITY,
    high: float = INFINITY,
    *,
    above: bool = False,
) -> float:
    """Check that a value is a finite number in an interval, and return it.

    Args:
        what: How the message names the value.
        value: The value; NumPy's numbers count, booleans do not.
        low: The lower end of the interval.
        high: The upper end.
        above: Whether the lower end itself is refused.

    Example:
        >>> check_number("the speed", 0, 0, 1, above=True)
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: the speed is a number above 0 and up to 1, not 0
        >>> check_number("discount", 7, 0, 1)
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: discount is a number from 0 to 1, not 7
    """
    given: Any = value  # which may be a whole number that is too large for a float
    if isinstance(value, Real) and not isinstance(value, bool) and abs(given) < LARGEST:
        number = float(given)
        if (low < number if above else low <= number) and number <= high:
            return number
    raise InvalidArgumentError(
        f"{what} is a number{_interval(low, high, above)}, not {shorten(value)}"
    )


def _interval(low: float, high: float, above: bool) -> str:
    if low == -INFINITY:
        return "" if high == INFINITY else f" of at most {high:g}"
    if high == INFINITY:
        return f" above {low:g}" if above else f" of at least {low:g}"
    return f" above {low:g} and up to {high:g}" if above else f" from {low:g} to {high:g}"


def check_choice(what: str, value: object, known: Sequence[str]) -> str:
    """Check that a value is one of several words, and return it.

    Args:
        what: The beginning of the message, with its verb.
        value: The value.
        known: The words.

    Example:
        >>> check_choice("actions are", "few", ("continuous", "discrete"))
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: actions are continuous or discrete, not 'few'
    """
    if isinstance(value, str) and value in known:
        return value
    *some, last = known
    choices = f"{', '.join(some)} or {last}" if some else last
    raise InvalidArgumentError(f"{what} {choices}, not {shorten(value)}")


def check_switch(what: str, value: object) -> bool:
    """Check that a value is true or false, and return it.

    Example:
        >>> check_switch("shaping", "yes")
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: shaping is true or false, not 'yes'
    """
    if isinstance(value, bool):
        return value
    raise InvalidArgumentError(f"{what} is true or false, not {shorten(value)}")


def check_memory(what: str, size: int, *, fix: str) -> None:
    """Check that as many bytes fit into the memory of this machine, or raise :class:`SpaceError`.

    Args:
        what: The subject of the message.
        size: The number of bytes.
        fix: What the message advises.

    Example:
        >>> check_memory("such tables", 2**70, fix="make it smaller")
        Traceback (most recent call last):
        cranium.errors.SpaceError: such tables take 1,099,511,627,776 GB, more than this machine has
          fix: make it smaller
    """
    memory = 2**50
    with suppress(AttributeError, ValueError, OSError):  # not every system tells
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > memory:
        raise SpaceError(f"{what} take {size / 2**30:,.0f} GB, more than this machine has", fix=fix)
