"""How fast is one step of a machine, against PyCRM's ``transition``, in the same run?

Both run the paper's task A^N B C^N on the same words, call by call, Python to Python, in turns, so
that a busy machine slows both. The result is the ratio of the times per call: its median over the
turns and its range. ``make bench`` installs the peer (pyrewardmachines) and runs this.

    step            our step() as a learner calls it: the label is a bitmask
    step, names     the same, the label is a frozenset of names
    step, new       every configuration is one that was never met before
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from enum import Enum

from running import parse, parser_of

import cranium

try:
    from pycrm.automaton import CountingRewardMachine
except ImportError:
    sys.exit("the peer is not installed: run make bench")

WORDS = [
    ["A"] * n + blanks + ["B"] + blanks + ["C"] * n for n in (1, 3, 8) for blanks in ([], [""] * 4)
]


class Letter(Enum):
    """The propositions, as PyCRM wants them."""

    A = "A"
    B = "B"
    C = "C"


class Peer(CountingRewardMachine):
    """A^N B C^N as a PyCRM user writes it: three dictionaries, blank labels included."""

    u_0 = 0
    c_0 = (0,)

    def __init__(self) -> None:
        super().__init__(env_prop_enum=Letter)

    def _get_state_transition_function(self) -> dict:
        return {
            0: {"A / (-)": 0, "B / (NZ)": 1, "B / (Z)": -1, "C / (-)": -1, "/ (-)": 0},
            1: {"A or B / (NZ)": -1, "C / (NZ)": 1, "/ (Z)": -1, "/ (NZ)": 1},
        }

    def _get_counter_transition_function(self) -> dict:
        return {
            0: {"A / (-)": (1,), "B / (NZ)": (0,), "B / (Z)": (0,), "C / (-)": (0,), "/ (-)": (0,)},
            1: {"A or B / (NZ)": (0,), "C / (NZ)": (-1,), "/ (Z)": (0,), "/ (NZ)": (0,)},
        }

    def _get_reward_transition_function(self) -> dict:
        return {
            0: {"A / (-)": 0, "B / (NZ)": 0, "B / (Z)": 0, "C / (-)": 0, "/ (-)": 0},
            1: {"A or B / (NZ)": 0, "C / (NZ)": 0, "/ (Z)": 1, "/ (NZ)": 0},
        }

    def sample_counter_configurations(self) -> list[tuple[int, ...]]:
        """Needed by the base class, not by this benchmark."""
        return [(0,)]


def peer_runner() -> Callable[[], int]:
    """Run all words through the peer; how many calls that took."""
    machine = Peer()
    words = [[{Letter[x]} if x else set() for x in word] for word in WORDS]

    def run() -> int:
        calls = 0
        for word in words:
            u, c = machine.u_0, machine.c_0
            for props in word:
                u, c, _ = machine.transition(u, c, props)
                calls += 1
        return calls

    return run


def our_runner(*, names: bool = False, memo: bool = True) -> Callable[[], int]:
    """Run all words through ours; how many calls that took."""
    machine = cranium.library.load("anbcn")
    alphabet = machine.alphabet
    sets = [[frozenset({x} if x else ()) for x in word] for word in WORDS]
    words = sets if names else [[alphabet.label(label) for label in word] for word in sets]

    def run() -> int:
        step = machine.step
        calls = 0
        for word in words:
            configuration = machine.start
            for label in word:
                if not memo:
                    machine._steps.clear()
                configuration = step(configuration, label).configuration
                calls += 1
            assert machine.is_accepting(configuration)
        return calls

    return run


def seconds_per_call(run: Callable[[], int], budget: float) -> float:
    """CPU time of one call, over at least ``budget`` seconds."""
    calls, started = 0, time.process_time()
    while (spent := time.process_time() - started) < budget:
        calls += run()
    return spent / calls


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=0.1, help="per measurement")
    options = parse(parser, rounds=1, seconds=0.01)
    ours = {
        "step": our_runner(),
        "step, names": our_runner(names=True),
        "step, new": our_runner(memo=False),
    }
    peer = peer_runner()
    ratios: dict[str, list[float]] = {name: [] for name in ours}
    for _ in range(options.rounds):
        for name, run in ours.items():
            theirs = seconds_per_call(peer, options.seconds)
            ratios[name].append(theirs / seconds_per_call(run, options.seconds))
    print(f"PyCRM transition() / cranium, per call, {options.rounds} rounds")
    for name, found in ratios.items():
        low, high = min(found), max(found)
        print(
            f"  {name:<12} {statistics.median(found):5.1f} times as fast ({low:.1f} to {high:.1f})"
        )


if __name__ == "__main__":
    main()
