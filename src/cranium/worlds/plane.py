"""The unit square: moves, round regions, their remaining events, and rendering.

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
    "disc_bounds",
    "draw_text",
    "find_containing",
    "find_entered",
    "make_canvas",
    "move",
    "observe",
    "render_image",
    "render_text",
    "take_event",
    "to_pixels",
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
    """Return the position after a step. Actions are clipped to [−1, 1]², positions to the square.

    Args:
        position: The position before, ``[..., 2]``.
        action: The velocity, ``[..., 2]``.
        speed: The length of a step with an action of 1.
        slip: Random noise that is added to the step, ``[..., 2]``.
        xp: The array library.

    Example:
        >>> move(np.array([[0.5, 0.5], [0.95, 0.0]]), np.array([[1.0, -5.0], [1.0, -1.0]]), 0.1)
        array([[0.6, 0.4],
               [1. , 0. ]])
    """
    return xp.clip(position + speed * xp.clip(action, -1, 1) + slip, 0, 1)


def find_containing(position: Array, centres: Array, radii: Array, xp: ModuleType = np) -> Array:
    """Find the regions that contain a position, ``[..., R]``. The border is outside.

    Example:
        >>> centres, radii = np.array([[0.5, 0.5], [0.9, 0.9]]), np.array([0.2, 0.2])
        >>> find_containing(np.array([0.5, 0.6]), centres, radii)
        array([ True, False])
    """
    way = position[..., None, :] - centres
    return xp.sum(way * way, axis=-1) < radii * radii


def find_entered(
    before: Array, after: Array, centres: Array, radii: Array, xp: ModuleType = np
) -> Array:
    """Find the regions that a step entered, ``[..., R]``: outside before it, and inside after it.

    A step that passes through a region and ends behind it does not enter it.

    Args:
        before: The position before the step, ``[..., 2]``.
        after: The position after it, ``[..., 2]``.
        centres: ``[R, 2]``.
        radii: ``[R]``.
        xp: The array library.

    Example:
        >>> centres, radii = np.array([[0.5, 0.5]]), np.array([0.1])
        >>> find_entered(np.array([0.5, 0.3]), np.array([[0.5, 0.45], [0.5, 0.7]]), centres, radii)
        array([[ True],
               [False]])
    """
    return ~find_containing(before, centres, radii, xp) & find_containing(after, centres, radii, xp)


def take_event(
    left: Array, entered: Array, event: Array, then: Array, xp: ModuleType = np
) -> tuple[Array, Array]:
    """Return the events of entering regions, and what the regions have left.

    Args:
        left: The remaining number of events of each region, ``[..., R]``; −1 for ever.
        entered: Whether each region was entered, ``[..., R]``: one at most.
        event: The number of each region's event, ``[R]``.
        then: The number of its event when nothing is left, ``[R]``.
        xp: The array library.

    Returns:
        The remaining numbers, ``[..., R]``, and the number of the event, ``[...]``; −1 for none.

    Example:
        >>> event, then = np.array([0, 1]), np.array([2, -1])
        >>> take_event(np.array([1, -1]), np.array([True, False]), event, then)
        (array([ 0, -1]), np.int64(0))
        >>> take_event(np.array([0, -1]), np.array([True, False]), event, then)
        (array([ 0, -1]), np.int64(2))
    """
    given = xp.where(left == 0, then, event)
    return left - (entered & (left > 0)), xp.max(xp.where(entered, given, -1), axis=-1)


def observe(
    position: Array, left: Array, limited: Array, scale: Array, xp: ModuleType = np
) -> Array:
    """Return the observation: the position, and the remaining events of regions that run out.

    Args:
        position: ``[..., 2]``.
        left: ``[..., R]``.
        limited: The regions that run out, ``[L]``.
        scale: The number that is shown as 1, ``[L]``; greater ones are, too.
        xp: The array library.

    Returns:
        ``[..., 2 + L]``, each from 0 to 1.

    Example:
        >>> observe(np.array([0.5, 0.2]), np.array([-1, 3]), np.array([1]), np.array([1.0]))
        array([0.5, 0.2, 1. ])
    """
    parts = xp.minimum(left[..., limited] / scale, 1).astype(position.dtype)
    return xp.concatenate([position, parts], axis=-1)


def render_text(names: Sequence[str], centres: Array, radii: Array, position: Array) -> str:
    """Render the square as text, with the first letters of the names of regions.

    Example:
        >>> centres, radii = np.array([[0.5, 0.9]]), np.array([0.1])
        >>> square = render_text(["mail"], centres, radii, np.array([0.0, 0.0]))
        >>> square.splitlines()[1]
        '. . . . . . . . m m m m . . . . . . . .'
        >>> square.splitlines()[-1]
        '@ . . . . . . . . . . . . . . . . . . .'
    """
    grid, marks = Grid(CELLS, CELLS), {}
    for row, column in grid.cells:
        middle = np.array([column + 0.5, CELLS - row - 0.5]) / CELLS
        for region in np.flatnonzero(find_containing(middle, centres, radii)).tolist():
            marks[row, column] = names[region]
    x, y = (min(int(part * CELLS), CELLS - 1) for part in position)
    agent: Cell = (CELLS - 1 - y, x)
    return grid.as_text(marks, agent)


def render_image(
    names: Sequence[str], centres: Array, radii: Array, position: Array
) -> NDArray[np.uint8]:
    """Render the square as an RGB image, with the names of the regions.

    Example:
        >>> render_image(["A"], np.array([[0.5, 0.5]]), np.array([0.1]), np.array([0.2, 0.2])).shape
        (320, 320, 3)
    """
    image, drawing = make_canvas()
    tints = {name: TINTS[i % len(TINTS)] for i, name in enumerate(sorted(set(names)))}
    for name, centre, radius in zip(names, centres, radii, strict=True):
        drawing.ellipse(
            disc_bounds(centre, radius * PIXELS), fill=tints[name], outline=COLOURS["line"]
        )
        draw_text(drawing, centre, name[:8])
    drawing.ellipse(disc_bounds(position, 5), fill=COLOURS["agent"])
    return np.asarray(image, dtype=np.uint8).copy()


def make_canvas() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    """Return an empty square as an image, and the object that draws into it.

    Example:
        >>> make_canvas()[0].size
        (320, 320)
    """
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (PIXELS, PIXELS), COLOURS["floor"])
    drawing = ImageDraw.Draw(image)
    drawing.rectangle((0, 0, PIXELS - 1, PIXELS - 1), outline=COLOURS["wall"], width=2)
    return image, drawing


def to_pixels(place: Array) -> tuple[float, float]:
    """Convert a position to pixels from the top left of an image; y grows upwards in the square.

    Example:
        >>> to_pixels((0.25, 0.25))
        (80.0, 240.0)
    """
    return float(place[0]) * PIXELS, (1 - float(place[1])) * PIXELS


def disc_bounds(centre: Array, size: float) -> tuple[float, float, float, float]:
    """Return the bounding box of a disc in pixels; ``size`` is its radius in pixels.

    Example:
        >>> disc_bounds((0.5, 0.5), 5)
        (155.0, 155.0, 165.0, 165.0)
    """
    across, down = to_pixels(centre)
    return across - size, down - size, across + size, down + size


def draw_text(drawing: ImageDraw.ImageDraw, centre: Array, text: str) -> None:
    """Draw a short text centred on a position.

    Example:
        >>> image, drawing = make_canvas()
        >>> draw_text(drawing, (0.5, 0.5), "A")
        >>> len(image.crop(disc_bounds((0.5, 0.5), 10)).getcolors()) > 1
        True
    """
    drawing.text(to_pixels(centre), text, fill=COLOURS["text"], font=_font(), anchor="mm")


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(PIXELS * 0.04)
