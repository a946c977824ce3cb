"""What worlds and others are told: choices, numbers, places and actions, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.arguments import check_count, check_number
from cranium.errors import InvalidArgumentError, shorten

__all__ = [
    "as_action_vector",
    "as_range",
    "check_options",
    "check_point",
    "list_amounts",
]

GREATEST = 2**31 - 1
"""The greatest number of times that an event can be asked for."""
WIDEST = 1000
"""How far apart the least and the greatest of a drawn number may be: all of them are listed."""


def check_point(what: str, value: Any, margin: float = 0.0) -> tuple[float, float]:
    """Accept a point of the unit square, so far away from its border.

    Example:
        >>> check_point("the start", (0.5, 1))
        (0.5, 1.0)
    """
    if not isinstance(value, Sequence | np.ndarray) or len(value) != 2:
        raise InvalidArgumentError(f"{what} is a point (x, y) of the square, not {shorten(value)}")
    x, y = (check_number(f"each part of {what}", part, margin, 1.0 - margin) for part in value)
    return x, y


def as_action_vector(
    action: Any, space: spaces.Space[Any], moves: NDArray[np.float32]
) -> NDArray[np.float32]:
    """An action as a vector float32 ``[2]``: the one that is given, or the move of that number.

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
        push = action if single else _singles(action)
        if push.shape == (2,) and np.isfinite(push).all():
            return push
    raise InvalidArgumentError(f"an action of this world is in {space}, not {shorten(action)}")


def _singles(action: Any) -> NDArray[np.float32]:
    """The action as float32; an empty array if it does not consist of numbers."""
    try:
        with np.errstate(over="ignore"):  # too large a number is infinite, and refused
            return np.asarray(action, np.float32)
    except (TypeError, ValueError, OverflowError):
        return np.empty(0, np.float32)


def as_range(value: Any, what: str, most: str) -> tuple[int, int]:
    """A number that is fixed, or drawn between two: its least and its greatest value.

    Example:
        >>> as_range(3, "the mail", "the most mail"), as_range((1, 5), "mail", "most mail")
        ((3, 3), (1, 5))
    """
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
    """How much of something an episode may begin with.

    Args:
        name: What it is called in the options of ``reset``.
        span: The least and the greatest number of the world; None if it never runs out.
        options: Those of ``reset``, which may fix the number.
        things: What is counted, for messages.

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
    """Refuse options of ``reset`` that a world does not have."""
    for name in options:
        if name not in known:
            raise InvalidArgumentError(
                f"no such option for reset: {shorten(name)}", fix=f"known: {', '.join(known)}"
            )
