"""Observations of any space: copied, as keys, as text, and converted to their space."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from cranium.errors import WorldError, shorten
from cranium.worlds.protocols import Observation

ObsT = TypeVar("ObsT")

__all__ = ["conform", "copy_observation", "format_observation", "observation_key"]

NAN = "nan"
"""Stands for NaN in a key, because NaN is not equal to itself."""
MOST_NUMBERS = 1000
"""The key of an array with more numbers is a digest: a tuple would take too much memory."""


def copy_observation(observation: ObsT) -> ObsT:
    """Return a copy of an observation, because environments may reuse the array they returned.

    Example:
        >>> seen = np.zeros(2)
        >>> safe = copy_observation(seen)
        >>> seen[0] = 5
        >>> safe
        array([0., 0.])
    """
    if observation.__class__ is np.ndarray:
        return observation.copy()  # type: ignore[attr-defined,no-any-return]
    return copy.deepcopy(observation) if isinstance(observation, dict | tuple) else observation


def observation_key(observation: Observation) -> Hashable:
    """Return a hashable key of an observation: the same numbers have the same key.

    The dtype does not matter, nor whether it is an array, a list or a tuple, nor the sign of a
    zero.

    Example:
        >>> observation_key({"x": np.int64(3), "y": np.array([1, 2], np.uint8)})
        (('x', 3), ('y', (1, 2)))
        >>> observation_key(np.array([-0.0, 2.0])) == observation_key([0, 2])
        True
    """
    if isinstance(observation, np.ndarray):
        return _array_key(observation)
    if isinstance(observation, Mapping):
        return tuple((name, observation_key(part)) for name, part in sorted(observation.items()))
    if isinstance(observation, tuple | list):
        return tuple(observation_key(part) for part in observation)
    key: Hashable = observation.item() if isinstance(observation, np.generic) else observation
    return NAN if isinstance(key, float) and key != key else key  # noqa: PLR0124 - only NaN is not


def _array_key(array: NDArray[Any]) -> Hashable:
    if array.size > MOST_NUMBERS:
        return _digest(array)
    values = array.tolist()
    if array.dtype.kind in "fc" and (strange := np.isnan(array)).any():
        values = np.where(strange, NAN, array.astype(object)).tolist()
    return tuple(values) if array.ndim == 1 else _as_tuples(values)


def _as_tuples(values: Any) -> Any:
    return tuple(map(_as_tuples, values)) if isinstance(values, list) else values


def _digest(array: NDArray[Any]) -> str:
    """The key of a large array: its shape, and a digest of its numbers, whatever their dtype."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.nan, array + 0.0)  # one NaN, and no zero below zero
        whole = np.isfinite(array) & (array == np.rint(array)) & (np.abs(array) < 2**53)
        array = array.astype(np.int64 if whole.all() else np.float64)
    elif array.dtype.kind in "iub" and (array.dtype != np.uint64 or array.max() < 2**63):
        array = array.astype(np.int64)
    content = array.tobytes() if array.dtype.kind in "iuf" else repr(array.tolist()).encode()
    sizes = "×".join(map(str, array.shape))
    return f"{sizes} numbers, {hashlib.blake2b(content, digest_size=16).hexdigest()}"


def format_observation(observation: Observation, limit: int = 60) -> str:
    """Format an observation as text, in plain numbers.

    Example:
        >>> format_observation({"at": np.array([2, 0], np.int8), "apples": np.int64(3)})
        '{at: (2, 0), apples: 3}'
        >>> format_observation(np.zeros(100), limit=20)
        '(0.0, 0.0, 0.0, 0.0…'
    """
    if isinstance(observation, Mapping):
        parts = (f"{name}: {format_observation(part, limit)}" for name, part in observation.items())
        text = "{" + ", ".join(parts) + "}"
    else:
        is_large = isinstance(observation, np.ndarray) and observation.size > MOST_NUMBERS
        start = np.ravel(cast(ArrayLike, observation))[:limit] if is_large else observation
        text = str(observation_key(start))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def conform(
    observation: Observation, space: spaces.Space[Any], *, precisely: bool = True
) -> Observation:
    """Convert an observation to its space: to arrays of the space's dtype and shape.

    Lists, tuples and arrays of other dtypes are converted if that does not change their numbers.
    Bounds are not checked. A float array may keep a greater precision than its space has, because
    some environments return such observations; with ``precisely=False`` it is rounded to the dtype
    of the space.

    Raises:
        WorldError: It has another shape, other parts, or numbers that the dtype cannot hold.

    Example:
        >>> conform([2, 0], spaces.MultiDiscrete([3, 3]))
        array([2, 0])
        >>> conform([[2, 0]], spaces.MultiDiscrete([3, 3]))
        Traceback (most recent call last):
        cranium.errors.WorldError: the observation ((2, 0),) has the shape (1, 2), not (2,) as in
        MultiDiscrete([3 3])
          fix: give the observation as the environment returns it
    """
    if isinstance(space, spaces.Discrete):
        return observation if type(observation) is int else int(_numbers(observation, space, ()))
    if isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        wanted = (space.dtype, space.shape)
        if isinstance(observation, np.ndarray) and (observation.dtype, observation.shape) == wanted:
            return observation
        return _numbers(observation, space, space.shape or (), precisely=precisely)
    if isinstance(space, spaces.Tuple):
        if not isinstance(observation, tuple | list) or len(observation) != len(space.spaces):
            raise _strange(observation, f"not a tuple of {len(space.spaces)} parts", space)
        parts = zip(observation, space.spaces, strict=True)
        return tuple(conform(one, part, precisely=precisely) for one, part in parts)
    if isinstance(space, spaces.Dict):
        if not isinstance(observation, Mapping) or set(observation) != set(space.spaces):
            names = ", ".join(map(str, space.spaces))
            raise _strange(observation, f"not a dictionary with the keys {names}", space)
        return {
            name: conform(observation[name], part, precisely=precisely)
            for name, part in space.spaces.items()
        }
    return observation


def _numbers(
    observation: Observation,
    space: spaces.Space[Any],
    shape: tuple[int, ...],
    *,
    precisely: bool = True,
) -> NDArray[Any]:
    """Numbers with the dtype and the shape of a space."""
    try:
        found = np.asarray(observation)
    except (ValueError, TypeError):  # lists of different lengths
        raise _strange(observation, "not an array of numbers", space) from None
    if found.dtype.kind not in "biuf":
        raise _strange(observation, "not made of numbers", space)
    if found.shape != shape:
        wanted = f"not {shape} as in {space}"
        if not shape:
            wanted = f"but an observation in {space} is one number"
        raise WorldError(
            f"the observation {format_observation(observation)} has the shape {found.shape}, "
            f"{wanted}",
            fix="give the observation as the environment returns it",
        )
    kind = np.dtype(space.dtype or np.int64)
    if precisely and kind.kind == "f" == found.dtype.kind and isinstance(observation, np.ndarray):
        return found
    with np.errstate(all="ignore"):
        cast = found.astype(kind)
    if kind.kind != "f" and not np.array_equal(cast, found):
        raise _strange(observation, f"not made of numbers that {kind} can hold", space)
    return cast


def _strange(observation: Observation, what: str, space: spaces.Space[Any]) -> WorldError:
    return WorldError(
        f"the observation {shorten(observation)} is {what}: observations are in {space}",
        fix="give the observation as the environment returns it",
    )
