"""What does the product cost on top of the bare environment, and what does PyCRM's?

All run the same random actions in the same worlds with the same tasks, those of the paper, in
turns, so that a busy machine slows all of them. The overhead is the median time of a step of the
product less that of the bare environment and of the labelling function. ``make bench`` runs this.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

import cranium
from cranium.worlds import FiniteWorld, LetterEnv, OfficeWorld

try:
    from pycrm.automaton import CountingRewardMachine
    from pycrm.crossproduct import CrossProduct
    from pycrm.label import LabellingFunction
except ImportError:
    sys.exit("the peer is not installed: run make bench")

STEPS = 2_000


class Event(Enum):
    """The propositions, as PyCRM wants them."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"
    mail = "mail"
    empty = "empty"
    coffee = "coffee"
    person = "person"
    decoration = "decoration"


# The two tasks of the paper as a PyCRM user writes them: for each state, in order, what is read,
# the next state, the change and the reward; -1 ends.
Row = tuple[str, int, tuple[int, ...], float]
LETTER: dict[int, list[Row]] = {
    0: [
        ("A / (-)", 0, (1,), 0),
        ("B / (NZ)", 1, (0,), 0),
        ("B / (Z)", -1, (0,), 0),
        ("C or D / (-)", -1, (0,), 0),
        ("/ (-)", 0, (0,), 0),
    ],
    1: [("C / (-)", 2, (0,), 0), ("A or B or D / (-)", -1, (0,), 0), ("/ (-)", 1, (0,), 0)],
    2: [
        ("D / (NZ)", 2, (-1,), 0),
        ("A or B or C / (NZ)", -1, (0,), 0),
        ("/ (Z)", -1, (0,), 1),
        ("/ (NZ)", 2, (0,), 0),
    ],
}
OFFICE: dict[int, list[Row]] = {
    0: [
        ("mail / (-,-)", 0, (1, 1), 0),
        ("empty / (NZ,-)", 1, (0, 0), 0),
        ("empty / (Z,-)", -1, (0, 0), 0),
        ("coffee or person or decoration / (-,-)", -1, (0, 0), 0),
        ("/ (-,-)", 0, (0, 0), 0),
    ],
    1: [
        ("coffee / (NZ,-)", 1, (-1, 0), 0),
        ("mail or empty or person or decoration / (NZ,-)", -1, (0, 0), 0),
        ("/ (Z,-)", 2, (0, 0), 0),
        ("/ (NZ,-)", 1, (0, 0), 0),
    ],
    2: [
        ("person / (-,NZ)", 2, (0, -1), 0),
        ("mail or empty or coffee or decoration / (-,NZ)", -1, (0, 0), 0),
        ("/ (-,Z)", -1, (0, 0), 1),
        ("/ (-,NZ)", 2, (0, 0), 0),
    ],
}


class PeerMachine(CountingRewardMachine):
    """A machine from such rows."""

    u_0 = 0
    c_0: tuple[int, ...] = (0,)

    def __init__(self, rows: dict[int, list[Row]]) -> None:
        self.rows = rows
        self.c_0 = (0,) * len(rows[0][0][2])
        super().__init__(env_prop_enum=Event)

    def _get_state_transition_function(self) -> dict:
        return {u: {row[0]: row[1] for row in rows} for u, rows in self.rows.items()}

    def _get_counter_transition_function(self) -> dict:
        return {u: {row[0]: row[2] for row in rows} for u, rows in self.rows.items()}

    def _get_reward_transition_function(self) -> dict:
        return {u: {row[0]: row[3] for row in rows} for u, rows in self.rows.items()}

    def sample_counter_configurations(self) -> list[tuple[int, ...]]:
        """Needed by the base class, not by this benchmark."""
        return [self.c_0]


class PeerLabels(LabellingFunction):
    """The world's own events, as far as the task knows them."""

    def __init__(self, world: FiniteWorld, known: tuple[str, ...]) -> None:
        super().__init__()
        self.world = world
        self.known = {name: Event(name) for name in known}

    def __call__(self, obs: Any, action: Any, next_obs: Any) -> set[Event]:
        """The events of the last step."""
        return {self.known[name] for name in self.world.events if name in self.known}


def steps(env: Any, actions: list[int]) -> Callable[[], float]:
    """Seconds for each step, resets not counted."""

    def run() -> float:
        env.reset(seed=0)
        spent = 0.0
        clock = time.perf_counter
        for action in actions:
            begin = clock()
            result = env.step(action)
            spent += clock() - begin
            if result[2]:
                env.reset()
        return spent / len(actions)

    return run


def labels(function: Callable[[Any, Any, Any], Any], count: int) -> Callable[[], float]:
    """Seconds for each call of a labelling function, less those that reading the clock takes."""

    def run() -> float:
        clock = time.perf_counter
        spent = idle = 0.0
        for _ in range(count):
            begin = clock()
            idle += clock() - begin
            begin = clock()
            function(None, 0, None)
            spent += clock() - begin
        return (spent - idle) / count

    return run


def measure(
    name: str, make: Callable[[], FiniteWorld], rows: dict[int, list[Row]], turns: int
) -> None:
    """Run all of them in turns, and print the medians."""
    actions = np.random.default_rng(0).integers(4, size=STEPS).tolist()
    machine = cranium.library.load(name)
    product = cranium.product(make(), machine, horizon=10**9)
    world = make()
    peer_labels = PeerLabels(world, machine.propositions)
    peer = CrossProduct(world, PeerMachine(rows), peer_labels, max_steps=10**9)
    runs = {
        "bare": steps(make(), actions),
        "ours": steps(product, actions),
        "our labels": labels(product.labelling, STEPS),
        "peer": steps(peer, actions),
        "peer's labels": labels(peer_labels, STEPS),
    }
    times: dict[str, list[float]] = {kind: [] for kind in runs}
    for run in runs.values():
        run()  # warm up
    for _ in range(turns):
        for kind, run in runs.items():
            times[kind].append(run())
    middle = {kind: statistics.median(found) for kind, found in times.items()}
    cost = middle["ours"] - middle["bare"] - middle["our labels"]
    peers = middle["peer"] - middle["bare"] - middle["peer's labels"]
    print(f"library:{name}")
    for kind, found in middle.items():
        print(f"  {kind:<15} {found * 1e6:6.2f} µs a step")
    print(
        f"  overhead: ours {cost * 1e6:.2f} µs, peer {peers * 1e6:.2f} µs: {peers / cost:.1f} times"
    )


def main() -> None:
    """Measure both tasks of the paper."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=25)
    turns = parser.parse_args().turns
    measure("anbcdn", lambda: LetterEnv.experiment((1, 5)), LETTER, turns)
    measure("office", lambda: OfficeWorld((1, 5)), OFFICE, turns)


if __name__ == "__main__":
    main()
