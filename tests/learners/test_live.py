"""Environments that step in Python: the same results as the compiled loop, bit for bit."""

from __future__ import annotations

import signal

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from support import environments as envs
from support.environments import make_letter_product, make_row_product
from support.random_tasks import TABULAR_CONFIGS, paying_machine, tasks
from support.training_paths import assert_same_results, train_on_both_paths

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
from cranium.learners import PlannerConfig, Schedule, Visits, train
from cranium.worlds import LetterEnv, OfficeWorld

ENDLESS = pytest.mark.filterwarnings("ignore::cranium.errors.HorizonWarning")
SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@pytest.mark.slow
@SLOW
@given(st.data())
def test_both_paths_give_the_same_values(data):
    machine, world = data.draw(tasks(counters=2))
    horizon = data.draw(st.integers(1, 12))
    env = cranium.product(world, machine, counter_limit=3, horizon=horizon)
    config = data.draw(TABULAR_CONFIGS)
    try:
        one, other = train_on_both_paths(env, steps=50, seed=5, config=config, counter_limit=3)
    except RunError:
        reject()  # some way leads to an error
    assert_same_results(one, other)


@pytest.mark.parametrize("learner", ["ql", "cql", "planner"])
def test_a_slippery_lake_is_the_same_on_both_paths(learner):
    lake = gym.make("FrozenLake-v1", is_slippery=True)
    goal = cranium.labelling_from_cells({15: "goal"})
    env = cranium.product(lake, cranium.compile_language("goal"), goal)
    assert_same_results(*train_on_both_paths(env, learner, steps=4000, seed=1))


@pytest.mark.parametrize("observation", ["markov", "cell"])
def test_the_planner_is_the_same_on_both_paths(observation):
    env = make_letter_product((1, 2), observation=observation)
    one, other = train_on_both_paths(env, "planner", steps=500, seed=2)
    chosen = one.policy.q[[one.policy.number(o) for o in other.policy.observations]]
    places = [other.policy.place(x) for x in one.policy.configurations]
    assert np.array_equal(chosen, other.policy.q[:, places])


def test_ground_rewards_and_reward_functions_are_the_same_on_both_paths():
    lake = gym.make("FrozenLake-v1", is_slippery=True)
    goal = cranium.labelling_from_cells({15: "goal"})
    env = cranium.product(lake, paying_machine(), goal, add_ground_reward=True)
    one, other = train_on_both_paths(env, steps=3000, seed=1)
    assert_same_results(one, other)
    assert np.abs(one.q).max() > 0.6
    with pytest.raises(InvalidArgumentError, match="highest_reward"):
        train(env, "planner", steps=10)
    assert_same_results(
        *train_on_both_paths(env, "planner", steps=300, config=PlannerConfig(highest_reward=2.0))
    )


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


def test_an_observation_that_looks_like_a_cell_is_not_taken_for_it():
    """Cell 1 is where places 2 and 3 are; place 1 is in cell 0, although its array is the same."""
    task = cranium.compile_language("B")
    env = cranium.product(envs.Line(), task, lambda s, a, s2: "B" if s2[0] == 9 else (), horizon=30)
    told = {"steps": 500, "seed": 0, "exploration": 0.3}
    arrays = train(env, discretise=lambda seen: seen // 2, **told)
    tuples = train(env, discretise=lambda seen: (int(seen[0]) // 2,), **told)
    assert [int(cell[0]) for cell in arrays.policy.observations] == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(arrays.q, tuples.q)


def test_cells_and_actions_that_no_table_can_have_are_refused_with_a_way_out():
    up = cranium.labelling("up")(lambda s, a, s2: "up" if s2[0] > 0.8 else ())
    swing, task = gym.make("Pendulum-v1"), cranium.compile_language("up")
    with pytest.raises(WorldError, match="discrete actions") as refused:
        train(cranium.product(swing, task, up), steps=10, discretise=round)
    assert "DiscretizeAction" in refused.value.fix
    env = cranium.product(gym.wrappers.DiscretizeAction(swing, 3), task, up)
    with pytest.raises(WorldError, match=r"discretise returns .* not \{1\}"):
        train(env, steps=10, discretise=lambda seen: {1})


def test_wrappers_around_the_product_take_part():
    env = gym.wrappers.RecordEpisodeStatistics(make_letter_product(1))
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
def test_ctrl_c_returns_what_was_learned(path, request):
    # Whoever started the tests in the background may have had it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    found = []

    def stop(evaluation):
        found.append(evaluation)
        if len(found) == 3:
            signal.raise_signal(signal.SIGINT)
        return False

    result = train(make_letter_product(1), path=path, steps=10**6, evaluate_every=500, until=stop)
    assert result.interrupted
    assert result.samples == 1500
    assert len(result.curve) == 3
    assert result.policy.q.size


def test_progress_is_shown_on_standard_error(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    train(make_letter_product(1), steps=2000, progress=True)
    assert "samples" in capsys.readouterr().err


def test_the_user_chooses_the_action_in_unknown_configurations():
    env = make_letter_product(1)
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


# What a review found


def test_time_limits_around_the_product_count_on_both_paths():
    for path in ("compiled", "python"):
        env = make_letter_product(1, max_episode_steps=10)  # it takes 17
        result = train(env, "planner", steps=1000, path=path, evaluate_every=100)
        assert result.samples_to_solve is None
    assert cranium.solve(make_letter_product(1, max_episode_steps=10)).success_rate == 0
    found = cranium.evaluate(
        make_letter_product(1, max_episode_steps=10), result.policy.with_unknown("random")
    )
    assert found.success[0] == 0


@ENDLESS
def test_truncation_by_the_environment_itself_is_the_same_on_both_paths():
    for path in ("compiled", "python"):
        result = train(
            make_row_product(12, cut=5), "ql", steps=1000, path=path
        )  # the goal takes 11
        assert result.path == path
        assert result.samples_to_solve is None
        assert result.episodes == 200
        assert result.evaluation.lengths[0] == 5


@ENDLESS
def test_the_reward_is_not_lost_when_a_configuration_is_new():
    machine = cranium.loads(
        """
        propositions: [goal, left]
        counters: [n]
        initial: u
        terminal: [done]
        accepting: [done]
        transitions:
          - {from: u, when: left & !goal, add: {n: 1}, reward: far}
          - {from: u, when: goal & !left, to: done, reward: 1}
        """,
        rewards={"far": lambda s, a, t: -1.0},
    )
    config = {"learning_rate": 1.0, "discount": 0.5, "initial_value": 0.0, "exploration": 1.0}
    found = []
    for limit in (None, 30):  # met one by one, or all known
        env = make_row_product(4, task=machine, counter_limit=limit, add_ground_reward=True)
        result = train(env, "ql", steps=20, path="python", evaluation_episodes=1, **config)
        x = result.policy.place(cranium.Configuration("u", (1,)))
        found.append(result.q[:, x])
    assert np.array_equal(*found)
    assert found[0].min() <= -1.5


@pytest.mark.slow
@ENDLESS
def test_a_counter_without_a_limit_does_not_hang():
    machine = cranium.loads(
        "{propositions: [goal, left], counters: [n], initial: u, terminal: [done], "
        "accepting: [done], transitions: [{from: u, when: left & !goal, add: {n: 1}}, "
        "{from: u, when: goal & !left, if: n > 0, to: done, reward: 1}]}"
    )
    result = train(make_row_product(6, task=machine), "ql", steps=100, evaluation_episodes=1)
    assert result.path == "python"


def test_a_state_that_is_first_met_at_the_end_is_listed_when_it_lives_later():
    class Late(gym.Env):
        observation_space, action_space = gym.spaces.Discrete(23), gym.spaces.Discrete(3)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.s = 0
            return 0, {}

        def step(self, action):
            s, ends = self.s, False
            if s == 21:
                self.s = 22
            elif action == 2:
                self.s, ends = 21, s != 20
            else:
                self.s = min(s + 1, 20) if action == 1 else 0
            return self.s, 0.0, ends, False, {}

    goal = cranium.labelling_from_cells({22: "goal"})
    env = cranium.product(Late(), cranium.compile_language("goal"), goal, horizon=50)
    assert cranium.solve(env).start_value == pytest.approx(0.99**21)


@ENDLESS
def test_more_nonsense_is_refused_before_anything_is_learned():
    env = make_letter_product(3, product={"counter_limit": 1})
    with pytest.raises(InvalidArgumentError, match="the counter limit 1, which is less than 5"):
        train(env, steps=10, counter_limit=5)
    for wrong, said in (
        ({"gap": "x"}, "gap is a number"),
        ({"gap": -1.0}, "gap is 0 or more"),
        ({"gap": 0.1, "path": "python"}, "the gap to the optimum is known for finite worlds"),
        ({"gap": 0.1, "discount": 1}, "the gap to the optimum is known for finite worlds"),
        ({"evaluate_every": 0}, "evaluate_every is a whole number"),
        ({"instances": ["x"]}, "instances are names with options"),
        ({"instances": {"x": 3}}, "instances are names with options"),
        ({"discount": Schedule(1, 0, 9)}, "discount is a number from 0 to 1"),
        ({"shaping_discount": Visits()}, "shaping_discount is a number from 0 to 1"),
        ({"shaping": 1}, "shaping is True, False"),
    ):
        with pytest.raises(InvalidArgumentError, match=said):
            train(make_letter_product(1), steps=10, **wrong)
    with pytest.raises(InvalidArgumentError, match="generalise is true or false"):
        train(make_letter_product(1), "planner", steps=10, generalise="no")
    with pytest.raises(InvalidArgumentError, match="above 0, up to 1"):
        Visits(-3)
    office = gym.make("cranium/ToroOffice-coffee-v0")
    with pytest.raises(InvalidArgumentError, match="exploration is a number from 0 to 1"):
        train(office, "hrm", steps=9, exploration=Schedule(1, 0, 9))
    with pytest.raises(WorldError, match="a wrapper around the product changes its observations"):
        train(gym.wrappers.FlattenObservation(make_row_product(6)), "ql", steps=10)
    assert train(make_letter_product(1), steps=2000, discount=0).evaluation.optimum is None


@pytest.mark.parametrize(
    "encoding", [cranium.aamdp.BoxEncoding("log"), cranium.aamdp.TabularEncoding()]
)
def test_other_encodings_learn_the_same_in_python(encoding):
    first, second = (
        train(env, "cql", steps=400, path="python", evaluate_every=400, counter_limit=100)
        for env in (make_letter_product(1), make_letter_product(1, product={"encoding": encoding}))
    )
    assert np.array_equal(first.q, second.q)
