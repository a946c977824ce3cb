"""Algorithms of Stable-Baselines3 in studies, beside the learners of this package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import cranium
from cranium.errors import InvalidArgumentError
from cranium.learners.sb3 import SB3Trainer, agent
from cranium.worlds import LetterEnv, LetterSpec

pytestmark = pytest.mark.sb3


def trainer(**more: object) -> SB3Trainer:
    from stable_baselines3 import DQN

    return agent(DQN, learning_starts=50, **more)


def test_dqn_of_sb3_is_evaluated_as_our_learners_are_and_the_same_seed_gives_the_same_curve() -> (
    None
):
    env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
    one, same = (trainer().train(env, steps=200, seed=1, evaluate_every=50) for _ in range(2))
    assert one.curve[:, 0].tolist() == [50, 100, 150, 200]
    assert np.array_equal(one.curve, same.curve)
    assert one.samples == 200
    again = cranium.evaluate(env, one.policy)
    assert np.array_equal(again.success, one.evaluation.success)
    assert np.array_equal(again.returns, one.evaluation.returns)


def test_a_study_trains_sb3_beside_cql_and_runs_nothing_twice(tmp_path: Path) -> None:
    study = cranium.Study(
        "letters",
        {"N = 1": lambda: gymnasium.make("cranium/Letter-anbcdn-v0", times=1)},
        {"CQL": "cql", "SB3": trainer(), "SB3 without": trainer(counterfactuals=False)},
        seeds=1,
        steps=200,
        measure="final_success",
    )
    assert study.run(tmp_path, workers=1).ran == 3
    results = study.results()
    assert [group.failed for group in results.groups] == [0, 0, 0]
    assert study.run(tmp_path, workers=1).ran == 0
    keys = {group.records[0].key for group in results.groups}
    assert len(keys) == 3  # with and without counterfactuals are different trials


def test_other_settings_of_sb3_are_another_trial() -> None:
    assert trainer().description != trainer(gamma=0.9).description
    assert trainer().description != trainer(counterfactual_ratio=0.8).description
    assert trainer().description != trainer(configurations="reachable").description


@pytest.mark.parametrize("more", [{"counterfactual_ratio": 0.9}, {"configurations": "seen"}])
def test_the_ratio_and_the_configurations_of_the_replay_buffer_change_what_is_learned(
    more: dict[str, Any],
) -> None:
    letters = [LetterSpec("A", (0, 0), times=(1, 3), then="B"), LetterSpec("C", (0, 2))]
    world = LetterEnv(letters, rows=1, columns=3, start=(0, 1))
    task = cranium.compile_language("A^N B C^N")
    env = cranium.product(world, task, horizon=20, counter_limit=3)
    told, same = (
        each.train(env, steps=200, seed=1, evaluate_every=200).policy.model.q_net.state_dict()
        for each in (trainer(**more), trainer())
    )
    assert any(not np.array_equal(told[name], same[name]) for name in told)


def test_settings_of_the_relabelling_without_relabelling_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="configurations without counterfactuals"):
        trainer(counterfactuals=False, configurations="seen")


def test_what_is_no_algorithm_of_sb3_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="is a class, not 'DQN'"):
        agent("DQN")  # type: ignore[arg-type]
