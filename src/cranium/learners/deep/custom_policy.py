"""The policy of a network of a user's own. It needs JAX, and the network."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import gymnasium as gym
import jax
import numpy as np
from numpy.typing import NDArray

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.learners.deep.config import check_custom_network
from cranium.learners.deep.custom_network import CustomNetwork, custom_network
from cranium.learners.deep.custom_policy_files import fit_parameters, read_custom, save_custom
from cranium.learners.deep.policy import NetworkPolicy
from cranium.learners.deep.protocols import Network, PyTree
from cranium.learners.policy_files import load_policy

__all__ = ["CustomNetworkPolicy"]

Array = jax.Array
AT_ONCE = 256
"""The greatest number of observations that are given to the network at once."""


@dataclass(frozen=True, eq=False)
class CustomNetworkPolicy(NetworkPolicy):
    """The greedy policy of a network of a user's own; ``network`` is its parameters.

    Attributes:
        custom: The network, and the shape of its observations.
    """

    custom: CustomNetwork = field(kw_only=True, repr=False)

    def values(
        self, observations: Sequence[Any], configurations: Sequence[Configuration]
    ) -> NDArray[np.float32]:
        """Compute Q for each observation and each configuration: [O, X, A]."""
        machine = np.array([self.machine(x) for x in configurations])[None]
        parts = []
        for first in range(0, len(observations), AT_ONCE):
            some = observations[first : first + AT_ONCE]
            ground = np.array([self.ground(seen) for seen in some])[:, None]
            parts.append(np.asarray(_values(self.network, ground, machine, custom=self.custom)))
        return np.concatenate(parts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save its parameters in a ``.npz`` file, which :meth:`load` reads, given the network."""
        save_custom(self, path)

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        env: gym.Env[Any, Any] | None = None,
        *,
        network: Network[Any],
        rewards: Mapping[str, Callable[..., float]] | None = None,
    ) -> CustomNetworkPolicy:
        """Read a policy. The file has the parameters of the network, and not its code.

        Args:
            path: The file.
            env: If it is given, its task and its world must be those that the policy was made for.
            network: The network that the policy was trained with.
            rewards: The reward functions of the task, if it has any.

        Raises:
            PolicyError: The network has other parameters than those in the file.
        """
        check_custom_network(network)

        def build(
            about: dict[str, Any],
            arrays: dict[str, NDArray[Any]],
            automaton: CountingRewardAutomaton,
            shared: dict[str, Any],
        ) -> Any:
            stored = read_custom(about, arrays, automaton)
            return CustomNetworkPolicy(
                cast("Any", stored),  # they become parameters below
                stored.encoding,
                automaton,
                stored.num_actions,
                stored.first_action,
                custom=custom_network(network, stored.encoding),
                **shared,
            )

        # The parameters are compared afterwards: within, errors mean that the file is damaged.
        found: Any = load_policy(path, env, build, rewards=rewards)
        features = len(found.machine(found.automaton.start))
        initial = found.custom.init(np.random.default_rng(0), features, found.num_actions)
        fitted: Any = fit_parameters(found.network, initial, os.fspath(path))
        policy: CustomNetworkPolicy = replace(found, network=fitted)
        return policy


@partial(jax.jit, static_argnames=("custom",))
def _values(params: PyTree, features: Array, machine: Array, *, custom: CustomNetwork) -> Array:
    return custom.values(params, features, machine)
