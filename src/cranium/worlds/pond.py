"""The dynamics of a pond: an agent that accelerates among bouncing balls, and rendering.

The dynamics are plain array arithmetic over any leading axes, without a branch on a value. ``xp``
is the array library: NumPy for the environment, ``jax.numpy`` inside a compiled loop. The pond is
the unit square, and everything in it is a disc of the same radius.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from cranium.worlds import plane
from cranium.worlds.grid import COLOURS, TINTS
from cranium.worlds.plane import Array, Scalar

__all__ = [
    "accelerate",
    "find_colours",
    "find_touched",
    "glide",
    "observe",
    "relative_position",
    "render_image",
    "render_text",
]

PAINTS = {
    "red": (232, 76, 61),
    "green": (92, 184, 92),
    "blue": (74, 134, 232),
    "cyan": (72, 209, 214),
    "yellow": (245, 205, 70),
    "magenta": (218, 92, 204),
}
LEAST = 0.036  # a disc that is greater holds the middle of a cell, wherever it is
AHEAD = 10  # steps: how far the line ahead of something that moves reaches


def accelerate(
    velocity: Array, action: Array, thrust: Scalar, top: Scalar, xp: ModuleType = np
) -> Array:
    """Return the velocity after an action. Actions are clipped to [−1, 1]², speeds to the top.

    Args:
        velocity: The velocity before, ``[..., 2]``.
        action: The acceleration, ``[..., 2]``.
        thrust: The change of velocity by an action of 1.
        top: The greatest speed in each direction.
        xp: The array library.

    Example:
        >>> accelerate(np.array([0.0, 0.25]), np.array([7.0, 1.0]), 0.125, 0.25)
        array([0.125, 0.25 ])
    """
    return xp.clip(velocity + thrust * xp.clip(action, -1, 1), -top, top)


def glide(
    position: Array, velocity: Array, radius: Scalar, xp: ModuleType = np
) -> tuple[Array, Array]:
    """Return position and velocity after a step. Walls reflect without loss of speed.

    The way behind the wall is folded back, which is exact for a step that reaches one wall at most
    in each direction: none is longer than the pond.

    Args:
        position: The centre of a disc, ``[..., 2]``.
        velocity: Its velocity per step, ``[..., 2]``.
        radius: The radius of the disc.
        xp: The array library.

    Example:
        >>> glide(np.array([0.75, 0.5]), np.array([0.25, 0.125]), 0.125)
        (array([0.75 , 0.625]), array([-0.25 ,  0.125]))
    """
    low, high = radius, 1 - radius
    goes = position + velocity
    beyond = (goes < low) | (goes > high)
    folded = xp.where(goes < low, 2 * low - goes, xp.where(goes > high, 2 * high - goes, goes))
    return xp.clip(folded, low, high), xp.where(beyond, -velocity, velocity)


def relative_position(position: Array, places: Array) -> Array:
    """The ways from the agent to the balls, ``[..., B, 2]``.

    Example:
        >>> relative_position(np.array([0.5, 0.5]), np.array([[0.75, 0.5], [0.5, 0.0]]))
        array([[ 0.25,  0.  ],
               [ 0.  , -0.5 ]])
    """
    return places - position[..., None, :]


def find_touched(before: Array, after: Array, radius: Scalar, xp: ModuleType = np) -> Array:
    """Find the balls that a step touched, ``[..., B]``: apart before it, in contact after it.

    Two discs are in contact when their middles are less than two radii apart. A step that passes
    through a ball and ends behind it does not touch it.

    Args:
        before: The ways to the balls when the step began, ``[..., B, 2]``.
        after: The same when it ended.
        radius: The radius of every disc.
        xp: The array library.

    Example:
        >>> before, after = np.array([[0.5, 0.0], [0.1, 0.0]]), np.array([[0.2, 0.0], [0.0, 0.0]])
        >>> find_touched(before, after, 0.125)
        array([ True, False])
    """
    reach = 4 * radius * radius
    return (xp.sum(before * before, axis=-1) >= reach) & (xp.sum(after * after, axis=-1) < reach)


def find_colours(touched: Array, paint: Array, xp: ModuleType = np) -> Array:
    """Find the colours that were touched, ``[..., C]``.

    Args:
        touched: Whether each ball was touched, ``[..., B]``.
        paint: Whether each ball has each colour, ``[B, C]``.
        xp: The array library.

    Example:
        >>> find_colours(np.array([True, True, False]), np.array([[1, 0], [1, 0], [0, 1]], bool))
        array([ True, False])
    """
    return xp.any(touched[..., None] & paint, axis=-2)


def observe(
    position: Array,
    velocity: Array,
    balls: Array,
    velocities: Array | None,
    top: Scalar,
    speed: Scalar,
    xp: ModuleType = np,
) -> Array:
    """The observation: the agent's place and velocity, then those of each ball.

    Args:
        position: ``[..., 2]``.
        velocity: ``[..., 2]``; it is shown as a share of the top speed.
        balls: Their positions, or their positions relative to the agent, ``[..., B, 2]``.
        velocities: ``[..., B, 2]``, shown as a share of their speed; None if they stand still.
        top: The agent's greatest speed in each direction.
        speed: That of the balls.
        xp: The array library.

    Returns:
        ``[..., 4 + 4 B]``, or ``[..., 4 + 2 B]`` for balls that stand still.

    Example:
        >>> still = np.array([[0.25, 0.75]])
        >>> observe(np.array([0.5, 0.5]), np.array([0.1, 0.0]), still, None, 0.2, 0.1)
        array([0.5 , 0.5 , 0.5 , 0.  , 0.25, 0.75])
    """
    if velocities is not None:
        # A speed whose parts were rounded can be a little more than 1.
        balls = xp.concatenate([balls, xp.clip(velocities / speed, -1, 1)], axis=-1)
    flat = balls.reshape((*balls.shape[:-2], balls.shape[-2] * balls.shape[-1]))
    return xp.concatenate([position, velocity / top, flat], axis=-1)


def render_text(colours: Sequence[str], places: Array, radius: float, position: Array) -> str:
    """The pond as text, with the first letter of a ball's colour where it is.

    Example:
        >>> pond = render_text(["red"], np.array([[0.5, 0.92]]), 0.05, np.array([0.1, 0.92]))
        >>> pond.splitlines()[1]
        '. . @ . . . . . . r r . . . . . . . . .'
    """
    radii = np.full(len(colours), max(radius, LEAST))
    return plane.render_text(colours, places, radii, position)


def render_image(
    colours: Sequence[str],
    places: Array,
    velocities: Array,
    radius: float,
    position: Array,
    velocity: Array,
) -> NDArray[np.uint8]:
    """The pond as an RGB image: a line shows where a disc is going, ten steps ahead.

    Example:
        >>> red, still = np.array([[0.5, 0.5]]), np.zeros((1, 2))
        >>> render_image(["red"], red, still, 0.05, np.array([0.2, 0.2]), still[0]).shape
        (320, 320, 3)
    """
    image, drawing = plane.make_canvas()
    size = radius * plane.PIXELS
    strange = [name for name in dict.fromkeys(colours) if name not in PAINTS]
    paints = {**{name: TINTS[i % len(TINTS)] for i, name in enumerate(strange)}, **PAINTS}
    for colour, place, way in zip(colours, places, velocities, strict=True):
        ahead = plane.to_pixels(place + AHEAD * way)
        drawing.line((plane.to_pixels(place), ahead), fill=COLOURS["wall"], width=2)
        drawing.ellipse(
            plane.disc_bounds(place, size), fill=paints[colour], outline=COLOURS["wall"]
        )
        plane.draw_text(drawing, place, colour[0])
    ahead = plane.to_pixels(position + AHEAD * velocity)
    drawing.line((plane.to_pixels(position), ahead), fill=COLOURS["agent"], width=2)
    drawing.ellipse(
        plane.disc_bounds(position, size), fill=COLOURS["wall"], outline=COLOURS["agent"], width=3
    )
    return np.asarray(image, dtype=np.uint8).copy()
