"""How many samples, and how much CPU time, do the learners need to solve the paper's tasks?

Every learner is tuned alike, on seeds that are not reported: two learning rates, with and without
shaping. Plain Q-learning, without shaping, has a line of its own, because that is what ``cranium
reproduce letter`` calls QL. "Solved" means that the greedy policy succeeds in every instance; it is
evaluated every 50 samples (Letter) or 500 (Office), that of the planner five times as often. CRM
runs on the machine unrolled for the greatest N. ``make bench`` runs this.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
from running import parse, write
from studying import parser_of_studies, results_of, summary_of, tell_samples

import cranium
from cranium.experiments.results import Group
from cranium.studies import Method
from cranium.worlds import LetterEnv

Make = Callable[[], gym.Env[Any, Any]]
RATES = [0.5, 1.0]
LETTERS: dict[str, Any] = {
    "Letter, N = 1": 1,
    "Letter, N = 3": 3,
    "Letter, N = 5": 5,
    "Letter, N = 1 to 5": (1, 5),
}
OFFICES = {
    "Office, mail and coffee": "cranium/Office-mail-and-coffee-v0",
    "Office, one delivery": "cranium/Office-mail-delivery-v0",
}


def letters(times: Any) -> gym.Env[Any, Any]:
    """The letter task."""
    return gym.make("cranium/Letter-anbcdn-v0", times=times)


def unrolled(times: Any) -> gym.Env[Any, Any]:
    """The letter task as a reward machine."""
    most = times[1] if isinstance(times, tuple) else times
    machine = cranium.unroll(cranium.library.load("anbcdn"), counter_limit=most)
    return cranium.product(LetterEnv.experiment(times), machine, horizon=100)


def office(name: str) -> gym.Env[Any, Any]:
    """A task of the office."""
    return gym.make(OFFICES[name])


def methods(given: argparse.Namespace, every: int, machines: dict[str, Make]) -> dict[str, Any]:
    """The learners; CRM is run on the problems for which there are reward machines."""

    def grid(**axes: Any) -> cranium.Grid:
        return cranium.Grid(seeds=given.tuning_seeds, learning_rate=RATES, **axes)

    either = grid(shaping=[False, True])
    often = max(every // 5, 1)
    found = {
        "ql without shaping": Method("ql", tune=grid()),
        "ql": Method("ql", tune=either),
        "cql": Method("cql", tune=either),
        "crm": Method("crm", problems=machines, tune=grid(shaping=[False, True, "published"])),
        "planner": Method("planner", evaluate_every=often),
        "planner without guesses": Method("planner", {"generalise": False}, evaluate_every=often),
    }
    if not machines:
        del found["crm"]
    return found


def cpu_seconds(group: Group, make: Make) -> float:
    """The CPU time until solved, without an evaluation on the way: the median of some seeds."""
    name, env, spent = group.method.split(maxsplit=1)[0], make(), []
    for seed, count in enumerate(group.values[:5]):
        steps = int(count or group.config["steps"])
        begin = time.process_time()
        settings = group.config["settings"]
        cranium.train(env, name, steps=steps, seed=seed, evaluate_every=steps, **settings)
        spent.append(time.process_time() - begin)
    return statistics.median(spent)


def tell(task: str, found: dict[str, dict[str, Any]], groups: dict[str, Group]) -> None:
    """Print the figures of a task."""
    print(task)
    for learner, one in found.items():
        print(f"  {learner:<24}{tell_samples(groups[learner])}, {one['cpu'] * 1e3:.1f} ms CPU")
    solved = [one["median"] for name, one in found.items() if not name.startswith("planner")]
    best = min((each for each in solved if each is not None), default=None)
    samples = found["planner"]["median"]
    if best is not None and samples is not None:
        ratio = found["planner"]["cpu"] / found["cql"]["cpu"]
        print(
            f"  the planner needs {best / samples:.1f} times fewer samples than the best of the "
            f"others, and {ratio:.2f} of the CPU time of cql",
            flush=True,
        )


def main() -> None:
    """Measure, print a table, and write the figures."""
    parser = parser_of_studies(__doc__, seeds=10)
    parser.add_argument("--tuning-seeds", type=int, default=3)
    given = parse(parser, seeds=1, most=500, tuning_seeds=1, workers=1)
    machines = {name: partial(unrolled, times) for name, times in LETTERS.items()}
    letter: dict[str, Make] = {name: partial(letters, each) for name, each in LETTERS.items()}
    offices: dict[str, Make] = {name: partial(office, name) for name in OFFICES}
    told: dict[str, Any] = {}
    for world, problems, every in (("Letter", letter, 50), ("Office", offices, 500)):
        study = cranium.Study(
            f"samples, {world}",
            problems,
            methods(given, every, machines if world == "Letter" else {}),
            seeds=given.seeds,
            steps=min(1_000_000, given.most),
            evaluate_every=every,
        )
        results = results_of(study, given)
        for task in problems:
            groups = {group.method: group for group in results.groups if group.case == task}
            found = told[task] = {}
            for name, group in groups.items():
                make = machines[task] if name == "crm" else problems[task]
                found[name] = {**summary_of(group), "cpu": cpu_seconds(group, make)}
            tell(task, found, groups)
    write("samples", told, smoke=given.smoke)


if __name__ == "__main__":
    main()
