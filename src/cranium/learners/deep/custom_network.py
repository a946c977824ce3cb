"""Networks of a user's own inside the training loop."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from cranium.aamdp.encoding import BoxEncoding
from cranium.errors import InvalidArgumentError, shorten
from cranium.learners.deep.protocols import Network, NetworkInput, PyTree
from cranium.learners.deep.static import Static

__all__ = ["CustomNetwork", "custom_network"]

Array = jax.Array


@dataclass(frozen=True)
class CustomNetwork:
    """A network of a user's own, and the shape in which it is given observations."""

    network: Static[Network[Any]]
    shape: tuple[int, ...]

    def init(self, rng: np.random.Generator, machine: int, actions: int) -> PyTree:
        """Draw the initial parameters, and check what the network returns."""
        shapes = (1, *self.shape), (1, 1, machine)
        given = NetworkInput(*(jnp.zeros(shape, jnp.float32) for shape in shapes))
        params = self.network.value.init(jax.random.key(int(rng.integers(2**32))), given)
        found = jax.eval_shape(self.network.value.apply, params, given)
        if getattr(found, "shape", None) != (1, 1, actions):
            raise InvalidArgumentError(
                f"the network returns {shorten(found)} for one observation in one configuration",
                fix=f"return the values of {actions} actions, in the shape (1, 1, {actions})",
            )
        return jax.tree.map(np.asarray, params)

    def values(self, params: PyTree, features: Array, machine: Array) -> Array:
        """Compute values: [B, K, A] for features [B, 1, G] and configurations [B or 1, K, M].

        Features [..., G] and configurations [..., M] of pairs are possible, too: [..., A].
        """
        if features.ndim == 3 and machine.ndim == 3:
            batch = features.shape[0]
            observation = features.reshape(batch, *self.shape)
            wide = jnp.broadcast_to(machine, (batch, *machine.shape[1:]))
            return self.network.value.apply(params, NetworkInput(observation, wide))
        pairs = prod(features.shape[:-1])
        observation = features.reshape(pairs, *self.shape)
        given = NetworkInput(observation, machine.reshape(pairs, 1, -1))
        return self.network.value.apply(params, given).reshape(*features.shape[:-1], -1)


def custom_network(network: Network[Any], encoding: BoxEncoding) -> CustomNetwork:
    """Prepare a network for the observations of an encoding: those of a Box keep their shape."""
    ground = encoding.ground
    keeps = isinstance(ground, spaces.Box) and prod(ground.shape) == encoding.width
    shape = ground.shape if keeps and ground.shape else (encoding.width,)
    return CustomNetwork(Static.of(network), tuple(shape))
