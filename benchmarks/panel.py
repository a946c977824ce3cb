"""Worlds with chance on which the defaults of learners are chosen (TUNING) and reported (HELD_OUT).

The split was made before anything was measured. Defaults may be chosen, and failures looked into,
on the tuning half only. The held-out half is for reporting: nobody looks at why a learner fails
there, or chooses anything by it. The worlds are Gymnasium's, MiniGrid's and random ones, and ours
with slips, which no default was chosen on.

All are tables, so that the optimum is known. Each has two tasks that count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from panel_worlds import (
    TableEnv,
    blackjack,
    gymnasium_world,
    minigrid,
    ours,
    random_world,
    taxi,
)

import cranium
from cranium.worlds import CraftWorld, LetterEnv, OfficeWorld

__all__ = ["HELD_OUT", "PANELS", "TUNING", "Problem", "make"]

LIMIT = 6
"""The counter limit of the tasks: an episode that counts further fails."""


class Problem(NamedTuple):
    """A world and two tasks that count, with the horizon of an episode."""

    world: Callable[[], TableEnv]
    tasks: tuple[str, str]
    horizon: int


def make(panel: str, name: str, number: int) -> cranium.AutomatonAugmentedMDP:
    """The product of a world of a panel and one of its two tasks."""
    told = PANELS[panel][name]
    task = cranium.compile_language(told.tasks[number])
    return cranium.product(told.world(), task, horizon=told.horizon, counter_limit=LIMIT)


LAKE = ((1, "fish"), (13, "sell"), (14, "sell"), (15, "goal"))
BIG_LAKE = ((3, "fish"), (39, "sell"), (47, "sell"), (63, "goal"))
CLIFF = ((0, "left"), (11, "right"), (47, "goal"))
LETTER = ("A^N B C D^N", "A^N B D^N C")
OFFICE = ("mail^2 person^2", "mail^N coffee^N person^N where N >= 1")
CRAFT = ("wood^2 workbench", "wood^N grass^N toolshed where N >= 1")
RANDOM = ("a^3 b^2", "a^N b^N where N >= 2")
MINI = ("corner^2 goal", "corner^N goal where N >= 3")
DOOR = ("key open goal", "key^N open^N goal where N >= 2")


def _letter() -> LetterEnv:
    return LetterEnv.experiment((1, 3))


def _office() -> OfficeWorld:
    return OfficeWorld(None)


def _craft() -> CraftWorld:
    return CraftWorld(layout="small")


TUNING = {
    "FrozenLake 4x4": Problem(
        lambda: gymnasium_world("FrozenLake-v1", LAKE),
        ("fish^2 goal", "fish^N sell^M goal where N >= 2, M >= N"),
        100,
    ),
    "CliffWalking slippery": Problem(
        lambda: gymnasium_world("CliffWalkingSlippery-v1", CLIFF, is_slippery=True),
        ("left^2 goal", "left^N right^N goal where N >= 1"),
        200,
    ),
    "Taxi in the rain": Problem(
        taxi, ("R^2 pickup ride* deliver", "pickup ride^N deliver where N >= 8"), 200
    ),
    "Letter, slip 0.2": Problem(lambda: ours(_letter(), 0.2), LETTER, 200),
    "Office, slip 0.1": Problem(lambda: ours(_office(), 0.1), OFFICE, 300),
    "Craft, slip 0.2": Problem(lambda: ours(_craft(), 0.2), CRAFT, 200),
    "random MDP, 30 states": Problem(lambda: random_world(30, 5, 1), RANDOM, 200),
    "MiniGrid empty, slip 0.1": Problem(
        lambda: minigrid("MiniGrid-Empty-6x6-v0", (4, 1), 0.1), MINI, 200
    ),
}
HELD_OUT = {
    "FrozenLake 8x8": Problem(
        lambda: gymnasium_world("FrozenLake8x8-v1", BIG_LAKE, map_name="8x8"),
        ("fish^2 goal", "fish^N sell^M goal where N >= 1, M >= N"),
        200,
    ),
    "CliffWalking": Problem(
        lambda: gymnasium_world("CliffWalking-v1", CLIFF),
        ("left^3 goal", "left^N right^N goal where N >= 2"),
        200,
    ),
    "Blackjack": Problem(blackjack, ("hit^2 win", "hit^N win where N >= 1"), 20),
    "Letter, slip 0.1": Problem(lambda: ours(_letter(), 0.1), LETTER, 200),
    "Office, slip 0.2": Problem(lambda: ours(_office(), 0.2), OFFICE, 300),
    "Craft, slip 0.1": Problem(lambda: ours(_craft(), 0.1), CRAFT, 200),
    "random MDP, 60 states": Problem(lambda: random_world(60, 3, 2), RANDOM, 300),
    "MiniGrid door, slip 0.1": Problem(
        lambda: minigrid("MiniGrid-DoorKey-5x5-v0", (0, 0), 0.1), DOOR, 200
    ),
}
PANELS = {"tuning": TUNING, "held-out": HELD_OUT}
