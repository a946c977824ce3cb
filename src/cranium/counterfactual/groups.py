"""Arrays that grow, and groups of configurations that are drawn from."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["GrowingArray", "Ints", "MemberGroup", "RandomNumbers"]

Ints = NDArray[np.int64]


class RandomNumbers(Protocol):
    """The methods of ``numpy.random.Generator`` that a replay buffer calls."""

    def random(self, size: int, /) -> NDArray[np.float64]:
        """Draw numbers from 0 to 1."""

    def integers(self, low: int, high: int, size: int, /) -> NDArray[np.int64]:
        """Draw whole numbers from ``low`` to ``high - 1``."""


class GrowingArray:
    """An array with spare rows, so that appending one does not copy the others.

    Example:
        >>> array = GrowingArray(0)
        >>> array.append(7)
        >>> array.rows
        array([7])
    """

    def __init__(self, first: ArrayLike) -> None:
        shape, kind = np.shape(first), np.asarray(first).dtype
        self._room: NDArray[Any] = np.zeros((16, *shape), kind)
        self._size = 0

    def append(self, row: ArrayLike) -> None:
        """Add a row."""
        if self._size == len(self._room):
            self._room = np.concatenate([self._room, np.zeros_like(self._room)])
        self._room[self._size] = row
        self._size += 1

    @property
    def rows(self) -> NDArray[Any]:
        """The rows that were added: a view."""
        return self._room[: self._size]


class MemberGroup(NamedTuple):
    """Members of a set, ordered so that those with equal observation features are neighbours.

    Example:
        >>> group = MemberGroup.of(np.array([4, 5, 6]), np.array([0, 1, 0]))
        >>> group.pick(np.array([0.0, 0.4, 0.9]))
        array([4, 6, 5])
    """

    ordered: Ints  # [M]
    first: Ints  # [G]; where each run of equal features begins
    size: Ints  # [G]; and how many they are

    @classmethod
    def of(cls, members: Ints, features: Ints) -> MemberGroup:
        """Order members by their features."""
        order = np.argsort(features, kind="stable")
        first = np.flatnonzero(np.diff(features[order], prepend=-1))
        return cls(members[order], first, np.diff(first, append=len(order)))

    def pick(self, drawn: NDArray[np.float64]) -> Ints:
        """Turn random numbers into members: uniform over features, then over the members."""
        place = drawn * len(self.first)
        run = place.astype(np.int64)
        if len(self.first) == len(self.ordered):
            return self.ordered.take(run)
        # The fraction that is left of a random number is a random number, too.
        within = ((place - run) * self.size.take(run)).astype(np.int64)
        return self.ordered.take(self.first.take(run) + within)
