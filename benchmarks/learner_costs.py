"""What does learning cost: a step and memory as counters grow, and the first use?

CQL learns A^N B^N, A^N B^M C^M D^N and A^N B^M C^K D^K E^M F^N (one, two and three counters) in a
world of nine cells, with counters up to 10, 100 and 1000, in an episode long enough to get there.
What the full grid of counter values would take is worked out, the rest is measured. ``make bench``
runs this.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from learners import compiled_run, imagined, learn, live_run, timed
from running import parse, parser_of, write

import cranium
from cranium.tables.space import MOST_LISTED
from cranium.worlds import LetterEnv, LetterSpec

LANGUAGES = {1: "A^N B^N", 2: "A^N B^M C^M D^N", 3: "A^N B^M C^K D^K E^M F^N"}
CELLS = {"A": (0, 0), "B": (0, 2), "C": (2, 2), "D": (2, 0), "E": (0, 1), "F": (2, 1)}
TRAINING = """
import cranium, gymnasium
env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
assert cranium.train(env, {learner!r}, steps=30_000, until="solved").evaluation.solved
"""
IMPORT = "import cranium, sys; assert 'numba' not in sys.modules"


def task(counters: int, limit: int) -> cranium.AutomatonAugmentedMDP:
    """A task with so many counters; the walks between the letters take less than the rest."""
    letters = [LetterSpec(name, CELLS[name]) for name in "ABCDEF"[: 2 * counters]]
    world = LetterEnv(letters, rows=3, columns=3, start=(1, 1))
    machine = cranium.compile_language(LANGUAGES[counters])
    horizon = 2 * counters * limit + 20
    return cranium.product(world, machine, horizon=horizon, counter_limit=limit)


def grid_bytes(product: cranium.AutomatonAugmentedMDP) -> int:
    """Q and the tables, if every state went with every counter value."""
    machine = product.automaton
    configurations = len(machine.states) * (product.counter_limit + 1) ** machine.num_counters
    labels = len(machine.propositions) + 1
    return configurations * (9 * 4 * 8 + labels * 16)


def held(run: Any) -> int:
    """Bytes of Q and the tables of a run."""
    tables = run.agent.tables
    return int(tables.ints.nbytes + tables.floats.nbytes)


@contextmanager
def patience(seconds: int) -> Iterator[None]:
    """Give up after so long."""

    def give_up(*_: Any) -> None:
        raise TimeoutError(f"not within {seconds} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def compiled_costs(configurations: str, counters: int, limit: int, options: Any) -> dict[str, Any]:
    """Everything listed before the first step."""
    begin = time.process_time()
    try:
        with patience(options.patience):
            run = compiled_run(configurations, task(counters, limit))
    except (cranium.errors.SpaceError, TimeoutError) as problem:
        reason = str(problem).split(";")[0].splitlines()[0]
        return {"refused": reason, "set-up": time.process_time() - begin}
    setup = time.process_time() - begin
    width = len(run.agent.tables.space)
    steps = max(options.updates // width, 100)
    step = timed(lambda count: learn(run, count), steps)
    step()
    seconds = statistics.median(step() for _ in range(options.turns))
    about = {"configurations": width, "imagined": imagined(run), "bytes": held(run)}
    return {**about, "set-up": setup, "seconds a step": seconds}


def growing_costs(configurations: str, counters: int, limit: int, options: Any) -> dict[str, Any]:
    """Only what is met, as ``path="python"`` does when there is too much to list."""
    steps = options.live_steps
    begin = time.process_time()
    run = live_run(configurations, task(counters, limit), most=MOST_LISTED)
    setup = time.process_time() - begin
    first = timed(lambda count: learn(run, count), steps)()
    step = timed(lambda count: learn(run, count), steps)
    seconds = statistics.median(step() for _ in range(options.turns))
    tracemalloc.start()
    again = live_run(configurations, task(counters, limit), most=MOST_LISTED)
    learn(again, steps)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    met = run.agent.tables.space.configurations
    return {
        "configurations": len(met),
        "imagined": imagined(run),
        "highest counter listed": max(max(x.counters) for x in met),
        "bytes": held(run),
        "peak of everything": peak,
        "set-up": setup,
        "seconds a step at first": first,
        "seconds a step": seconds,
    }


def size(count: float) -> str:
    """Bytes, for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def show(name: str, found: dict[str, Any]) -> None:
    """Print what one way costs."""
    if "refused" in found:
        print(f"    {name:<20} after {found['set-up']:.1f} s: {found['refused']}")
        return
    line = f"    {name:<20} {found['configurations']:>7,} configurations, "
    line += f"{found['imagined']:>6,} imagined, {size(found['bytes']):>7}, "
    line += f"set-up {found['set-up']:.2f} s, {found['seconds a step'] * 1e6:.2f} µs a step"
    if "highest counter listed" in found:
        line += f" (at first {found['seconds a step at first'] * 1e6:.1f}), counters up to "
        line += f"{found['highest counter listed']}, all in all {size(found['peak of everything'])}"
    print(line)


def counters_and_limits(options: Any) -> list[dict[str, Any]]:
    """All ways for all sizes."""
    rows = []
    for counters in LANGUAGES:
        for limit in options.limits:
            grid = grid_bytes(task(counters, limit))
            print(f"  {counters} counters up to {limit}: the full grid would take {size(grid)}")
            row: dict[str, Any] = {"counters": counters, "limit": limit, "grid bytes": grid}
            for kind in ("reachable", "seen"):
                row[f"compiled, {kind}"] = compiled_costs(kind, counters, limit, options)
                if "refused" in row[f"compiled, {kind}"]:
                    break  # the other would be refused just so
            for kind in ("reachable", "seen"):
                row[f"growing, {kind}"] = growing_costs(kind, counters, limit, options)
            for name, found in row.items():
                if isinstance(found, dict):
                    show(name, found)
            rows.append(row)
    return rows


def wall(command: list[str], turns: int, **environment: str) -> list[float]:
    """Wall times of a command in fresh processes."""
    found = []
    for _ in range(turns):
        begin = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
        found.append(time.perf_counter() - begin)
    return found


def first_use(turns: int) -> dict[str, Any]:
    """How long the command line, the import and the first training take."""
    program = Path(sys.executable).with_name("cranium")
    runs = {
        "cranium --help": (wall([str(program), "--help"], turns), 1),
        "import, no Numba": (wall([sys.executable, "-c", IMPORT], turns), 1),
    }
    for learner in ("cql", "planner"):
        command = [sys.executable, "-c", TRAINING.format(learner=learner)]
        cold, warm = [], []
        for _ in range(turns):
            with tempfile.TemporaryDirectory() as cache:
                cold += wall(command, 1, NUMBA_CACHE_DIR=cache)
                warm += wall(command, 1, NUMBA_CACHE_DIR=cache)
        runs[f"first training, {learner}"] = cold, 15
        runs[f"the next, {learner}"] = warm, 3
    results = {}
    for name, (found, goal) in runs.items():
        middle = statistics.median(found)
        print(f"  {name:<23} {middle:5.2f} s ({min(found):.2f} to {max(found):.2f}); goal {goal} s")
        results[name] = {"median": middle, "least": min(found), "greatest": max(found)}
    return results


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--limits", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--processes", type=int, default=3, help="fresh ones, for each first use")
    parser.add_argument("--updates", type=int, default=5_000_000, help="in a turn")
    parser.add_argument("--live-steps", type=int, default=5_000)
    parser.add_argument("--patience", type=int, default=20, help="seconds to list everything")
    small = {"turns": 1, "updates": 1, "live_steps": 100, "patience": 2, "processes": 1}
    options = parse(parser, limits=[2, 1000], **small)
    print("first use, in fresh processes")
    results: dict[str, Any] = {"first use": first_use(options.processes)}
    print("counters and their limits")
    results["counters"] = counters_and_limits(options)
    write("learner_costs", results, smoke=options.smoke)


if __name__ == "__main__":
    main()
