"""TD3 for continuous actions, and counterfactual TD3: the same updates, on what is imagined."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from cranium.learners.deep.arrays import JaxMachine
from cranium.learners.deep.counterfactual import Batch, Imagining, outcome
from cranium.learners.deep.network import Network, forward
from cranium.learners.deep.optimiser import Adam, adam, new_adam, new_network, normal

__all__ = ["TD3", "TD3Rates"]

Array = jax.Array


class Networks(NamedTuple):
    """One that acts, and two that value: the lesser of two values is less often too high."""

    actor: Network
    critics: tuple[Network, Network]


class Learned(NamedTuple):
    """What changes by learning."""

    network: Networks
    target: Networks
    actor_adam: Adam
    critic_adam: Adam
    loss: Array


class TD3Rates(NamedTuple):
    """Numbers that may change without compiling again."""

    learning_rate: Any
    discount: Any
    warmup: Any
    noise: Any
    target_noise: Any
    noise_clip: Any
    polyak: Any
    restraint: Any


class TD3(NamedTuple):
    """What the loop is compiled for: actions of D numbers from -1 to 1."""

    size: int
    hidden: tuple[int, ...]
    batch: int
    imagining: Imagining
    train_every: int
    delay: int

    @property
    def acting(self) -> int:
        """How many random numbers an action takes."""
        return self.size

    @property
    def learning(self) -> int:
        """How many random numbers an update takes, besides those of the batch."""
        return self.batch * self.size

    @property
    def waits(self) -> bool:
        """Whether it takes many samples before it learns: then updates are left out, not undone."""
        return True

    def no_action(self) -> Array:
        """An action like any other, for the size of the replay."""
        return jnp.zeros(self.size, jnp.float32)

    def weights(self, rng: np.random.Generator, ground: int, machine: JaxMachine) -> Networks:
        """The weights that it begins with."""
        features = machine.features.shape[1]
        actor = new_network(rng, ground, features, self.hidden, self.size)
        one, other = (
            new_network(rng, ground + self.size, features, self.hidden, 1) for _ in range(2)
        )
        return Networks(actor, (one, other))

    def new(self, networks: Networks, machine: JaxMachine, _: Any = None) -> Learned:  # noqa: ARG002
        """Before the first update."""
        states = new_adam(networks.actor), new_adam(networks.critics)
        return Learned(networks, networks, *states, jnp.zeros((), jnp.float32))

    def greedy(self, actor: Network, machine: JaxMachine, ground: Array, x: Array) -> Array:
        """What the actor does: [..., D]."""
        return jnp.tanh(forward(actor, ground, machine.features[x], jnp))

    def best(self, learned: Learned, machine: JaxMachine, ground: Array, x: Array) -> Array:
        """The action without noise: [..., D]."""
        return self.greedy(learned.network.actor, machine, ground, x)

    def act(
        self,
        learned: Learned,
        machine: JaxMachine,
        ground: Array,
        x: Array,
        rates: TD3Rates,
        samples: Array,
        episodes: Array,  # noqa: ARG002 - as other methods
        u: Array,
    ) -> Array:
        """The actor's action and some noise; anything at first."""
        best = self.best(learned, machine, ground, x)
        tried = jnp.clip(best + rates.noise * normal(u), -1.0, 1.0)
        return jnp.where(samples < rates.warmup, 2.0 * u - 1.0, tried)

    def improve(
        self,
        learned: Learned,
        machine: JaxMachine,
        batch: Batch,
        rates: TD3Rates,
        samples: Array,
        u: Array,
        everything: Any = None,  # noqa: ARG002
    ) -> Learned:
        """One step of gradient descent; every so often one for the actor, too."""
        active = samples >= rates.warmup
        found = outcome(machine, batch, rates.discount)
        total = jnp.maximum(found.weight.sum(), 1.0)
        noise = rates.target_noise * normal(u.reshape(-1, 1, self.size))
        noise = jnp.clip(noise, -rates.noise_clip, rates.noise_clip)
        then = self.greedy(learned.target.actor, machine, batch.after, found.then)
        then = jnp.clip(then + noise, -1.0, 1.0)
        ahead = _both(learned.target.critics, machine, batch.after, then, found.then).min(0)
        goal = found.reward + rates.discount * found.going * ahead
        shape = (*found.then.shape, self.size)
        done = jnp.broadcast_to(batch.action[:, None], shape)

        def loss(critics: Any) -> Array:
            q = _both(critics, machine, batch.before, done, batch.x)
            error: Array = (found.weight * (q - goal) ** 2).sum() / total
            return error

        value, gradient = jax.value_and_grad(loss)(learned.network.critics)
        rate = rates.learning_rate
        critics, critic_adam = adam(
            learned.network.critics, gradient, learned.critic_adam, rate, active=active
        )

        def regret(actor: Network) -> Array:
            q = _reached(actor, critics[0], machine, batch, shape, rates.restraint)
            return -(found.weight * q).sum() / total

        due = active & (samples % (self.delay * self.train_every) == 0)

        def follow() -> tuple[Network, Adam]:
            slope = jax.grad(regret)(learned.network.actor)
            return adam(learned.network.actor, slope, learned.actor_adam, rate, active=due)

        actor, actor_adam = jax.lax.cond(
            due, follow, lambda: (learned.network.actor, learned.actor_adam)
        )
        network = Networks(actor, critics)
        share = rates.polyak * due
        target = jax.tree.map(lambda t, w: t + share * (w - t), learned.target, network)
        return Learned(network, target, actor_adam, critic_adam, value)


def _value(critic: Network, machine: JaxMachine, ground: Array, action: Array, x: Array) -> Array:
    """Q of one critic: [B, K]."""
    shape = action.shape[:-1]
    wide = jnp.broadcast_to(ground, (*shape, ground.shape[-1]))
    both = jnp.concatenate([wide, action], axis=-1)
    q: Array = forward(critic, both, machine.features[x], jnp)[..., 0]
    return q


def _reached(
    actor: Network,
    critic: Network,
    machine: JaxMachine,
    batch: Batch,
    shape: tuple[int, ...],
    restraint: Array,
) -> Array:
    """Q of what the actor does, less what it costs: [B, K]."""
    wish = jnp.broadcast_to(forward(actor, batch.before, machine.features[batch.x], jnp), shape)
    q = _value(critic, machine, batch.before, jnp.tanh(wish), batch.x)
    # Where tanh is flat there is no way back, and a new critic's errors lead there.
    return q - restraint * (wish**2).sum(-1)


def _both(critics: Any, machine: JaxMachine, ground: Array, action: Array, x: Array) -> Array:
    """Q of both critics: [2, B, K]."""
    return jnp.stack([_value(critic, machine, ground, action, x) for critic in critics])
