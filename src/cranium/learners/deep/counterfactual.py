"""Experience as it happened, and as it might have happened.

Configurations are imagined when a batch is drawn, not when a step is stored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from cranium.learners.deep.arrays import JaxMachine
from cranium.learners.tabular.kernels import GOES_ON

__all__ = ["Batch", "Imagining", "Outcome", "Replay", "draw", "imagine", "outcome"]

Array = jax.Array
REAL, SOME, ALL = "real", "some", "all"
EVEN = 1 << 17
"""Up to so many slots a float32 is precise enough: each slot has at least 64 of its 2²³ values."""


class Imagining(NamedTuple):
    """Which configurations are imagined for each experience."""

    kind: str  # REAL: the one it happened in; SOME: that one and others, drawn; ALL
    number: int  # how many, if some
    seen_only: bool  # only configurations whose counter values were seen

    @property
    def randoms(self) -> int:
        """How many random numbers that takes for each experience."""
        return self.number - 1 if self.kind == SOME else 0


class Replay(NamedTuple):
    """C experiences, as they happened."""

    before: Any  # [C, ...]; what was seen
    action: Any  # [C, ...]
    after: Any  # [C, ...]
    row: Any  # [C]; the label
    ended: Any  # [C]; whether the world itself ended
    extra: Any  # [C, 1 + F]; what the world paid, and each reward function
    x: Any  # [C]; the real configuration


class Batch(NamedTuple):
    """B experiences in K configurations each."""

    before: Array  # [B, 1, G]; ground features
    action: Array  # [B, ...]
    after: Array  # [B, 1, G]
    row: Array  # [B, 1]
    ended: Array  # [B, 1]
    extra: Array  # [B, 1, 1 + F]
    x: Array  # [B, K], or [1, K] if they are the same for all
    weight: Array  # [B, K]; what each counts
    landed: Array  # [B, ...]; what was seen then, as it was kept


class Outcome(NamedTuple):
    """What a batch would have led to."""

    then: Array  # [B, K]; the next configuration
    reward: Array  # [B, K]
    going: Array  # [B, K]; whether the episode would have gone on
    weight: Array  # [B, K]


def draw(replay: Replay, size: Array, u: Array, key: Array) -> Replay:
    """Draw experiences from the first ``size`` slots, one for each random number.

    A random number in single precision has 2²³ values. If these are too few to draw all slots
    about equally often, integers are drawn with the key instead.
    """
    if replay.row.shape[0] <= EVEN:
        index = jnp.minimum((u * size).astype(jnp.int32), size - 1)
    else:
        index = jax.random.randint(key, u.shape, 0, size)
    return Replay(*(array[index] for array in replay))


def imagine(
    some: Replay, show: Any, known: Array, machine: JaxMachine, how: Imagining, u: Array
) -> Batch:
    """Put experiences into configurations, and show what was kept of them to the network."""
    size = some.x.shape[0]
    if how.kind == REAL:
        x = some.x[:, None]
        weight = jnp.ones((size, 1), jnp.float32)
    else:
        alive = machine.ending == GOES_ON
        if how.seen_only:
            alive &= known[machine.counters]
        if how.kind == ALL:
            x = machine.members[None]
            weight = jnp.broadcast_to(alive[x], (size, x.shape[1])).astype(jnp.float32)
        else:
            total = jnp.cumsum(alive)
            wanted = (u.reshape(size, -1) * total[-1]).astype(jnp.int32)
            others = jnp.searchsorted(total, wanted, side="right").astype(jnp.int32)
            x = jnp.concatenate([some.x[:, None], others], axis=1)
            weight = jnp.ones(x.shape, jnp.float32)
    before, after = show(some.before)[:, None], show(some.after)[:, None]
    row, ended, extra = some.row[:, None], some.ended[:, None], some.extra[:, None]
    return Batch(before, some.action, after, row, ended, extra, x, weight, some.after)


def outcome(machine: JaxMachine, batch: Batch, discount: Array) -> Outcome:
    """What the machine makes of a batch. What it refuses cannot be imagined, and counts nothing."""
    then = machine.next_configuration[batch.row, batch.x]
    weight = batch.weight * (then >= 0)
    then = jnp.maximum(then, 0)
    going = ~(batch.ended | (machine.ending[then] != GOES_ON))
    reward = machine.pay(batch.row, batch.x, batch.extra)
    reward += discount * machine.potential[then] * going - machine.potential[batch.x]
    return Outcome(then, reward, going, weight)
