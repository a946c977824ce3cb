"""Stable-Baselines3's own DQN on a task with a counter, with counterfactual replay.

    python examples/sb3_dqn.py --steps 8000 --ratio 0.5

In a small letter world the words are A^N B C^N, and N is drawn in every episode: the cell of the
letter A says A as often, and then B. Needs the extra ``sb3``.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from stable_baselines3 import DQN

import cranium
from cranium.learners.sb3 import counterfactual
from cranium.worlds import LetterEnv, LetterSpec


def train(steps: int, ratio: float, seed: int) -> tuple[Any, DQN]:
    """The environment, and DQN with a counterfactual replay buffer."""
    letters = [LetterSpec("A", (0, 0), times=(1, 3), then="B"), LetterSpec("C", (0, 2))]
    world = LetterEnv(letters, rows=2, columns=3, start=(1, 1))
    task = cranium.compile_language("A^N B C^N")
    env, replay = counterfactual(world, task, horizon=40, counterfactual_ratio=ratio)
    model = DQN(
        "MlpPolicy",
        env,
        seed=seed,
        learning_rate=1e-3,
        batch_size=64,
        train_freq=4,
        learning_starts=500,
        target_update_interval=250,
        exploration_fraction=0.5,
        gamma=0.95,
        **replay,
    )
    return env, model.learn(steps)


def main() -> None:
    """Train, and play ten episodes greedily."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=8_000)
    parser.add_argument("--ratio", type=float, default=0.5, help="0 is plain replay")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)  # the network is small

    env, model = train(given.steps, given.ratio, given.seed)
    wins = 0
    for episode in range(10):
        observation, info = env.reset(seed=episode)
        over = False
        while not over:
            action, _ = model.predict(observation, deterministic=True)
            observation, _, terminated, truncated, info = env.step(int(action))
            over = terminated or truncated
        wins += info["success"]
    members = model.replay_buffer.replay.members
    print(f"{wins} of 10 episodes were a success; {len(members)} configurations in the set")


if __name__ == "__main__":
    main()
