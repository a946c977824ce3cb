"""The interfaces of networks and optimisers of a user's own. They need no JAX to be imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    import jax

__all__ = ["Network", "NetworkInput", "Optimiser", "PyTree"]

PyTree = object
"""Arrays, or tuples, lists, dictionaries and other pytrees of arrays. Only JAX looks inside."""
Params = TypeVar("Params")
OptimiserState = TypeVar("OptimiserState")


class NetworkInput(NamedTuple):
    """The input of a network: B observations, each in K configurations of the machine.

    An observation comes once, not once for each configuration, so that a network can encode it once
    and join the result with the features of every configuration.

    Example:
        >>> import numpy as np
        >>> given = NetworkInput(np.zeros((32, 84, 84, 3)), np.zeros((32, 8, 5)))
        >>> given.machine.shape
        (32, 8, 5)
    """

    observation: jax.Array  # [B, ...]; float32; a Box keeps its shape, others are encoded
    machine: jax.Array  # [B, K, M]; the features of the configurations


@runtime_checkable
class Network(Protocol[Params]):
    """A Q-network. A ``flax.linen`` module is one, and so is a named tuple of two functions.

    ``Params`` is the type of its parameters: a pytree of arrays.

    Example:
        >>> class Linear(NamedTuple):
        ...     actions: int
        ...
        ...     def init(self, key, given):
        ...         import jax
        ...
        ...         return jax.random.normal(key, (given.machine.shape[-1], self.actions))
        ...
        ...     def apply(self, params, given):
        ...         return given.machine @ params  # it looks at the machine only
        >>> isinstance(Linear(4), Network)
        True
    """

    def init(self, key: jax.Array, given: NetworkInput, /) -> Params:
        """Draw the initial parameters, for inputs of these shapes."""

    def apply(self, params: Params, given: NetworkInput, /) -> jax.Array:
        """Compute the values of the A actions: [B, K, A]."""


@runtime_checkable
class Optimiser(Protocol[Params, OptimiserState]):
    """An optimiser. Every ``optax.GradientTransformation`` is one.

    Example:
        >>> class Descent(NamedTuple):
        ...     rate: float
        ...
        ...     def init(self, params):
        ...         return ()
        ...
        ...     def update(self, gradient, state, params):
        ...         import jax
        ...
        ...         return jax.tree.map(lambda g: -self.rate * g, gradient), state
        >>> isinstance(Descent(0.01), Optimiser)
        True
    """

    def init(self, params: Params, /) -> OptimiserState:
        """Return the state before the first update."""

    def update(
        self, gradient: Params, state: OptimiserState, params: Params, /
    ) -> tuple[Params, OptimiserState]:
        """Return the updates, which are added to the parameters, and the next state."""
