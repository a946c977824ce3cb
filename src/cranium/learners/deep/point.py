"""PointWorld inside the compiled training loop, with the dynamics of the environment."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from cranium.learners.deep.machine import to_device
from cranium.learners.deep.optimiser import normal
from cranium.learners.tabular.arrays import LearnerTables
from cranium.worlds import plane
from cranium.worlds.point import PointWorld

__all__ = ["PointJaxWorld", "build_point_world"]

Array = jax.Array
State = tuple[Array, Array]  # the position [2], and what is left in each region [R]


class PointJaxWorld(NamedTuple):
    """A :class:`~cranium.worlds.PointWorld` of R regions, L of which run out."""

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
    anywhere: Array  # whether episodes begin anywhere instead
    rows: Array  # [V + 1]; the row of the label with each event, and of the empty one

    @property
    def step_randoms(self) -> int:
        """The number of random numbers that a step takes."""
        return 2 + self.radii.shape[0]

    @property
    def reset_randoms(self) -> int:
        """The number of random numbers that a reset takes."""
        return 2 + self.radii.shape[0]

    @property
    def num_extras(self) -> int:
        """The length of ``extra``: no ground reward, no reward functions."""
        return 1

    def reset(self, u: Array) -> State:
        """Draw an initial state."""
        position = jnp.where(self.anywhere, u[:2], self.start)
        drawn = self.least + (u[2:] * (self.most - self.least + 1)).astype(jnp.int32)
        return position, jnp.minimum(drawn, self.most)

    def step(self, state: State, action: Array, u: Array) -> tuple[State, Array, Array, Array]:
        """Take an action. The world never terminates, and has no reward of its own."""
        before, left = state
        velocity = self.moves[action] if action.ndim == 0 else action
        after = plane.move(before, velocity, self.speed, self.noise * normal(u[:2]), jnp)
        found = plane.find_entered(before, after, self.centres, self.radii, jnp)
        left, event = plane.take_event(left, found, self.event, self.then, jnp)
        return (after, left), self.rows[event], jnp.asarray(False), jnp.zeros(1, jnp.float32)

    def observe(self, state: State) -> Array:
        """Return the observation of a state."""
        position, left = state
        seen: Array = plane.observe(position, left, self.limited, self.scale, jnp)
        return seen

    def features(self, observation: Array) -> Array:
        """Return the observations themselves."""
        return observation

    def all_features(self) -> None:
        """Return None: the observations cannot be listed."""


def build_point_world(
    inner: PointWorld, known: frozenset[str], tables: LearnerTables
) -> PointJaxWorld:
    """Convert a world to JAX; the machine reads those of its events that are ``known``."""
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
    return PointJaxWorld(*(to_device(array) for array in arrays))
