"""Policies in files: one ``.npz`` with the values and a description in JSON; nothing is pickled."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.planning import find_product
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import (
    FileAccessError,
    FileFormatError,
    InvalidArgumentError,
    PolicyError,
    SpaceError,
    WorldError,
    shorten,
)
from cranium.formats.files import dumps, loads
from cranium.io import open_regular, write_bytes
from cranium.learners.fingerprint import OLD, differences
from cranium.learners.serialisation import (
    encoding_data,
    observation_data,
    observation_from,
    space_data,
)
from cranium.npz import (
    DAMAGES,
    MOST_BYTES,
    MOST_ROWS,
    MOST_TEXT,
    ArchiveFormat,
    read_archive,
)

if TYPE_CHECKING:
    from cranium.learners.acting import Acting
    from cranium.learners.policy import Policy

__all__ = ["load_policy", "observations_data", "observations_from", "save_policy"]

ENDING = ".npz"
FORMAT = ArchiveFormat(
    name="cranium policy",
    version=1,
    arrays=r"about|q|observations|ground|machine|low|high|weights[0-9]{1,3}|bias[0-9]{0,3}",
    noun="a policy",
    source="cranium train … --save FILE.npz makes one",
    renewal="train again",
)


def save_policy(policy: Policy, path: str | os.PathLike[str]) -> None:
    """Write a policy into a file; all or nothing."""
    seen, arrays = observations_data(policy.observations)
    more = {
        "configurations": [[x.state, list(x.counters)] for x in policy.configurations],
        "observations": seen,
        "first_action": policy.first_action,
        "discretised": policy.discretise is not None,
        "space": _space_data(policy.observation_space),
    }
    write_policy(path, described(policy) | more, {"q": policy.q, **arrays})


def _space_data(space: gym.Space[Any] | None) -> dict[str, Any] | None:
    """The observation space as plain data; None if it is not known, or cannot be written."""
    with contextlib.suppress(WorldError):
        return None if space is None else space_data(space)
    return None


def described(policy: Acting) -> dict[str, Any]:
    """The part of the description that all policies have."""
    return {
        "format": FORMAT.name,
        "version": FORMAT.version,
        "automaton": dumps(policy.automaton, form="json"),
        "world": dict(policy.world),
        "about": dict(policy.about),
        "product_encoding": encoding_data(policy.product_encoding),
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
    _check_size(text, arrays)
    stream = io.BytesIO()
    contents: dict[str, Any] = {"about": np.array(text), **arrays}
    np.savez_compressed(stream, **contents)
    write_bytes(where, stream.getvalue())


def _check_size(text: str, arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse to write what could not be read again."""
    size = sum(array.nbytes for array in arrays.values()) + 4 * len(text)
    rows = max((len(array) for array in arrays.values() if array.ndim), default=0)
    for what, found, most in (
        ("bytes", size, MOST_BYTES),
        ("characters of description", len(text), MOST_TEXT),
        ("observations", rows, MOST_ROWS),
    ):
        if found > most:
            raise SpaceError(
                f"a policy of {found:,} {what} is too large for a file: {most:,} are allowed",
                fix="train with a lower counter_limit, or with a network",
            )


def _plain(value: Any) -> Any:
    """A number of NumPy's as one of Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no number, name or list")


class PolicyBuilder(Protocol):
    """Makes a policy of what a file describes; a damaged description raises one of ``DAMAGES``."""

    def __call__(
        self,
        about: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        automaton: CountingRewardAutomaton,
        shared: dict[str, Any],
    ) -> Policy: ...


def load_policy(
    path: str | os.PathLike[str],
    env: gym.Env[Any, Any] | None,
    build: PolicyBuilder,
    *,
    rewards: Mapping[str, Callable[..., float]] | None = None,
    discretises: bool = False,
) -> Policy:
    """Read a policy; with an environment, it must be the one that the policy was made for.

    Args:
        path: The file.
        env: The environment, if the policy is to be compared with it.
        build: Makes the policy.
        rewards: The reward functions of the task, if it has any.
        discretises: Whether the caller gives a function that discretises observations.
    """
    where = Path(path)
    with open_regular(where) as file:
        about, arrays = read_archive(file, where, FORMAT)
    try:
        automaton = loads(about["automaton"], rewards=rewards)
        shared = _shared_from(about)
        policy = build(about, arrays, automaton, shared)
    except DAMAGES as problem:
        raise FileFormatError(f"{where} is damaged: {shorten(str(problem))}") from None
    if about.get("discretised") and not discretises:
        raise InvalidArgumentError(
            f"{where} was made with discretised observations", fix="give the same discretise=…"
        )
    if env is not None:
        check_fits(policy, env, str(where))
    return policy


def _shared_from(about: dict[str, Any]) -> dict[str, Any]:
    """The arguments that all policies have."""
    encoding = about.get("product_encoding")
    if not isinstance(about["about"], dict) or not isinstance(encoding, dict | None):
        raise TypeError("no description")
    world = _world_from(about["world"])
    return {"world": world, "about": about["about"], "product_encoding": encoding}


def _world_from(world: Any) -> dict[str, Any]:
    """The fingerprint of the world; in older files it is one text."""
    found = {OLD: world} if isinstance(world, str) and world else world or {}
    if not isinstance(found, dict) or not all(
        part is None or isinstance(part, str | int) for part in found.values()
    ):
        raise TypeError("no description of the world")
    return found


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
    found = differences(policy.world, env)
    if found:
        fix = "make the world with the same options, or load the policy without an environment"
        if list(found) == ["horizon"]:
            horizon = policy.world["horizon"]
            fix = f"make the product with horizon={horizon}, or load the policy without env"
        raise PolicyError(
            f"{name} was made for another world: {'; '.join(found.values())}", fix=fix
        )


def _same_actions(one: Any, other: Any) -> bool:
    """Whether they are called the same; of numbered ones it does not matter how they are kept."""
    if isinstance(one, gym.spaces.Discrete) and isinstance(other, gym.spaces.Discrete):
        return bool(one.n == other.n and one.start == other.start)
    return bool(one == other)


def _called(automaton: CountingRewardAutomaton) -> str:
    size = automaton.size
    return f"{automaton.name or 'without a name'} ({size.states} states, {size.transitions} edges)"


def observations_data(observations: tuple[Any, ...]) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Observations for a file: arrays of one kind as one array, anything else as JSON."""
    kinds = {(type(o), getattr(o, "shape", None), getattr(o, "dtype", None)) for o in observations}
    if len(kinds) == 1 and isinstance(observations[0], np.ndarray):
        return "arrays", {"observations": np.stack(observations)}
    return [observation_data(seen) for seen in observations], {}


def observations_from(described: object, arrays: dict[str, NDArray[Any]]) -> tuple[Any, ...]:
    """Read the observations of a file; what is wrong with them raises one of ``DAMAGES``."""
    if described != "arrays":
        if not isinstance(described, list):
            raise TypeError(f"{shorten(described)} where observations are expected")
        return tuple(observation_from(seen) for seen in described)
    found = arrays["observations"]
    if not found.ndim or len(found) > MOST_ROWS:  # each becomes an object of its own
        raise ValueError(f"observations of the shape {found.shape}")
    return tuple(found)
