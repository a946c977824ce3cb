"""What several benchmarks share: the tasks as a user of PyCRM writes them, C, turns, results."""

from __future__ import annotations

import ctypes
import json
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from cranium.worlds import FiniteWorld

try:
    from pycrm.automaton import CountingRewardMachine
    from pycrm.label import LabellingFunction
except ImportError:
    sys.exit("the peer is not installed: run make bench")

OUT = Path(__file__).parents[1] / "out" / "bench"


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
    """A machine from such rows; it imagines counters up to a limit."""

    u_0 = 0
    c_0: tuple[int, ...] = (0,)

    def __init__(self, rows: dict[int, list[Row]], limit: int = 0) -> None:
        self.rows = rows
        self.limit = limit
        self.c_0 = (0,) * len(rows[0][0][2])
        super().__init__(env_prop_enum=Event)

    def _get_state_transition_function(self) -> dict:
        return {u: {row[0]: row[1] for row in rows} for u, rows in self.rows.items()}

    def _get_counter_transition_function(self) -> dict:
        return {u: {row[0]: row[2] for row in rows} for u, rows in self.rows.items()}

    def _get_reward_transition_function(self) -> dict:
        return {u: {row[0]: row[3] for row in rows} for u, rows in self.rows.items()}

    def sample_counter_configurations(self) -> list[tuple[int, ...]]:
        """From which counter values an experience is imagined."""
        return [(value,) * len(self.c_0) for value in range(self.limit + 1)]


class PeerLabels(LabellingFunction):
    """The world's own events, as far as the task knows them."""

    def __init__(self, world: FiniteWorld, known: tuple[str, ...]) -> None:
        super().__init__()
        self.world = world
        self.known = {name: Event(name) for name in known}

    def __call__(self, obs: Any, action: Any, next_obs: Any) -> set[Event]:
        """The events of the last step."""
        return {self.known[name] for name in self.world.events if name in self.known}


def in_c(source: str, folder: Path, *flags: str) -> ctypes.CDLL:
    """Compile a piece of C."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        sys.exit("no C compiler was found")
    name = "-".join(["loop", *(flag.strip("-") for flag in flags)])
    code, library = folder / f"{name}.c", folder / f"{name}.so"
    code.write_text(source, encoding="utf-8")
    optimised = [compiler, "-O3", "-march=native", *flags, "-shared", "-fPIC"]
    subprocess.run([*optimised, str(code), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def by_turns(runs: Mapping[str, Callable[[], float]], turns: int) -> dict[str, list[float]]:
    """What each of them says, again and again by turns, so that a busy machine slows all."""
    for run in runs.values():
        run()  # warm up
    found: dict[str, list[float]] = {kind: [] for kind in runs}
    for _ in range(turns):
        for kind, run in runs.items():
            found[kind].append(run())
    return found


def medians(found: Mapping[str, list[float]]) -> dict[str, float]:
    """The middle one of each."""
    return {kind: statistics.median(values) for kind, values in found.items()}


def ratio(found: Mapping[str, list[float]], slow: str, fast: str) -> dict[str, float]:
    """How many times as long one takes as the other, turn by turn: the median and the range."""
    ratios = [a / b for a, b in zip(found[slow], found[fast], strict=True)]
    return {"median": statistics.median(ratios), "least": min(ratios), "greatest": max(ratios)}


def write(name: str, results: Any) -> None:
    """Write results into out/bench."""
    OUT.mkdir(parents=True, exist_ok=True)
    about = {"python": platform.python_version(), "machine": platform.machine()}
    text = json.dumps({**about, "results": results}, indent=2, ensure_ascii=False)
    (OUT / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(f"written to out/bench/{name}.json")
