"""How a vector shows what is observed of the world: whole numbers one-hot, or in another way."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.errors import SpaceError, WorldError, shorten

__all__ = ["CELLS", "MAX_NUMBER", "Cells", "Numbers", "View", "view_of"]

Cells = Literal["one-hot", "joint", "scaled"]
CELLS: tuple[Cells, ...] = ("one-hot", "joint", "scaled")
MAX_NUMBER = 2**62
MAX_JOINT = 1 << 12
"""How many features observations may have that are shown jointly: a replay keeps them all."""


class Numbers:
    """The observations of a space of whole numbers, numbered.

    Example:
        >>> cells = Numbers(spaces.MultiDiscrete([4, 5], start=[1, 0]))
        >>> cells.total, cells.number(np.array([2, 3])), cells.observation(8)
        (20, 8, array([2, 3]))
    """

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.space = space
        self.sizes, self.start = _sizes_of(space)
        self.total = math.prod(self.sizes)
        if self.total < MAX_NUMBER:
            self._ends = self.start + np.array(self.sizes, np.int64)
            self._strides = np.cumprod((1, *self.sizes[:0:-1]))[::-1].astype(np.int64)

    def number(self, observation: Any) -> int:
        """The number of an observation."""
        parts = np.ravel(observation)
        inside = len(parts) == len(self.sizes) and (parts >= self.start) & (parts < self._ends)
        if not np.all(inside):
            raise WorldError(
                f"the observation {shorten(observation)} is not in {self.space}",
                fix="correct observation_space",
            )
        return int((parts - self.start) @ self._strides)

    def observation(self, number: int) -> Any:
        """The observation with a number."""
        return self.shaped(np.array(np.unravel_index(number, self.sizes), dtype=np.int64))

    def shaped(self, offsets: NDArray[np.int64]) -> Any:
        """The observation whose parts are so far above their least values."""
        values = offsets + self.start
        if isinstance(self.space, spaces.Discrete):
            return np.int64(values[0])
        return values.astype(self.space.dtype).reshape(self.space.shape or ())


def _sizes_of(space: spaces.Space[Any]) -> tuple[tuple[int, ...], NDArray[np.int64]]:
    """How many values each part of an observation has, and the least of each."""
    if isinstance(space, spaces.Discrete):
        return (int(space.n),), np.array([space.start], np.int64)
    if isinstance(space, spaces.MultiDiscrete):
        return tuple(int(n) for n in np.ravel(space.nvec)), np.ravel(space.start).astype(np.int64)
    if isinstance(space, spaces.MultiBinary):
        size = math.prod(space.shape)
        return (2,) * size, np.zeros(size, np.int64)
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.integer):
        low, high = (np.ravel(bound).tolist() for bound in (space.low, space.high))
        sizes = tuple(above - below + 1 for below, above in zip(low, high, strict=True))
        return sizes, np.array(low, np.int64)
    raise WorldError(f"observations in {space} are not finitely many", fix="use another encoding")


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
        flat = spaces.flatten_space(space)
        if not isinstance(flat, spaces.Box):
            raise WorldError(
                f"observations in {space} have no fixed length as a vector",
                fix="use the dictionary encoding",
            )
        self.space, self.box = space, flat

    def show(self, observation: Any) -> NDArray[np.float32]:
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
        total = self.numbers.total
        if total > MAX_JOINT:
            raise SpaceError(
                f"{total:,} observations are too many for a feature each, at most {MAX_JOINT:,}",
                fix='use cells="one-hot", which has one for every value of every part',
            )
        self.box = spaces.Box(0, 1, (total,), np.float32)

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
        self.most = np.maximum(np.array(self.numbers.sizes, np.float64) - 1, 1)
        self.box = spaces.Box(0, 1, self.most.shape, np.float32)

    def show(self, observation: Any) -> NDArray[np.float32]:
        offsets = np.ravel(observation) - self.numbers.start
        return (offsets / self.most).astype(np.float32)

    def read(self, features: NDArray[Any]) -> Any:
        offsets = np.rint(features.astype(np.float64) * self.most).astype(np.int64)
        return self.numbers.shaped(offsets)


def _whole(space: spaces.Space[Any], cells: Cells) -> Numbers:
    try:
        return Numbers(space)
    except WorldError:
        raise WorldError(
            f'cells="{cells}" is for observations of whole numbers, not for {space}',
            fix='use cells="one-hot", which leaves fractions as they are',
        ) from None


def view_of(space: spaces.Space[Any], cells: Cells) -> View:
    """How observations of a space are shown.

    Example:
        >>> office = spaces.MultiDiscrete([3, 5])
        >>> view_of(office, "one-hot").show(np.array([2, 1])).tolist()
        [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        >>> view_of(office, "scaled").show(np.array([2, 1])).tolist()
        [1.0, 0.25]
        >>> view_of(office, "joint").show(np.array([2, 1])).argmax()
        np.int64(11)
    """
    ways: dict[Cells, Callable[[spaces.Space[Any]], View]] = {
        "one-hot": _OneHot,
        "joint": _Joint,
        "scaled": _Scaled,
    }
    return ways[cells](space)
