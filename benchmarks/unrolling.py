"""What does it cost to unroll a machine to 5, 20, 100 or 1000, and what if the limit is wrong?

A machine with counters can be unrolled into a reward machine for counters up to a limit. On it CQL
is CRM: this is the fair comparison of the two, on one machine each.

    size      states, transitions, time, memory and files of the unrolled machines
    samples   samples until solved on letters with N from 1 to 5 and from 1 to 20, equally tuned on
              seeds of their own
    costs     CPU time of a sample, and memory, in the compiled loop and in Python
    limits    what is solved if the limit is too small for the N in training
    beyond    what is solved if N is greater than in training
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from running import parse, write
from studying import parser_of_studies, results_of, summary_of, tell_samples

import cranium
from cranium.errors import CraniumError
from cranium.learners import TrainingResult
from cranium.worlds import LetterEnv

LIMITS = (5, 20, 100, 1000)
TASKS = {"anbcdn": LIMITS, "office": LIMITS}
Machine = cranium.CountingRewardAutomaton
Unrolled = int | None
"""The limit to which the machine is unrolled; None: it is not, and counts."""


def machine_of(name: str, limit: Unrolled) -> Machine:
    """A machine of the library, as it is or unrolled."""
    machine = cranium.library.load(name)
    return machine if limit is None else cranium.unroll(machine, counter_limit=limit)


def name_of(limit: Unrolled) -> str:
    """What a machine is called in tables."""
    return "counters" if limit is None else f"unrolled to {limit}"


def letters(times: tuple[int, int], limit: Unrolled, view: Any = "markov") -> Any:
    """A^N B C D^N with N drawn from a range."""
    world = LetterEnv.experiment(times, observation=view)
    return cranium.product(world, machine_of("anbcdn", limit), horizon=100)


def fresh(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function in a process of its own: memory is measured by its peak."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *given).result()


def peak() -> int:
    """The greatest amount of memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """The CPU time of a call, and what it returns."""
    begin = time.process_time()
    found = function()
    return time.process_time() - begin, found


# -- the size of machines


def measure_size(name: str, limit: Unrolled) -> dict[str, Any]:
    """Everything about one machine, in a process of its own."""
    counting = cranium.library.load(name)
    before = peak()
    build, machine = timed(
        lambda: counting if limit is None else cranium.unroll(counting, counter_limit=limit)
    )
    found = {
        "states": machine.size.states,
        "transitions": machine.size.transitions,
        "build": build,
        "memory": peak() - before,
    }
    found["check"], _ = timed(lambda: cranium.check(machine))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "machine.yaml"
        found["bytes"] = len(cranium.dumps(machine).encode())
        try:
            cranium.save(machine, path)
            found["load"], _ = timed(lambda: cranium.load(path))
        except CraniumError as problem:  # what would be too large to be read is not written
            found["refused to save"] = problem.message.removeprefix(f"{path} ")
        try:
            cranium.draw(machine, Path(folder) / "machine.svg")
        except CraniumError as problem:
            found["refused to draw"] = problem.message
    return found


def compare_sizes(given: argparse.Namespace) -> dict[str, Any]:
    """The sizes of all machines."""
    results = {}
    for name, limits in TASKS.items():
        for limit in (None, *limits[: given.limits]):
            found = results[f"{name}, {name_of(limit)}"] = fresh(measure_size, name, limit)
            loaded = f"read in {found['load']:.2f} s" if "load" in found else "not saved"
            print(
                f"{name:<8}{name_of(limit):<17}{found['states']:>8,} states "
                f"{found['transitions']:>8,} transitions, built in {found['build']:.3f} s and "
                f"{found['memory'] / 1e6:.1f} MB, checked in {found['check']:.2f} s, "
                f"{found['bytes'] / 1e3:,.0f} kB, {loaded}, "
                f"drawn: {'no' if 'refused to draw' in found else 'yes'}",
                flush=True,
            )
    return results


# -- samples until solved


def compare_samples(given: argparse.Namespace) -> dict[str, Any]:
    """CQL on the machine with counters, and on unrolled ones, which is CRM."""
    results = {}
    for most, limits, every in ((5, LIMITS, 50), (20, LIMITS[1:], 500)):
        problems = {
            name_of(limit): partial(letters, (1, most), limit)
            for limit in (None, *limits[: given.limits])
        }
        study = cranium.Study(
            f"unrolling, N = 1 to {most}",
            problems,
            {"CQL": "cql"},
            seeds=given.seeds,
            steps=min(1_000_000, given.most),
            evaluate_every=min(every, given.most),
            tune=cranium.Grid(
                seeds=given.tuning_seeds,
                learning_rate=[0.5, 0.75, 1.0],
                exploration=[0.02, 0.1],
                initial_value=[0.5, 1.0],
            ),
        )
        found = results_of(study, given)
        print(f"N = 1 to {most}")
        for group in found.groups:
            print(f"  {group.case:<17}{tell_samples(group)}", flush=True)
        results[study.name] = [summary_of(group) for group in found.groups]
    return results


# -- time and memory of learning


def measure_cost(path: Any, most: int, limit: Unrolled, steps: int, turns: int) -> dict[str, Any]:
    """The CPU time of a sample, the time before the first, and memory, in a fresh process."""

    def seconds(count: int) -> float:
        env = letters((1, most), limit)
        more: dict[str, Any] = {"evaluate_every": count, "evaluation_episodes": 1, "path": path}
        return timed(lambda: cranium.train(env, "cql", steps=count, seed=0, **more))[0]

    cranium.train(letters((1, 1), 1), "cql", steps=100, path=path)  # compile
    before = peak()
    setup = seconds(1)
    rates = [(seconds(steps) - seconds(steps // 10)) / (steps - steps // 10) for _ in range(turns)]
    return {"set-up": setup, "sample": statistics.median(rates), "memory": peak() - before}


def compare_costs(given: argparse.Namespace) -> dict[str, Any]:
    """The cost of a sample on each machine."""
    results = {}
    for path, steps in (("compiled", given.steps), ("python", given.steps // 40)):
        for most in (5, 20):
            for limit in (None, *LIMITS[: given.limits]):
                if limit is not None and limit < most:
                    continue
                found = fresh(measure_cost, path, most, limit, steps, given.turns)
                results[f"{path}, N = 1 to {most}, {name_of(limit)}"] = found
                print(
                    f"{path:<9} N = 1 to {most:<3} {name_of(limit):<17}"
                    f"{found['sample'] * 1e6:8.3f} µs a sample, set-up {found['set-up']:.3f} s, "
                    f"{found['memory'] / 1e6:.1f} MB",
                    flush=True,
                )
    return results


# -- wrong limits


def success_beyond(times: tuple[int, int], limit: Unrolled, result: TrainingResult) -> float:
    """The success of the greedy policy with other N; it acts at random where it has no values."""
    env = letters(times, limit, "paper")
    found = cranium.evaluate(env, result.policy.with_unknown("random"))
    return float(np.mean(found.success))


def compare_limits(given: argparse.Namespace) -> dict[str, Any]:
    """A limit that is too small for the N in training."""
    problems = {name_of(limit): partial(letters, (1, 10), limit) for limit in (None, 5, 10)}
    study = cranium.Study(
        "unrolling, N = 1 to 10",
        problems,
        {"CQL": "cql"},
        measure="final_success",
        seeds=given.seeds,
        steps=min(200_000, given.most),
    )
    results: dict[str, Any] = {}
    print("N = 1 to 10 in training, success for each")
    for group in results_of(study, given).groups:
        each = [list(record.result["success"].values()) for record in group.records]
        shares = np.mean(each, axis=0).tolist()
        print(f"  {group.case:<17}" + " ".join(f"{share:.2f}" for share in shares), flush=True)
        results[group.case] = shares
    return results


def compare_beyond(given: argparse.Namespace) -> dict[str, Any]:
    """Only N = 1 in training, then greater ones; the observation does not say what N is."""
    results: dict[str, Any] = {}
    print("N = 1 in training, then greater N")
    for limit, span in product((None, 5, 10, 100), ((1, 5), (6, 10))):
        # With a limit it learns about all configurations, also those that cannot occur yet.
        settings = {"counter_limit": 10 if limit is None else 0}
        name = f"{name_of(limit)}, then N = {span[0]} to {span[1]}"
        study = cranium.Study(
            f"unrolling, N = 1, {name}",
            {name: partial(letters, (1, 1), limit, "paper")},
            {"CQL": ("cql", {**settings, "learning_rate": 0.01, "exploration": 0.1})},
            measure=partial(success_beyond, span, limit),
            seeds=given.seeds,
            steps=min(400_000, given.most),
            until="budget",
        )
        (group,) = results_of(study, given).groups
        results[name] = found = float(np.mean(group.values))
        print(f"  {name:<35}{found:.2f}", flush=True)
    return results


KINDS = {
    "size": compare_sizes,
    "samples": compare_samples,
    "costs": compare_costs,
    "limits": compare_limits,
    "beyond": compare_beyond,
}


def main() -> None:
    """Measure all, or one of them."""
    parser = parser_of_studies(__doc__, seeds=20)
    parser.add_argument("what", choices=KINDS, nargs="?", help="left out, all")
    parser.add_argument("--tuning-seeds", type=int, default=3)
    parser.add_argument("--limits", type=int, default=4, help="how many of the limits")
    parser.add_argument("--steps", type=int, default=2_000_000, help="in a turn of the costs")
    parser.add_argument("--turns", type=int, default=5)
    small = {"seeds": 1, "most": 200, "tuning_seeds": 1, "limits": 1, "steps": 400, "turns": 1}
    given = parse(parser, workers=1, **small)
    for what in [given.what] if given.what else KINDS:
        write(f"unrolling-{what}", KINDS[what](given), smoke=given.smoke)


if __name__ == "__main__":
    main()
