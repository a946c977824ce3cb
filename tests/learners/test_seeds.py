"""Several seeds at once: each learns as if it were alone."""

from __future__ import annotations

import gymnasium as gym
import jax
import numpy as np
import pytest

import cranium
from cranium.errors import CraniumError
from cranium.learners import Streak, train, train_seeds
from cranium.learners.deep import vmap_seeds

EASY = {"times": 1}


def letter(**options):
    return gym.make("cranium/Letter-anbcdn-v0", **{**EASY, **options})


@pytest.fixture
def calls(monkeypatch):
    """How many runs were in the loop each time."""
    found = []
    real = vmap_seeds.learn_together

    def counted(runs, steps):
        found.append(len(runs))
        return real(runs, steps)

    monkeypatch.setattr(vmap_seeds, "learn_together", counted)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "learner"),
    [
        (letter, "cdqn"),
        (letter, "dqn"),
        (lambda: gym.make("cranium/Point-visit-v0"), "ctd3"),
    ],
)
def test_seeds_trained_together_give_the_results_of_seeds_trained_alone(env, learner, calls):
    # Rounding differs, and after many samples a difference leads to another action.
    told = {"steps": 60, "evaluate_every": 30, "warmup": 20, "evaluation_episodes": 1}
    many = train_seeds(env(), learner, seeds=(3, 8), **told)
    assert calls == [2, 2]
    for result, seed in zip(many, (3, 8), strict=True):
        alone = train(env(), learner, seed=seed, **told)
        assert result.seed == seed
        assert result.samples == alone.samples == 60
        assert result.episodes == alone.episodes
        for one, other in zip(weights(result), weights(alone), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-3)
    assert any(
        not np.allclose(one, other) for one, other in zip(*map(weights, many), strict=True)
    ), "and each learned something of its own"


def weights(result):
    return jax.tree.leaves(result.policy.network)


@pytest.mark.slow
def test_train_every_holds_for_seeds_trained_together(calls):
    told = {"steps": 90, "train_every": 4, "evaluate_every": 90, "warmup": 20}
    (one, _) = train_seeds(letter(), "cdqn", seeds=(0, 1), **told)
    alone = train(letter(), "cdqn", seed=0, **told)
    assert calls == [2]
    for part, other in zip(weights(one), weights(alone), strict=True):
        np.testing.assert_allclose(part, other, atol=1e-3)


@pytest.mark.slow
def test_a_seed_whose_training_has_ended_leaves_the_joint_loop(calls):
    rule = iter([False, False, True, False, False, False, False, False])
    results = train_seeds(
        letter(), "cdqn", steps=400, seeds=range(2), evaluate_every=100, until=lambda _: next(rule)
    )
    assert calls == [2, 2, 1, 1]
    assert [result.samples for result in results] == [200, 400]


@pytest.mark.slow
def test_a_streak_ends_a_seed_too():
    results = train_seeds(
        letter(), "cdqn", steps=3000, seeds=range(2), until=Streak(1), evaluate_every=3000
    )
    for result in results:
        alone = train(
            letter(), "cdqn", steps=3000, seed=result.seed, until=Streak(1), evaluate_every=3000
        )
        assert result.streak_at == alone.streak_at
        assert result.samples == alone.samples


def test_tables_learn_one_after_the_other_exactly(calls):
    results = train_seeds(letter(), "cql", steps=2000, seeds=range(2))
    assert calls == []
    for result in results:
        alone = train(letter(), "cql", steps=2000, seed=result.seed)
        assert np.array_equal(result.q, alone.q)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["cql", "cdqn"])
def test_seeds_that_share_an_environment_do_not_disturb_each_other(learner, calls):
    told = {"steps": 150, "path": "python", "evaluate_every": 150, "evaluation_episodes": 1}
    results = train_seeds(letter(times=(1, 9)), learner, seeds=(4, 5), **told)
    assert calls == []
    for result in results:
        alone = train(letter(times=(1, 9)), learner, seed=result.seed, **told)
        assert result.episodes == alone.episodes
        assert np.array_equal(result.curve, alone.curve)
        if learner == "cql":
            assert np.array_equal(result.q, alone.q)


def test_a_machine_that_refuses_runs_alone_and_says_so(calls):
    machine = cranium.library.load("anbcdn")
    strict = cranium.CountingRewardAutomaton(
        propositions=machine.propositions,
        counters=machine.counters,
        initial=machine.initial,
        terminal=machine.terminal,
        accepting=machine.accepting,
        transitions=machine.transitions[:1],
        otherwise="error",
    )
    env = cranium.product(cranium.worlds.LetterEnv.experiment(1), strict, horizon=50)
    with pytest.raises(CraniumError) as alone:
        train(env, "cdqn", steps=900, seed=1, evaluate_every=900)
    with pytest.raises(CraniumError) as together:
        train_seeds(env, "cdqn", steps=900, seeds=(1, 2), evaluate_every=900)
    assert calls == []
    assert str(together.value) == str(alone.value)


def test_ctrl_c_keeps_what_all_of_them_learned(monkeypatch):
    real = vmap_seeds.learn_together
    rounds = iter(range(10))

    def interrupted(runs, steps):
        if next(rounds) == 1:
            raise KeyboardInterrupt
        return real(runs, steps)

    monkeypatch.setattr(vmap_seeds, "learn_together", interrupted)
    results = train_seeds(letter(), "cdqn", steps=400, seeds=range(2), evaluate_every=100)
    assert [(result.interrupted, result.samples) for result in results] == [(True, 100)] * 2
