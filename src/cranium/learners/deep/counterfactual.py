"""Counterfactual batches: real transitions from the replay buffer, relabelled when they are drawn.

The replay buffer stores each transition as it happened. Nothing counterfactual is ever stored.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp

from cranium.counterfactual import relabel
from cranium.learners.deep.machine import JaxMachine
from cranium.learners.tabular.kernels import GOES_ON

__all__ = [
    "ConfigurationSampling",
    "CounterfactualBatch",
    "Targets",
    "Transitions",
    "counterfactual_batch",
    "relabel_batch",
    "sample_transitions",
]

Array = jax.Array
A = TypeVar("A")
jax_relabel = cast(
    "Callable[[JaxMachine, Array, Array, Array, Array], tuple[Array, Array, Array, Array, Array]]",
    relabel,
)
"""The rule of counterfactual experience, with the types of JAX."""
CURRENT, SAMPLED, ALL, CHOSEN = "current", "sampled", "all", "chosen"
MAX_SLOTS_FOR_FLOATS = 1 << 17
"""Up to this size a float32 is precise enough: each slot has at least 64 of its 2²³ values."""


class ConfigurationSampling(NamedTuple):
    """The configurations with which each transition is relabelled."""

    kind: str  # CURRENT: the real one; SAMPLED: the real one and others, drawn; ALL;
    # CHOSEN: the real one and candidates of a set of configurations
    number: int | None  # how many, the real one included; None is all candidates of a set
    seen_only: bool  # whether their counter values must have occurred

    @property
    def randoms(self) -> int:
        """The number of random numbers that a transition takes."""
        if self.number is None or self.kind not in (SAMPLED, CHOSEN):
            return 0
        return self.number - 1


class Transitions(NamedTuple, Generic[A]):
    """C real transitions: the replay buffer, or a sample of it, in JAX or NumPy."""

    observation: A  # [C, ...]
    action: A  # [C, ...]
    next_observation: A  # [C, ...]
    label: A  # [C]; as a row of the machine's tables
    ground_terminated: A  # [C]
    extra: A  # [C, 1 + F]; the ground reward, and the value of each reward function
    configuration: A  # [C]; the real one


class CounterfactualBatch(NamedTuple):
    """B transitions in K configurations each."""

    features: Array  # [B, 1, G]
    next_features: Array  # [B, 1, G]
    real: Transitions[Array]  # [B, ...]
    source: Array  # [B, K], or [1, K] if the configurations are the same for all
    weight: Array  # [B, K]; of each in the loss


class Targets(NamedTuple):
    """What a batch leads to, in each of its configurations."""

    target: Array  # [B, K]; the next configuration
    reward: Array  # [B, K]; with shaping
    continues: Array  # [B, K]; whether the learner bootstraps there
    weight: Array  # [B, K]; 0 where nothing can be learned


def sample_transitions(
    replay: Transitions[Array], size: Array, u: Array, key: Array
) -> Transitions[Array]:
    """Draw transitions from the first ``size`` slots, one for each random number.

    A random number in single precision has 2²³ values. If these are too few to draw all slots
    about equally often, integers are drawn with the key instead.
    """
    if replay.label.shape[0] <= MAX_SLOTS_FOR_FLOATS:
        index = jnp.minimum((u * size).astype(jnp.int32), size - 1)
    else:
        index = jax.random.randint(key, u.shape, 0, size)
    return Transitions(*(array[index] for array in replay))


def counterfactual_batch(
    real: Transitions[Array],
    features: Callable[[Array], Array],
    seen_counters: Array,
    machine: JaxMachine,
    sampling: ConfigurationSampling,
    u: Array,
) -> CounterfactualBatch:
    """Choose configurations for transitions, and compute the features of their observations."""
    size = real.configuration.shape[0]
    if sampling.kind == CURRENT:
        source = real.configuration[:, None]
        weight = jnp.ones((size, 1), jnp.float32)
    elif sampling.kind == CHOSEN:
        is_source = _candidates(real.configuration, seen_counters, machine, sampling)
        source, weight = _choose(real.configuration, is_source, machine, sampling, u)
    else:
        is_source = machine.ending == GOES_ON
        if sampling.seen_only:
            is_source &= seen_counters[machine.counters]
        if sampling.kind == ALL:
            source = machine.non_terminal[None]
            weight = jnp.broadcast_to(is_source[source], (size, source.shape[1]))
            weight = weight.astype(jnp.float32)
        else:
            total = jnp.cumsum(is_source)
            number = (u.reshape(size, -1) * total[-1]).astype(jnp.int32)
            others = jnp.searchsorted(total, number, side="right").astype(jnp.int32)
            source = jnp.concatenate([real.configuration[:, None], others], axis=1)
            weight = jnp.ones(source.shape, jnp.float32)
    before, after = features(real.observation), features(real.next_observation)
    return CounterfactualBatch(before[:, None], after[:, None], real, source, weight)


def _candidates(
    real: Array, seen_counters: Array, machine: JaxMachine, sampling: ConfigurationSampling
) -> Array:
    """Return which configurations but the real one belong to a set: [B, X]."""
    found = machine.candidates[jnp.minimum(real, machine.candidates.shape[0] - 1)]
    found &= (machine.ending == GOES_ON) & (jnp.arange(found.shape[1]) != real[:, None])
    return found & seen_counters[machine.counters] if sampling.seen_only else found


def _choose(
    real: Array,
    is_candidate: Array,
    machine: JaxMachine,
    sampling: ConfigurationSampling,
    u: Array,
) -> tuple[Array, Array]:
    """Take the real configurations, and all candidates or a sample of them: sources, weights.

    A sample is drawn with replacement, unless there are no more candidates than wanted: then these
    are taken.
    """
    size, width = is_candidate.shape
    if sampling.number is None:
        every = machine.non_terminal if machine.non_terminal.size else jnp.arange(width)
        chosen = is_candidate[:, every] | (every == real[:, None])
        return every[None], chosen.astype(jnp.float32)
    total = jnp.cumsum(is_candidate, axis=1)
    count = total[:, -1:]
    wanted = sampling.number - 1
    drawn = (u.reshape(size, wanted) * count).astype(jnp.int32)
    number = jnp.where(count <= wanted, jnp.arange(wanted), drawn)
    found: Array = jax.vmap(partial(jnp.searchsorted, side="right"))(total, number)
    others = jnp.minimum(found, width - 1).astype(jnp.int32)
    source = jnp.concatenate([real[:, None], others], axis=1)
    weight = jnp.concatenate([jnp.ones((size, 1), bool), number < count], axis=1)
    return source, weight.astype(jnp.float32)


def relabel_batch(machine: JaxMachine, batch: CounterfactualBatch, discount: Array) -> Targets:
    """Apply :func:`cranium.counterfactual.relabel` to a batch, and add potentials for shaping."""
    real = batch.real
    _, target, reward, terminated, counts = jax_relabel(
        machine, batch.source, real.label, real.ground_terminated, real.extra
    )
    continues = ~terminated
    shaping = discount * machine.potential[target] * continues - machine.potential[batch.source]
    return Targets(target, reward + shaping, continues, batch.weight * counts)
