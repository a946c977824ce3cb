"""Eight environments at once: a trained policy collects experience in a vector of products.

    python examples/vector.py

The world is Gymnasium's slippery CliffWalking. Touch the north wall, then the east wall at least as
often, then reach the goal: the wind decides what N is. The product is an ordinary environment, so
``gymnasium.make_vec`` takes it as a wrapper.
"""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import iterate

import cranium
from cranium.learners import Schedule


def learn(*, seed: int = 0) -> tuple[Any, Any, Any]:
    """The product, what came of training in it, and a vector of such products."""
    # -- yours --
    name = "CliffWalking-v1"
    cells = dict.fromkeys(range(11), "north") | {11: "east", 23: "east", 35: "east", 47: "goal"}
    events = cranium.labelling_from_cells(cells)
    task = cranium.compile_language("north^N east^M goal where M >= N")

    def wrap(world):
        return cranium.product(world, task, events, horizon=200, counter_limit=30)

    env = wrap(gymnasium.make(name, is_slippery=True))
    rates = {"learning_rate": Schedule(0.5, 0.01, over=80_000), "exploration": 0.2}
    near = {"until": lambda found: found.gap.max() < 0.01}
    result = cranium.train(env, "cql", steps=200_000, seed=seed, **rates, **near)
    again = {"autoreset_mode": AutoresetMode.SAME_STEP}
    envs = gymnasium.make_vec(name, 8, "sync", again, [wrap], is_slippery=True)
    # -- end --
    return env, result, envs


def collect(env: Any, policy: Any, envs: Any, *, steps: int, seed: int = 0) -> list[bool]:
    """Act in all environments at once; whether each episode that ended was a success."""
    successes: list[bool] = []
    observations, _ = envs.reset(seed=seed)
    for _ in range(steps):
        each = iterate(envs.observation_space, observations)
        actions = [policy(*env.encoding.decode(one)) for one in each]
        observations, _, terminated, truncated, info = envs.step(actions)
        over = terminated | truncated
        if over.any():
            successes += info["final_info"]["success"][over].tolist()
    return successes


def main() -> None:
    """Learn, collect, and compare with the exact evaluation."""
    env, result, envs = learn()
    print(f"learned within 0.01 of the optimum after {result.samples:,} samples")
    successes = collect(env, result.policy, envs, steps=2000)
    share = sum(successes) / len(successes)
    print(f"{len(successes)} episodes in {envs.num_envs} environments: success {share:.3f}")
    print(f"exactly: {result.evaluation}")


if __name__ == "__main__":
    main()
