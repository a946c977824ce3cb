"""The office worlds of QR-MAX (arXiv 2512.14617): five maps, eight tasks, wheels that slip.

The maps are data, written from the published facts; nothing of the peer's code is used. Cells are
(x, y), and (0, 0) is the first. Entering a plant ends the episode, without reward or penalty: the
released configuration says otherwise, but the published values of value iteration fit only this
(``tests/test_qrmax.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

import cranium
from cranium.automata.reward_machine import RewardMachine
from cranium.automata.transition import Transition
from cranium.worlds import FiniteEnv
from cranium.worlds.protocols import Outcome, ResetOptions

__all__ = [
    "DISCOUNT",
    "HORIZON",
    "MAPS",
    "OfficeMap",
    "SlipperyOffice",
    "problem",
    "task",
    "task_in",
]

DISCOUNT = 0.9
HORIZON = 1_001
"""An episode of training is cut off after so many steps; the peer's tests after one step fewer."""
SLIP = 0.1
"""The probability of each of the two moves at right angles to the wanted one."""
MOVES = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
ASIDE = ((2, 3), (2, 3), (0, 1), (0, 1))
Cell = tuple[int, int]


class OfficeMap(NamedTuple):
    """A map: its size, the start, what happens on which cell, plants and walls."""

    width: int
    height: int
    start: Cell
    events: dict[str, Cell]
    plants: str
    east: str  # cells (x, y) with a wall towards (x + 1, y)
    north: str  # cells (x, y) with a wall towards (x, y + 1)


def cells(text: str) -> frozenset[Cell]:
    """The cells of a list such as ``2,0 5,11``."""
    pairs = (each.split(",") for each in text.split())
    return frozenset((int(x), int(y)) for x, y in pairs)


def places(text: str) -> dict[str, Cell]:
    """The cells of a list such as ``mail 9,9  A 8,0``."""
    words = text.split()
    return {name: min(cells(cell)) for name, cell in zip(words[::2], words[1::2], strict=True)}


MAPS = {
    "map0": OfficeMap(
        10,
        10,
        (0, 0),
        places("coffee0 0,0 coffee1 9,0 mail 9,9 A 8,0 B 9,6 C 0,3 D 0,6 E 4,9 O 0,9"),
        "",
        "",
        "",
    ),
    "map1": OfficeMap(
        12,
        9,
        (2, 7),
        places("coffee0 3,2 coffee1 8,6 mail 7,4 A 1,7 B 1,1 C 10,1 D 10,7 E 0,8 O 4,4"),
        "4,1 7,1 1,4 10,4 4,7 7,7",
        "2,0 2,2 2,3 2,4 2,5 2,6 2,8 5,0 5,2 5,3 5,4 5,5 5,6 5,8 8,0 8,2 8,3 8,4 8,5 8,6 8,8",
        "0,2 0,5 2,2 2,5 3,2 3,5 4,5 5,2 5,5 6,2 6,5 7,5 8,2 8,5 9,2 9,5 11,2 11,5",
    ),
    "map2": OfficeMap(
        12,
        12,
        (2, 7),
        places("coffee0 3,3 coffee1 3,5 mail 6,8 A 1,7 B 1,1 C 3,10 D 10,1 E 0,0 O 1,4"),
        "1,0 4,0 7,0 0,3 4,3 10,4 6,6 4,7 9,7 4,8 8,8 3,9 4,9 0,11 7,11 10,11 11,11",
        "2,0 2,2 2,3 2,4 2,5 2,6 2,7 2,8 2,10 2,11 5,0 5,2 5,4 5,6 5,8 5,9 5,11 8,0 8,2 8,3 8,4 "
        "8,5 8,6 8,7 8,8 8,9 8,11",
        "0,2 0,5 1,8 2,2 2,5 2,8 3,2 3,5 4,5 4,8 5,2 5,5 5,8 6,2 6,5 6,8 7,8 8,2 8,5 8,8 9,2 9,5 "
        "9,8 10,2 10,5 11,8",
    ),
    "map3": OfficeMap(
        15,
        15,
        (2, 7),
        places("coffee0 8,4 coffee1 5,9 mail 3,4 A 1,1 B 13,1 C 14,13 D 1,10 E 2,0 O 1,13"),
        "1,0 5,0 6,0 7,0 8,0 9,0 13,0 2,1 8,1 11,2 1,4 10,4 11,4 13,4 3,5 4,5 5,5 7,5 8,5 0,6 10,6 "
        "4,7 7,7 10,7 4,8 2,9 3,9 11,9 3,10 11,10 12,10 7,11 4,13",
        "2,3 2,4 2,5 2,6 2,7 2,8 2,10 2,11 2,14 5,4 5,6 5,8 5,9 5,11 5,12 5,14 8,3 8,4 8,5 8,6 8,8 "
        "8,9 8,11 8,12 8,14 11,1 11,2 11,3 11,4 11,5 11,6 11,7 11,8 11,10 11,11 11,12 11,13",
        "0,2 0,5 1,8 1,11 2,2 2,5 2,8 2,11 3,2 3,5 3,11 4,2 4,5 4,8 4,11 5,2 5,5 5,8 5,11 6,2 6,5 "
        "6,8 6,11 7,8 8,2 8,5 8,8 8,11 9,2 9,5 9,11 10,2 10,5 11,8 11,11 12,5 12,8 12,11 14,2 14,5 "
        "14,8 14,11",
    ),
    "map4": OfficeMap(
        15,
        15,
        (2, 7),
        places("coffee0 14,0 coffee1 5,9 mail 3,4 A 1,1 B 12,1 C 14,13 D 1,10 E 2,0 O 1,13"),
        "1,0 5,0 6,0 7,0 8,0 9,0 13,0 11,2 12,2 1,4 10,4 11,4 12,4 13,4 3,5 4,5 5,5 7,5 8,5 10,6 "
        "1,7 4,7 7,7 10,7 13,7 4,8 2,9 3,9 8,9 11,9 3,10 11,10 12,10 7,11 4,13 7,13 10,13 13,13",
        "2,3 2,4 2,5 2,6 2,7 2,8 2,10 2,14 5,4 5,6 5,8 5,9 5,10 5,11 5,12 5,14 8,3 8,4 8,5 8,6 8,8 "
        "8,9 8,11 8,12 8,14 11,1 11,2 11,3 11,4 11,5 11,6 11,7 11,8 11,10 11,11 11,12 11,13",
        "0,2 0,5 1,8 1,11 2,2 2,5 2,8 2,11 3,2 3,5 3,11 4,2 4,5 4,8 4,11 5,2 5,5 5,8 5,11 6,2 6,5 "
        "6,8 6,11 8,2 8,5 8,8 8,11 9,2 9,5 9,11 10,2 10,5 11,8 11,11 12,5 12,8 12,11 14,2 14,5 "
        "14,8 14,11",
    ),
}

COFFEE = "coffee0 | coffee1"
Step = tuple[str, str, str]


def _line(*events: str, first: int = 0) -> list[Step]:
    """One event after the other, state by state."""
    return [(f"u{first + i}", event, f"u{first + i + 1}") for i, event in enumerate(events)]


def _both(at: int) -> list[Step]:
    """Coffee and mail in any order, then O, from the state of this number on."""
    u, coffee, mail, both, end = (f"u{at + i}" for i in range(5))
    return [
        (u, f"({COFFEE}) & !mail", coffee),
        (u, f"mail & !({COFFEE})", mail),
        (coffee, "mail", both),
        (mail, COFFEE, both),
        (both, "O", end),
    ]


TASKS: dict[str, list[Step]] = {
    "exp0": _line("mail", "coffee0", "O"),
    "exp1": _line(COFFEE, "O"),
    "exp2": _line("mail", "O"),
    "exp3": _both(0),
    "exp4": _line("A", "B", "C", "D"),
    "exp5": [*_line("A", "B", "C", "D"), *_both(4)],
    "exp6": [*_line("A", "B", "C", "D", "E"), *_both(5)],
    "exp7": [
        ("u0", "coffee0 & !coffee1", "u1"),
        ("u0", "coffee1 & !coffee0", "u2"),
        ("u1", "O", "u3"),
        ("u2", "O", "u3"),
    ],
}
"""The tasks: source, guard and target of every transition; the last state ends the episode."""
PAYS = {("exp7", "u1"): 1_000.0}
"""What the last transition pays, where it is not 1."""


def task(name: str) -> RewardMachine:
    """The reward machine of a task; every other event leaves it where it is."""
    steps = TASKS[name]
    end = max(target for _, _, target in steps)
    transitions = [
        Transition(
            source=source,
            guard=guard,
            target=target,
            reward=PAYS.get((name, source), 1.0) if target == end else 0.0,
        )
        for source, guard, target in steps
    ]
    return RewardMachine(
        propositions=["coffee0", "coffee1", "mail", "A", "B", "C", "D", "E", "O"],
        initial="u0",
        transitions=transitions,
        terminal=[end],
        accepting=[end],
        name=name,
    )


def task_in(map_name: str, name: str) -> RewardMachine:
    """The machine of a row of the published tables: on map4, exp6 stands for exp7."""
    return task("exp7" if (map_name, name) == ("map4", "exp6") else name)


class SlipperyOffice(FiniteEnv[Cell, NDArray[np.int64]]):
    """An office in which a move goes to the side one time in five.

    A slip into a wall or the border does nothing. If the wanted move itself meets one, nothing
    happens for certain. (The peer plans its reference policy in a model where that slips, too. The
    policy is as good as the optimal one on every row.)

    Args:
        name: One of :data:`MAPS`.
    """

    action_names = tuple(MOVES)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.map = MAPS[name]
        self.at = {cell: event for event, cell in self.map.events.items()}
        self.plants = cells(self.map.plants)
        east, north = cells(self.map.east), cells(self.map.north)
        self.walls = {frozenset({(x, y), (x + 1, y)}) for x, y in east}
        self.walls |= {frozenset({(x, y), (x, y + 1)}) for x, y in north}
        self.vocabulary = tuple(self.map.events)
        self.action_space = spaces.Discrete(len(MOVES))
        self.observation_space = spaces.MultiDiscrete([self.map.width, self.map.height])

    def move(self, cell: Cell, action: int) -> Cell:
        """Where a move leads that does not slip."""
        right, up = tuple(MOVES.values())[action]
        x, y = after = (cell[0] + right, cell[1] + up)
        inside = 0 <= x < self.map.width and 0 <= y < self.map.height
        return after if inside and frozenset({cell, after}) not in self.walls else cell

    def initial(self, options: ResetOptions) -> Sequence[tuple[float, Cell]]:
        """Every episode starts in the same cell."""
        return [(1.0, self.map.start)]

    def outcomes(self, state: Cell, action: int) -> Sequence[Outcome]:
        """The wanted move first, then those at right angles to it."""
        wanted = self.move(state, action)
        if wanted == state:
            return [self._outcome(1.0, wanted)]
        aside = [self._outcome(SLIP, self.move(state, other)) for other in ASIDE[action]]
        return [self._outcome(1 - 2 * SLIP, wanted), *aside]

    def _outcome(self, probability: float, after: Cell) -> Outcome:
        return Outcome(probability, after, after in self.plants)

    def label(self, state: Cell, action: int, after: Cell) -> str | tuple[str, ...]:
        """The event of the cell, also of one that is stayed on."""
        return self.at.get(after, ())

    def observe(self, state: Cell) -> NDArray[np.int64]:
        """The cell."""
        return np.array(state, np.int64)


def problem(map_name: str, name: str) -> cranium.AutomatonAugmentedMDP:
    """The product of a row of the published tables."""
    return cranium.product(SlipperyOffice(map_name), task_in(map_name, name), horizon=HORIZON)
