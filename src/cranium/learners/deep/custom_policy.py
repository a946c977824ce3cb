"""The policy of a network of a user's own. It needs JAX, and the network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from cranium.automata.transition import Configuration
from cranium.errors import PolicyError
from cranium.learners.deep.custom_network import CustomNetwork
from cranium.learners.deep.policy import NetworkPolicy
from cranium.learners.deep.protocols import PyTree

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
        """Refuse to save: a file holds numbers, and cannot hold the code of a network."""
        raise PolicyError(
            f"a policy with a network of your own cannot be saved in {os.fspath(path)}",
            fix="save its parameters, policy.network, which is a pytree of arrays; to use them "
            "again, replace those of a policy: dataclasses.replace(policy, network=…)",
        )


@partial(jax.jit, static_argnames=("custom",))
def _values(params: PyTree, features: Array, machine: Array, *, custom: CustomNetwork) -> Array:
    return custom.values(params, features, machine)
