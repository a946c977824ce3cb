"""Gymnasium's CliffWalking: fall, touch the north wall as often, and only then reach the goal.

    python examples/cliff_walking.py

Whoever falls is back at the start, and so is whoever walks there: the next state alone does not
tell a fall. The labelling reads the state before it and the action, too.
"""

from __future__ import annotations

from typing import Any

import gymnasium

import cranium


def learn(*, seed: int = 0) -> tuple[Any, Any]:
    """The product, and what came of training in it."""

    # -- yours --
    @cranium.labelling("fall", "north", "goal")
    def events(before, action, after):
        right, start, goal = 1, 36, 47
        if after == start and (24 < before < start or (before, action) == (start, right)):
            return "fall"
        return "goal" if after == goal else "north" if after < 12 else ()

    task = cranium.compile_language("fall^N north^N goal where N >= 3")
    env = cranium.product(gymnasium.make("CliffWalking-v1"), task, events, horizon=100)
    result = cranium.train(env, "planner", steps=3000, seed=seed, until="solved", gap=0.01)
    # -- end --
    return env, result


def main() -> None:
    """Learn, and compare with the optimum."""
    env, result = learn()
    optimum = cranium.solve(env)
    print(f"learned after {result.samples_to_solve:,} samples")
    print(f"steps: {result.evaluation.lengths[0]:.0f}, optimum {optimum.expected_length:.0f}")


if __name__ == "__main__":
    main()
