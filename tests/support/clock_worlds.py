"""Environments that are not ours, with clocks of their own."""

from __future__ import annotations

import gymnasium as gym


class Corridor(gym.Env):
    """A line of cells; action 0 goes left, 1 right. Nothing of the clock is shown.

    Args:
        cells: How many there are.
        clock: After how many steps it strikes.
        ends: Whether it then terminates, and does not only cut off.
        counts: Which actions the clock counts.
        pit: Whether the first cell ends the episode.
        offset: What action 0 is called.
    """

    def __init__(self, cells=6, clock=None, *, ends=False, counts=(0, 1), pit=False, offset=0):
        self.action_space = gym.spaces.Discrete(2, start=offset)
        self.observation_space = gym.spaces.Discrete(cells)
        self.cells, self.clock, self.ends, self.counts = cells, clock, ends, counts
        self.pit, self.offset = pit, offset

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell, self.time = 1, 0
        return self.cell, {}

    def step(self, action):
        assert self.action_space.contains(action)
        move = action - self.offset
        self.time += move in self.counts
        self.cell = min(max(self.cell + (1 if move else -1), 0), self.cells - 1)
        struck = self.clock is not None and self.time >= self.clock
        fell = self.pit and self.cell == 0
        return self.cell, 0.0, fell or (struck and self.ends), struck and not self.ends, {}


def far(before, action, after):
    """Reaching the last of six cells."""
    return "far" if after == 5 and before != 5 else ()


def near(before, action, after):
    """Reaching the second cell again, or the last."""
    return "near" if after == 1 and before != 1 else far(before, action, after)
