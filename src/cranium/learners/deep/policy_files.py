"""Networks in files: the same ``.npz`` as other policies; nothing is pickled."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import shorten
from cranium.learners.deep.network import Network
from cranium.learners.deep.policy import ActorPolicy, NetworkPolicy
from cranium.learners.policy_files import described, write_policy
from cranium.learners.serialisation import (
    clip_from,
    configurations_from,
    limit_from,
    space_data,
    space_from,
    whole,
)

__all__ = ["network_from", "save_network"]


def save_network(policy: NetworkPolicy | ActorPolicy, path: str | os.PathLike[str]) -> None:
    """Write a policy into a file; all or nothing."""
    encoding = policy.encoding
    told: dict[str, Any] = {
        "encoding": [encoding.counters, encoding.clip, encoding.counter_limit, encoding.cells],
        "space": space_data(encoding.ground),
        "layers": len(policy.network.layers),
    }
    arrays = _arrays(policy.network)
    if isinstance(policy, NetworkPolicy):
        told |= {
            "kind": "network",
            "num_actions": policy.num_actions,
            "first_action": policy.first_action,
            "configurations": [[x.state, list(x.counters)] for x in policy.configurations],
        }
    else:
        told["kind"] = "actor"
        arrays |= {"low": np.asarray(policy.low), "high": np.asarray(policy.high)}
    write_policy(path, described(policy) | told, arrays)


def _arrays(network: Network) -> dict[str, NDArray[Any]]:
    found = {"ground": network.ground, "machine": network.machine, "bias": network.bias}
    for number, (weights, bias) in enumerate(network.layers):
        found |= {f"weights{number}": weights, f"bias{number}": bias}
    return {name: np.asarray(array) for name, array in found.items()}


def network_from(
    about: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    automaton: CountingRewardAutomaton,
    shared: dict[str, Any],
) -> NetworkPolicy | ActorPolicy:
    """The policy that a file describes; what is wrong with it is a ``ValueError``."""
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
    if about["kind"] == "actor":
        low, high = _bounds(arrays["low"], arrays["high"])
        actor = ActorPolicy(network, encoding, automaton, low, high, **shared)
        _check(network, encoding, len(low), heads=False)
        return actor
    heads = configurations_from(about["configurations"])
    count = whole(about["num_actions"], least=1)
    _check(network, encoding, count * max(len(heads), 1), heads=bool(heads))
    return NetworkPolicy(
        network, encoding, automaton, count, whole(about["first_action"]), heads, **shared
    )


def _bounds(low: NDArray[Any], high: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Check the least and the greatest action: arrays of finite numbers, with low < high."""
    alike = low.ndim == 1 and low.shape == high.shape and low.dtype == high.dtype
    if not alike or low.dtype.kind != "f" or not np.isfinite([low, high]).all():
        raise ValueError(f"actions from {shorten(low)} to {shorten(high)}")
    if not (low < high).all():
        raise ValueError(f"actions from {shorten(low)} down to {shorten(high)}")
    return low, high


def _check(network: Network, encoding: BoxEncoding, out: int, *, heads: bool) -> None:
    """Whether the weights fit each other, and what goes in and comes out."""
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
