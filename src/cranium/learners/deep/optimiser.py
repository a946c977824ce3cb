"""Initial weights, optimisers, and the Huber loss."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from numpy.typing import NDArray

from cranium.arguments import check_memory
from cranium.learners.deep.network import Network
from cranium.learners.deep.protocols import Optimiser, PyTree
from cranium.learners.deep.static import Static

__all__ = [
    "Adam",
    "adam",
    "huber",
    "init_adam",
    "init_network",
    "init_optimiser",
    "normal",
    "take_step",
]

Array = jax.Array
Params = TypeVar("Params")


def init_network(
    rng: np.random.Generator, ground: int, machine: int, hidden: tuple[int, ...], out: int
) -> Network[NDArray[np.float32]]:
    """Draw weights uniformly within 1/√(inputs), as PyTorch does.

    NumPy draws them, because JAX would take a second to compile that.
    """
    sizes = list(pairwise((ground + machine, *hidden, out)))
    count = sum(inputs * outputs for inputs, outputs in sizes)
    # Each weight has a target and two running means.
    check_memory(f"{count:,} weights", 16 * count, fix="use smaller layers (hidden=…)")
    drawn = []
    for inputs, outputs in sizes:
        bound = 1.0 / max(inputs, 1) ** 0.5
        weights, bias = (
            rng.uniform(-bound, bound, shape).astype(np.float32)
            for shape in ((inputs, outputs), (outputs,))
        )
        drawn.append((weights, bias))
    (first, bias), *layers = drawn
    return Network(first[:ground], first[ground:], bias, tuple(layers))


class Adam(NamedTuple, Generic[Params]):
    """The running means of gradients and of their squares."""

    mean: Params
    square: Params
    updates: Array


def init_adam(weights: Params) -> Adam[Params]:
    """Return the state before the first gradient."""
    zeros = jax.tree.map(jnp.zeros_like, weights)
    return Adam(zeros, zeros, jnp.zeros((), jnp.float32))


def adam(
    weights: Params,
    gradient: Params,
    state: Adam[Params],
    rate: Array | float,
    *,
    active: Array | bool = True,
) -> tuple[Params, Adam[Params]]:
    """Take one step of Adam (β₁ = 0.9, β₂ = 0.999, ε = 1e-8), or none if it is not active."""
    scale = jnp.asarray(active, jnp.float32)
    count = state.updates + scale
    keep = 1.0 - scale
    decay, decay_square = 0.9 * scale + keep, 0.999 * scale + keep
    mean = jax.tree.map(lambda m, g: decay * m + (1 - decay) * g, state.mean, gradient)
    square = jax.tree.map(
        lambda v, g: decay_square * v + (1 - decay_square) * g * g, state.square, gradient
    )
    safe = jnp.maximum(count, 1.0)
    step = scale * rate / (1 - 0.9**safe)
    root = jnp.sqrt(1 - 0.999**safe)
    weights = jax.tree.map(
        lambda w, m, v: w - step * m / (jnp.sqrt(v) / root + 1e-8), weights, mean, square
    )
    return weights, Adam(mean, square, count)


def init_optimiser(optimiser: Static[Optimiser[Any, Any]] | None, params: PyTree) -> PyTree:
    """Return the state of an optimiser before the first gradient; None is Adam."""
    return init_adam(params) if optimiser is None else optimiser.value.init(params)


def take_step(
    optimiser: Static[Optimiser[Params, Any]] | None,
    params: Params,
    gradient: Params,
    state: PyTree,
    rate: Array | float,
    *,
    active: Array,
) -> tuple[Params, PyTree]:
    """Take one step of an optimiser, or none if it is not active; None is Adam with this rate."""
    if optimiser is None:
        return adam(params, gradient, cast("Adam[Params]", state), rate, active=active)
    updates, after = optimiser.value.update(gradient, state, params)
    pick: Any = partial(jnp.where, active)
    stepped = jax.tree.map(lambda w, update: pick(w + update, w).astype(w.dtype), params, updates)
    return stepped, jax.tree.map(pick, after, state)


def huber(error: Array, most: float = 1.0) -> Array:
    """Compute the Huber loss: quadratic up to an error of ``most``, and linear beyond."""
    size = jnp.abs(error)
    return jnp.where(size < most, 0.5 * error * error, most * (size - 0.5 * most))


def normal(u: Array) -> Array:
    """Convert uniform random numbers to normal ones."""
    return ndtri(jnp.clip(u, 1e-6, 1.0 - 1e-6))
