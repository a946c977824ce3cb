"""Networks in files: the same ``.npz`` as other policies; nothing is pickled."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import shorten
from cranium.learners.deep.network import Network
from cranium.learners.policy_files import described, write_policy
from cranium.learners.serialisation import (
    clip_from,
    limit_from,
    space_data,
    space_from,
    whole,
)

__all__ = ["check_bounds", "check_network", "read_network", "save_actor", "save_network"]

Weights = Network[NDArray[np.float32]]

if TYPE_CHECKING:
    from cranium.learners.deep.policy import ActorPolicy, NetworkPolicy


def save_network(policy: NetworkPolicy, path: str | os.PathLike[str]) -> None:
    """Write the policy of a network that values actions into a file; all or nothing."""
    told = {
        "kind": "network",
        "num_actions": policy.num_actions,
        "first_action": policy.first_action,
        "configurations": [[x.state, list(x.counters)] for x in policy.configurations],
    }
    shared = _encoding_data(policy.encoding, policy.network)
    write_policy(path, described(policy) | shared | told, _arrays(policy.network))


def save_actor(policy: ActorPolicy, path: str | os.PathLike[str]) -> None:
    """Write the policy of an actor into a file; all or nothing."""
    bounds = {"low": np.asarray(policy.low), "high": np.asarray(policy.high)}
    told = _encoding_data(policy.encoding, policy.network) | {"kind": "actor"}
    write_policy(path, described(policy) | told, _arrays(policy.network) | bounds)


def _encoding_data(encoding: BoxEncoding, network: Weights) -> dict[str, Any]:
    return {
        "encoding": [encoding.counters, encoding.clip, encoding.counter_limit, encoding.cells],
        "space": space_data(encoding.ground),
        "layers": len(network.layers),
    }


def _arrays(network: Weights) -> dict[str, NDArray[Any]]:
    found = {"ground": network.ground, "machine": network.machine, "bias": network.bias}
    for number, (weights, bias) in enumerate(network.layers):
        found |= {f"weights{number}": weights, f"bias{number}": bias}
    return {name: np.asarray(array) for name, array in found.items()}


def read_network(
    about: dict[str, Any], arrays: dict[str, NDArray[Any]], automaton: CountingRewardAutomaton
) -> tuple[Weights, BoxEncoding]:
    """Read the weights and the encoding of a file; what is wrong with them is a ``ValueError``."""
    whole(about["layers"], least=1, most=len(arrays))
    if about["kind"] not in ("network", "actor"):
        raise ValueError(f"a {shorten(about['kind'])}, not a network or an actor")
    layers = tuple(
        (arrays[f"weights{number}"], arrays[f"bias{number}"]) for number in range(about["layers"])
    )
    network = Network(arrays["ground"], arrays["machine"], arrays["bias"], layers)
    counters, clip, limit, *cells = about["encoding"]  # older files do not tell cells
    how: Any = cells[0] if cells else "one-hot"
    encoding = BoxEncoding(counters, clip=clip_from(clip), cells=how)
    space = space_from(about["space"])
    if how == "one-hot" and spaces.flatdim(space) != len(network.ground):  # before they are made
        raise ValueError(f"{spaces.flatdim(space):,} features for {len(network.ground):,} weights")
    encoding.bind(space, automaton, limit_from(limit))
    return network, encoding


def check_bounds(low: NDArray[Any], high: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Check the least and the greatest action: arrays of finite numbers, with low < high."""
    alike = low.ndim == 1 and low.shape == high.shape and low.dtype == high.dtype
    if not alike or low.dtype.kind != "f" or not np.isfinite([low, high]).all():
        raise ValueError(f"actions from {shorten(low)} to {shorten(high)}")
    if not (low < high).all():
        raise ValueError(f"actions from {shorten(low)} down to {shorten(high)}")
    return low, high


def check_network(network: Weights, encoding: BoxEncoding, out: int, *, heads: bool) -> None:
    """Check that the weights fit each other, the features and the number of outputs."""
    features = 0 if heads else len(encoding.encode_configuration(encoding.automaton.start))
    width = encoding.width
    for weights, bias in [
        (np.concatenate([network.ground, network.machine]), network.bias),
        *network.layers,
    ]:
        wanted = width + features
        if weights.dtype != np.float32 or bias.dtype != np.float32:
            raise ValueError(f"weights that are {weights.dtype}, not float32")
        if weights.ndim != 2 or bias.ndim != 1 or weights.shape != (wanted, len(bias)):
            raise ValueError(f"weights of the shape {weights.shape} for {wanted} features")
        if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
            raise ValueError("weights that are not finite")
        width, features = len(bias), 0
    if width != out:
        raise ValueError(f"{width} outputs, not {out}")
