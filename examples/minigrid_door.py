"""MiniGrid's DoorKey: pick the key up N times, open the door N times, then reach the goal.

    python examples/minigrid_door.py

N is at least two, so the key has to be put down and taken again, and the door closed in between.
MiniGrid shows what the agent sees in front of it; a wrapper shows the whole state instead, and the
learner steps in Python. Needs the extra ``minigrid``.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import minigrid  # noqa: F401 - registers its environments
import numpy as np
from minigrid.core.constants import OBJECT_TO_IDX

import cranium


def learn(*, seed: int = 0) -> tuple[Any, Any]:
    """The product, and what came of training in it."""

    # -- yours --
    class Whole(gymnasium.ObservationWrapper):
        observation_space = gymnasium.spaces.Box(0, 255, (79,), np.uint8)

        def observation(self, seen):
            it = self.unwrapped  # where the agent is, its direction, what it holds, all cells
            held = OBJECT_TO_IDX[it.carrying.type] if it.carrying else 0
            return np.array([*it.agent_pos, it.agent_dir, held, *it.grid.encode().flat], np.uint8)

    @cranium.labelling("key", "open", "goal")
    def events(before, action, after):
        opens = (after[6::3] < before[6::3])[after[4::3] == OBJECT_TO_IDX["door"]].any()
        told = {"key": after[3] > before[3], "open": opens, "goal": after[0] == after[1] == 3}
        return {name for name, happens in told.items() if happens}

    task = cranium.compile_language("key^N open^N goal where N >= 2")
    world = Whole(gymnasium.make("MiniGrid-DoorKey-5x5-v0"))
    env = cranium.product(world, task, events, horizon=99)
    result = cranium.train(env, "planner", steps=50_000, seed=seed, until="solved")
    # -- end --
    return env, result


def main() -> None:
    """Learn, and show an episode."""
    env, result = learn()
    print(f"learned after {result.samples_to_solve:,} samples: {result.evaluation}")
    observation, info = env.reset(seed=0)
    events, over = [], False
    while not over:
        action = result.policy(observation["ground"], env.configuration)
        observation, _, terminated, truncated, info = env.step(action)
        events += info["label"]
        over = terminated or truncated
    print("an episode:", *events)


if __name__ == "__main__":
    main()
