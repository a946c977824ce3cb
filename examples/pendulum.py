"""Gymnasium's Pendulum: swing through the bottom N times, then stay up for N steps.

    python examples/pendulum.py

How often it has to swing before it has the speed to get up depends on where it begins, so physics
decides what N is. The torque is one of three, the observation is cut into cells.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import cranium


def learn(*, seed: int = 0) -> tuple[Any, Any]:
    """The product, and what came of training in it."""

    # -- yours --
    @cranium.labelling("swing", "up")
    def events(before, action, after):
        if after[0] < 0 and before[1] * after[1] < 0:
            return "swing"
        return "up" if after[0] > 0.8 else ()

    def cells(seen):
        return round(12 / np.pi * np.arctan2(seen[1], seen[0])) % 24, round(float(seen[2]))

    pendulum = gymnasium.wrappers.DiscretizeAction(gymnasium.make("Pendulum-v1"), 3)
    task = cranium.compile_language("up* swing^N up^N")
    env = cranium.product(pendulum, task, events, counter_limit=12)
    told = {"discretise": cells, "evaluate_every": 5000, "evaluation_episodes": 50}
    told |= {"until": "solved", "learning_rate": 0.2}
    result = cranium.train(env, "cql", steps=200_000, seed=seed, **told)
    # -- end --
    return env, result


def main() -> None:
    """Learn, and try it from other starts."""
    env, result = learn()
    print(f"learned after {result.samples_to_solve:,} samples: {result.evaluation}")
    policy = result.policy.with_unknown("random")
    print("from 100 other starts:", cranium.evaluate(env, policy, episodes=100, seed=1000))


if __name__ == "__main__":
    main()
