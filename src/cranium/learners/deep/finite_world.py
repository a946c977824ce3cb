"""Finite worlds inside the compiled training loop."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from cranium.learners.deep.machine import to_device
from cranium.learners.tabular.kernels import WorldArrays

__all__ = ["FiniteJaxWorld", "build_finite_world"]

Array = jax.Array


class FiniteJaxWorld(NamedTuple):
    """A finite world: S states, A actions, at most K outcomes each, O observations, G features.

    It follows :class:`~cranium.learners.deep.world.JaxWorld`. A state is its number.
    """

    next_state: Array  # [S·A, K]
    cumulative: Array  # [S·A, K]; of the probabilities; 2 where there is no outcome
    label: Array  # [S·A, K]; as a row of the machine's tables
    terminated: Array  # [S·A, K]
    extra: Array  # [S·A, K, 1 + F]; the ground reward, and the value of each reward function
    initial_states: Array  # [I]
    initial_cumulative: Array  # [I]; of their probabilities
    observation: Array  # [S]; the number of the observation
    feature_table: Array  # [O, G]

    @property
    def step_randoms(self) -> int:
        """The number of random numbers that a step takes."""
        return 1

    @property
    def reset_randoms(self) -> int:
        """The number of random numbers that a reset takes."""
        return 1

    @property
    def num_extras(self) -> int:
        """The length of ``extra``."""
        return int(self.extra.shape[-1])

    def reset(self, u: Array) -> Array:
        """Draw an initial state."""
        last = self.initial_states.shape[0] - 1
        return self.initial_states[jnp.minimum((u[0] >= self.initial_cumulative).sum(), last)]

    def step(self, state: Array, action: Array, u: Array) -> tuple[Array, Array, Array, Array]:
        """Draw one of the outcomes of an action."""
        actions = self.next_state.shape[0] // self.observation.shape[0]
        pair = state * actions + action
        last = self.next_state.shape[1] - 1
        k = jnp.minimum((u[0] >= self.cumulative[pair]).sum(), last)
        at = (pair, k)
        return self.next_state[at], self.label[at], self.terminated[at], self.extra[at]

    def observe(self, state: Array) -> Array:
        """Return the number of the observation."""
        return self.observation[state]

    def features(self, observation: Array) -> Array:
        """Look up the features of observations: [..., G]."""
        return self.feature_table[observation]

    def all_features(self) -> Array | None:
        """Return the features of all observations: [O, G]."""
        return self.feature_table


def build_finite_world(world: WorldArrays, features: NDArray[np.float32]) -> FiniteJaxWorld:
    """Convert a finite world to JAX arrays, with the outcomes of an action side by side."""
    counts = np.diff(world.first)
    most = int(counts.max())
    k = np.minimum(np.arange(most), counts[:, None] - 1) + world.first[:-1, None]
    is_outcome = np.arange(most) < counts[:, None]
    return FiniteJaxWorld(
        to_device(world.next_state[k], np.int32),
        to_device(np.where(is_outcome, world.cumulative[k], 2.0), np.float32),
        to_device(world.row[k], np.int32),
        to_device(world.terminated[k]),
        to_device(world.extra[k], np.float32),
        to_device(world.starts, np.int32),
        to_device(world.start_cumulative, np.float32),
        to_device(world.observation, np.int32),
        to_device(features, np.float32),
    )
