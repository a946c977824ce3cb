"""Networks in files: the same ``.npz`` as other policies; nothing is pickled."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding
from cranium.arguments import check_memory
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import FileAccessError, shorten
from cranium.learners.deep.network import Network
from cranium.learners.policy_files import described, write_policy
from cranium.learners.serialisation import (
    clip_from,
    limit_from,
    space_data,
    space_from,
    whole,
)

__all__ = [
    "CUSTOM",
    "check_bounds",
    "check_network",
    "encoding_parts",
    "read_encoding",
    "read_network",
    "save_actor",
    "save_network",
]

CUSTOM = "custom network"
"""The kind of a policy whose network is a user's own: ``custom_policy_files`` reads it."""

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
    shared = encoding_parts(policy.encoding) | {"layers": len(policy.network.layers)}
    write_policy(path, described(policy) | shared | told, _arrays(policy.network))


def save_actor(policy: ActorPolicy, path: str | os.PathLike[str]) -> None:
    """Write the policy of an actor into a file; all or nothing."""
    bounds = {"low": np.asarray(policy.low), "high": np.asarray(policy.high)}
    told = encoding_parts(policy.encoding)
    told |= {"layers": len(policy.network.layers), "kind": "actor"}
    write_policy(path, described(policy) | told, _arrays(policy.network) | bounds)


def encoding_parts(encoding: BoxEncoding) -> dict[str, Any]:
    """Describe the features of a policy, for :func:`read_encoding`."""
    return {
        "encoding": [encoding.counters, encoding.clip, encoding.counter_limit, encoding.cells],
        "space": space_data(encoding.ground),
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
    if about["kind"] == CUSTOM:
        raise FileAccessError(
            f"the policy needs the code of its network, {shorten(about['network'])}, which is "
            "not in the file",
            fix="give the network: cranium.learners.deep.custom_policy.CustomNetworkPolicy.load("
            "path, network=…)",
        )
    whole(about["layers"], least=1, most=len(arrays))
    if about["kind"] not in ("network", "actor"):
        raise ValueError(f"a {shorten(about['kind'])}, not a network or an actor")
    layers = tuple(
        (arrays[f"weights{number}"], arrays[f"bias{number}"]) for number in range(about["layers"])
    )
    network = Network(arrays["ground"], arrays["machine"], arrays["bias"], layers)
    return network, read_encoding(about, automaton, len(network.ground))


def read_encoding(
    about: dict[str, Any], automaton: CountingRewardAutomaton, width: int | None = None
) -> BoxEncoding:
    """Read the encoding of a file; ``width`` is the number of ground features, if it is known."""
    counters, clip, limit, *cells = about["encoding"]  # older files do not tell cells
    how: Any = cells[0] if cells else "one-hot"
    encoding = BoxEncoding(counters, clip=clip_from(clip), cells=how)
    space = space_from(about["space"])
    found = spaces.flatdim(space) if how == "one-hot" else width
    if width is not None and found != width:  # before they are made
        raise ValueError(f"{found:,} features for {width:,} weights")
    check_memory(f"{found or 0:,} features", 4 * (found or 0), fix="load another file")
    encoding.bind(space, automaton, limit_from(limit))
    return encoding


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
