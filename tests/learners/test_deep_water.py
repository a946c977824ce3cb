"""Networks learn in ponds whose balls stand still: an order of touches, and a balance of them."""

from __future__ import annotations

import numpy as np
import pytest

import cranium
from cranium.learners.config import Schedule
from cranium.worlds import Ball, WaterWorld

SMALL = {"moving": False, "radius": 0.1, "thrust": 0.05, "top_speed": 0.1}
TOLD = {
    "evaluate_every": 1000,
    "evaluation_episodes": 20,
    "hidden": (64, 64),
    "learning_rate": 1e-3,
    "discount": 0.9,
    "target_every": 500,
    "exploration": Schedule(1.0, 0.1, over=5000),
}
TRIANGLE = [Ball("red", (0.2, 0.75)), Ball("blue", (0.8, 0.75)), Ball("green", (0.5, 0.15))]
STREWN = WaterWorld({"red": 1, "green": 1}, **SMALL)  # somewhere else in every episode
FIXED = WaterWorld(TRIANGLE, start=None, **SMALL)  # the agent begins somewhere else


def by_chance(env, episodes=100):
    """How often random pushes have success."""
    rng, won = np.random.default_rng(0), 0
    for seed in range(episodes):
        env.reset(seed=seed)
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(int(rng.integers(5)))
            over = terminated or truncated
        won += info["success"]
    return won / episodes


@pytest.mark.parametrize(
    ("pond", "task", "horizon"),
    [(STREWN, "water-red-green", 25), (FIXED, "water-balance", 40)],
    ids=["red, then green", "as many reds as blues"],
)
def test_counterfactual_dqn_solves_it_where_chance_does_not(pond, task, horizon):
    env = cranium.product(pond, cranium.library.load(task), horizon=horizon)
    assert by_chance(env) < 0.25
    result = cranium.train(env, "cdqn", steps=20_000, seed=0, until="solved", **TOLD)
    assert result.path == "python"
    assert result.samples_to_solve is not None
    fresh = cranium.evaluate(env, result.policy, episodes=100, seed=1000)
    assert fresh.success[0] > 0.8
    assert fresh.lengths[0] < horizon / 2
