"""Balls: their colours, and layouts that have names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from cranium.arguments import check_count, check_number
from cranium.errors import InvalidArgumentError, shorten

__all__ = ["COUNTS", "LAYOUTS", "Ball", "colours_of", "list_colours"]

MOST = 1000  # a place for a ball is looked for among all others
COUNTS: Mapping[str, int] = dict.fromkeys(("red", "green", "blue", "cyan", "yellow", "magenta"), 2)
"""The number of balls of each colour in the literature."""


@dataclass(frozen=True)
class Ball:
    """A ball in the unit square.

    Attributes:
        colour: Its colour, which is the event of touching it.
        place: The position of its centre at the start of an episode.
        heading: The direction of its velocity in degrees: 0 is right, 90 is up.

    Example:
        >>> from cranium.worlds import WaterWorld
        >>> WaterWorld([Ball("red", (0.2, 0.8)), Ball("black", (0.8, 0.8), 270)]).vocabulary
        ('red', 'black')
    """

    colour: str
    place: tuple[float, float]
    heading: float = 0.0


LAYOUTS: Mapping[str, tuple[Ball, ...]] = {
    "pair": (Ball("red", (0.22, 0.5), 90), Ball("green", (0.78, 0.5), 270)),
    "corners": (
        Ball("red", (0.2, 0.8), 300),
        Ball("green", (0.8, 0.8), 210),
        Ball("blue", (0.8, 0.2), 120),
        Ball("cyan", (0.2, 0.2), 30),
    ),
    "ring": tuple(
        Ball(
            colour,
            (round(0.5 + 0.3 * cos(turn * pi / 3), 4), round(0.5 + 0.3 * sin(turn * pi / 3), 4)),
            60 * turn + 30,
        )
        for turn, colour in enumerate(COUNTS)
    ),
}
"""Balls in places that are given, by name."""


def list_colours(counts: Mapping[str, int]) -> tuple[str, ...]:
    """The colour of each ball, where it is said how many there are of each.

    Example:
        >>> list_colours({"red": 2, "blue": 1})
        ('red', 'red', 'blue')
    """
    if not counts:
        raise InvalidArgumentError("there is one ball at least, not none")
    for colour, count in counts.items():
        _check_colour(colour)
        check_count(f"the number of {colour} balls", count)
    if sum(counts.values()) > MOST:
        raise InvalidArgumentError(
            f"there are {MOST:,} balls at most, not {sum(counts.values()):,}"
        )
    return tuple(colour for colour, count in counts.items() for _ in range(count))


def colours_of(balls: object) -> tuple[str, ...]:
    """Check the balls, and return the colour of each.

    Example:
        >>> colours_of([Ball("red", (0.2, 0.2)), Ball("blue", (0.8, 0.8))])
        ('red', 'blue')
    """
    if not isinstance(balls, Sequence) or isinstance(balls, str) or not balls:
        raise InvalidArgumentError(
            f"balls are {{colour: number}}, or a list with one at least, not {shorten(balls)}"
        )
    for ball in balls:
        if not isinstance(ball, Ball):
            raise InvalidArgumentError(
                f"a ball is a Ball, not {shorten(ball)}", fix="Ball('red', (0.2, 0.8))"
            )
        _check_colour(ball.colour)
        check_number(f"the heading of a {ball.colour} ball", ball.heading, -360.0, 360.0)
    return tuple(ball.colour for ball in balls)


def _check_colour(colour: object) -> None:
    if not isinstance(colour, str) or not colour:
        raise InvalidArgumentError(f"a colour is a name, not {shorten(colour)}")
