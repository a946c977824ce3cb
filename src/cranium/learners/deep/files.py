"""Networks in files: the same ``.npz`` as other policies; nothing is pickled."""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.errors import WorldError
from cranium.learners.deep.network import Network
from cranium.learners.deep.policy import ActorPolicy, NetworkPolicy
from cranium.learners.files import described, write_policy

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
    about: dict[str, Any], arrays: dict[str, NDArray[Any]], automaton: CountingRewardAutomaton
) -> NetworkPolicy | ActorPolicy:
    """The policy that a file describes; what is wrong with it is a ``ValueError``."""
    if about["layers"] < 1 or about["kind"] not in ("network", "actor"):
        raise ValueError(f"a {about['kind']} with {about['layers']} layers")
    layers = tuple(
        (arrays[f"weights{number}"], arrays[f"bias{number}"]) for number in range(about["layers"])
    )
    network = Network(arrays["ground"], arrays["machine"], arrays["bias"], layers)
    counters, clip, limit, *cells = about["encoding"]  # older files do not tell cells
    encoding = BoxEncoding(counters, clip=clip, cells=cells[0] if cells else "one-hot")
    encoding.bind(space_from(about["space"]), automaton, limit)
    shared: dict[str, Any] = {"world": about["world"], "about": about["about"]}
    if about["kind"] == "actor":
        low, high = arrays["low"], arrays["high"]
        actor = ActorPolicy(network, encoding, automaton, low, high, **shared)
        _check(network, encoding, len(low), heads=False)
        return actor
    heads = tuple(Configuration(state, tuple(c)) for state, c in about["configurations"])
    count = int(about["num_actions"])
    _check(network, encoding, count * max(len(heads), 1), heads=bool(heads))
    return NetworkPolicy(
        network, encoding, automaton, count, int(about["first_action"]), heads, **shared
    )


def _check(network: Network, encoding: BoxEncoding, out: int, *, heads: bool) -> None:
    """Whether the weights fit each other, and what goes in and comes out."""
    features = 0 if heads else len(encoding.machine_part(encoding.automaton.start))
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


def space_data(space: spaces.Space[Any]) -> dict[str, Any]:
    """A space of observations as plain data."""
    if isinstance(space, spaces.Discrete):
        return {"discrete": [int(space.n), int(space.start)]}
    if isinstance(space, spaces.MultiDiscrete):
        return {"multi": [space.nvec.tolist(), space.start.tolist()], "dtype": str(space.dtype)}
    if isinstance(space, spaces.MultiBinary):
        return {"binary": np.asarray(space.n).tolist()}
    if isinstance(space, spaces.Box):
        bounds = [np.ravel(bound).tolist() for bound in (space.low, space.high)]
        return {"box": bounds, "shape": list(space.shape), "dtype": str(space.dtype)}
    if isinstance(space, spaces.Tuple):
        return {"tuple": [space_data(one) for one in space.spaces]}
    if isinstance(space, spaces.Dict):
        return {"dict": [[name, space_data(one)] for name, one in space.spaces.items()]}
    raise WorldError(f"a policy for observations in {space} cannot be written")


def space_from(data: dict[str, Any]) -> spaces.Space[Any]:
    """The space that plain data describes."""
    if "discrete" in data:
        return spaces.Discrete(data["discrete"][0], start=data["discrete"][1])
    if "multi" in data:
        sizes, start = (np.array(one, data["dtype"]) for one in data["multi"])
        return spaces.MultiDiscrete(sizes, dtype=np.dtype(data["dtype"]).type, start=start)
    if "binary" in data:
        return spaces.MultiBinary(data["binary"])
    if "box" in data:
        kind = np.dtype(data["dtype"])
        low, high = (np.array(one, kind).reshape(data["shape"]) for one in data["box"])
        return spaces.Box(low, high, dtype=kind.type)
    if "tuple" in data:
        return spaces.Tuple([space_from(one) for one in data["tuple"]])
    # Of a plain dictionary the keys would be sorted, and with them the features.
    return spaces.Dict(OrderedDict((name, space_from(one)) for name, one in data["dict"]))
