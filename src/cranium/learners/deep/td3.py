"""TD3 for continuous actions, and counterfactual TD3: the same, on counterfactual batches."""

from __future__ import annotations

from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from cranium.learners.deep.counterfactual import (
    ConfigurationSampling,
    CounterfactualBatch,
    relabel_batch,
)
from cranium.learners.deep.machine import JaxMachine
from cranium.learners.deep.network import Network, forward
from cranium.learners.deep.optimiser import init_network, init_optimiser, normal, take_step
from cranium.learners.deep.protocols import Optimiser, PyTree
from cranium.learners.deep.static import Static

__all__ = ["TD3", "TD3Rates", "TD3State"]

Array = jax.Array
A = TypeVar("A")
N = TypeVar("N")
Critics = tuple[Network[Array], Network[Array]]


class ActorCritic(NamedTuple, Generic[N]):
    """The actor, and two critics: the lesser of two values is less often too high."""

    actor: N
    critics: tuple[N, N]


class TD3State(NamedTuple):
    """What an update changes."""

    params: ActorCritic[Network[Array]]
    target: ActorCritic[Network[Array]]
    actor_optimiser: PyTree
    critic_optimiser: PyTree
    loss: Array


class TD3Rates(NamedTuple, Generic[A]):
    """Settings that may change without compiling again, in JAX or NumPy."""

    learning_rate: A
    discount: A
    warmup: A
    noise: A
    target_noise: A
    noise_clip: A
    polyak: A
    restraint: A


class TD3(NamedTuple):
    """The settings for which the training loop is compiled: actions of D numbers from -1 to 1."""

    size: int  # D
    hidden: tuple[int, ...]
    batch: int
    sampling: ConfigurationSampling
    train_every: int
    delay: int
    optimiser: Static[Optimiser[Any, Any]] | None = None  # None is Adam

    @property
    def act_randoms(self) -> int:
        """The number of random numbers that an action takes."""
        return self.size

    @property
    def update_randoms(self) -> int:
        """The number of random numbers that an update takes, besides those of the batch."""
        return self.batch * self.size

    @property
    def has_long_warmup(self) -> bool:
        """Whether updates during the warmup are skipped, not computed and undone."""
        return True

    def zero_action(self) -> Array:
        """An action of zeros, whose shape and type the replay buffer takes over."""
        return jnp.zeros(self.size, jnp.float32)

    def init_params(
        self, rng: np.random.Generator, ground: int, machine: JaxMachine
    ) -> ActorCritic[Network[NDArray[np.float32]]]:
        """Draw the initial weights, for so many features of ground observations."""
        features = machine.features.shape[1]
        actor = init_network(rng, ground, features, self.hidden, self.size)
        one, other = (
            init_network(rng, ground + self.size, features, self.hidden, 1) for _ in range(2)
        )
        return ActorCritic(actor, (one, other))

    def init(
        self,
        params: ActorCritic[Network[Array]],
        machine: JaxMachine,  # noqa: ARG002 - as other methods
        all_features: Array | None = None,  # noqa: ARG002
    ) -> TD3State:
        """Return the state before the first update."""
        actor, critics = (init_optimiser(self.optimiser, part) for part in params)
        return TD3State(params, params, actor, critics, jnp.zeros((), jnp.float32))

    def greedy_action(
        self, learner: TD3State, machine: JaxMachine, features: Array, x: Array
    ) -> Array:
        """Return the actions of the actor, without noise: [..., D]."""
        return _act(learner.params.actor, machine, features, x)

    def act(
        self,
        learner: TD3State,
        machine: JaxMachine,
        features: Array,
        x: Array,
        rates: TD3Rates[Array],
        samples: Array,
        episodes: Array,  # noqa: ARG002 - as other methods
        u: Array,
    ) -> Array:
        """Add noise to the actor's action; during the warmup, draw a uniform one."""
        greedy = self.greedy_action(learner, machine, features, x)
        noisy = jnp.clip(greedy + rates.noise * normal(u), -1.0, 1.0)
        return jnp.where(samples < rates.warmup, 2.0 * u - 1.0, noisy)

    def update(
        self,
        learner: TD3State,
        machine: JaxMachine,
        batch: CounterfactualBatch,
        rates: TD3Rates[Array],
        samples: Array,
        u: Array,
        all_features: Array | None = None,  # noqa: ARG002
    ) -> TD3State:
        """Take one step of gradient descent with the critics, and a delayed one with the actor."""
        active = samples >= rates.warmup
        towards = relabel_batch(machine, batch, rates.discount)
        total = jnp.maximum(towards.weight.sum(), 1.0)
        noise = rates.target_noise * normal(u.reshape(-1, 1, self.size))
        noise = jnp.clip(noise, -rates.noise_clip, rates.noise_clip)
        next_action = _act(learner.target.actor, machine, batch.next_features, towards.target)
        next_action = jnp.clip(next_action + noise, -1.0, 1.0)
        next_value = _both_values(
            learner.target.critics, machine, batch.next_features, next_action, towards.target
        ).min(0)
        target_value = towards.reward + rates.discount * towards.continues * next_value
        shape = (*towards.target.shape, self.size)
        taken = jnp.broadcast_to(batch.real.action[:, None], shape)

        def critic_loss(critics: Critics) -> Array:
            q = _both_values(critics, machine, batch.features, taken, batch.source)
            error: Array = (towards.weight * (q - target_value) ** 2).sum() / total
            return error

        value, gradient = jax.value_and_grad(critic_loss)(learner.params.critics)
        rate = rates.learning_rate
        step = partial(take_step, self.optimiser)
        critics, critic_state = step(
            learner.params.critics, gradient, learner.critic_optimiser, rate, active=active
        )

        def actor_loss(actor: Network[Array]) -> Array:
            q = _actor_value(actor, critics[0], machine, batch, shape, rates.restraint)
            return -(towards.weight * q).sum() / total

        due = active & (samples % (self.delay * self.train_every) == 0)

        def update_actor() -> tuple[Network[Array], PyTree]:
            slope = jax.grad(actor_loss)(learner.params.actor)
            return step(learner.params.actor, slope, learner.actor_optimiser, rate, active=due)

        actor, actor_state = jax.lax.cond(
            due, update_actor, lambda: (learner.params.actor, learner.actor_optimiser)
        )
        params = ActorCritic(actor, critics)
        share = rates.polyak * due
        target = jax.tree.map(lambda t, w: t + share * (w - t), learner.target, params)
        return TD3State(params, target, actor_state, critic_state, value)


def _act(actor: Network[Array], machine: JaxMachine, features: Array, x: Array) -> Array:
    """Compute the actions of an actor: [..., D]."""
    return jnp.tanh(forward(actor, features, machine.features[x], jnp))


def _value(
    critic: Network[Array], machine: JaxMachine, features: Array, action: Array, x: Array
) -> Array:
    """Compute Q with one critic: [B, K]."""
    wide = jnp.broadcast_to(features, (*action.shape[:-1], features.shape[-1]))
    both = jnp.concatenate([wide, action], axis=-1)
    q: Array = forward(critic, both, machine.features[x], jnp)[..., 0]
    return q


def _actor_value(
    actor: Network[Array],
    critic: Network[Array],
    machine: JaxMachine,
    batch: CounterfactualBatch,
    shape: tuple[int, ...],
    restraint: Array,
) -> Array:
    """Compute Q of the actor's actions, less the restraint on its outputs: [B, K]."""
    output = forward(actor, batch.features, machine.features[batch.source], jnp)
    output = jnp.broadcast_to(output, shape)
    q = _value(critic, machine, batch.features, jnp.tanh(output), batch.source)
    # Where tanh is flat the gradient vanishes, and the errors of a new critic lead there.
    return q - restraint * (output**2).sum(-1)


def _both_values(
    critics: Critics, machine: JaxMachine, features: Array, action: Array, x: Array
) -> Array:
    """Compute Q with both critics: [2, B, K]."""
    return jnp.stack([_value(critic, machine, features, action, x) for critic in critics])
