"""What do networks learn in worlds that are not finite, and within how many samples?

Counterfactual and plain TD3 and DQN with the point and in small ponds whose balls stand still. For
each seed the samples until all looks of an evaluation had success, and the share of a hundred other
episodes in which the policy has it. Takes a quarter of an hour.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from cases import run_cases

import cranium
from cranium.learners import Schedule
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


def learn(case: str, seed: int, most: int) -> tuple[int | None, float]:
    """The samples until it was solved, and the success in other episodes."""
    make, learner, steps, settings = CASES[case]
    env = make()
    steps = min(steps, most)
    every = min(500 if "visit" in case else 1000, steps)
    strewn = isinstance(env.unwrapped, WaterWorld)  # no episode is like another
    looks = {"evaluate_every": every, "evaluation_episodes": 20 if strewn else 2}
    result = cranium.train(
        env, learner, steps=steps, seed=seed, until="solved", **looks, **settings
    )
    episodes = min(100, max(1, most // 20))
    fresh = cranium.evaluate(env, result.policy, episodes=episodes, seed=1000)
    return result.samples_to_solve, float(np.mean(fresh.success))


def tell(each: list[tuple[int | None, float]]) -> str:
    """The samples of those that were solved, and what the policies are worth."""
    samples = sorted(one for one, _ in each if one is not None)
    most = f"within {samples[-1]:,}" if samples else ""
    shares = sorted(share for _, share in each)
    told = f"{len(samples)} of {len(each)} solved {most}: {samples}\n"
    return told + f"{'':<45} then {shares[0]:.2f} to {shares[-1]:.2f}"


if __name__ == "__main__":
    run_cases("continuous", __doc__, CASES, learn, tell)
