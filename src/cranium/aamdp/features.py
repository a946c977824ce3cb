"""How a vector shows what is observed of the world: whole numbers one-hot, or in another way."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.errors import SpaceError, WorldError, shorten

__all__ = [
    "CELLS",
    "MAX_FEATURES",
    "MAX_NUMBER",
    "Cells",
    "Numbers",
    "View",
    "make_observation_features",
]

Cells = Literal["one-hot", "joint", "scaled"]
CELLS: tuple[Cells, ...] = ("one-hot", "joint", "scaled")
MAX_NUMBER = 2**62
MAX_SCALED = 1 << 24
"""How many values a number may have that is shown as a fraction, in single precision."""
MAX_JOINT = 1 << 12
"""How many features observations may have that are shown jointly: a replay keeps them all."""
MAX_FEATURES = 1 << 24
"""How many they may have at all."""


class Numbers:
    """The observations of a space of whole numbers, numbered.

    Example:
        >>> cells = Numbers(spaces.MultiDiscrete([4, 5], start=[1, 0]))
        >>> cells.total, cells.number(np.array([2, 3])), cells.observation(8)
        (20, 8, array([2, 3]))
    """

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.space = space
        lows, highs = _bounds_of(space)
        self.sizes = tuple(high - low + 1 for low, high in zip(lows, highs, strict=True))
        self.total = _product(self.sizes)
        self._low, self._high = np.array(lows, np.int64), np.array(highs, np.int64)
        if self.total < MAX_NUMBER:
            self._strides = np.cumprod((1, *self.sizes[:0:-1]))[::-1].astype(np.int64)

    def __str__(self) -> str:
        return f"{self.total:,}" if self.total < MAX_NUMBER else "more than 2^62"

    def number(self, observation: Any) -> int:
        """The number of an observation."""
        return int(self.offsets(observation) @ self._strides)

    def offsets(self, observation: Any) -> NDArray[np.int64]:
        """How far each part is above its least value."""
        seen = np.ravel(observation)
        alike = seen.shape == self._low.shape and seen.dtype.kind in "iufb"
        if not (alike and ((seen >= self._low) & (seen <= self._high) & (seen % 1 == 0)).all()):
            raise _strange(observation, self.space)
        found: NDArray[np.int64] = seen.astype(np.int64) - self._low
        return found

    def observation(self, number: int) -> Any:
        """The observation with a number."""
        return self.shaped(np.array(np.unravel_index(number, self.sizes), dtype=np.int64))

    def shaped(self, offsets: NDArray[np.int64]) -> Any:
        """The observation whose parts are so far above their least values."""
        values = offsets + self._low
        if isinstance(self.space, spaces.Discrete):
            return np.int64(values[0])
        return values.astype(self.space.dtype).reshape(self.space.shape or ())


def _product(sizes: tuple[int, ...]) -> int:
    """The product of the sizes, or ``MAX_NUMBER`` if that is less."""
    total = 1
    for size in sizes:
        total *= size
        if total >= MAX_NUMBER:
            return MAX_NUMBER
    return total


def _bounds_of(space: spaces.Space[Any]) -> tuple[list[int], list[int]]:
    """The least and the greatest value of each part."""
    if isinstance(space, spaces.Discrete):
        return [int(space.start)], [int(space.start + space.n) - 1]
    if isinstance(space, spaces.MultiDiscrete):
        low, size = (np.ravel(part).tolist() for part in (space.start, space.nvec))
        return low, [start + n - 1 for start, n in zip(low, size, strict=True)]
    if isinstance(space, spaces.MultiBinary):
        count = math.prod(space.shape)
        return [0] * count, [1] * count
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.integer):
        low, high = (np.ravel(bound).tolist() for bound in (space.low, space.high))
        if max(high, default=0) < 2**63:
            return low, high
    raise WorldError(
        f"observations in {space} are not a fixed number of whole numbers with bounds",
        fix="use another encoding",
    )


def _fits(space: spaces.Space[Any], seen: Any) -> bool:
    """Whether something can be shown as one of a space; numbers may be somewhat out of bounds."""
    if isinstance(space, spaces.Box):
        return bool(np.shape(seen) == space.shape)
    if isinstance(space, spaces.Dict):
        same = isinstance(seen, Mapping) and set(seen) == set(space.spaces)
        return same and all(_fits(one, seen[name]) for name, one in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        same = isinstance(seen, tuple) and len(seen) == len(space.spaces)
        return same and all(map(_fits, space.spaces, seen))
    return bool(space.contains(seen))


def _strange(observation: Any, space: spaces.Space[Any]) -> WorldError:
    """What is said of an observation that is none of its space."""
    return WorldError(
        f"the observation {shorten(observation)} is not in {space}",
        fix="correct the environment, or its observation_space",
    )


class View(ABC):
    """Makes the observations of a space into vectors in a box, and back."""

    box: spaces.Box

    @abstractmethod
    def show(self, observation: Any) -> NDArray[np.float32]:
        """The features of an observation."""

    @abstractmethod
    def read(self, features: NDArray[Any]) -> Any:
        """The observation with these features."""


class _OneHot(View):
    """As Gymnasium flattens them: whole numbers one-hot, part by part; vectors as they are."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        try:
            if space.is_np_flattenable and spaces.flatdim(space) > MAX_FEATURES:
                raise SpaceError(
                    f"observations in {space} have {spaces.flatdim(space):,} features one-hot: "
                    f"{MAX_FEATURES:,} are allowed",
                    fix='give its numbers the bounds that they really have, or use cells="scaled"',
                )
            flat: spaces.Space[Any] = spaces.flatten_space(space)
        except NotImplementedError:  # a space of somebody's own, such as MiniGrid's of missions
            flat = space
        if not isinstance(flat, spaces.Box):
            raise WorldError(
                f"observations in {space} have no fixed length as a vector",
                fix="use the dictionary encoding",
            )
        self.space, self.box = space, flat

    def show(self, observation: Any) -> NDArray[np.float32]:
        if not _fits(self.space, observation):
            raise _strange(observation, self.space)
        return np.asarray(spaces.flatten(self.space, observation), dtype=np.float32)

    def read(self, features: NDArray[Any]) -> Any:
        kind = self.box.dtype
        whole = np.issubdtype(kind or np.float32, np.integer)
        exact = (np.rint(features) if whole else features).astype(kind)
        return spaces.unflatten(self.space, exact)


class _Joint(View):
    """One-hot, all parts together: a feature for every observation."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.numbers = _whole(space, "joint")
        if self.numbers.total > MAX_JOINT:
            raise SpaceError(
                f"{self.numbers} observations are too many for a feature each: "
                f"{MAX_JOINT:,} are allowed",
                fix='use cells="one-hot"',
            )
        self.box = spaces.Box(0, 1, (self.numbers.total,), np.float32)

    def show(self, observation: Any) -> NDArray[np.float32]:
        features = np.zeros(self.numbers.total, np.float32)
        features[self.numbers.number(observation)] = 1
        return features

    def read(self, features: NDArray[Any]) -> Any:
        return self.numbers.observation(int(np.argmax(features)))


class _Scaled(View):
    """One number for each part, from 0 for its least value to 1 for its greatest."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.numbers = _whole(space, "scaled")
        if max(self.numbers.sizes) > MAX_SCALED:
            raise SpaceError(
                f"a number in {space} has too many values to tell their fractions apart: "
                f"{MAX_SCALED:,} are allowed",
                fix='give it the bounds that it really has, or use cells="one-hot"',
            )
        self.most = np.maximum(np.array(self.numbers.sizes, np.float64) - 1, 1)
        self.box = spaces.Box(0, 1, self.most.shape, np.float32)

    def show(self, observation: Any) -> NDArray[np.float32]:
        return (self.numbers.offsets(observation) / self.most).astype(np.float32)

    def read(self, features: NDArray[Any]) -> Any:
        offsets = np.rint(features.astype(np.float64) * self.most).astype(np.int64)
        return self.numbers.shaped(offsets)


def _whole(space: spaces.Space[Any], cells: Cells) -> Numbers:
    try:
        return Numbers(space)
    except WorldError:
        raise WorldError(
            f'cells="{cells}" is for vectors of whole numbers with bounds, not for {space}',
            fix='use cells="one-hot", which leaves fractions as they are',
        ) from None


def make_observation_features(space: spaces.Space[Any], cells: Cells) -> View:
    """How observations of a space are shown.

    Example:
        >>> office = spaces.MultiDiscrete([3, 5])
        >>> make_observation_features(office, "one-hot").show(np.array([2, 1])).tolist()
        [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        >>> make_observation_features(office, "scaled").show(np.array([2, 1])).tolist()
        [1.0, 0.25]
        >>> make_observation_features(office, "joint").show(np.array([2, 1])).argmax()
        np.int64(11)
    """
    ways: dict[Cells, Callable[[spaces.Space[Any]], View]] = {
        "one-hot": _OneHot,
        "joint": _Joint,
        "scaled": _Scaled,
    }
    return ways[cells](space)
