"""Actions that do not begin at 0: tables, learners, policies and recordings call them by name."""

from __future__ import annotations

import threading

import gymnasium as gym
import numpy as np
import pytest
from support.clock_worlds import Corridor, far

import cranium
from cranium.episodes import record
from cranium.errors import EpisodeEndedError, InvalidArgumentError, PolicyError, WorldError
from cranium.learners import Policy
from cranium.worlds import FiniteEnv, LetterEnv, LetterSpec, Outcome, TabularWorld


class Ledge(FiniteEnv):
    """Cells 0 to 4 beside a pit: ``first`` steps into it, ``first + 1`` goes on to the goal."""

    vocabulary = ("goal",)
    action_names = ("jump", "walk")
    observation_space = gym.spaces.MultiDiscrete([5])

    def __init__(self, first=1):
        super().__init__()
        self.action_space = gym.spaces.Discrete(2, start=first)
        self.first = first

    def initial(self, options):
        return [(1.0, 0)]

    def outcomes(self, state, action):
        if action - self.first != 1:
            return [Outcome(1.0, state, terminated=True)]
        return [Outcome(1.0, min(state + 1, 4))]

    def label(self, state, action, after):
        return frozenset({"goal"} if after == 4 and state != 4 else ())

    def observe(self, state):
        return np.array([state])

    def render(self):
        return "" if self.render_mode == "ansi" else None


def task_of(first, **more):
    return cranium.product(Ledge(first), cranium.compile_language("goal"), horizon=20, **more)


def succeeds(env, policy):
    observation, info = env.reset(seed=0)
    over = False
    while not over:
        action = policy(observation["ground"], env.configuration)
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    return info["success"]


@pytest.mark.parametrize("first", [0, 1, -3, 10])
def test_the_table_is_that_of_the_world(first):
    env = task_of(first)
    table = TabularWorld.of(Ledge(first))
    assert table.first_action == first
    assert table.verify(Ledge(first)) == 1000
    optimum = cranium.solve(env)
    assert [action for _, _, action in optimum.episodes()] == [first + 1] * 4
    assert (optimum.success_rate, optimum.expected_length) == (1, 4)


@pytest.mark.slow
@pytest.mark.parametrize("first", [1, -3])
@pytest.mark.parametrize("learner", ["ql", "cql", "crm", "hrm", "planner"])
@pytest.mark.parametrize("path", ["compiled", "python"])
def test_every_learner_does_what_it_claims(first, learner, path):
    env = task_of(first)
    result = cranium.train(env, learner, steps=3000, seed=0, path=path)
    assert result.evaluation.solved
    policy = result.policy.with_unknown("random")
    assert policy.first_action == first
    assert succeeds(env, policy)
    assert cranium.evaluate(env, policy).solved


@pytest.mark.slow
def test_networks_do_what_they_claim():
    pytest.importorskip("jax")
    env = task_of(1)
    for path in ("compiled", "python"):
        result = cranium.train(env, "dqn", steps=1000, seed=0, path=path, evaluate_every=500)
        assert succeeds(env, result.policy) == result.evaluation.solved
        assert result.policy.first_action == 1


def test_a_policy_goes_through_a_file_and_is_not_taken_for_another(tmp_path):
    policy = cranium.train(task_of(1), "cql", steps=3000, seed=0).policy
    policy.save(tmp_path / "ledge.npz")
    assert succeeds(task_of(1), Policy.load(tmp_path / "ledge.npz", task_of(1)))
    with pytest.raises(PolicyError, match="actions in"):
        Policy.load(tmp_path / "ledge.npz", task_of(0))
    with pytest.raises(PolicyError, match="calls its first action 1, but the world calls it 0"):
        cranium.evaluate(task_of(0), policy)


def test_labellings_and_reward_functions_hear_the_name_of_the_action():
    walked = lambda s, a, s2: "walk" if a == 8 else ()  # noqa: E731
    env = cranium.product(Ledge(7), cranium.compile_language("walk walk walk"), walked, horizon=20)
    assert cranium.solve(env).expected_length == 3
    pays = cranium.CountingRewardAutomaton(
        propositions=["goal"],
        initial="u",
        terminal=["done"],
        accepting=["done"],
        transitions=[
            cranium.Transition(
                source="u",
                guard="goal",
                target="done",
                reward=cranium.RewardFunction("name", lambda s, a, s2: float(a)),
            )
        ],
    )
    assert cranium.solve(cranium.product(Ledge(7), pays, horizon=20)).expected_return == 8


class Model(Corridor):
    """A corridor with a model P, keyed by the names of actions or by positions."""

    initial_state_distrib = (0, 1, 0, 0, 0, 0)

    def __init__(self, offset, keys):
        super().__init__(offset=offset)
        self.P = {
            s: {
                key: [(1.0, min(max(s + 2 * a - 1, 0), 5), 0.0, False)]
                for a, key in enumerate(keys)
            }
            for s in range(6)
        }


def test_a_model_is_keyed_by_the_names_of_actions():
    task = cranium.compile_language("far")
    env = cranium.product(Model(1, (1, 2)), task, far, horizon=50)
    assert [action for _, _, action in cranium.solve(env).episodes()] == [2] * 4
    with pytest.raises(WorldError, match="does not list action 2 in state 1"):
        cranium.solve(cranium.product(Model(1, (0, 1)), task, far, horizon=50))
    with pytest.raises(WorldError, match="but the table knows"):  # names that mean other actions
        cranium.solve(cranium.product(Model(1, (2, 1)), task, far, horizon=50))


class Locked(Model):
    """Holds a lock, so it cannot be copied, and draws what it does."""

    def __init__(self, offset, keys):
        super().__init__(offset, keys)
        self.lock, self.render_mode, self.drawn = threading.Lock(), "human", 0

    def step(self, action):
        self.drawn += self.render_mode == "human"
        return super().step(action)


def test_a_model_of_an_environment_that_cannot_be_copied_is_compared_with_it_too():
    task = cranium.compile_language("far")
    with pytest.raises(WorldError, match="but the table knows"):
        cranium.solve(cranium.product(Locked(1, (2, 1)), task, far, horizon=50))
    env = cranium.product(Locked(1, (1, 2)), task, far, horizon=50)
    env.reset(seed=0)
    assert cranium.solve(env).success_rate == 1
    assert (env.unwrapped.drawn, env.unwrapped.render_mode) == (0, "human")
    with pytest.raises(EpisodeEndedError):  # the world is elsewhere now
        env.step(1)


def test_a_recording_calls_actions_by_their_names():
    env = task_of(1)
    episode = record(env, lambda *_: 2)
    assert [recorded.name for recorded in episode.steps[1:]] == ["walk"] * 4
    assert record(env, lambda *_: 1).steps[1].name == "jump"
    numbered = cranium.product(Corridor(offset=5), cranium.compile_language("far"), far, horizon=9)
    assert [m.name for m in record(numbered, lambda *_: 6).steps[1:]] == ["6"] * 4


@pytest.mark.sb3
def test_stable_baselines_is_not_told_to_call_them_otherwise():
    pytest.importorskip("stable_baselines3")
    from cranium.learners.sb3 import counterfactual

    with pytest.raises(InvalidArgumentError, match="counts actions from 0"):
        counterfactual(Ledge(1), cranium.compile_language("goal"), horizon=20)
    renamed = gym.wrappers.TransformAction(Ledge(1), lambda a: a + 1, gym.spaces.Discrete(2))
    counterfactual(renamed, cranium.compile_language("goal"), horizon=20)


class Forgetful(LetterEnv):
    """Its model reads where the world is now, not what it is asked for."""

    def outcomes(self, state, action):
        return super().outcomes(self.state or state, action)


@pytest.mark.slow
def test_every_finite_world_is_compared_with_its_own_steps():
    world = Forgetful([LetterSpec("A", (0, 0))], rows=3, columns=3, start=(2, 2))
    env = cranium.product(world, cranium.compile_language("A"), horizon=50)
    env.reset(seed=0)
    env.step(0)  # from now on its model is that of one state
    with pytest.raises(WorldError, match="the table"):
        cranium.solve(env)
    assert cranium.train(env, "ql", steps=300, seed=0).path == "python"


def test_the_world_that_is_compared_stays_where_it_is():
    world = LetterEnv.experiment(1)
    env = cranium.product(world, cranium.library.load("anbcdn"), horizon=50)
    env.reset(seed=3)
    env.step(2)
    state, events, drawn = world.state, world.events, world.np_random.bit_generator.state
    cranium.solve(env)
    assert (world.state, world.events) == (state, events)
    assert world.np_random.bit_generator.state == drawn
