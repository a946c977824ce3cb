"""What JAX holds of a training, for checkpoints: the leaves of pytrees, by their places in them."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from cranium.learners.deep.counterfactual import Transitions
from cranium.learners.saved_state import SavedState

__all__ = ["restore_replay", "restore_tree", "save_replay", "save_tree"]

TreeT = TypeVar("TreeT")


def save_tree(saved: SavedState, name: str, tree: object) -> None:
    """Add the leaves of a pytree.

    Example:
        >>> saved = SavedState()
        >>> save_tree(saved, "weights", (jnp.ones(2), {"bias": jnp.zeros(())}))
        >>> sorted(saved.arrays)
        ['weights_0', 'weights_1']
        >>> restore_tree(saved, "weights", (jnp.zeros(2), {"bias": jnp.ones(())}))
        (Array([1., 1.], dtype=float32), {'bias': Array(0., dtype=float32)})
    """
    for number, leaf in enumerate(jax.tree.leaves(tree)):
        saved.arrays[f"{name}_{number}"] = _stored(leaf)


def restore_tree(saved: SavedState, name: str, like: TreeT) -> TreeT:
    """Return a pytree of the same kind, with the leaves that were saved."""
    leaves, kind = jax.tree.flatten(like)
    found = [_restored(saved, f"{name}_{number}", leaf) for number, leaf in enumerate(leaves)]
    tree: TreeT = jax.tree.unflatten(kind, found)
    return tree


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(jnp.asarray(leaf).dtype, jax.dtypes.prng_key)


def _stored(leaf: Any) -> NDArray[Any]:
    found = np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)
    # A file has no numbers such as bfloat16: their bytes will do.
    return found if found.dtype.kind in "biuf" else np.frombuffer(found.tobytes(), np.uint8)


def _restored(saved: SavedState, name: str, like: Any) -> Any:
    stored = _stored(like)
    found = saved.array(name, stored.dtype, stored.shape)
    if _is_key(like):
        return jax.random.wrap_key_data(jnp.asarray(found), impl=jax.random.key_impl(like))
    plain = np.asarray(like)
    if plain.dtype.kind not in "biuf":
        found = np.frombuffer(found.tobytes(), plain.dtype).reshape(plain.shape)
    return found.copy() if isinstance(like, np.ndarray) else jnp.asarray(found)


def save_replay(saved: SavedState, replay: Transitions[Any], samples: int) -> None:
    """Add what a replay buffer holds.

    The next observation is mostly the one that the next slot begins with: then it is not kept.
    """
    size = min(samples, len(replay.label))
    for name, array in zip(Transitions._fields, replay, strict=True):
        if name != "next_observation":
            saved.arrays[f"replay_{name}"] = np.asarray(array[:size])
    observation = np.asarray(replay.observation[:size])
    following = np.asarray(replay.next_observation[:size])
    same = _rows_equal(np.roll(observation, -1, axis=0), following)
    saved.arrays["replay_follows"] = same
    saved.arrays["replay_next_observation"] = following[~same]


def restore_replay(
    saved: SavedState,
    like: Transitions[Any],
    samples: int,
    *,
    labels: int,
    configurations: int,
    actions: int | None,
    observations: int | None = None,
) -> Transitions[NDArray[Any]]:
    """Return a replay buffer with what was saved.

    Args:
        saved: The state.
        like: An empty buffer, with its shapes.
        samples: How many samples were taken.
        labels: The number of labels.
        configurations: The number of configurations.
        actions: The number of actions, if they are numbers.
        observations: The number of observations, if they are numbers.
    """
    most = {
        "label": labels - 1,
        "configuration": configurations - 1,
        "action": None if actions is None else actions - 1,
        "observation": None if observations is None else observations - 1,
    }
    size = min(samples, len(like.label))
    follows = saved.array("replay_follows", np.bool_, (size,))
    found: list[NDArray[Any]] = []
    for name, empty in zip(Transitions._fields, like, strict=True):
        array = np.zeros(empty.shape, empty.dtype)
        part: slice | NDArray[np.bool_] = slice(size)
        if name == "next_observation":
            array[:size] = np.roll(found[0][:size], -1, axis=0)
            part = np.zeros(len(array), np.bool_)
            part[:size] = ~follows
        shape = array[part].shape
        bound = most.get(name.removeprefix("next_"))
        told = {} if bound is None else {"least": 0, "most": bound}
        array[part] = saved.array(f"replay_{name}", empty.dtype, shape, **told)
        found.append(array)
    return Transitions(*found)


def _rows_equal(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether rows have the same bytes."""
    if not len(one):
        return np.zeros(0, np.bool_)
    flat = (
        np.ascontiguousarray(each).reshape(len(each), -1).view(np.uint8) for each in (one, other)
    )
    first, second = flat
    return np.asarray((first == second).all(axis=1))
