"""What does the product cost on top of the bare environment, and what does PyCRM's?

All run the same random actions in the same world (LetterEnv) with the same task (A^N B C D^N), in
turns, so that a busy machine slows all of them. The overhead is the time of a step of the product
less that of the bare environment and of the labelling function. ``make bench`` runs this.
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
from cranium.worlds import LetterEnv

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


class PeerMachine(CountingRewardMachine):
    """A^N B C D^N as a PyCRM user writes it; a wrong letter is ignored, so that episodes go on."""

    u_0 = 0
    c_0 = (0,)

    def __init__(self) -> None:
        super().__init__(env_prop_enum=Event)

    def _get_state_transition_function(self) -> dict:
        return {
            0: {"A / (-)": 0, "B / (NZ)": 1, "B / (Z)": 0, "C or D / (-)": 0, "/ (-)": 0},
            1: {"C / (-)": 2, "A or B or D / (-)": 1, "/ (-)": 1},
            2: {"D / (NZ)": 2, "A or B or C / (NZ)": 2, "/ (Z)": -1, "/ (NZ)": 2},
        }

    def _get_counter_transition_function(self) -> dict:
        zero = (0,)
        return {
            0: {"A / (-)": (1,), "B / (NZ)": zero, "B / (Z)": zero, "C or D / (-)": zero,
                "/ (-)": zero},
            1: {"C / (-)": zero, "A or B or D / (-)": zero, "/ (-)": zero},
            2: {"D / (NZ)": (-1,), "A or B or C / (NZ)": zero, "/ (Z)": zero, "/ (NZ)": zero},
        }  # fmt: skip

    def _get_reward_transition_function(self) -> dict:
        return {
            0: {"A / (-)": 0, "B / (NZ)": 0, "B / (Z)": 0, "C or D / (-)": 0, "/ (-)": 0},
            1: {"C / (-)": 0, "A or B or D / (-)": 0, "/ (-)": 0},
            2: {"D / (NZ)": 0, "A or B or C / (NZ)": 0, "/ (Z)": 1, "/ (NZ)": 0},
        }

    def sample_counter_configurations(self) -> list[tuple[int, ...]]:
        """Needed by the base class, not by this benchmark."""
        return [(0,)]


class PeerLabels(LabellingFunction):
    """The world's own events."""

    def __init__(self, world: LetterEnv) -> None:
        super().__init__()
        self.world = world

    def __call__(self, obs: Any, action: Any, next_obs: Any) -> set[Event]:
        """The events of the last step."""
        return {Event(name) for name in self.world.events}


def ours() -> cranium.AutomatonAugmentedMDP:
    """The product, with the machine of the same behaviour."""
    machine = cranium.loads(
        """
        propositions: [A, B, C, D]
        counters: [n]
        initial: counting
        terminal: [done]
        accepting: [done]
        transitions:
          - {from: counting, when: A, add: {n: 1}}
          - {from: counting, when: B & !A, if: n > 0, to: middle}
          - {from: middle, when: C, to: matching}
          - {from: matching, when: D, if: n > 0, add: {n: -1}}
          - {from: matching, silent: true, if: n == 0, to: done, reward: 1}
        """
    )
    return cranium.product(LetterEnv.experiment((1, 5)), machine, horizon=10**9)


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
    """Seconds for each call of a labelling function."""

    def run() -> float:
        clock = time.perf_counter
        spent = 0.0
        for _ in range(count):
            begin = clock()
            function(None, 0, None)
            spent += clock() - begin
        return spent / count

    return run


def main() -> None:
    """Measure, and print the medians over the turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=15)
    turns = parser.parse_args().turns
    actions = np.random.default_rng(0).integers(4, size=STEPS).tolist()
    bare, product = LetterEnv.experiment((1, 5)), ours()
    world = LetterEnv.experiment((1, 5))
    peer_labels = PeerLabels(world)
    peer = CrossProduct(world, PeerMachine(), peer_labels, max_steps=10**9)
    runs = {
        "bare": steps(bare, actions),
        "ours": steps(product, actions),
        "our labels": labels(product.labelling, STEPS),
        "peer": steps(peer, actions),
        "peer's labels": labels(peer_labels, STEPS),
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()  # warm up
    for _ in range(turns):
        for name, run in runs.items():
            times[name].append(run())
    cost = [o - b - x for o, b, x in zip(times["ours"], times["bare"], times["our labels"],
                                         strict=True)]  # fmt: skip
    peers = [p - b - x for p, b, x in zip(times["peer"], times["bare"], times["peer's labels"],
                                          strict=True)]  # fmt: skip
    ratios = [p / c for p, c in zip(peers, cost, strict=True)]
    for name, found in times.items():
        print(f"{name:<16} {statistics.median(found) * 1e6:7.2f} µs a step")
    print(f"overhead, ours   {statistics.median(cost) * 1e6:7.2f} µs a step")
    print(f"overhead, peer   {statistics.median(peers) * 1e6:7.2f} µs a step")
    print(
        f"ours is {statistics.median(ratios):.1f} times less "
        f"({min(ratios):.1f} to {max(ratios):.1f} over {turns} turns)"
    )


if __name__ == "__main__":
    main()
