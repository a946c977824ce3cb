"""How little has to change until CQL with a network learns the office of Figure "deep"?

As published nobody learns it. What ``cranium reproduce deep`` changes is put back, one thing after
the other: the start, the discount, how it explores, the budget. Then what else could be changed at
the published start: shorter episodes, a step that costs something. For each, the success of the
greedy policy at the end, seed by seed. Takes half an hour.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import run_cases

import cranium
from cranium.automata.step_cost import add_step_cost
from cranium.experiments.deep import BATCH, NEAREST, PAPER
from cranium.learners import Schedule
from cranium.worlds import OfficeWorld

STEPS, PUBLISHED, LONG, SHORT = 40_000, 12_000, 1_000, 100
ANYWHERE = {"start": "anywhere"}
CASES: dict[str, dict[str, Any]] = {
    "all four changed": {"world": ANYWHERE},
    "the published start": {},
    "the published start, three times the budget": {"steps": 3 * STEPS},
    "discount 0.99": {"world": ANYWHERE, "settings": {"discount": PAPER["discount"]}},
    "the first exploration": {
        "world": ANYWHERE,
        "settings": {"exploration": PAPER["exploration"]},
    },
    "12,000 samples": {"world": ANYWHERE, "steps": PUBLISHED},
    "the published start, 100 steps": {"horizon": SHORT},
    "the published start, a step costs 0.01": {"cost": 0.01},
}


def success(case: str, seed: int, most: int) -> float:
    """The success of the greedy policy after the samples of a case."""
    told = CASES[case]
    task = add_step_cost(cranium.library.load("mail-delivery"), told.get("cost", 0.0))
    world = OfficeWorld(None, **told.get("world", {}))
    env = cranium.product(world, task, horizon=told.get("horizon", LONG))
    settings = {**NEAREST, **told.get("settings", {}), "batch": BATCH}
    settings["exploration"] = Schedule(**settings["exploration"])
    steps = min(told.get("steps", STEPS), most)
    result = cranium.train(env, "cdqn", steps=steps, seed=seed, evaluate_every=steps, **settings)
    return float(result.evaluation.success.mean())


def tell(shares: list[float]) -> str:
    """The mean, and each."""
    return f"{np.mean(shares):.2f}: " + " ".join(f"{share:.2f}" for share in shares)


if __name__ == "__main__":
    run_cases("deviation", __doc__, CASES, success, tell)
