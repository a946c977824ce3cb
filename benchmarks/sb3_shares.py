"""How much should Stable-Baselines3's replay imagine?

Unmodified DQN on letters, A^N B C D^N with N drawn from 1 to 3: plain replay, and with shares of
what is imagined. For each seed, how many training episodes were a success, and how many of ten
greedy ones afterwards. Takes half an hour.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
from running import parse, write
from studying import parser_of_studies, results_of

import cranium
from cranium.aamdp import BoxEncoding
from cranium.learners import TrainingResult
from cranium.studies import Recorded
from cranium.worlds import LetterEnv

STEPS, HORIZON, EPISODES = 20_000, 100, 10
CASES: dict[str, dict[str, Any]] = {
    "nothing imagined": {"counterfactual_ratio": 0.0},
    "0.5, seen (the default)": {"counterfactual_ratio": 0.5},
    "0.5, reachable": {"counterfactual_ratio": 0.5, "configurations": "reachable"},
    "0.8, reachable": {"counterfactual_ratio": 0.8, "configurations": "reachable"},
}


def make() -> cranium.AutomatonAugmentedMDP:
    """Letters with N drawn from 1 to 3."""
    shown = BoxEncoding(clip=10)  # as it was measured for the table in docs/sb3.md
    world, task = LetterEnv.experiment((1, 3)), cranium.library.load("anbcdn")
    return cranium.product(world, task, horizon=HORIZON, encoding=shown)


def wins_in_training(result: TrainingResult, _env: Any) -> int:
    """Training episodes with success."""
    return result.successes


def greedy_wins(result: TrainingResult) -> float:
    """Greedy episodes with success."""
    env, won = make(), 0
    for episode in range(EPISODES):
        observation, info = env.reset(seed=episode)
        over = False
        while not over:
            ground, configuration = env.encoding.decode(observation)
            observation, _, terminated, truncated, info = env.step(
                result.policy(ground, configuration)
            )
            over = terminated or truncated
        won += info["success"]
    return won


def study(given: argparse.Namespace) -> cranium.Study:
    """DQN with each share."""
    from stable_baselines3 import DQN

    agent = partial(
        cranium.sb3.agent,
        DQN,
        "MlpPolicy",
        learning_rate=1e-3,
        batch_size=128,
        train_freq=4,
        learning_starts=500,
        target_update_interval=250,
        exploration_fraction=0.5,
        gamma=0.95,
    )
    steps = min(STEPS, given.most)
    return cranium.Study(
        "sb3 shares",
        {"N = 1 to 3": make},
        {case: agent(**told) for case, told in CASES.items()},
        seeds=given.seeds,
        steps=steps,
        evaluate_every=steps,
        measure=greedy_wins,
        record={"wins": Recorded(wins_in_training, "count")},
    )


def main() -> None:
    """Run every share, and tell what training and the greedy policy won."""
    given = parse(parser_of_studies(__doc__, seeds=20), seeds=1, most=200, workers=1)
    results = {}
    for group in results_of(study(given), given).groups:
        training = [record.result["wins"] for record in group.records]
        greedy = [int(value or 0) for value in group.values]
        always = sum(won == EPISODES for won in greedy)
        print(f"{group.method:<45} in training {np.median(training):.0f}: {training}")
        print(f"{'':<45} greedy {np.mean(greedy):.1f}, always {always}: {greedy}", flush=True)
        results[group.method] = list(zip(training, greedy, strict=True))
    write("sb3-shares", results, smoke=given.smoke)


if __name__ == "__main__":
    main()
