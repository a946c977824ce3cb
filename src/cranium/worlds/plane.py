"""The unit square: moves, round regions, what they have left, and how it is drawn.

The dynamics are plain array arithmetic over any leading axes, without a branch on a value. ``xp``
is the array library: NumPy for the environment, ``jax.numpy`` inside a compiled loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

from cranium.worlds.grid import COLOURS, TINTS, Cell, Grid

__all__ = [
    "blank",
    "box",
    "draw",
    "entered",
    "inside",
    "letter",
    "move",
    "show",
    "spot",
    "take",
    "write",
]

Array = Any
"""An array of the library ``xp``. NumPy's and JAX's arrays have no common type."""
Scalar = Any
"""A number, or an array of the library ``xp`` that is broadcast."""

CELLS = 20
PIXELS = 320


def move(
    position: Array, action: Array, speed: Scalar, slip: Array | float = 0.0, xp: ModuleType = np
) -> Array:
    """Where a step ends: the action is cut to the square [−1, 1]², the way to the unit square.

    Args:
        position: Where it begins, ``[..., 2]``.
        action: The velocity, ``[..., 2]``.
        speed: How far an action of 1 leads.
        slip: What chance adds to the way, ``[..., 2]``.
        xp: The array library.

    Example:
        >>> move(np.array([[0.5, 0.5], [0.95, 0.0]]), np.array([[1.0, -5.0], [1.0, -1.0]]), 0.1)
        array([[0.6, 0.4],
               [1. , 0. ]])
    """
    return xp.clip(position + speed * xp.clip(action, -1, 1) + slip, 0, 1)


def inside(position: Array, centres: Array, radii: Array, xp: ModuleType = np) -> Array:
    """In which regions a position is, ``[..., R]``: the border is outside.

    Example:
        >>> inside(np.array([0.5, 0.6]), np.array([[0.5, 0.5], [0.9, 0.9]]), np.array([0.2, 0.2]))
        array([ True, False])
    """
    way = position[..., None, :] - centres
    return xp.sum(way * way, axis=-1) < radii * radii


def entered(
    before: Array, after: Array, centres: Array, radii: Array, xp: ModuleType = np
) -> Array:
    """Which regions a step entered, ``[..., R]``: outside before it, and inside after it.

    A step that passes through a region and ends behind it does not enter it.

    Args:
        before: Where the step began, ``[..., 2]``.
        after: Where it ended, ``[..., 2]``.
        centres: ``[R, 2]``.
        radii: ``[R]``.
        xp: The array library.

    Example:
        >>> centres, radii = np.array([[0.5, 0.5]]), np.array([0.1])
        >>> entered(np.array([0.5, 0.3]), np.array([[0.5, 0.45], [0.5, 0.7]]), centres, radii)
        array([[ True],
               [False]])
    """
    return ~inside(before, centres, radii, xp) & inside(after, centres, radii, xp)


def take(
    left: Array, entered: Array, event: Array, then: Array, xp: ModuleType = np
) -> tuple[Array, Array]:
    """What a region gives to one who enters it: what is left after that, and the event.

    Args:
        left: How often each region can still give its event, ``[..., R]``; −1 for ever.
        entered: Which region was entered, ``[..., R]``: one at most.
        event: The number of each region's event, ``[R]``.
        then: The number of its event when nothing is left, ``[R]``.
        xp: The array library.

    Returns:
        What is left, ``[..., R]``, and the number of the event, ``[...]``; −1 for none.

    Example:
        >>> event, then = np.array([0, 1]), np.array([2, -1])
        >>> take(np.array([1, -1]), np.array([True, False]), event, then)
        (array([ 0, -1]), np.int64(0))
        >>> take(np.array([0, -1]), np.array([True, False]), event, then)
        (array([ 0, -1]), np.int64(2))
    """
    given = xp.where(left == 0, then, event)
    return left - (entered & (left > 0)), xp.max(xp.where(entered, given, -1), axis=-1)


def show(position: Array, left: Array, limited: Array, scale: Array, xp: ModuleType = np) -> Array:
    """The observation: the position, and for each region that runs out what it has left.

    Args:
        position: ``[..., 2]``.
        left: ``[..., R]``.
        limited: Which regions run out, ``[L]``.
        scale: How much counts as full, ``[L]``: with 1 it is whether anything is left.
        xp: The array library.

    Returns:
        ``[..., 2 + L]``, each from 0 to 1.

    Example:
        >>> show(np.array([0.5, 0.2]), np.array([-1, 3]), np.array([1]), np.array([1.0]))
        array([0.5, 0.2, 1. ])
    """
    parts = xp.minimum(left[..., limited] / scale, 1).astype(position.dtype)
    return xp.concatenate([position, parts], axis=-1)


def write(names: Sequence[str], centres: Array, radii: Array, position: Array) -> str:
    """The square as text, with the first letter of a region's name where it is.

    Example:
        >>> square = write(["mail"], np.array([[0.5, 0.9]]), np.array([0.1]), np.array([0.0, 0.0]))
        >>> square.splitlines()[1]
        '. . . . . . . . m m m m . . . . . . . .'
        >>> square.splitlines()[-1]
        '@ . . . . . . . . . . . . . . . . . . .'
    """
    grid, marks = Grid(CELLS, CELLS), {}
    for row, column in grid.cells:
        middle = np.array([column + 0.5, CELLS - row - 0.5]) / CELLS
        for region in np.flatnonzero(inside(middle, centres, radii)).tolist():
            marks[row, column] = names[region]
    x, y = (min(int(part * CELLS), CELLS - 1) for part in position)
    agent: Cell = (CELLS - 1 - y, x)
    return grid.as_text(marks, agent)


def draw(names: Sequence[str], centres: Array, radii: Array, position: Array) -> NDArray[np.uint8]:
    """The square as an RGB image, with the names written into the regions.

    Example:
        >>> draw(["A"], np.array([[0.5, 0.5]]), np.array([0.1]), np.array([0.2, 0.2])).shape
        (320, 320, 3)
    """
    image, drawing = blank()
    tints = {name: TINTS[i % len(TINTS)] for i, name in enumerate(sorted(set(names)))}
    for name, centre, radius in zip(names, centres, radii, strict=True):
        drawing.ellipse(box(centre, radius * PIXELS), fill=tints[name], outline=COLOURS["line"])
        letter(drawing, centre, name[:8])
    drawing.ellipse(box(position, 5), fill=COLOURS["agent"])
    return np.asarray(image, dtype=np.uint8).copy()


def blank() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    """Return an empty square as an image, and the object that draws into it.

    Example:
        >>> blank()[0].size
        (320, 320)
    """
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (PIXELS, PIXELS), COLOURS["floor"])
    drawing = ImageDraw.Draw(image)
    drawing.rectangle((0, 0, PIXELS - 1, PIXELS - 1), outline=COLOURS["wall"], width=2)
    return image, drawing


def spot(place: Array) -> tuple[float, float]:
    """Where a place is in an image, in pixels from the top left: y grows upwards in the square.

    Example:
        >>> spot((0.25, 0.25))
        (80.0, 240.0)
    """
    return float(place[0]) * PIXELS, (1 - float(place[1])) * PIXELS


def box(centre: Array, size: float) -> tuple[float, float, float, float]:
    """The pixels around a disc, whose radius is a number of pixels.

    Example:
        >>> box((0.5, 0.5), 5)
        (155.0, 155.0, 165.0, 165.0)
    """
    across, down = spot(centre)
    return across - size, down - size, across + size, down + size


def letter(drawing: ImageDraw.ImageDraw, centre: Array, text: str) -> None:
    """Write a few letters around a place.

    Example:
        >>> image, drawing = blank()
        >>> letter(drawing, (0.5, 0.5), "A")
        >>> len(image.crop(box((0.5, 0.5), 10)).getcolors()) > 1
        True
    """
    drawing.text(spot(centre), text, fill=COLOURS["text"], font=_font(), anchor="mm")


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(PIXELS * 0.04)
