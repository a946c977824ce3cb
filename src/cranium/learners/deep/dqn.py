"""DQN, and counterfactual DQN: the same update, on what is imagined."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from cranium.learners.deep.imagine import Batch, Imagining, outcome
from cranium.learners.deep.network import Network, all_heads, forward
from cranium.learners.deep.optimiser import Adam, adam, huber, new_adam, new_network
from cranium.learners.deep.worlds import JaxMachine

__all__ = ["DQN", "DQNRates"]

Array = jax.Array


class Learned(NamedTuple):
    """What changes by learning."""

    network: Network
    target: Network
    adam: Adam
    loss: Array


class DQNRates(NamedTuple):
    """Numbers that may change without compiling again."""

    learning_rate: Array
    discount: Array
    warmup: Array
    target_every: Array
    exploration: Array  # [4]; first, last, over; whether episodes count


class DQN(NamedTuple):
    """What the loop is compiled for."""

    actions: int
    hidden: tuple[int, ...]
    batch: int
    imagining: Imagining
    train_every: int
    heads: bool
    double: bool

    @property
    def acting(self) -> int:
        """How many random numbers an action takes."""
        return 2

    @property
    def learning(self) -> int:
        """How many random numbers an update takes, besides those of the batch."""
        return 0

    def no_action(self) -> Array:
        """An action like any other, for the size of the replay."""
        return jnp.zeros((), jnp.int32)

    def new(self, key: Array, ground: int, machine: JaxMachine) -> Learned:
        """Before the first update."""
        x, features = machine.features.shape
        sizes = (ground, 0) if self.heads else (ground, features)
        out = x * self.actions if self.heads else self.actions
        network = new_network(key, *sizes, self.hidden, out)
        return Learned(network, network, new_adam(network), jnp.zeros((), jnp.float32))

    def values(self, network: Network, machine: JaxMachine, ground: Array, x: Array) -> Array:
        """Q, for ground features [..., G] and configurations [...]: [..., A]."""
        if not self.heads:
            q: Array = forward(network, ground, machine.features[x], jnp)
            return q
        heads = all_heads(network, ground, self.actions, jnp)
        shape = jnp.broadcast_shapes(heads.shape[:-2], x.shape)
        heads = jnp.broadcast_to(heads, (*shape, *heads.shape[-2:]))
        which = jnp.broadcast_to(x, shape)[..., None, None]
        return jnp.take_along_axis(heads, which, axis=-2)[..., 0, :]

    def best(self, learned: Learned, machine: JaxMachine, ground: Array, x: Array) -> Array:
        """The greedy action: [...]."""
        return jnp.argmax(self.values(learned.network, machine, ground, x), axis=-1)

    def act(
        self,
        learned: Learned,
        machine: JaxMachine,
        ground: Array,
        x: Array,
        rates: DQNRates,
        samples: Array,
        episodes: Array,
        u: Array,
    ) -> Array:
        """ε-greedy."""
        first, last, over, by_episodes = rates.exploration
        counted = jnp.where(by_episodes > 0, episodes, samples).astype(jnp.float32)
        exploration = first + (last - first) * jnp.minimum(counted / over, 1.0)
        best = self.best(learned, machine, ground, x).astype(jnp.int32)
        return jnp.where(u[0] < exploration, (u[1] * self.actions).astype(jnp.int32), best)

    def improve(
        self,
        learned: Learned,
        machine: JaxMachine,
        batch: Batch,
        rates: DQNRates,
        samples: Array,
        u: Array,  # noqa: ARG002 - nothing here is random
    ) -> Learned:
        """One step of gradient descent towards r + γ max Q."""
        found = outcome(machine, batch, rates.discount)
        ahead = self.values(learned.target, machine, batch.after, found.then)
        if self.double:
            judged = self.values(learned.network, machine, batch.after, found.then)
            best = jnp.take_along_axis(ahead, judged.argmax(-1)[..., None], axis=-1)[..., 0]
        else:
            best = ahead.max(-1)
        goal = found.reward + rates.discount * found.going * best
        total = jnp.maximum(found.weight.sum(), 1.0)

        def loss(network: Network) -> Array:
            q = self.values(network, machine, batch.before, batch.x)
            action = jnp.broadcast_to(batch.action[:, None, None], (*q.shape[:-1], 1))
            taken = jnp.take_along_axis(q, action, axis=-1)[..., 0]
            return (found.weight * huber(taken - goal)).sum() / total

        value, gradient = jax.value_and_grad(loss)(learned.network)
        active = samples >= rates.warmup
        network, state = adam(
            learned.network, gradient, learned.adam, rates.learning_rate, active=active
        )
        due = samples % rates.target_every == 0
        target: Any = jax.tree.map(partial(jnp.where, due), network, learned.target)
        return Learned(network, target, state, value)
