"""Checks of points, actions, amounts, probabilities and options of ``reset``, for worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, isfinite
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.arguments import check_count, check_number
from cranium.errors import InvalidArgumentError, WorldError, shorten

PlaneAction = NDArray[np.floating[Any]] | np.integer[Any] | int
"""A vector of two numbers, or the number of a move."""

__all__ = [
    "TOLERANCE",
    "as_action_vector",
    "as_probabilities",
    "as_range",
    "check_options",
    "check_point",
    "check_probabilities",
    "list_amounts",
]

GREATEST = 2**31 - 1
"""The greatest number of times that an event can be asked for."""
WIDEST = 1000
"""The greatest difference between the ends of a range: all of its numbers are listed."""

TOLERANCE = 1e-9
"""The greatest distance of a sum of probabilities from 1, because of rounding."""
SINGLE_TOLERANCE = 5e-7
"""The same for probabilities in single precision, which are then divided by their sum."""


def check_point(what: str, value: object, margin: float = 0.0) -> tuple[float, float]:
    """Return a point of the unit square that is at least ``margin`` away from its border.

    Example:
        >>> check_point("the start", (0.5, 1))
        (0.5, 1.0)
    """
    if not isinstance(value, Sequence | np.ndarray) or len(value) != 2:
        raise InvalidArgumentError(f"{what} is a point (x, y) of the square, not {shorten(value)}")
    x, y = (check_number(f"each part of {what}", part, margin, 1.0 - margin) for part in value)
    return x, y


def as_action_vector(
    action: PlaneAction, space: spaces.Space[Any], moves: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return an action as a float32 vector ``[2]``: itself, or the move with that number.

    Example:
        >>> as_action_vector(1, spaces.Discrete(2), np.array([[1, 0], [0, 1]], np.float32))
        array([0., 1.], dtype=float32)
    """
    if isinstance(space, spaces.Discrete):
        if space.contains(action):
            unit: NDArray[np.float32] = moves[int(action)]
            return unit
    else:
        single = isinstance(action, np.ndarray) and action.dtype == np.float32
        push: NDArray[np.float32] = action if single else _singles(action)  # type: ignore[assignment]
        if push.shape == (2,) and np.isfinite(push).all():
            return push
    raise InvalidArgumentError(f"an action of this world is in {space}, not {shorten(action)}")


def _singles(action: object) -> NDArray[np.float32]:
    """Return the action as float32; an empty array if it does not consist of numbers."""
    try:
        with np.errstate(over="ignore"):  # too large a number is infinite, and refused
            return np.asarray(action, np.float32)
    except (TypeError, ValueError, OverflowError):
        return np.empty(0, np.float32)


def as_range(value: object, what: str, most: str) -> tuple[int, int]:
    """Return the least and the greatest value of a number that is fixed, or drawn between two.

    Example:
        >>> as_range(3, "the mail", "the most mail"), as_range((1, 5), "mail", "most mail")
        ((3, 3), (1, 5))
    """
    low: Any
    high: Any
    low, high = value if isinstance(value, tuple | list) and len(value) == 2 else (value, value)
    check_count(what, low)
    check_count(most, high, least=low)
    if high > GREATEST:
        raise InvalidArgumentError(f"{most} is at most {GREATEST:,}, not {shorten(high)}")
    if high - low > WIDEST:
        raise InvalidArgumentError(
            f"{what} is drawn from {WIDEST + 1:,} numbers at most, not from {high - low + 1:,}"
        )
    return low, high


def list_amounts(
    name: str, span: tuple[int, int] | None, options: Mapping[str, Any], things: str
) -> Sequence[int]:
    """List the amounts of a supply with which an episode can start.

    Args:
        name: Its name in the options of ``reset``.
        span: The least and the greatest amount; None if it never runs out.
        options: The options of ``reset``, which may fix the amount.
        things: The words for what is counted, for messages.

    Example:
        >>> list(list_amounts("mail", (1, 3), {}, "items of mail"))
        [1, 2, 3]
        >>> list(list_amounts("mail", (1, 3), {"mail": 2}, "items of mail"))
        [2]
    """
    if span is None:
        if name in options:
            raise InvalidArgumentError(
                f"the {name} of this world never runs out",
                fix=f"make the world with {name}={shorten(options[name])}",
            )
        return (0,)
    low, high = as_range(options.get(name, span), f"the {name}", f"the most {name}")
    if high > span[1]:
        raise InvalidArgumentError(
            f"there are at most {span[1]} {things}, not {high}",
            fix=f"make the world with {name}=({span[0]}, {high})",
        )
    return range(low, high + 1)


def check_options(options: Mapping[str, Any], known: Sequence[str]) -> None:
    """Check that a world has these options of ``reset``."""
    for name in options:
        if name not in known:
            raise InvalidArgumentError(
                f"no such option for reset: {shorten(name)}", fix=f"known: {', '.join(known)}"
            )


def check_probabilities(
    chances: Iterable[float], what: str | Callable[[], str], *, slack: float = TOLERANCE
) -> None:
    """Check that probabilities are a distribution, or raise :class:`WorldError`.

    ``what`` is the subject of the message, or a function that returns it.

    Example:
        >>> check_probabilities([0.5, 0.3], "the starts")
        Traceback (most recent call last):
        cranium.errors.WorldError: the starts have probabilities that sum to 0.8
          fix: probabilities are numbers from 0 to 1 that sum to 1
    """
    values = list(chances)
    for chance in values:
        try:
            good = isfinite(chance) and chance >= 0
        except (TypeError, OverflowError):
            good = False
        if not good:
            raise _no_distribution(what, f"the probability {shorten(chance)}")
    if abs(fsum(values) - 1) > slack:
        raise _no_distribution(what, f"probabilities that sum to {fsum(values):.10g}")


def _no_distribution(what: str | Callable[[], str], problem: str) -> WorldError:
    subject = what if isinstance(what, str) else what()
    fix = "probabilities are numbers from 0 to 1 that sum to 1"
    return WorldError(f"{subject} have {problem}", fix=fix)


def as_probabilities(chances: Iterable[float], what: str | Callable[[], str]) -> list[float]:
    """Return probabilities as floats that sum to 1, or raise :class:`WorldError`.

    Numbers in single precision hardly ever sum to 1; they are divided by their sum.

    Example:
        >>> import numpy as np
        >>> as_probabilities(np.array([0.1, 0.9], np.float32), "the starts")
        [0.10000000372529039, 0.8999999962747096]
    """
    values = list(chances)
    check_probabilities(values, what, slack=SINGLE_TOLERANCE)
    total = fsum(values)
    exact = abs(total - 1) <= TOLERANCE
    return [float(chance) if exact else float(chance) / total for chance in values]
