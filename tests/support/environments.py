"""Small ground environments that show whether the product keeps its promises."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from gymnasium import spaces

import cranium


class Line(gym.Env):
    """Cells 0 to 9 in one array that is written into again and again; action 1 moves right.

    It terminates at 9, pays its position, and remembers the seed and the options it was given.
    """

    def __init__(self, *, truncate_at: int | None = None) -> None:
        self.observation_space = spaces.Box(0, 9, (1,), np.int64)
        self.action_space = spaces.Discrete(2)
        self.truncate_at = truncate_at
        self.cell = np.zeros(1, np.int64)
        self.given: list[tuple[object, object]] = []
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.given.append((seed, options))
        self.cell[0] = 0
        self.steps = 0
        return self.cell, {"where": "start"}

    def step(self, action):
        self.steps += 1
        self.cell[0] = min(self.cell[0] + action, 9)
        ends = bool(self.cell[0] == 9)
        return self.cell, float(self.cell[0]), ends, self.steps == self.truncate_at, {"where": "on"}


def moved(before, action, after):
    """The event of moving; a wrong copy of an observation would hide it."""
    return {"A"} if after[0] > before[0] else ()


def odd_or_even(before, action, after):
    return "A" if after[0] % 2 else "B"


def make_letter_product(times=1, **options):
    """Letter world with the task A^N B C D^N."""
    return gym.make("cranium/Letter-anbcdn-v0", times=times, **options)


class Row(gym.Env):
    """Cells in a row; actions left and right; ``cut`` truncates episodes after so many steps."""

    action_space = gym.spaces.Discrete(2)

    def __init__(self, cells, cut=None):
        self.cells, self.cut = cells, cut
        self.observation_space = gym.spaces.Discrete(cells)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = self.time = 0
        return 0, {}

    def step(self, action):
        self.cell = min(max(self.cell + (1 if action else -1), 0), self.cells - 1)
        self.time += 1
        return self.cell, -0.5, False, self.time == self.cut, {}


def make_row_product(cells, cut=None, task=None, **options):
    """A row with the task to reach its last cell, or another."""
    ends = cranium.labelling_from_cells({cells - 1: "goal", 0: "left"})
    task = task or cranium.compile_language("goal")
    return cranium.product(Row(cells, cut), task, ends, **options)
