"""Exact planning against an independent, slow, obvious value iteration."""

from __future__ import annotations

from threading import Lock

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from support.environments import Line, moved
from support.naive_planning import naive_values

import cranium
from cranium import RewardFunction, Transition
from cranium.aamdp import make_product
from cranium.errors import InvalidArgumentError, LabelError, WorldError
from cranium.worlds import LetterEnv, LetterSpec, OfficeWorld, TabularWorld

pytestmark = pytest.mark.filterwarnings("ignore::cranium.errors.HorizonWarning")
# What is tested here does not depend on when episodes are cut off.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "task", "discount"),
    [
        (LetterEnv.experiment((1, 2)), "anbcdn", 0.95),
        (LetterEnv.running_example(2), "anbcn", 0.9),
        (OfficeWorld(mail=1), "mail-delivery", 0.97),
    ],
)
def test_the_values_are_those_of_naive_value_iteration(world, task, discount):
    machine = cranium.library.load(task)
    known = set(machine.propositions)
    expected = naive_values(
        world, lambda s, a, s2: world.label(s, a, s2) & known, machine, discount, 120, limit=3
    )
    env = cranium.product(world, machine, counter_limit=3)
    optimum = cranium.solve(env, discount=discount, tolerance=1e-10)
    model = optimum.product
    found = {
        (model.world.states[s], model.space.decode(int(x))): v
        for s, x, v in zip(model.state, model.configuration, optimum.value, strict=True)
    }
    assert found.keys() == expected.keys()
    assert max(abs(found[pair] - expected[pair]) for pair in expected) < 1e-2 * discount**100 + 1e-9


def test_the_greedy_policy_earns_the_value_of_the_start():
    env = make_product("Letter", "anbcdn", times=2)
    optimum = cranium.solve(env, discount=0.97)
    actions = [action for _, _, action in optimum.episodes()]
    env.reset(seed=0)
    earned = 0.0
    for step, action in enumerate(actions):
        _, reward, terminated, _, info = env.step(action)
        earned += 0.97**step * reward
    assert terminated
    assert info["success"]
    assert earned == pytest.approx(optimum.start_value, abs=1e-9)
    assert optimum.expected_length == len(actions)


def test_a_random_world_through_its_model():
    lake = gym.make("FrozenLake-v1", is_slippery=True)
    goal = cranium.labelling_from_cells({15: "goal"})
    optimum = cranium.solve(cranium.product(lake, cranium.compile_language("goal"), goal))
    value = np.zeros(16)
    for _ in range(3000):  # the toy-text model pays for the goal itself: the same task
        for s in range(16):
            value[s] = max(
                sum(p * (r + 0.99 * value[n] * (not d)) for p, n, r, d in lake.unwrapped.P[s][a])
                for a in range(4)
            )
    assert optimum.start_value == pytest.approx(value[0], abs=1e-8)
    assert 0.7 < optimum.success_rate < 1


@pytest.mark.slow
def test_ground_rewards_and_reward_functions_are_planned_for():
    line = {1: "A"}
    task = cranium.CountingRewardAutomaton(
        propositions=["A"],
        initial="u",
        terminal=["done"],
        accepting=["done"],
        transitions=[
            Transition(
                source="u",
                guard="A",
                target="done",
                reward=RewardFunction("r", lambda s, a, s2: 100 * int(s2) + a),
            )
        ],
    )
    lake = gym.make("FrozenLake-v1", is_slippery=False)
    optimum = cranium.solve(cranium.product(lake, task, cranium.labelling_from_cells(line)))
    assert optimum.start_value == pytest.approx(102), "right is action 2"
    cliff = gym.make(max(i for i in gym.registry if i.startswith("CliffWalking-v")))
    home = cranium.labelling_from_cells({47: "home"})
    env = cranium.product(cliff, cranium.compile_language("home"), home, add_ground_reward=True)
    assert cranium.solve(env, discount=1.0).expected_return == pytest.approx(-13 + 1)


def test_an_environment_that_is_neither_ours_nor_has_a_model_is_tried_out():
    env = cranium.product(Line(), cranium.compile_language("A A A"), moved)
    optimum = cranium.solve(env)
    assert optimum.expected_length == 3
    assert optimum.product.world.num_states == 10
    late = cranium.product(Line(), cranium.compile_language("A^12"), moved)
    assert cranium.solve(late).success_rate == 0, "the ground environment ends before"


def test_a_wrapper_that_may_change_the_world_is_not_seen_through():
    lake = gym.wrappers.StickyAction(gym.make("FrozenLake-v1", is_slippery=False), 0.5)
    goal = cranium.labelling_from_cells({15: "goal"})
    env = cranium.product(lake, cranium.compile_language("goal"), goal)
    with pytest.raises(WorldError, match="the wrapper StickyAction may change"):
        cranium.solve(env)
    with pytest.raises(InvalidArgumentError, match="there is no task in"):
        cranium.solve(gym.make("FrozenLake-v1"))
    outside = gym.wrappers.TransformReward(make_product("Letter", "anbcdn"), lambda r: r - 1)
    with pytest.raises(WorldError, match="the wrapper TransformReward may change"):
        cranium.solve(outside)
    nested = cranium.product(make_product("Letter", "anbcdn"), cranium.compile_language("A A"))
    with pytest.raises(WorldError, match="the wrapper AutomatonAugmentedMDP may change"):
        cranium.solve(nested)


def test_a_time_limit_below_the_product_counts():
    env = cranium.product(
        gym.wrappers.TimeLimit(LetterEnv.experiment(1), 5),
        cranium.library.load("anbcdn"),
        horizon=100,
    )
    assert env.horizon == 5
    assert cranium.solve(env).success_rate == 0


def test_without_a_discount_the_optimal_policy_takes_the_fewest_steps():
    optimum = cranium.solve(make_product("Letter", "anbcdn", times=1), discount=1)
    assert optimum.start_value == pytest.approx(1)
    assert (optimum.success_rate, optimum.expected_length) == (1, 17)
    lake = gym.make("FrozenLake-v1", is_slippery=True)
    goal = cranium.labelling_from_cells({15: "goal"})
    env = cranium.product(lake, cranium.compile_language("goal"), goal)
    lasting = cranium.solve(env, discount=1, horizon=5000, tolerance=1e-12)
    assert lasting.success_rate == pytest.approx(lasting.start_value, abs=1e-3)


def test_events_are_read_as_the_product_reads_them():
    lake = gym.make("FrozenLake-v1", is_slippery=False)
    task = cranium.compile_language("goal")
    plain = cranium.product(lake, task, lambda s, a, s2: "goal" if s2 == 15 else ())
    assert cranium.solve(plain).success_rate == 1, "a name is not its letters"
    misspelt = cranium.product(lake, task, lambda s, a, s2: ["gaol"] if s2 == 15 else ())
    with pytest.raises(LabelError, match="no such event of this task: 'gaol'"):
        cranium.solve(misspelt)


def test_actions_that_do_not_begin_at_zero():
    class Shifted(Line):
        def __init__(self):
            super().__init__()
            self.action_space = gym.spaces.Discrete(2, start=10)

        def step(self, action):
            assert action in (10, 11)
            return super().step(action - 10)

    task = cranium.CountingRewardAutomaton(
        propositions=["A"],
        initial="u",
        terminal=["done"],
        accepting=["done"],
        transitions=[
            Transition(
                source="u",
                guard="A",
                target="done",
                reward=RewardFunction("action", lambda s, a, s2: float(a)),
            )
        ],
    )
    env = cranium.product(Shifted(), task, lambda s, a, s2: "A" if a == 11 else ())
    optimum = cranium.solve(env)
    assert optimum.start_value == 11
    assert [action for _, _, action in optimum.episodes()] == [11]


def test_solving_leaves_the_environment_where_it_is():
    env = cranium.product(Line(), cranium.compile_language("A^5"), moved)
    env.reset(seed=0)
    env.step(1)
    env.step(1)
    cranium.solve(env)
    assert env.step(1)[0]["ground"].tolist() == [3]


def test_a_machine_state_may_be_called_overflow():
    task = cranium.unroll(cranium.library.load("anbcdn"), counter_limit=2)
    assert "overflow" in task.terminal
    env = cranium.product(LetterEnv.experiment(1), task, horizon=100)
    assert cranium.solve(env).expected_length == 17


def test_office_with_ten_items_of_mail_is_solved():
    optimum = cranium.solve(make_product("Office", "mail-and-coffee", mail=10))
    assert optimum.success_rate == 1
    assert optimum.product.num_pairs == 3471


def test_nonsense_is_refused():
    env = make_product("Letter", "anbcdn")
    for discount in (0, 1.5, -1, float("nan"), "x", None):
        with pytest.raises(InvalidArgumentError, match="a discount is a number above 0"):
            cranium.solve(env, discount=discount)
    with pytest.raises(InvalidArgumentError, match="a tolerance is a number above 0"):
        cranium.solve(env, tolerance=0)
    with pytest.raises(WorldError, match="not converged after 3 sweeps"):
        cranium.solve(env, max_sweeps=3)
    with pytest.raises(WorldError, match="only discrete actions"):
        cranium.solve(cranium.product(gym.make("Pendulum-v1"), env.automaton, lambda *_: ()))


def test_without_discount_the_policy_attains_the_optimum_even_if_nothing_ends():
    world = LetterEnv([LetterSpec("A", (0, 0))], rows=1, columns=3, start=(0, 2))
    once = cranium.CountingRewardAutomaton(
        propositions=["A"],
        initial="u",
        states=["u", "v"],
        terminal=[],
        transitions=[Transition(source="u", guard="A", target="v", reward=1)],
    )
    solution = cranium.solve(cranium.product(world, once, horizon=50), discount=1.0)
    assert (solution.start_value, solution.expected_return) == (1.0, 1.0)


def test_a_world_that_steps_in_another_way_than_its_model_is_not_solved_by_it():
    class Lame(LetterEnv):
        def step(self, action):
            return super().step(0)  # right, whatever it is told

    world = Lame([LetterSpec("A", (0, 0))], rows=1, columns=3, start=(0, 1))
    env = cranium.product(world, cranium.compile_language("A"), horizon=9)
    assert cranium.solve(env).success_rate == 0


class Cells(gym.Env):
    """A model whose states are numbers, and observations that are not."""

    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.MultiDiscrete([1, 4])
    initial_state_distrib = (1, 0, 0, 0)
    P = {  # noqa: RUF012
        s: {a: [(1.0, min(3, max(0, s + 2 * a - 1)), 0.0, False)] for a in range(2)}
        for s in range(4)
    }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 0
        return np.array([0, 0]), {}

    def step(self, action):
        self.state = self.P[self.state][action][0][1]
        return np.array([0, self.state]), 0.0, False, False, {}


def test_a_model_is_used_only_if_it_is_that_of_what_is_observed():
    goal = cranium.labelling_from_cells({(0, 3): "goal"})
    env = cranium.product(Cells(), cranium.compile_language("goal"), goal, horizon=50)
    assert cranium.solve(env).success_rate == 1
    with pytest.raises(WorldError, match="the states of P are numbers"):
        TabularWorld.from_model(Cells(), goal)


class Dry(FrozenLakeEnv):
    """Says that it is slippery, and is not."""

    def step(self, action):
        ways = [way for way in self.P[self.s][action] if way[0] < 1]
        self.s = int((ways[1] if len(ways) > 2 else self.P[self.s][action][0])[1])
        return self.s, 0.0, False, False, {}


def test_a_model_that_the_environment_does_not_follow_is_refused():
    goal = cranium.labelling_from_cells({15: "goal"})
    env = cranium.product(Dry(), cranium.compile_language("goal"), goal, horizon=50)
    with pytest.raises(WorldError, match="the table"):
        cranium.solve(env)


def test_passengers_who_change_their_mind_are_in_no_model():
    taxi = gym.make("Taxi-v4" if "Taxi-v4" in gym.registry else "Taxi-v3", fickle_passenger=True)
    with pytest.raises(WorldError, match="is not complete"):
        TabularWorld.from_model(taxi, lambda s, a, s2: ())


def test_a_model_whose_environment_cannot_be_copied_is_still_solved():
    lake = gym.make("FrozenLake-v1", is_slippery=False)
    lake.unwrapped.window = Lock()  # as one that has drawn something holds it
    goal = cranium.labelling_from_cells({15: "goal"})
    assert (
        cranium.solve(cranium.product(lake, cranium.compile_language("goal"), goal)).success_rate
        == 1
    )
