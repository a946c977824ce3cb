"""The default network, a multilayer perceptron: in NumPy for policies, in JAX for training.

The first layer is split into a part for the ground observation and a part for the configuration.
It is linear, so both are computed once and added: relabelling an observation with many
configurations costs no more there than with one.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import jax

__all__ = ["Network", "all_heads", "forward"]

A = TypeVar("A", NDArray[np.float32], "jax.Array")
"""The arrays of NumPy, or of JAX."""


class Network(NamedTuple, Generic[A]):
    """The weights of a feed-forward network with ReLU: G and M features, H units at first."""

    ground: A  # [G, H]
    machine: A  # [M, H]; [0, H] if there is a head for each configuration
    bias: A  # [H]
    layers: tuple[tuple[A, A], ...]  # weights [H, H'] and biases [H']


def forward(network: Network[A], ground: A, machine: A, xp: ModuleType = np) -> A:
    """Compute the outputs for features that broadcast against each other: [..., G], [..., M].

    Example:
        >>> one = np.ones((1, 1))
        >>> network = Network(2 * one, 3 * one, np.zeros(1), ((one, np.ones(1)),))
        >>> forward(network, np.array([[1.0], [-4.0]]), np.array([[1.0]]))
        array([[6.],
               [1.]])
    """
    return _rest(network, ground @ network.ground + (machine @ network.machine + network.bias), xp)


def all_heads(network: Network[A], ground: A, actions: int, xp: ModuleType = np) -> A:
    """Compute the outputs of a network with a head for each configuration: [..., X, A]."""
    out = _rest(network, ground @ network.ground + network.bias, xp)
    return out.reshape(*out.shape[:-1], -1, actions)


def _rest(network: Network[A], hidden: A, xp: ModuleType) -> A:
    for weights, bias in network.layers:
        hidden = xp.maximum(hidden, 0) @ weights + bias
    return hidden
