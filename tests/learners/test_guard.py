"""One guard for tables, networks and evaluations: what stands around a product may not change it."""

from __future__ import annotations

import re

import gymnasium as gym
import numpy as np
import pytest
from support.lying_wrappers import DUMB, HONEST, LIARS, Walk

import cranium
from cranium.counterfactual.wrapper_checks import Guard, check_end
from cranium.errors import WorldError
from cranium.learners import train

SMALL = {"hidden": (8,), "batch": 4, "warmup": 4, "replay": 100}
TOLD = {
    "ql": {"exploration": 1.0},
    "cql": {"exploration": 1.0},
    "hrm": {},
    "planner": {"generalise": False},
    "dqn": SMALL,
    "cdqn": SMALL,
}
EVERY = pytest.mark.parametrize("learner", TOLD)


CELLS = cranium.labelling_from_cells({1: "A", 2: "B"})
TASK = cranium.compile_language("A B")


def walk(horizon=4):
    return cranium.product(Walk(), TASK, CELLS, horizon=horizon)


def learn(env, learner, steps=300, **more):
    told = {"path": "python", "evaluate_every": steps, "evaluation_env": walk(), **TOLD[learner]}
    return train(env, learner, steps=steps, **told, **more)


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("kind", [*LIARS, *DUMB])
def test_wrappers_that_change_what_a_product_does_are_refused(kind, learner):
    around, told = {**LIARS, **DUMB}[kind]
    with pytest.raises(WorldError, match=told):
        learn(around(walk()), learner)


@pytest.mark.filterwarnings("ignore::cranium.errors.HorizonWarning")
@pytest.mark.parametrize("kind", [kind for kind in LIARS if "cut" not in kind])
def test_wrappers_are_refused_without_a_horizon_too(kind):
    around, told = LIARS[kind]
    with pytest.raises(WorldError, match=told):
        learn(around(walk(None)), "cql")


@EVERY
@pytest.mark.parametrize("kind", HONEST)
def test_wrappers_that_change_nothing_may_stay(kind, learner):
    result = learn(HONEST[kind](walk()), learner)
    assert result.samples == 300
    if kind != "time limit":
        bare = learn(walk(), learner)
        assert (result.episodes, result.successes) == (bare.episodes, bare.successes)
        np.testing.assert_array_equal(result.log, bare.log)


@pytest.mark.parametrize("kind", LIARS)
def test_evaluations_refuse_wrappers_that_change_rewards_too(kind):
    around, told = LIARS[kind]
    policy = learn(walk(), "cql").policy.with_unknown("random")
    for seed in range(3):
        policy.q[:] = np.random.default_rng(seed).normal(size=policy.q.shape)
        try:
            cranium.evaluate(around(walk()), policy, episodes=20, seed=seed)
        except WorldError as error:
            assert re.search(told, str(error))
            break
    else:
        pytest.fail("nothing was said")


def test_training_refuses_an_evaluation_environment_that_lies():
    with pytest.raises(WorldError, match="changes the reward"):
        train(walk(), "cql", steps=300, path="python", evaluation_env=LIARS["doubles"][0](walk()))


REWARDS = {
    "NormalizeReward": gym.wrappers.NormalizeReward,
    "ClipReward": lambda env: gym.wrappers.ClipReward(env, -1, 0.5),
    "TransformReward": lambda env: gym.wrappers.TransformReward(env, lambda r: -r),
}


@EVERY
@pytest.mark.parametrize("kind", REWARDS)
def test_gymnasiums_wrappers_of_rewards_are_refused_at_once(kind, learner):
    with pytest.raises(WorldError, match=f"{kind} around the product changes its rewards"):
        learn(REWARDS[kind](walk()), learner, steps=1)
    with pytest.raises(WorldError, match=f"{kind} around the product changes its rewards"):
        cranium.evaluate(REWARDS[kind](walk()), learn(walk(), "cql").policy)


def fickle_task():
    """A reward function that pays something else whenever it is asked again."""
    asked = []
    pays = cranium.RewardFunction("fickle", lambda s, a, t: float(asked.append(t) or len(asked)))
    return cranium.CountingRewardAutomaton(
        propositions=["A"],
        initial="u",
        transitions=[cranium.Transition(source="u", guard="A", reward=pays)],
    )


@pytest.mark.parametrize("learner", ["ql", "cql", "cdqn"])
def test_reward_functions_that_pay_something_else_when_asked_again_are_refused(learner):
    env = cranium.product(Walk(), fickle_task(), CELLS, horizon=9)
    told = {"evaluation_env": env, "evaluate_every": 200, **TOLD[learner]}
    with pytest.raises(WorldError, match="does not always return the same"):
        train(env, learner, steps=200, path="python", **told)


def test_steps_of_the_product_by_other_code_during_training_are_noticed():
    env = walk(horizon=50)
    guard = Guard(env, env)
    env.reset(seed=0)
    guard.begin()
    guard.step(*env.step(0)[1:4])
    env.step(0)
    with pytest.raises(WorldError, match=r"several of its steps at once \(2\)"):
        guard.step(*env.step(0)[1:4])


@pytest.mark.parametrize("bits", range(16))
def test_only_truncation_may_be_changed_by_a_wrapper(bits):
    """By what the product did and what is said, all sixteen cases."""
    ended, cut_off, terminated, truncated = (bool(bits >> i & 1) for i in range(4))
    over = terminated or truncated
    fine = terminated == ended and (over or not cut_off)
    told = {"ended": ended, "cut_off": cut_off, "terminated": terminated, "truncated": truncated}
    if fine:
        check_end(**told)
    else:
        with pytest.raises(WorldError, match="a wrapper around the product"):
            check_end(**told)


class Boasts(gym.Wrapper):
    """Calls every episode a success, or every one a failure."""

    def __init__(self, env, success):
        super().__init__(env)
        self.success = success

    def step(self, action):
        *rest, info = self.env.step(action)
        return *rest, {**info, "success": self.success}


@pytest.mark.parametrize("learner", ["cql", "dqn"])
@pytest.mark.parametrize("said", [True, False])
def test_success_is_what_the_product_says_and_not_what_a_wrapper_says_of_it(learner, said):
    plain, boasting = walk(), Boasts(walk(), said)
    told = {"steps": 300, "path": "python", "evaluate_every": 300, **TOLD[learner]}
    results = [train(env, learner, **told) for env in (plain, boasting)]
    assert results[0].successes == results[1].successes
    assert 0 < results[0].successes < results[0].episodes
    assert results[0].evaluation.success == results[1].evaluation.success
