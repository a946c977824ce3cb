"""Environments that step in Python: the same results as the compiled loop, bit for bit."""

from __future__ import annotations

import signal

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from learners.tasks import tasks
from learners.test_tabular import CONFIGS, letter

import cranium
from cranium.errors import (
    CounterUnderflowError,
    InvalidArgumentError,
    LabelError,
    PolicyError,
    RewardError,
    RunError,
    WorldError,
)
from cranium.learners import PlannerConfig, train
from cranium.worlds import LetterEnv, OfficeWorld

SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def assert_same(one, other):
    """The values of all that was met in Python are those of the compiled loop."""
    for number, seen in enumerate(other.policy.observations):
        row = one.policy.number(seen)
        for place, configuration in enumerate(one.policy.configurations):
            assert np.array_equal(
                one.q[row, place], other.q[number, other.policy.place(configuration)]
            )
    assert (one.samples, one.episodes, one.successes, one.overflows) == (
        other.samples,
        other.episodes,
        other.successes,
        other.overflows,
    )


def both(env, learner="cql", **options):
    options["evaluate_every"] = options["steps"]
    one = train(env, learner, path="compiled", **options)
    other = train(env, learner, path="python", **options)
    assert (one.path, other.path) == ("compiled", "python")
    return one, other


@SLOW
@given(st.data())
def test_both_paths_give_the_same_values(data):
    task = data.draw(tasks(counters=2))
    if task is None:
        return
    machine, world = task
    horizon = data.draw(st.integers(1, 12))
    env = cranium.product(world, machine, counter_limit=3, horizon=horizon)
    config = data.draw(CONFIGS)
    try:
        one, other = both(env, steps=50, seed=5, config=config, counter_limit=3)
    except RunError:
        return  # some way leads to an error
    assert_same(one, other)


@pytest.mark.parametrize("learner", ["ql", "cql", "planner"])
def test_a_slippery_lake_is_the_same_on_both_paths(learner):
    lake = gym.make("FrozenLake-v1", is_slippery=True)
    goal = cranium.labelling_from_cells({15: "goal"})
    env = cranium.product(lake, cranium.compile_language("goal"), goal)
    assert_same(*both(env, learner, steps=4000, seed=1))


@pytest.mark.parametrize("observation", ["markov", "cell"])
def test_the_planner_is_the_same_on_both_paths(observation):
    env = letter((1, 2), observation=observation)
    one, other = both(env, "planner", steps=500, seed=2)
    chosen = one.policy.q[[one.policy.number(o) for o in other.policy.observations]]
    places = [other.policy.place(x) for x in one.policy.configurations]
    assert np.array_equal(chosen, other.policy.q[:, places])


def test_what_the_world_pays_and_reward_functions_are_the_same_on_both_paths():
    machine = cranium.loads(
        """
        propositions: [goal]
        initial: u
        terminal: [done]
        accepting: [done]
        transitions:
          - {from: u, when: goal, to: done, reward: near}
          - {from: u, when: "!goal", reward: near}
        """,
        rewards={"near": lambda s, a, t: (int(t) - int(s)) / 10 - 0.01 * a},
    )
    lake = gym.make("FrozenLake-v1", is_slippery=True)
    goal = cranium.labelling_from_cells({15: "goal"})
    env = cranium.product(lake, machine, goal, add_ground_reward=True)
    one, other = both(env, steps=3000, seed=1)
    assert_same(one, other)
    assert np.abs(one.q).max() > 0.6
    with pytest.raises(InvalidArgumentError, match="highest_reward"):
        train(env, "planner", steps=10)
    assert_same(*both(env, "planner", steps=300, config=PlannerConfig(highest_reward=2.0)))


def test_configurations_are_added_as_they_are_met_where_not_all_fit():
    env = cranium.product(OfficeWorld((1, 3)), cranium.library.load("office"), horizon=1000)
    result = train(env, "planner", path="python", steps=1500, evaluate_every=1500)
    counters = {x.counters for x in result.policy.configurations}
    assert (1, 1) in counters
    assert max(map(max, counters)) <= 3
    assert len(counters) < 20
    assert result.evaluation.success[0] > 0


def test_observations_may_be_discretised():
    @cranium.labelling("left", "right")
    def sides(before, action, after):
        return "left" if after[0] < -0.1 else "right" if after[0] > 0.1 else ()

    task = cranium.compile_language("left right")
    env = cranium.product(gym.make("CartPole-v1"), task, sides)
    with pytest.raises(WorldError, match="not finitely many"):
        train(env, steps=10)

    def coarse(observation):
        return tuple(np.round(observation * (2, 1, 10, 1)).astype(int).tolist())

    result = train(env, steps=3000, discretise=coarse, evaluation_episodes=2, learning_rate=0.3)
    assert result.path == "python"
    assert not result.evaluation.exact
    assert result.policy(np.zeros(4), task.start) in (0, 1)
    with pytest.raises(InvalidArgumentError, match="only the path in Python"):
        train(env, steps=10, path="compiled", discretise=coarse)


def test_wrappers_around_the_product_take_part():
    env = gym.wrappers.RecordEpisodeStatistics(letter(1))
    train(env, "ql", path="python", steps=500, evaluate_every=500)
    assert env.episode_count > 3


class Moody(gym.Env):
    """Draws from what cannot be copied, and ends with an odd label after some steps."""

    observation_space = gym.spaces.Discrete(3, start=5)
    action_space = gym.spaces.Discrete(2, start=1)

    def __init__(self, after=10**9):
        self.handle = (number for number in range(10**9))
        self.left = after

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 5, {}

    def step(self, action):
        assert action in (1, 2)
        self.left -= 1
        return 5 + next(self.handle) % 3, 0.0, False, False, {}


def moody(labels, after=10**9, task="A^3 B"):
    return cranium.product(Moody(after), cranium.compile_language(task), labels, horizon=9)


def test_an_environment_that_cannot_be_copied_needs_a_second_one():
    def label(before, action, after):
        return "A" if action == 1 else "B"

    with pytest.raises(InvalidArgumentError, match="give evaluation_env"):
        train(moody(label), path="python", steps=10)
    result = train(
        moody(label), "ql", path="python", steps=2000, evaluation_env=moody(label), seed=1
    )
    assert result.evaluation.success.tolist() == [1]


def test_errors_say_after_how_many_samples_and_where():
    env = moody(lambda s, a, t: "A")

    def strange(before, action, after):
        return "what" if env.unwrapped.left < 10**9 - 5 else "A"

    env = moody(strange, task="A^9 B")
    with pytest.raises(LabelError, match=r"after 5 samples, in ⟨.*: no such event of this task"):
        train(env, path="python", steps=50, evaluation_env=moody(strange))


@pytest.mark.parametrize("path", ["compiled", "python"])
def test_a_reward_that_is_no_number_is_an_error(path):
    machine = cranium.loads(
        "{propositions: [A], initial: u, transitions: [{from: u, reward: odd}]}",
        rewards={"odd": lambda s, a, t: float("nan") if t[0] == 3 else 0.0},
    )
    env = cranium.product(LetterEnv.experiment(1), machine, horizon=20)
    with pytest.raises(RewardError, match="'odd' returned nan"):
        train(env, path=path, steps=500)


def test_an_underflow_says_after_how_many_samples():
    machine = cranium.CountingRewardAutomaton(
        propositions=["A"],
        counters=["n"],
        initial="u",
        transitions=[
            cranium.Transition(source="u", guard="A", zero_pattern="0", change=(1,)),
            cranium.Transition(source="u", guard="A", zero_pattern="1", change=(-2,)),
        ],
    )
    world = LetterEnv.experiment(3)
    env = cranium.product(world, machine, horizon=100)
    with pytest.raises(CounterUnderflowError, match=r"after .* samples, in ⟨u, 1⟩"):
        train(env, path="python", steps=5000, exploration=1.0)


@pytest.mark.parametrize("path", ["compiled", "python"])
def test_ctrl_c_returns_what_was_learned(path):
    found = []

    def stop(evaluation):
        found.append(evaluation)
        if len(found) == 3:
            signal.raise_signal(signal.SIGINT)
        return False

    result = train(letter(1), path=path, steps=10**6, evaluate_every=500, until=stop)
    assert result.interrupted
    assert result.samples == 1500
    assert len(result.curve) == 3
    assert result.policy.q.size


def test_progress_is_shown_on_standard_error(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    train(letter(1), steps=2000, progress=True)
    assert "samples" in capsys.readouterr().err


def test_beyond_what_was_learned_the_user_decides():
    env = letter(1)
    policy = train(env, "cql", steps=20_000, counter_limit=2).policy
    ground = env.reset(seed=0)[0]["ground"]
    far = cranium.Configuration("counting", (50,))
    with pytest.raises(PolicyError, match=r"⟨counting, 50⟩ is beyond what was learned"):
        policy(ground, far)
    assert policy.with_unknown("random")(ground, far) in range(4)
    near = policy.with_unknown("nearest")
    assert near(ground, far) == policy(ground, cranium.Configuration("counting", (2,)))
    with pytest.raises(PolicyError, match="never met in training"):
        near(np.array([99, 99, 99]), far)
    with pytest.raises(InvalidArgumentError, match="error, random or nearest"):
        policy.with_unknown("guess")
