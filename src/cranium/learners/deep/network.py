"""The default network, a multilayer perceptron: in NumPy for policies, in JAX for training.

The first layer is split into a part for the ground observation and a part for the configuration.
It is linear, so both are computed once and added: relabelling an observation with many
configurations costs no more there than with one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Network", "all_heads", "forward"]


class Network(NamedTuple):
    """The weights of a feed-forward network with ReLU: G and M features, H units at first."""

    ground: Any  # [G, H]
    machine: Any  # [M, H]; [0, H] if there is a head for each configuration
    bias: Any  # [H]
    layers: tuple[tuple[Any, Any], ...]  # weights [H, H'] and biases [H']


def forward(network: Network, ground: Any, machine: Any, xp: Any = np) -> Any:
    """Compute the outputs for features that broadcast against each other: [..., G], [..., M].

    Example:
        >>> one = np.ones((1, 1))
        >>> network = Network(2 * one, 3 * one, np.zeros(1), ((one, np.ones(1)),))
        >>> forward(network, np.array([[1.0], [-4.0]]), np.array([[1.0]]))
        array([[6.],
               [1.]])
    """
    return _rest(network, ground @ network.ground + (machine @ network.machine + network.bias), xp)


def all_heads(network: Network, ground: Any, actions: int, xp: Any = np) -> Any:
    """Compute the outputs of a network with a head for each configuration: [..., X, A]."""
    out = _rest(network, ground @ network.ground + network.bias, xp)
    return out.reshape(*out.shape[:-1], -1, actions)


def _rest(network: Network, hidden: Any, xp: Any) -> Any:
    for weights, bias in network.layers:
        hidden = xp.maximum(hidden, 0) @ weights + bias
    return hidden
