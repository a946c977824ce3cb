"""What does the product cost on top of the bare environment, and what does PyCRM's?

All run the same random actions in the same worlds with the same tasks, those of the paper, in
turns, so that a busy machine slows all of them. The overhead is the median time of a step of the
product less that of the bare environment and, for the peer, of the labelling function: ours reads
the events of our own worlds without calling one, so there is nothing to take off. ``make bench``
runs this.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from peers import LETTER, OFFICE, PeerLabels, PeerMachine, Row, by_turns, medians
from pycrm.crossproduct import CrossProduct
from running import parse, parser_of

import cranium
from cranium.worlds import FiniteEnv, LetterEnv, OfficeWorld

STEPS = 2_000


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
    name: str, make: Callable[[], FiniteEnv], rows: dict[int, list[Row]], turns: int
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
        "peer": steps(peer, actions),
        "peer's labels": labels(peer_labels, STEPS),
    }
    found = by_turns(runs, turns)
    # Turn by turn: the machine is not equally fast all the time.
    bare, ours, theirs, their_labels = (np.array(found[kind]) for kind in runs)
    cost = float(np.median(ours - bare))
    peers = float(np.median(theirs - bare - their_labels))
    print(f"library:{name}")
    for kind, middle in medians(found).items():
        print(f"  {kind:<15} {middle * 1e6:6.2f} µs a step")
    print(
        f"  overhead: ours {cost * 1e6:.2f} µs, peer {peers * 1e6:.2f} µs: {peers / cost:.1f} times"
    )


def main() -> None:
    """Measure both tasks of the paper."""
    parser = parser_of(__doc__)
    parser.add_argument("--turns", type=int, default=25)
    turns = parse(parser, turns=1).turns
    measure("anbcdn", lambda: LetterEnv.experiment((1, 5)), LETTER, turns)
    measure("office", lambda: OfficeWorld((1, 5)), OFFICE, turns)


if __name__ == "__main__":
    main()
