"""The point in the unit square, inside the loop: the same dynamics as the environment's."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from cranium.learners.deep.arrays import put
from cranium.learners.deep.optimiser import normal
from cranium.learners.tabular.arrays import LearnerTables
from cranium.worlds import plane
from cranium.worlds.point import PointWorld

__all__ = ["PointJaxWorld", "point_world"]

Array = jax.Array


class PointJaxWorld(NamedTuple):
    """A :class:`~cranium.worlds.PointWorld` of R regions, L of which run out.

    A state is a position [2], and what is left in each region [R].
    """

    centres: Array  # [R, 2]
    radii: Array  # [R]
    event: Array  # [R]
    then: Array  # [R]
    least: Array  # [R]
    most: Array  # [R]
    limited: Array  # [L]
    scale: Array  # [L]
    moves: Array  # [4, 2]
    speed: Array
    noise: Array
    start: Array  # [2]
    anywhere: Array  # whether it begins anywhere instead
    rows: Array  # [V + 1]; the row of the label with each event, and of the empty one

    @property
    def randoms(self) -> int:
        """How many random numbers a step needs."""
        return 2 + self.radii.shape[0]

    @property
    def beginnings(self) -> int:
        """How many a start needs."""
        return 2 + self.radii.shape[0]

    def no_extra(self) -> Array:
        """What a step pays besides the machine: nothing."""
        return jnp.zeros(1, jnp.float32)

    def reset(self, u: Array) -> tuple[Array, Array]:
        """A first state."""
        position = jnp.where(self.anywhere, u[:2], self.start)
        drawn = self.least + (u[2:] * (self.most - self.least + 1)).astype(jnp.int32)
        return position, jnp.minimum(drawn, self.most)

    def step(self, state: Any, action: Array, u: Array) -> tuple[Any, Array, Array, Array]:
        """The next state, the row of the label, that the world never ends, that it pays nothing."""
        before, left = state
        velocity = self.moves[action] if action.ndim == 0 else action
        after = plane.move(before, velocity, self.speed, self.noise * normal(u[:2]), jnp)
        found = plane.find_entered(before, after, self.centres, self.radii, jnp)
        left, event = plane.take_event(left, found, self.event, self.then, jnp)
        return (after, left), self.rows[event], jnp.asarray(False), self.no_extra()

    def observe(self, state: Any) -> Array:
        """What is kept of a state: its observation."""
        position, left = state
        seen: Array = plane.observe(position, left, self.limited, self.scale, jnp)
        return seen

    def show(self, seen: Array) -> Array:
        """The features of what was kept: the same."""
        return seen

    def everything(self) -> None:
        """There is no list of all that can be seen."""


def point_world(inner: PointWorld, known: frozenset[str], tables: LearnerTables) -> PointJaxWorld:
    """The world for the loop; of its events the machine reads those that are known."""
    names = [frozenset({name}) & known for name in inner.vocabulary]
    rows = [tables.space.add_label(label) for label in (*names, frozenset())]
    tables.grow()
    anywhere = inner.start is None
    start = np.zeros(2, np.float32) if inner.start is None else inner.start
    arrays = (
        inner.centres,
        inner.radii,
        inner.event_index,
        inner.then_index,
        inner.least,
        inner.most,
        inner.limited,
        inner.scale,
        inner.moves,
        np.float32(inner.speed),
        np.float32(inner.noise),
        start,
        np.bool_(anywhere),
        np.array(rows, np.int32),
    )
    return PointJaxWorld(*map(put, arrays))
