"""DQN, and counterfactual DQN: the same update, on what is imagined."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from cranium.learners.deep.arrays import JaxMachine
from cranium.learners.deep.counterfactual import Batch, Imagining, outcome
from cranium.learners.deep.network import Network, all_heads, forward
from cranium.learners.deep.optimiser import Adam, adam, huber, new_adam, new_network

__all__ = ["DQN", "DQNRates"]

Array = jax.Array


class Learned(NamedTuple):
    """What changes by learning."""

    network: Network
    target: Any  # the target network; or, if there is a table, its greatest values. [O, X]
    adam: Adam
    loss: Array


class DQNRates(NamedTuple):
    """Numbers that may change without compiling again."""

    learning_rate: Any
    discount: Any
    warmup: Any
    target_every: Any
    exploration: Any  # [4]; first, last, over; whether episodes count


class DQN(NamedTuple):
    """What the loop is compiled for."""

    actions: int
    hidden: tuple[int, ...]
    batch: int
    imagining: Imagining
    train_every: int
    heads: bool
    double: bool
    huber: float
    table: bool  # whether the target network is kept as its values of all that can be seen

    @property
    def acting(self) -> int:
        """How many random numbers an action takes."""
        return 2

    @property
    def learning(self) -> int:
        """How many random numbers an update takes, besides those of the batch."""
        return 0

    @property
    def waits(self) -> bool:
        """Whether it takes many samples before it learns: then updates are left out, not undone."""
        return False

    def width(self, machine: JaxMachine) -> int:
        """About how many numbers it takes to value an observation in a configuration."""
        x, features = machine.features.shape
        return features + sum(self.hidden) + self.actions * (2 * x if self.heads else 1)

    def no_action(self) -> Array:
        """An action like any other, for the size of the replay."""
        return jnp.zeros((), jnp.int32)

    def weights(self, rng: np.random.Generator, ground: int, machine: JaxMachine) -> Network:
        """The weights that it begins with."""
        x, features = machine.features.shape
        sizes = (ground, 0) if self.heads else (ground, features)
        out = x * self.actions if self.heads else self.actions
        return new_network(rng, *sizes, self.hidden, out)

    def new(self, network: Network, machine: JaxMachine, everything: Any = None) -> Learned:
        """Before the first update; a table needs the features of all that can be seen: [O, G]."""
        target = self._target(network, machine, everything)
        return Learned(network, target, new_adam(network), jnp.zeros((), jnp.float32))

    def _target(self, network: Network, machine: JaxMachine, everything: Any) -> Any:
        if not self.table:
            return network
        every = jnp.arange(machine.ending.shape[0])
        return self.values(network, machine, everything[:, None], every[None]).max(-1)

    def values(self, network: Network, machine: JaxMachine, ground: Array, x: Array) -> Array:
        """Q, for ground features [..., G] and configurations [...]: [..., A]."""
        if not self.heads:
            q: Array = forward(network, ground, machine.features[x], jnp)
            return q
        heads = all_heads(network, ground, self.actions, jnp)
        # Multiplied by ones and zeros: to pick an entry is slow on the way back.
        found: Array = (
            heads * jax.nn.one_hot(x, machine.ending.shape[0], dtype=jnp.float32)[..., None]
        ).sum(-2)
        return found

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
        everything: Any = None,
    ) -> Learned:
        """One step of gradient descent towards r + γ max Q."""
        found = outcome(machine, batch, rates.discount)
        best = self._best_ahead(learned, machine, batch, found.then)
        goal = found.reward + rates.discount * found.going * best
        total = jnp.maximum(found.weight.sum(), 1.0)
        chosen = jax.nn.one_hot(batch.action, self.actions, dtype=jnp.float32)[:, None]

        def loss(network: Network) -> Array:
            q = self.values(network, machine, batch.before, batch.x)
            taken = (q * chosen).sum(-1)
            return (found.weight * huber(taken - goal, self.huber)).sum() / total

        value, gradient = jax.value_and_grad(loss)(learned.network)
        active = samples >= rates.warmup
        network, state = adam(
            learned.network, gradient, learned.adam, rates.learning_rate, active=active
        )
        due = samples % rates.target_every < self.train_every  # it may not divide the other
        if self.table:
            renew = partial(self._target, network, machine, everything)
            target: Any = jax.lax.cond(due, renew, lambda: learned.target)
        else:
            target = jax.tree.map(partial(jnp.where, due), network, learned.target)
        return Learned(network, target, state, value)

    def _best_ahead(
        self, learned: Learned, machine: JaxMachine, batch: Batch, then: Array
    ) -> Array:
        """What the target network says of where a batch leads: [B, K]."""
        if self.table:
            table: Array = learned.target[batch.landed[:, None], then]
            return table
        ahead = self.values(learned.target, machine, batch.after, then)
        if not self.double:
            return ahead.max(-1)
        judged = self.values(learned.network, machine, batch.after, then)
        return jnp.take_along_axis(ahead, judged.argmax(-1)[..., None], axis=-1)[..., 0]
