"""DQN, and counterfactual DQN: the same update, on counterfactual batches."""

from __future__ import annotations

from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np

from cranium.learners.deep.counterfactual import (
    ConfigurationSampling,
    CounterfactualBatch,
    relabel_batch,
)
from cranium.learners.deep.custom_network import CustomNetwork
from cranium.learners.deep.exploration import StaticRule
from cranium.learners.deep.machine import JaxMachine
from cranium.learners.deep.network import Network, all_heads, forward
from cranium.learners.deep.optimiser import huber, init_network, init_optimiser, take_step
from cranium.learners.deep.protocols import Optimiser, PyTree
from cranium.learners.deep.static import Static

__all__ = ["DQN", "DQNRates", "DQNState"]

Array = jax.Array
A = TypeVar("A")


class DQNState(NamedTuple):
    """What an update changes."""

    params: PyTree  # of the default network, or of the user's
    target: PyTree  # of the target network; or the table of its greatest values: [O, X]
    optimiser: PyTree
    loss: Array


class DQNRates(NamedTuple, Generic[A]):
    """Settings that may change without compiling again, in JAX or NumPy."""

    learning_rate: A
    discount: A
    warmup: A
    target_every: A
    exploration: A  # [4]; first, last, over; whether it counts episodes


class DQN(NamedTuple):
    """The settings for which the training loop is compiled."""

    actions: int
    hidden: tuple[int, ...]
    batch: int
    sampling: ConfigurationSampling
    train_every: int
    heads: bool
    double: bool
    huber: float
    tabulates_target: bool  # whether the target network is stored as the table of its values
    rule: StaticRule | None = None  # of exploration; None is ε-greedy
    network: CustomNetwork | None = None  # None is the default network
    optimiser: Static[Optimiser[Any, Any]] | None = None  # None is Adam

    @property
    def act_randoms(self) -> int:
        """The number of random numbers that an action takes."""
        return 2 if self.rule is None else 1

    @property
    def update_randoms(self) -> int:
        """The number of random numbers that an update takes, besides those of the batch."""
        return 0

    @property
    def has_long_warmup(self) -> bool:
        """Whether updates during the warmup are skipped, not computed and undone."""
        return False

    def width(self, machine: JaxMachine) -> int:
        """The number of floats that the values of one pair take, roughly: for memory limits."""
        x, features = machine.features.shape
        return features + sum(self.hidden) + self.actions * (2 * x if self.heads else 1)

    def zero_action(self) -> Array:
        """An action of zeros, whose shape and type the replay buffer takes over."""
        return jnp.zeros((), jnp.int32)

    def init_params(self, rng: np.random.Generator, ground: int, machine: JaxMachine) -> PyTree:
        """Draw the initial weights, for so many features of ground observations."""
        x, features = machine.features.shape
        if self.network is not None:
            return self.network.init(rng, features, self.actions)
        sizes = (ground, 0) if self.heads else (ground, features)
        out = x * self.actions if self.heads else self.actions
        return init_network(rng, *sizes, self.hidden, out)

    def init(
        self, params: PyTree, machine: JaxMachine, all_features: Array | None = None
    ) -> DQNState:
        """Return the state before the first update; a table needs ``all_features``: [O, G]."""
        target = self._target(params, machine, all_features)
        return DQNState(
            params, target, init_optimiser(self.optimiser, params), jnp.zeros((), jnp.float32)
        )

    def _target(self, params: PyTree, machine: JaxMachine, all_features: Array | None) -> PyTree:
        if all_features is None or not self.tabulates_target:
            return params
        every = jnp.arange(machine.ending.shape[0])
        return self.values(params, machine, all_features[:, None], every[None]).max(-1)

    def values(self, params: PyTree, machine: JaxMachine, features: Array, x: Array) -> Array:
        """Compute Q for features [..., G] and configurations [...]: [..., A]."""
        if self.network is not None:
            return self.network.values(params, features, machine.features[x])
        network = cast("Network[Array]", params)
        if not self.heads:
            return forward(network, features, machine.features[x], jnp)
        heads = all_heads(network, features, self.actions, jnp)
        # A product with ones and zeros, because the gradient of indexing is slow.
        found: Array = (
            heads * jax.nn.one_hot(x, machine.ending.shape[0], dtype=jnp.float32)[..., None]
        ).sum(-2)
        return found

    def greedy_action(
        self, learner: DQNState, machine: JaxMachine, features: Array, x: Array
    ) -> Array:
        """Return the greedy actions: [...]."""
        return jnp.argmax(self.values(learner.params, machine, features, x), axis=-1)

    def act(
        self,
        learner: DQNState,
        machine: JaxMachine,
        features: Array,
        x: Array,
        rates: DQNRates[Array],
        samples: Array,
        episodes: Array,
        u: Array,
    ) -> Array:
        """Choose an action by the exploration rule."""
        first, last, over, by_episodes = rates.exploration
        counted = jnp.where(by_episodes > 0, episodes, samples).astype(jnp.float32)
        exploration = first + (last - first) * jnp.minimum(counted / over, 1.0)
        if self.rule is not None:
            q = self.values(learner.params, machine, features, x)
            return self.rule.choose(q, exploration, u[0])
        best = self.greedy_action(learner, machine, features, x).astype(jnp.int32)
        return jnp.where(u[0] < exploration, (u[1] * self.actions).astype(jnp.int32), best)

    def update(
        self,
        learner: DQNState,
        machine: JaxMachine,
        batch: CounterfactualBatch,
        rates: DQNRates[Array],
        samples: Array,
        u: Array,  # noqa: ARG002 - nothing here is random
        all_features: Array | None = None,
    ) -> DQNState:
        """Take one step of gradient descent towards r + γ max Q."""
        towards = relabel_batch(machine, batch, rates.discount)
        best = self._next_value(learner, machine, batch, towards.target)
        target_value = towards.reward + rates.discount * towards.continues * best
        total = jnp.maximum(towards.weight.sum(), 1.0)
        chosen = jax.nn.one_hot(batch.real.action, self.actions, dtype=jnp.float32)[:, None]

        def loss(params: PyTree) -> Array:
            q = self.values(params, machine, batch.features, batch.source)
            error = (q * chosen).sum(-1) - target_value
            return (towards.weight * huber(error, self.huber)).sum() / total

        value, gradient = jax.value_and_grad(loss)(learner.params)
        active = samples >= rates.warmup
        params, state = take_step(
            self.optimiser,
            learner.params,
            gradient,
            learner.optimiser,
            rates.learning_rate,
            active=active,
        )
        due = samples % rates.target_every < self.train_every  # it may not divide the other
        if self.tabulates_target:
            renew = partial(self._target, params, machine, all_features)
            target: PyTree = jax.lax.cond(due, renew, lambda: learner.target)
        else:
            target = jax.tree.map(partial(jnp.where, due), params, learner.target)
        return DQNState(params, target, state, value)

    def _next_value(
        self, learner: DQNState, machine: JaxMachine, batch: CounterfactualBatch, then: Array
    ) -> Array:
        """Compute the values of the next observations in the next configurations: [B, K]."""
        if self.tabulates_target:
            table = cast("Array", learner.target)
            return table[batch.real.next_observation[:, None], then]
        values = self.values(learner.target, machine, batch.next_features, then)
        if not self.double:
            return values.max(-1)
        chosen = self.values(learner.params, machine, batch.next_features, then).argmax(-1)
        return jnp.take_along_axis(values, chosen[..., None], axis=-1)[..., 0]
