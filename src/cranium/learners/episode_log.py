"""The episodes that end while a learner explores: a log of them, and streaks of success."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranium.arguments import check_count

__all__ = ["EpisodeLog", "Streak", "StreakFinder"]

COLUMNS = 3
"""Samples when it ended, return, success."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Streak:
    """When to stop: once so many training episodes in a row succeeded.

    Example:
        >>> Streak(100)
        Streak(episodes=100)
    """

    episodes: int

    def __post_init__(self) -> None:
        check_count("the length of a streak", self.episodes)


class EpisodeLog:
    """One row for each episode that ended while training: samples then, return, success (0 or 1).

    Compiled loops write on ``ring``, the n-th episode into row n modulo its length. It is emptied
    between two calls of them, so an interruption in between loses nothing.

    Args:
        wanted: Whether anything is kept; else the ring has one row, which is never read.
        room: How many episodes may end before the ring is emptied.

    Example:
        >>> log = EpisodeLog(wanted=True)
        >>> log.add(7, 1.0, True)
        >>> log.rows()
        array([[7., 1., 1.]])
    """

    def __init__(self, *, wanted: bool, room: int = 1) -> None:
        self.wanted = wanted
        self.ring = np.zeros((room if wanted else 1, COLUMNS))
        self._kept = array("d")  # grows in place, by one call that Ctrl-C cannot cut in two
        self._dropped = 0  # how many episodes were kept once

    def add(self, samples: int, earned: float, success: bool) -> None:
        """Keep an episode."""
        if self.wanted:
            self._kept.extend((samples, earned, success))

    def empty(self, episodes: int) -> None:
        """Keep what is new in the ring, given how many episodes there were so far."""
        if self.wanted:
            new = np.arange(self._dropped + len(self._kept) // COLUMNS, episodes)
            self._kept.frombytes(self.ring[new % len(self.ring)].tobytes())

    def rows(self, first: int = 0) -> Floats:
        """The episodes from this one on, without those that were dropped: [E, 3]."""
        begin = COLUMNS * max(first - self._dropped, 0)
        return np.array(self._kept[begin:]).reshape(-1, COLUMNS)

    def restore(self, rows: Floats, episodes: int) -> None:
        """Go on after so many episodes, of which the last ones are these."""
        self._kept = array("d", rows.astype(np.float64).tobytes())
        self._dropped = episodes - len(rows)

    def drop(self, first: int) -> None:
        """Forget the episodes before this one."""
        if first > self._dropped:
            del self._kept[: COLUMNS * (first - self._dropped)]
            self._dropped = first


class StreakFinder:
    """Finds the first streak in a log that is read piece by piece.

    Example:
        >>> finder = StreakFinder(Streak(2))
        >>> finder.read(np.array([[5, 0, 0], [9, 1, 1]])), finder.read(np.array([[12, 1, 1]]))
        (None, 12)
    """

    def __init__(self, streak: Streak) -> None:
        self.wanted = streak.episodes
        self.read_so_far = 0
        self.failure = -1  # the last episode without success, or before the first one
        self.found: int | None = None

    def read(self, rows: Floats) -> int | None:
        """Read on; the number of samples when the streak was complete, or None."""
        number = self.read_so_far + np.arange(len(rows))
        failure = np.maximum.accumulate(np.where(rows[:, 2] > 0, self.failure, number))
        complete = np.flatnonzero(number - failure >= self.wanted)
        if self.found is None and complete.size:
            self.found = int(rows[complete[0], 0])
        if len(rows):
            self.read_so_far, self.failure = int(number[-1]) + 1, int(failure[-1])
        return self.found
