"""The features of ground observations: integers one-hot, jointly one-hot, or scaled."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from cranium.errors import SpaceError, WorldError, shorten
from cranium.worlds.protocols import Observation

__all__ = [
    "CELLS",
    "MAX_FEATURES",
    "MAX_NUMBER",
    "Cells",
    "ObservationFeatures",
    "ObservationNumbers",
    "make_observation_features",
]

Cells = Literal["one-hot", "joint", "scaled"]
CELLS: tuple[Cells, ...] = ("one-hot", "joint", "scaled")
MAX_NUMBER = 2**62
MAX_SCALED = 1 << 24
"""The greatest number of values of a component that is scaled, in single precision."""
MAX_JOINT = 1 << 12
"""The greatest number of joint features: a replay buffer stores all of them."""
MAX_FEATURES = 1 << 24
"""The greatest number of features."""


class ObservationNumbers:
    """Numbers the observations of a space of integers, from 0 to ``total`` - 1.

    Attributes:
        space: The observation space.
        sizes: The number of values of each component.
        total: The number of observations, or 2^62 if that is less.

    Example:
        >>> cells = ObservationNumbers(spaces.MultiDiscrete([4, 5], start=[1, 0]))
        >>> cells.total, cells.encode(np.array([2, 3])), cells.decode(8)
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

    def encode(self, observation: Observation) -> int:
        """Return the number of an observation."""
        return int(self.offsets(observation) @ self._strides)

    def offsets(self, observation: Observation) -> NDArray[np.int64]:
        """Return each component minus its least value."""
        seen = np.ravel(cast(ArrayLike, observation))
        alike = seen.shape == self._low.shape and seen.dtype.kind in "iufb"
        if not (alike and ((seen >= self._low) & (seen <= self._high) & (seen % 1 == 0)).all()):
            raise _strange(observation, self.space)
        found: NDArray[np.int64] = seen.astype(np.int64) - self._low
        return found

    def decode(self, number: int) -> Observation:
        """Return the observation with a number."""
        return self.add_offsets(np.array(np.unravel_index(number, self.sizes), dtype=np.int64))

    def add_offsets(self, offsets: NDArray[np.int64]) -> Observation:
        """Return the observation with these offsets from the least values."""
        values = offsets + self._low
        if isinstance(self.space, spaces.Discrete):
            return np.int64(values[0])
        return values.astype(self.space.dtype).reshape(self.space.shape or ())


def _product(sizes: tuple[int, ...]) -> int:
    """Return the product of the sizes, or ``MAX_NUMBER`` if that is less."""
    total = 1
    for size in sizes:
        total *= size
        if total >= MAX_NUMBER:
            return MAX_NUMBER
    return total


def _bounds_of(space: spaces.Space[Any]) -> tuple[list[int], list[int]]:
    """Return the least and the greatest value of each component."""
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
        f"observations in {space} are not a fixed number of bounded integers",
        fix="use another encoding",
    )


def _fits(space: spaces.Space[Any], seen: Observation) -> bool:
    """Whether an observation has the structure of a space. The bounds of a Box are not checked."""
    if isinstance(space, spaces.Box):
        return bool(np.shape(cast(ArrayLike, seen)) == space.shape)
    if isinstance(space, spaces.Dict):
        if not isinstance(seen, Mapping) or set(seen) != set(space.spaces):
            return False
        return all(_fits(one, seen[name]) for name, one in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        if not isinstance(seen, tuple) or len(seen) != len(space.spaces):
            return False
        return all(map(_fits, space.spaces, seen))
    return bool(space.contains(seen))


def _strange(observation: Observation, space: spaces.Space[Any]) -> WorldError:
    """Return the error for an observation that is not in its space."""
    return WorldError(
        f"the observation {shorten(observation)} is not in {space}",
        fix="correct the environment, or its observation_space",
    )


class ObservationFeatures(ABC):
    """Turns the observations of a space into feature vectors, and back.

    Attributes:
        space: The space of the feature vectors.
    """

    space: spaces.Box

    @abstractmethod
    def encode(self, observation: Observation) -> NDArray[np.float32]:
        """Return the features of an observation."""

    @abstractmethod
    def decode(self, features: NDArray[np.floating[Any]]) -> Observation:
        """Return the observation with these features."""


class _OneHot(ObservationFeatures):
    """Flattened as by Gymnasium: each integer one-hot, vectors unchanged."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        try:
            if space.is_np_flattenable and spaces.flatdim(space) > MAX_FEATURES:
                raise SpaceError(
                    f"observations in {space} have {spaces.flatdim(space):,} features one-hot: "
                    f"{MAX_FEATURES:,} are allowed",
                    fix='give its numbers the bounds that they really have, or use cells="scaled"',
                )
            flat: spaces.Space[Any] = spaces.flatten_space(space)
        except NotImplementedError:  # a custom space, such as the missions of MiniGrid
            flat = space
        if not isinstance(flat, spaces.Box):
            raise WorldError(
                f"observations in {space} have no fixed length as a vector",
                fix="use the dictionary encoding",
            )
        self.ground, self.space = space, flat

    def encode(self, observation: Observation) -> NDArray[np.float32]:
        if not _fits(self.ground, observation):
            raise _strange(observation, self.ground)
        return np.asarray(spaces.flatten(self.ground, observation), dtype=np.float32)

    def decode(self, features: NDArray[np.floating[Any]]) -> Observation:
        kind = self.space.dtype
        whole = np.issubdtype(kind or np.float32, np.integer)
        exact = (np.rint(features) if whole else features).astype(kind)
        found: Observation = spaces.unflatten(self.ground, exact)
        return found


class _Joint(ObservationFeatures):
    """One feature for every observation: all components one-hot together."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.numbers = _integers(space, "joint")
        if self.numbers.total > MAX_JOINT:
            raise SpaceError(
                f"{self.numbers} observations are too many for a feature each: "
                f"{MAX_JOINT:,} are allowed",
                fix='use cells="one-hot"',
            )
        self.space = spaces.Box(0, 1, (self.numbers.total,), np.float32)

    def encode(self, observation: Observation) -> NDArray[np.float32]:
        features = np.zeros(self.numbers.total, np.float32)
        features[self.numbers.encode(observation)] = 1
        return features

    def decode(self, features: NDArray[np.floating[Any]]) -> Observation:
        return self.numbers.decode(int(np.argmax(features)))


class _Scaled(ObservationFeatures):
    """One number for each component, from 0 for its least value to 1 for its greatest."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.numbers = _integers(space, "scaled")
        if max(self.numbers.sizes) > MAX_SCALED:
            raise SpaceError(
                f"a number in {space} has too many values to tell their fractions apart: "
                f"{MAX_SCALED:,} are allowed",
                fix='give it the bounds that it really has, or use cells="one-hot"',
            )
        self.most = np.maximum(np.array(self.numbers.sizes, np.float64) - 1, 1)
        self.space = spaces.Box(0, 1, self.most.shape, np.float32)

    def encode(self, observation: Observation) -> NDArray[np.float32]:
        return (self.numbers.offsets(observation) / self.most).astype(np.float32)

    def decode(self, features: NDArray[np.floating[Any]]) -> Observation:
        offsets = np.rint(features.astype(np.float64) * self.most).astype(np.int64)
        return self.numbers.add_offsets(offsets)


def _integers(space: spaces.Space[Any], cells: Cells) -> ObservationNumbers:
    try:
        return ObservationNumbers(space)
    except WorldError:
        raise WorldError(
            f'cells="{cells}" is for vectors of bounded integers, not for {space}',
            fix='use cells="one-hot", which does not change floats',
        ) from None


def make_observation_features(space: spaces.Space[Any], cells: Cells) -> ObservationFeatures:
    """Return the features of the observations of a space.

    Example:
        >>> office = spaces.MultiDiscrete([3, 5])
        >>> make_observation_features(office, "one-hot").encode(np.array([2, 1])).tolist()
        [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        >>> make_observation_features(office, "scaled").encode(np.array([2, 1])).tolist()
        [1.0, 0.25]
        >>> make_observation_features(office, "joint").encode(np.array([2, 1])).argmax()
        np.int64(11)
    """
    ways: dict[Cells, Callable[[spaces.Space[Any]], ObservationFeatures]] = {
        "one-hot": _OneHot,
        "joint": _Joint,
        "scaled": _Scaled,
    }
    return ways[cells](space)
