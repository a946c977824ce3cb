"""The policies of deep learners. They need no JAX."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding, Encoding
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.errors import PolicyError, WorldError
from cranium.learners.acting import Acting
from cranium.learners.deep.network import Network, all_heads, forward
from cranium.learners.deep.policy_files import (
    check_bounds,
    check_network,
    read_network,
    save_actor,
    save_network,
)
from cranium.learners.serialisation import configurations_from, whole
from cranium.worlds.observations import format_observation
from cranium.worlds.protocols import Observation

__all__ = ["ActorPolicy", "NetworkPolicy", "network_from", "scale_action"]

CHUNK = 1 << 20
"""The greatest number of hidden units that are computed at once."""


class _Policy(Acting):
    """The common part of both: features, and the interface of a policy."""

    encoding: BoxEncoding
    automaton: CountingRewardAutomaton

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """The observation space of the ground environment."""
        return self.encoding.ground

    def ground(self, observation: Any) -> NDArray[np.float32]:
        """Compute the features of an observation."""
        with np.errstate(over="ignore"):  # too large for single precision, it becomes infinite
            found = self._features(observation)
        if not np.isfinite(found).all():  # the network's outputs would be NaN
            raise PolicyError(
                f"the observation {format_observation(observation)} has numbers that are not "
                "finite in single precision",
                fix="act otherwise where nothing can be observed",
            )
        return found

    def _features(self, observation: Any) -> NDArray[np.float32]:
        if (
            isinstance(observation, np.ndarray)
            and observation.shape == self.observation_space.shape
        ):
            with suppress(WorldError):  # as it was in training
                return self.encoding.encode_ground(observation)
        try:
            return self.encoding.encode_ground(self.conformed(observation))
        except WorldError as problem:
            fix = "use the policy in the world that it was trained in"
            raise PolicyError(problem.message, fix=fix) from None

    def machine(self, configuration: Configuration) -> NDArray[np.float32]:
        """Compute the features of a configuration."""
        return self.encoding.encode_configuration(configuration)

    def with_unknown(self, unknown: str) -> Self:  # noqa: ARG002
        """Return the same policy: a network has values for every observation."""
        return self


@dataclass(frozen=True, eq=False)
class NetworkPolicy(_Policy):
    """The greedy policy of a Q-network.

    It has an action for every observation of its space and for every configuration, also for
    counter values that never occurred in training. (With a head for each configuration, only for
    those that have one.)

    Attributes:
        network: The weights.
        encoding: Computes the features of ground observations and configurations.
        automaton: The task.
        num_actions: The number of actions.
        first_action: The number of the first action in the environment.
        configurations: Those with a head of their own, if there are heads.
        world: The fingerprint of the environment in which it was trained, part by part.
        about: The metadata of the run: the learner, its settings, the seed, the samples.
        product_encoding: The encoding of the product, if it is not a ``DictEncoding``.
    """

    network: Network[NDArray[np.float32]] = field(repr=False)
    encoding: BoxEncoding = field(repr=False)
    automaton: CountingRewardAutomaton
    num_actions: int
    first_action: int = 0
    configurations: tuple[Configuration, ...] = field(default=(), repr=False)
    world: Mapping[str, Any] = field(default_factory=dict, repr=False)
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)
    product_encoding: Encoding | Mapping[str, Any] | None = field(default=None, repr=False)

    def __call__(
        self,
        observation: Any,
        configuration: Configuration,
        rng: np.random.Generator | None = None,  # noqa: ARG002 - as other policies
    ) -> int:
        """Return the greedy action, in the action space of the environment."""
        best = int(np.argmax(self.values([observation], [configuration])[0, 0]))
        return best + self.first_action

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save it in a ``.npz`` file, which :meth:`cranium.Policy.load` reads."""
        save_network(self, path)

    @property
    def action_space(self) -> spaces.Space[Any]:
        """The action space of the environment."""
        return spaces.Discrete(self.num_actions, start=self.first_action)

    def values(
        self, observations: Sequence[Any], configurations: Sequence[Configuration]
    ) -> NDArray[np.float32]:
        """Compute Q for each observation and each configuration: [O, X, A]."""
        ground = np.array([self.ground(seen) for seen in observations])
        if self.configurations:
            columns = [self.place(x) for x in configurations]
            found: NDArray[np.float32] = all_heads(self.network, ground, self.num_actions)
            return found[:, columns]
        machine = np.array([self.machine(x) for x in configurations])
        width = max(len(part) for part, _ in self.network.layers)
        step = max(1, CHUNK // (width * max(len(machine), 1)))
        parts = [
            forward(self.network, ground[i : i + step, None], machine[None])
            for i in range(0, len(ground), step)
        ]
        return np.concatenate(parts)

    def number(self, observation: Observation) -> int:
        """Return 0, after checking the observation: networks do not number observations."""
        self.ground(observation)
        return 0

    def place(self, configuration: Configuration) -> int:
        """Return the head of a configuration; 0 if the network has only one."""
        if not self.configurations:
            return 0
        try:
            return self.configurations.index(configuration)
        except ValueError:
            raise PolicyError(
                f"the configuration {configuration} has no head in this network",
                fix="train with a greater counter_limit, or without heads",
            ) from None

    def actions(
        self,
        observations: Sequence[Any],
        configurations: Sequence[Configuration],
        any_action: int,
    ) -> NDArray[np.int64]:
        """Return the greedy actions for all of them, counted from 0: [O, X].

        ``any_action - 1`` stands where asking the policy would be an error.
        """
        heads = set(self.configurations)
        known = [i for i, x in enumerate(configurations) if not heads or x in heads]
        best = np.full((len(observations), len(configurations)), any_action - 1)
        found = self.values(observations, [configurations[i] for i in known])
        best[:, known] = np.argmax(found, axis=2)
        return best


@dataclass(frozen=True, eq=False)
class ActorPolicy(_Policy):
    """The policy of the actor of TD3: continuous actions, without noise.

    Attributes:
        network: The weights of the actor.
        encoding: Computes the features of ground observations and configurations.
        automaton: The task.
        low: The lower bounds of actions. [D]
        high: The upper bounds. [D]
        world: The fingerprint of the environment in which it was trained, part by part.
        about: The metadata of the run.
        product_encoding: The encoding of the product, if it is not a ``DictEncoding``.
    """

    network: Network[NDArray[np.float32]] = field(repr=False)
    encoding: BoxEncoding = field(repr=False)
    automaton: CountingRewardAutomaton
    low: NDArray[np.floating[Any]] = field(repr=False)
    high: NDArray[np.floating[Any]] = field(repr=False)
    world: Mapping[str, Any] = field(default_factory=dict, repr=False)
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)
    product_encoding: Encoding | Mapping[str, Any] | None = field(default=None, repr=False)

    def __call__(
        self,
        observation: Any,
        configuration: Configuration,
        rng: np.random.Generator | None = None,  # noqa: ARG002 - as other policies
    ) -> NDArray[np.floating[Any]]:
        """Return the action, in the action space of the environment."""
        inner = forward(self.network, self.ground(observation), self.machine(configuration))
        return scale_action(np.tanh(inner), self.low, self.high)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save it in a ``.npz`` file, which :meth:`cranium.Policy.load` reads."""
        save_actor(self, path)

    @property
    def action_space(self) -> spaces.Space[Any]:
        """The action space of the environment."""
        return spaces.Box(self.low, self.high, dtype=self.low.dtype.type)


def scale_action(
    action: NDArray[np.floating[Any]],
    low: NDArray[np.floating[Any]],
    high: NDArray[np.floating[Any]],
) -> NDArray[np.floating[Any]]:
    """Scale an action from [-1, 1] to the bounds of the environment."""
    # In the precision of the bounds, because rounding could exceed them.
    inside: NDArray[np.floating[Any]] = np.asarray(low + (action + 1) / 2 * (high - low), low.dtype)
    kept: NDArray[np.floating[Any]] = np.clip(inside, low, high)
    return kept


def network_from(
    about: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    automaton: CountingRewardAutomaton,
    shared: dict[str, Any],
) -> NetworkPolicy | ActorPolicy:
    """Make the policy that a file describes; a wrong description raises ``ValueError``."""
    network, encoding = read_network(about, arrays, automaton)
    if about["kind"] == "actor":
        low, high = check_bounds(arrays["low"], arrays["high"])
        actor = ActorPolicy(network, encoding, automaton, low, high, **shared)
        check_network(network, encoding, len(low), heads=False)
        return actor
    heads = configurations_from(about["configurations"])
    count = whole(about["num_actions"], least=1)
    check_network(network, encoding, count * max(len(heads), 1), heads=bool(heads))
    return NetworkPolicy(
        network, encoding, automaton, count, whole(about["first_action"]), heads, **shared
    )
