"""Worlds and machines as JAX arrays, for loops without Python."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from cranium.learners.tabular import kernels
from cranium.learners.tabular.arrays import LearnerTables

__all__ = ["FiniteJaxWorld", "JaxMachine", "finite_world", "jax_machine", "put"]

Array = jax.Array


class FiniteJaxWorld(NamedTuple):
    """A finite world: S states, A actions, at most K outcomes each, O observations, G features.

    Whatever runs in the loop has these methods; what is random is given as numbers from 0 to 1.
    """

    next_state: Array  # [S·A, K]
    cumulative: Array  # [S·A, K]; of the probabilities; 2 where there is no outcome
    row: Array  # [S·A, K]; the label, as a row of the machine's tables
    ended: Array  # [S·A, K]
    extra: Array  # [S·A, K, 1 + F]; what the world itself pays, and each reward function
    starts: Array  # [I]
    start_cumulative: Array  # [I]
    observation: Array  # [S]
    features: Array  # [O, G]

    @property
    def randoms(self) -> int:
        """How many random numbers a step needs."""
        return 1

    @property
    def beginnings(self) -> int:
        """How many a start needs."""
        return 1

    def no_extra(self) -> Array:
        """What a step pays besides the machine, for the size of the replay."""
        return jnp.zeros(self.extra.shape[-1], jnp.float32)

    def reset(self, u: Array) -> Array:
        """A first state."""
        last = self.starts.shape[0] - 1
        return self.starts[jnp.minimum((u[0] >= self.start_cumulative).sum(), last)]

    def step(self, state: Array, action: Array, u: Array) -> tuple[Array, Array, Array, Array]:
        """The next state, the row of the label, whether the world ended, and what it paid."""
        actions = self.next_state.shape[0] // self.observation.shape[0]
        pair = state * actions + action
        last = self.next_state.shape[1] - 1
        k = jnp.minimum((u[0] >= self.cumulative[pair]).sum(), last)
        place = (pair, k)
        return self.next_state[place], self.row[place], self.ended[place], self.extra[place]

    def observe(self, state: Array) -> Array:
        """What is kept of a state: the number of its observation."""
        return self.observation[state]

    def show(self, seen: Array) -> Array:
        """The features of what was kept: [..., G]."""
        return self.features[seen]

    def everything(self) -> Array | None:
        """The features of all that can be seen, if that is a list: [O, G]."""
        return self.features


def put(values: Any, kind: Any = None) -> Array:
    """An array for JAX; NumPy makes it, because JAX would compile something for every shape."""
    found: Array = jax.device_put(np.asarray(values, kind))
    return found


def finite_world(world: kernels.WorldArrays, features: NDArray[np.float32]) -> FiniteJaxWorld:
    """A finite world as JAX arrays, outcomes side by side."""
    counts = np.diff(world.first)
    most = int(counts.max())
    k = np.minimum(np.arange(most), counts[:, None] - 1) + world.first[:-1, None]
    real = np.arange(most) < counts[:, None]
    return FiniteJaxWorld(
        put(world.next_state[k], np.int32),
        put(np.where(real, world.cumulative[k], 2.0), np.float32),
        put(world.row[k], np.int32),
        put(world.terminated[k]),
        put(world.extra[k], np.float32),
        put(world.starts, np.int32),
        put(world.start_cumulative, np.float32),
        put(world.observation, np.int32),
        put(features, np.float32),
    )


class JaxMachine(NamedTuple):
    """The tables of a machine: L labels, X configurations, M features."""

    next_configuration: Array  # [L, X]; below 0 where the machine refuses
    reward: Array  # [L, X]
    function: Array  # [L, X]; which reward function pays, too; -1 for none
    ending: Array  # [X]; GOES_ON, or how it ends
    counters: Array  # [X]; which counter values a configuration has
    potential: Array  # [X]; zero where it ends, and without shaping
    features: Array  # [X, M]
    start: Array  # the first configuration
    members: Array  # [K]; those in which it goes on

    def pay(self, row: Array, x: Array, extra: Array) -> Array:
        """The reward of reading a label in a configuration, with what the world paid."""
        paid = self.reward[row, x] + extra[..., 0]
        if extra.shape[-1] == 1:
            return paid
        which = self.function[row, x]
        more = jnp.take_along_axis(
            jnp.broadcast_to(extra, (*which.shape, extra.shape[-1])),
            jnp.maximum(which, 0)[..., None] + 1,
            axis=-1,
        )[..., 0]
        return paid + jnp.where(which >= 0, more, 0.0)


def jax_machine(
    tables: LearnerTables,
    features: NDArray[np.float32],
    potential: NDArray[Any] | None,
    *,
    members: bool = True,
    can_overflow: bool = True,
) -> JaxMachine:
    """The tables of a machine as JAX arrays.

    If no episode can overflow, that is refused: what the machine refuses is not imagined.

    They are copies, because JAX may use an array without copying it, and these change later.

    A row more, or a member, would be another shape, for which all is compiled again: so there is
    room for as many rows as the next power of two, and members are listed only if asked for.
    """
    arrays = tables.arrays
    alive = np.flatnonzero(arrays.ending == kernels.GOES_ON)
    rows = ((0, (1 << (len(arrays.reward) - 1).bit_length()) - len(arrays.reward)), (0, 0))
    following = arrays.next_configuration
    if not can_overflow:
        over = (following >= 0) & (arrays.ending[np.maximum(following, 0)] == kernels.OVERFLOWED)
        following = np.where(over, -1, following)
    hopes = np.zeros(len(arrays.ending)) if potential is None else potential
    return JaxMachine(
        put(np.pad(following, rows), np.int32),
        put(np.pad(arrays.reward, rows), np.float32),
        put(np.pad(arrays.function, rows), np.int32),
        put(arrays.ending.copy(), np.int32),
        put(arrays.counters.copy(), np.int32),
        put(np.where(arrays.ending == kernels.GOES_ON, hopes, 0.0), np.float32),
        put(features.copy(), np.float32),
        put(tables.space.start, np.int32),
        put(alive if members else alive[:0], np.int32),
    )
