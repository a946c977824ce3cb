"""Stable-Baselines3's SAC and TD3 with counterfactual replay, where actions are continuous.

    python examples/sb3_continuous.py --steps 5000

Both visit two regions of the point world, one after the other. TD3 also swings a pendulum of
Gymnasium's, which knows nothing of tasks: the events come from a labelling, and one reward is a
function of (s, a, s′). Needs the extra ``sb3``.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import SAC, TD3
from stable_baselines3.common.noise import NormalActionNoise

import cranium
from cranium.learners.sb3 import counterfactual

SWINGS = """
name: left, right, left, right, and so on
propositions: [left, right]
initial: to the left
transitions:
  - {from: to the left, when: left, to: to the right, reward: 1}
  - {from: to the left, when: "!left", reward: effort}
  - {from: to the right, when: right, to: to the left, reward: 1}
  - {from: to the right, when: "!right", reward: effort}
"""


@cranium.labelling("left", "right")
def sides(_before: Any, _action: Any, after: Any) -> str | tuple[str, ...]:
    """The pendulum is on one side, well away from the middle."""
    return "left" if after[1] > 0.3 else "right" if after[1] < -0.3 else ()


def effort(_before: Any, action: Any, _after: Any) -> float:
    """What the motor costs."""
    return -0.01 * float(np.square(action).sum())


# Before there is a reward, TD3's actor drifts to where tanh is flat, and often stays there.
CALM = {"optimizer_class": torch.optim.AdamW, "optimizer_kwargs": {"weight_decay": 0.3}}


def noise(size: int, deviation: float) -> NormalActionNoise:
    """What TD3 adds to its actions, to explore."""
    return NormalActionNoise(np.zeros(size), np.full(size, deviation))


def visit(
    kind: type[SAC] | type[TD3], steps: int, seed: int, *, policy: dict[str, Any], **more: Any
) -> None:
    """SAC or TD3 in a world of ours."""
    task = cranium.library.load("point-visit")
    point = cranium.worlds.PointWorld(speed=0.2)
    env, replay = counterfactual(point, task, horizon=50, counterfactual_ratio=0.5)
    model = kind(
        "MlpPolicy",
        env,
        seed=seed,
        learning_rate=1e-3,
        gamma=0.95,
        batch_size=128,
        policy_kwargs={"net_arch": [64, 64], **policy},
        **replay,
        **more,
    )
    model.learn(steps)
    wins = 0
    for episode in range(10):
        observation, info = env.reset(seed=episode)
        over = False
        while not over:
            action, _ = model.predict(observation, deterministic=True)
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        wins += info["success"]
    print(f"{kind.__name__}, point: {wins} of 10 episodes were a success")


def swing(steps: int, seed: int) -> None:
    """TD3 in an environment that somebody else wrote."""
    task = cranium.loads(SWINGS, rewards={"effort": effort})
    env, replay = counterfactual(gym.make("Pendulum-v1"), task, sides, counterfactual_ratio=0.5)
    model = TD3(
        "MlpPolicy",
        env,
        seed=seed,
        batch_size=128,
        action_noise=noise(1, 0.3),
        policy_kwargs={"net_arch": [64, 64]},
        **replay,
    )
    model.learn(steps)
    observation, _ = env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        action, _ = model.predict(observation, deterministic=True)
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over = total + float(reward), terminated or truncated
    print(f"TD3, pendulum: {total:.1f} in an episode")


def main() -> None:
    """Train all three."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)  # the networks are small
    visit(SAC, given.steps, given.seed, policy={}, ent_coef=0.02)
    calm = {"policy": CALM, "action_noise": noise(2, 0.6), "learning_starts": 500}
    visit(TD3, given.steps, given.seed, **calm)
    swing(given.steps, given.seed)


if __name__ == "__main__":
    main()
