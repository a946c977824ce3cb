"""Equinox modules as networks: an adapter between their style and ``init`` and ``apply``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from cranium.errors import MissingExtraError
from cranium.learners.deep.protocols import NetworkInput, PyTree

__all__ = ["EquinoxNetwork"]


@dataclass(frozen=True)
class EquinoxNetwork:
    """A Q-network that is an Equinox module.

    Attributes:
        make: Makes the module, from a random key and an input that shows the shapes. The module is
            called with a :class:`~cranium.learners.NetworkInput` and returns [B, K, A].

    Example:
        >>> import equinox, jax.numpy as jnp
        >>> class Linear(equinox.Module):
        ...     layer: equinox.nn.Linear
        ...
        ...     def __call__(self, given):
        ...         return jax.vmap(jax.vmap(self.layer))(given.machine)
        >>> def make(key, given):
        ...     return Linear(equinox.nn.Linear(given.machine.shape[-1], 4, key=key))
        >>> network = EquinoxNetwork(make)
        >>> given = NetworkInput(jnp.zeros((2, 3)), jnp.zeros((2, 5, 6)))
        >>> network.apply(network.init(jax.random.key(0), given), given).shape
        (2, 5, 4)
    """

    make: Callable[[jax.Array, NetworkInput], Any]

    def init(self, key: jax.Array, given: NetworkInput) -> PyTree:
        """Make the module and return its arrays."""
        equinox = _equinox()
        return equinox.filter(self.make(key, given), equinox.is_array)

    def apply(self, params: PyTree, given: NetworkInput) -> jax.Array:
        """Call the module with these arrays: [B, K, A]."""
        equinox = _equinox()
        # The parts that are not arrays do not depend on the key, and cost nothing to make again.
        skeleton = equinox.filter_eval_shape(self.make, jax.random.key(0), given)
        rest = equinox.filter(skeleton, _is_shape, inverse=True)
        found: jax.Array = equinox.combine(params, rest)(given)
        return found


def _is_shape(leaf: object) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)


def _equinox() -> Any:
    try:
        import equinox
    except ImportError:
        raise MissingExtraError.of(
            "an EquinoxNetwork needs Equinox, which is not installed", "equinox"
        ) from None
    return equinox
