"""What do networks learn in worlds that are not finite, and within how many samples?

Counterfactual and plain TD3 and DQN with the point and in small ponds whose balls stand still. For
each seed the samples until all looks of an evaluation had success, and the share of a hundred other
episodes in which the policy has it. Takes a quarter of an hour.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from running import parse, write
from studying import parser_of_studies, results_of

import cranium
from cranium.learners import Schedule, TrainingResult
from cranium.worlds import Ball, PointWorld, WaterWorld

POND = {"moving": False, "radius": 0.1, "thrust": 0.05, "top_speed": 0.1}
TRIANGLE = [Ball("red", (0.2, 0.75)), Ball("blue", (0.8, 0.75)), Ball("green", (0.5, 0.15))]
ACTOR = {"hidden": (64, 64), "discount": 0.9, "noise": 0.3}
VALUES = {
    "hidden": (64, 64),
    "learning_rate": 1e-3,
    "discount": 0.9,
    "target_every": 500,
    "exploration": Schedule(1.0, 0.1, over=5000),
}


def point(task: str, **told: Any) -> Any:
    """A point, and a task of its own."""
    mail = {"mail": (1, 2)} if task == "point-deliver" else {}
    return cranium.product(PointWorld(**mail), cranium.library.load(task), horizon=200, **told)


def pond(task: str, actions: str) -> Any:
    """Two balls that are strewn about, or three that have their places."""
    balls: Any = {"red": 1, "green": 1} if task == "water-red-green" else TRIANGLE
    start = (0.5, 0.5) if task == "water-red-green" else None
    world = WaterWorld(balls, actions=actions, start=start, **POND)
    horizon = 25 if task == "water-red-green" else 40
    return cranium.product(world, cranium.library.load(task), horizon=horizon)


VISIT = partial(point, "point-visit")
DELIVER = partial(point, "point-deliver", counter_limit=2)
PUSH, STEP = (partial(pond, "water-red-green", how) for how in ("continuous", "discrete"))
BALANCE = partial(pond, "water-balance", "discrete")
Case = tuple[Callable[[], Any], str, int, dict[str, Any]]
CASES: dict[str, Case] = {
    "visit, ctd3": (VISIT, "ctd3", 12_000, {}),
    "visit, td3": (VISIT, "td3", 12_000, {}),
    "visit, ctd3 without restraint": (VISIT, "ctd3", 12_000, {"restraint": 0.0}),
    "deliver, ctd3": (DELIVER, "ctd3", 40_000, {"discount": 0.95, "noise": 0.3}),
    "red-green, ctd3": (PUSH, "ctd3", 20_000, ACTOR),
    "red-green, td3": (PUSH, "td3", 20_000, ACTOR),
    "red-green, cdqn": (STEP, "cdqn", 20_000, VALUES),
    "balance, cdqn": (BALANCE, "cdqn", 20_000, VALUES),
}


def fresh_success(make: Callable[[], Any], episodes: int, result: TrainingResult) -> float:
    """The success of the greedy policy in other episodes."""
    found = cranium.evaluate(make(), result.policy, episodes=episodes, seed=1000)
    return float(np.mean(found.success))


def study_of(case: str, given: argparse.Namespace) -> cranium.Study:
    """The study of a case."""
    make, learner, steps, settings = CASES[case]
    steps = min(steps, given.most)
    strewn = isinstance(make().unwrapped, WaterWorld)  # no episode is like another
    return cranium.Study(
        f"continuous, {case}",
        {case: make},
        {learner: (learner, {**settings, "evaluation_episodes": 20 if strewn else 2})},
        seeds=given.seeds,
        steps=steps,
        until="solved",
        evaluate_every=min(500 if "visit" in case else 1000, steps),
        measure=partial(fresh_success, make, min(100, max(1, given.most // 20))),
    )


def main() -> None:
    """Run every case; tell the samples of solved seeds, and what the policies are worth."""
    given = parse(parser_of_studies(__doc__, seeds=20), seeds=1, most=200, workers=1)
    results = {}
    for case in CASES:
        (group,) = results_of(study_of(case, given), given).groups
        samples = [record.result["samples"] for record in group.records]
        solved = sorted(count for count in samples if count is not None)
        most = f"within {solved[-1]:,}" if solved else ""
        print(f"{case:<45} {len(solved)} of {len(samples)} solved {most}: {solved}")
        shares = sorted(value or 0.0 for value in group.values)
        print(f"{'':<45} then {shares[0]:.2f} to {shares[-1]:.2f}", flush=True)
        results[case] = list(zip(samples, group.values, strict=True))
    write("continuous", results, smoke=given.smoke)


if __name__ == "__main__":
    main()
