"""The parameters of a user's own network in files: arrays and their names; nothing is pickled."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import FileAccessError, PolicyError, shorten
from cranium.learners.deep.policy_files import CUSTOM, encoding_parts, read_encoding
from cranium.learners.deep.protocols import PyTree
from cranium.learners.policy_files import described, write_policy
from cranium.learners.serialisation import whole

if TYPE_CHECKING:
    from cranium.learners.deep.custom_policy import CustomNetworkPolicy

__all__ = ["StoredParameters", "fit_parameters", "read_custom", "save_custom"]

MAX_LEAVES = 999
"""The greatest number of arrays that a file holds, besides its description."""


class StoredParameters(NamedTuple):
    """The contents of a file: parameters without the structure that only the network knows."""

    leaves: dict[str, NDArray[Any]]  # by their paths in the pytree
    encoding: BoxEncoding
    num_actions: int
    first_action: int


def save_custom(policy: CustomNetworkPolicy, path: str | os.PathLike[str]) -> None:
    """Write the parameters of a network into a file; all or nothing."""
    leaves = _leaves_of(policy.network)
    unusual = [name for name, leaf in leaves.items() if leaf.dtype.kind not in "biuf"]
    if unusual or len(leaves) > MAX_LEAVES:
        what = f"{unusual[0]} is {leaves[unusual[0]].dtype}" if unusual else f"{len(leaves):,}"
        raise PolicyError(
            f"the parameters of the network cannot be saved: {what}",
            fix=f"use at most {MAX_LEAVES} arrays of the usual numbers, such as float32",
        )
    told = {
        "kind": CUSTOM,
        "network": type(policy.custom.network.value).__name__,
        "parameters": list(leaves),
        "num_actions": policy.num_actions,
        "first_action": policy.first_action,
    }
    arrays = {f"weights{number}": leaf for number, leaf in enumerate(leaves.values())}
    write_policy(path, described(policy) | encoding_parts(policy.encoding) | told, arrays)


def read_custom(
    about: dict[str, Any], arrays: dict[str, NDArray[Any]], automaton: CountingRewardAutomaton
) -> StoredParameters:
    """Read the parameters of a file; what is wrong with them is a ``ValueError``."""
    if about.get("kind") != CUSTOM:
        raise FileAccessError(
            "the policy has no network of a user's own", fix="load it with cranium.Policy.load"
        )
    names = about["parameters"]
    leaves = {str(name): arrays[f"weights{number}"] for number, name in enumerate(names)}
    if len(leaves) != len(arrays):
        raise ValueError(f"{len(leaves):,} names for {len(arrays):,} arrays")
    for name, leaf in leaves.items():
        if leaf.dtype.kind not in "biuf" or not np.isfinite(leaf).all():
            raise ValueError(f"parameters {shorten(name)} that are not finite numbers")
    return StoredParameters(
        leaves,
        read_encoding(about, automaton),
        whole(about["num_actions"], least=1),
        whole(about["first_action"]),
    )


def fit_parameters(stored: StoredParameters, initial: PyTree, path: str) -> PyTree:
    """Put stored parameters into the structure of a network's initial ones.

    Raises:
        PolicyError: Names, shapes or dtypes differ.
    """
    found, wanted = (
        {name: f"{leaf.dtype}{list(leaf.shape)}" for name, leaf in leaves.items()}
        for leaves in (stored.leaves, _leaves_of(initial))
    )
    for name in (*found, *wanted):
        if found.get(name) != wanted.get(name):
            raise PolicyError(
                f"{path} has parameters of another network: {shorten(name)} is "
                f"{found.get(name, 'not there')}, and in the network "
                f"{wanted.get(name, 'not there')}",
                fix="give network=… as it was in training, with the same sizes",
            )
    ordered: PyTree = jax.tree.unflatten(
        jax.tree.structure(initial), [stored.leaves[name] for name in wanted]
    )
    return ordered


def _leaves_of(params: PyTree) -> dict[str, NDArray[Any]]:
    """List the arrays of a pytree by their paths, such as ``['filters'][0]``."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(params)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}
