"""Policies in files: one ``.npz`` with the values and a description in JSON; nothing is pickled."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.planning import as_tabular, find_product
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.files import dumps, loads, write_bytes
from cranium.automata.transition import Configuration
from cranium.errors import (
    FileAccessError,
    FileFormatError,
    InvalidArgumentError,
    PolicyError,
    SpaceError,
    WorldError,
    shorten,
)
from cranium.learners.policy import Policy
from cranium.worlds.observations import hashable
from cranium.worlds.tabular import TabularWorld

__all__ = ["load_policy", "save_policy", "world_print"]

FORMAT = "cranium policy"
VERSION = 1
ENDING = ".npz"
TABLE = ", table "


def save_policy(policy: Policy, path: str | os.PathLike[str]) -> None:
    """Write a policy into a file; all or nothing."""
    seen, arrays = _observations(policy.observations)
    more = {
        "configurations": [[x.state, list(x.counters)] for x in policy.configurations],
        "observations": seen,
        "first_action": policy.first_action,
        "discretised": policy.discretise is not None,
    }
    write_policy(path, described(policy) | more, {"q": policy.q, **arrays})


def described(policy: Any) -> dict[str, Any]:
    """What every file says of its policy."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "automaton": dumps(policy.automaton, form="json"),
        "world": policy.world,
        "about": dict(policy.about),
    }


def write_policy(
    path: str | os.PathLike[str], about: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> None:
    """Write a description and arrays into a file; all or nothing."""
    where = check_path(path)
    try:
        text = json.dumps(about, ensure_ascii=False, default=_plain)
    except TypeError as problem:
        raise InvalidArgumentError(
            f"the policy cannot be written: {problem}",
            fix="observations and what is said about it must be numbers, names and lists of them",
        ) from None
    stream = io.BytesIO()
    contents: dict[str, Any] = {"about": np.array(text), **arrays}
    np.savez_compressed(stream, **contents)
    write_bytes(where, stream.getvalue())


def _plain(value: Any) -> Any:
    """A number of NumPy's as one of Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no number, name or list")


def load_policy(
    path: str | os.PathLike[str],
    env: gym.Env[Any, Any] | None = None,
    *,
    rewards: Mapping[str, Callable[..., float]] | None = None,
    discretise: Callable[[Any], Any] | None = None,
) -> Policy:
    """Read a policy; with an environment, it must be the one that the policy was made for."""
    where = Path(path)
    about, arrays = _read(where)
    try:
        automaton = loads(about["automaton"], rewards=rewards)
        _check_described(about)
        policy: Any
        if "kind" in about:
            from cranium.learners.deep.files import network_from

            policy = network_from(about, arrays, automaton)
        else:
            policy = _table_from(about, arrays, automaton, discretise)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise FileFormatError(f"{where} is damaged: {shorten(str(problem))}") from None
    if about.get("discretised") and discretise is None:
        raise InvalidArgumentError(
            f"{where} was made with discretised observations", fix="give the same discretise=…"
        )
    if env is not None:
        check_fits(policy, env, str(where))
    found: Policy = policy
    return found


def _check_described(about: dict[str, Any]) -> None:
    if not isinstance(about["about"], dict) or not isinstance(about["world"], str):
        raise TypeError("no description")


def _table_from(
    about: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    automaton: CountingRewardAutomaton,
    discretise: Callable[[Any], Any] | None,
) -> Policy:
    policy = Policy(
        arrays["q"],
        _observations_from(about["observations"], arrays),
        tuple(Configuration(state, tuple(c)) for state, c in about["configurations"]),
        automaton,
        int(about["first_action"]),
        discretise=discretise,
        world=about["world"],
        about=about["about"],
    )
    shape = (len(policy.observations), len(policy.configurations))
    if policy.q.ndim != 3 or policy.q.shape[:2] != shape or policy.q.dtype != np.float64:
        raise ValueError(f"values of the shape {policy.q.shape} for {shape}")
    if not policy.q.shape[2] or not np.isfinite(policy.q).all():
        raise ValueError("values that are not finite, or no actions")
    return policy


def check_path(path: str | os.PathLike[str]) -> Path:
    """Where a policy may be written."""
    where = Path(path)
    if where.suffix != ENDING:
        raise InvalidArgumentError(f"a policy is written into a .npz file, not {where.name!r}")
    if not where.parent.is_dir():
        raise FileAccessError(f"cannot write {where}: there is no folder {where.parent}")
    return where


def check_fits(policy: Policy, env: gym.Env[Any, Any], name: str) -> None:
    """Refuse an environment with another task, or another world."""
    product = find_product(env)
    if product.automaton != policy.automaton:
        raise PolicyError(
            f"{name} was made for the task {_called(policy.automaton)}, not for "
            f"{_called(product.automaton)}",
            fix="load it with its own task, or without an environment",
        )
    actions = product.env.action_space
    if not _same_actions(actions, policy.action_space):
        raise PolicyError(f"{name} was made for actions in {policy.action_space}, not in {actions}")
    now = world_print(product)
    if TABLE in policy.world:
        with contextlib.suppress(WorldError, SpaceError):
            now = world_print(product, as_tabular(product))
    if policy.world and now != policy.world:
        raise PolicyError(
            f"{name} was made for another world: {policy.world}, not {now}",
            fix="make the world with the same options, or load it without an environment",
        )


def _same_actions(one: Any, other: Any) -> bool:
    """Whether they are called the same; of numbered ones it does not matter how they are kept."""
    if isinstance(one, gym.spaces.Discrete) and isinstance(other, gym.spaces.Discrete):
        return bool(one.n == other.n and one.start == other.start)
    return bool(one == other)


def _called(automaton: CountingRewardAutomaton) -> str:
    size = automaton.size
    return f"{automaton.name or 'without a name'} ({size.states} states, {size.transitions} edges)"


def world_print(product: AutomatonAugmentedMDP, world: TabularWorld | None = None) -> str:
    """What tells a world from others: its kind and spaces, and a hash of its table if given."""
    base: Any = product.unwrapped
    spaces = f"{product.env.observation_space} {product.env.action_space}"
    if world is None:
        return f"{type(base).__name__} {spaces}"
    digest = hashlib.sha256()
    for array in (world.first, world.next_state, world.probability, world.label, world.terminated):
        digest.update(array.tobytes())
    names = [sorted(label) for label in world.labels]
    digest.update(repr((names, [hashable(seen) for seen in world.observations])).encode())
    return f"{type(base).__name__} {spaces}{TABLE}{digest.hexdigest()[:16]}"


def _read(where: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    try:
        content = where.read_bytes()
    except OSError as problem:
        raise FileAccessError(f"cannot read {where}: {problem.strerror or problem}") from None
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        about = json.loads(str(arrays.pop("about")))
    except Exception:  # a damaged archive makes its readers raise all kinds of errors
        raise FileFormatError(
            f"{where} is not a policy of ours", fix="cranium train … --save FILE.npz makes one"
        ) from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise FileFormatError(f"{where} is not a policy of ours")
    if about.get("version") != VERSION:
        raise FileFormatError(
            f"{where} has version {shorten(about.get('version'))} of the format, and this Cranium "
            f"reads version {VERSION}",
            fix="use the Cranium that wrote it, or train again",
        )
    return about, arrays


def _observations(observations: tuple[Any, ...]) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Observations for a file: arrays of one kind as one array, anything else as JSON."""
    kinds = {(type(o), getattr(o, "shape", None), getattr(o, "dtype", None)) for o in observations}
    if len(kinds) == 1 and isinstance(observations[0], np.ndarray):
        return "arrays", {"observations": np.stack(observations)}
    return [_as_json(seen) for seen in observations], {}


def _observations_from(described: Any, arrays: dict[str, NDArray[Any]]) -> tuple[Any, ...]:
    if described == "arrays":
        return tuple(arrays["observations"])
    return tuple(_from_json(seen) for seen in described)


def _as_json(seen: Any) -> Any:
    if isinstance(seen, np.ndarray):
        return {"array": seen.tolist(), "dtype": str(seen.dtype)}
    if isinstance(seen, tuple | list):
        return {"tuple": [_as_json(part) for part in seen]}
    if isinstance(seen, Mapping):
        return {"dict": {str(name): _as_json(part) for name, part in seen.items()}}
    return seen.item() if isinstance(seen, np.generic) else seen


def _from_json(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    if "array" in data:
        return np.array(data["array"], dtype=data["dtype"])
    if "tuple" in data:
        return tuple(_from_json(part) for part in data["tuple"])
    return {name: _from_json(part) for name, part in data["dict"].items()}
