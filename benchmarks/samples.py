"""How many samples, and how much CPU time, do the learners need to solve the paper's tasks?

Every learner is tuned alike: a grid of learning rates, with and without shaping; the best median
counts. Plain Q-learning, without shaping, has a line of its own, because that is what
``cranium reproduce letter`` calls QL. "Solved" means that the greedy policy succeeds in every
instance; it is evaluated every 50 samples (Letter) or 500 (Office), that of the planner five times
as often. CRM runs on the machine unrolled for the greatest N. ``make bench`` runs this.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from itertools import product
from typing import Any

import gymnasium as gym
from running import parse, parser_of, write

import cranium
from cranium.learners import train
from cranium.worlds import LetterEnv

RATES = (0.5, 1.0)
TASKS: dict[str, tuple[str, dict[str, Any], int]] = {
    "Letter, N = 1": ("cranium/Letter-anbcdn-v0", {"times": 1}, 50),
    "Letter, N = 3": ("cranium/Letter-anbcdn-v0", {"times": 3}, 50),
    "Letter, N = 5": ("cranium/Letter-anbcdn-v0", {"times": 5}, 50),
    "Letter, N = 1 to 5": ("cranium/Letter-anbcdn-v0", {"times": (1, 5)}, 50),
    "Office, mail and coffee": ("cranium/Office-mail-and-coffee-v0", {}, 500),
    "Office, one delivery": ("cranium/Office-mail-delivery-v0", {}, 500),
}


def settings(learner: str) -> Iterable[dict[str, Any]]:
    """The settings that are tried."""
    if learner == "planner":
        return [{}]
    if learner == "planner without guesses":
        return [{"generalise": False}]
    if learner == "ql without shaping":
        return [{"learning_rate": rate} for rate in RATES]
    shapings: tuple[Any, ...] = (False, True, "published") if learner == "crm" else (False, True)
    return [
        {"shaping": shaping, "learning_rate": rate} for shaping, rate in product(shapings, RATES)
    ]


def unrolled(options: dict[str, Any]) -> gym.Env[Any, Any]:
    """The letter task as a reward machine."""
    most = options["times"]
    most = most[1] if isinstance(most, tuple) else most
    machine = cranium.unroll(cranium.library.load("anbcdn"), counter_limit=most)
    return cranium.product(LetterEnv.experiment(**options), machine, horizon=100)


def median(
    env: gym.Env[Any, Any], learner: str, every: int, given: Any, more: dict[str, Any]
) -> tuple[float, float, int]:
    """Samples until solved, CPU seconds until then, and how many seeds were not solved."""
    name = learner.split(maxsplit=1)[0]
    every = every // 5 if name == "planner" else every
    found = [
        train(env, name, steps=given.most, seed=s, until="solved", evaluate_every=every, **more)
        for s in range(given.seeds)
    ]
    samples = [result.samples_to_solve or given.most for result in found]
    middle = statistics.median(samples)
    spent = []
    for seed, count in enumerate(samples[:5]):  # again, without looking at it on the way
        begin = time.process_time()
        train(env, name, steps=count, seed=seed, evaluate_every=count, **more)
        spent.append(time.process_time() - begin)
    failed = sum(result.samples_to_solve is None for result in found)
    return middle, statistics.median(spent), failed


def measure(task: str, given: Any) -> dict[str, Any]:
    """All learners on one task."""
    name, options, every = TASKS[task]
    found: dict[str, Any] = {}
    learners = ["ql without shaping", "ql", "cql", "crm", "planner", "planner without guesses"]
    for learner in learners:
        if learner == "crm" and "times" not in options:
            continue
        env = unrolled(options) if learner == "crm" else gym.make(name, **options)
        tried = [(*median(env, learner, every, given, more), more) for more in settings(learner)]
        samples, seconds, failed, best = min(tried, key=lambda each: (each[2], each[0]))
        found[learner] = {"samples": samples, "cpu": seconds, "failed": failed, "settings": best}
    return found


def main() -> None:
    """Measure, print a table, and write the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--most", type=int, default=1_000_000, help="samples of each run")
    given = parse(parser, seeds=1, most=500)
    train(gym.make("cranium/Letter-anbcdn-v0", times=1), "planner", steps=50)  # compile
    told = {}
    for task in TASKS:
        told[task] = found = measure(task, given)
        print(task)
        for learner, one in found.items():
            best = ", ".join(f"{key} {value}" for key, value in one["settings"].items())
            print(
                f"  {learner:<24} {one['samples']:>9,.0f} samples, {one['cpu'] * 1e3:7.1f} ms CPU, "
                f"{one['failed']} of {given.seeds} not solved  {best}"
            )
        best = min(one["samples"] for name, one in found.items() if not name.startswith("planner"))
        ratio = found["planner"]["cpu"] / found["cql"]["cpu"]
        print(
            f"  the planner needs {best / found['planner']['samples']:.1f} times fewer samples "
            f"than the best of the others, and {ratio:.2f} of the CPU time of cql",
            flush=True,
        )
    write("samples", told, smoke=given.smoke)


if __name__ == "__main__":
    main()
