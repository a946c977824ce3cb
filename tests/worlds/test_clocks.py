"""Clocks that an environment keeps to itself: found, or refused, never overlooked."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.clock_worlds import Corridor, far, near

import cranium
from cranium.aamdp import TabularProduct
from cranium.errors import WorldError
from cranium.worlds import enumerate_env
from cranium.worlds.verification import Clock

pytestmark = pytest.mark.filterwarnings("ignore:the product has no horizon")
# The environment has one: that is what is tested here.

ROUNDS = cranium.compile_language("far near far near far")
"""Needs 4 + 4 + 4 + 4 + 4 steps."""


def rollout(env, policy):
    """Whether a policy really succeeds, and after how many steps the episode is over."""
    observation, info = env.reset(seed=0)
    for step in range(1, 1000):
        action = policy(observation["ground"], env.configuration)
        observation, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            return info["success"], step
    raise AssertionError("it never ends")


def values(policy):
    """The values of all actions, by the names of things: what both have a number for."""
    alive = [x for x in policy.configurations if x.state in policy.automaton.states]
    return {
        (int(seen), x): policy.q[policy.number(seen), policy.place(x)].tolist()
        for seen in policy.observations
        for x in alive
        if x.state in policy.automaton.states
    }


@pytest.mark.slow
@pytest.mark.parametrize("clock", [12, 19, 20, 30, 101, 250])
@pytest.mark.parametrize("horizon", [None, 500, 15])
def test_solve_and_training_know_when_the_environment_cuts_off_by_itself(clock, horizon):
    env = cranium.product(Corridor(clock=clock), ROUNDS, near, horizon=horizon)
    optimum = cranium.solve(env)
    lasts = min(clock, horizon or clock)
    assert optimum.success_rate == (lasts >= 20)
    assert optimum.expected_length == min(20, lasts)
    result = cranium.train(env, "planner", steps=2000, seed=0)
    assert result.path == "compiled"
    assert not result.evaluation.exact, "it was tried out"
    success, length = rollout(env, result.policy.with_unknown("random"))
    assert (success, length) == (result.evaluation.success[0], result.evaluation.lengths[0])
    again = cranium.evaluate(env, result.policy.with_unknown("random"))
    assert again.lengths == result.evaluation.lengths


def test_training_ends_its_episodes_when_the_environment_does():
    env = cranium.product(Corridor(clock=7), cranium.compile_language("far far far"), far)
    compiled = cranium.train(env, "cql", steps=700, seed=0)
    live = cranium.train(env, "cql", steps=700, seed=0, path="python")
    assert (compiled.path, live.path) == ("compiled", "python")
    assert compiled.episodes == live.episodes == 100
    assert values(compiled.policy) == values(live.policy)


@pytest.mark.slow
def test_the_table_says_when_episodes_are_cut_off():
    assert enumerate_env(Corridor(clock=30), far).horizon == 30
    assert enumerate_env(Corridor(), far).horizon is None
    limited = gym.wrappers.TimeLimit(Corridor(clock=30), 50)
    assert enumerate_env(limited, far).horizon == 30
    shorter = gym.wrappers.TimeLimit(Corridor(clock=30), 20)
    assert enumerate_env(shorter, far).horizon == 20
    table = enumerate_env(Corridor(clock=30), far)
    assert table.verify(Corridor(clock=30), far, longest=100) > 1000
    with pytest.raises(WorldError, match="continued after 30 steps, but the time limit is 30"):
        table.verify(Corridor(), far, longest=100)
    with pytest.raises(WorldError, match="after 20 steps, but the time limit is 30"):
        table.verify(Corridor(clock=20), far)
    with pytest.raises(WorldError, match="after 30 steps, but the table has no time limit"):
        replace(table, horizon=None).verify(Corridor(clock=30), far)
    product = TabularProduct.of(table, ROUNDS)
    assert cranium.solve(product, horizon=10**6).success_rate == 0


class Named(Corridor):
    """Says that it has a limit, and has another, or none."""

    max_steps = 12_000


@pytest.mark.slow
def test_what_an_environment_says_of_its_clock_is_where_to_look_and_not_believed():
    assert enumerate_env(Named(), far).horizon is None
    assert enumerate_env(Named(clock=30), far).horizon == 30
    assert enumerate_env(Named(clock=12_000), far).horizon == 12_000
    assert enumerate_env(Named(clock=12_000), far, longest=500).horizon is None


class Slippery(Corridor):
    """Stays where it is at times, so that it cannot be listed, and means something else."""

    max_steps = 3

    def step(self, action):
        before = self.cell
        seen, *told = super().step(action)
        if self.np_random.random() < 0.1:
            self.cell = seen = before
        return seen, *told


def test_an_evaluation_that_runs_episodes_does_not_believe_it_either():
    env = cranium.product(Slippery(), cranium.compile_language("far"), far)
    result = cranium.train(env, "cql", steps=2000, seed=0, evaluate_every=2000)
    assert result.path == "python"
    assert result.evaluation.success[0] == 1
    assert result.evaluation.lengths[0] > 4
    never = cranium.product(Slippery(), cranium.compile_language("near"), lambda *_: ())
    told = {"steps": 20, "evaluate_every": 20, "evaluation_episodes": 1}
    found = cranium.train(never, "ql", **told).evaluation
    assert "cut off after 1,000 steps" in found.notes[0]
    assert found.lengths[0] == 1000
    Slippery.max_steps = 1500
    try:
        longer = cranium.train(never, "ql", **told).evaluation
    finally:
        Slippery.max_steps = 3
    assert "cut off after 1,500 steps" in longer.notes[0]


def test_a_clock_is_found_where_a_random_walk_would_not_live_to_see_it():
    class Narrow(Corridor):
        """Every cell but two is a pit, if one goes left."""

        def step(self, action):
            left = self.cell
            seen, reward, ended, cut, info = super().step(action)
            return seen, reward, ended or (action == 0 and left not in (4, 5)), cut, info

    table = enumerate_env(Narrow(cells=40, clock=35), lambda *_: ())
    assert table.horizon == 35
    assert table.num_states == 37, "what lies farther is never reached"
    assert enumerate_env(Narrow(cells=7, clock=200), lambda *_: ()).horizon == 200


class Door(Corridor):
    """From cell 3 on there is no way back; whoever goes there late is cut off."""

    late = 60

    def step(self, action):
        before = self.cell
        seen, reward, ended, _, info = super().step(action)
        if before >= 3:
            self.cell = seen = max(seen, 3)
        return seen, reward, ended, before < 3 <= seen and self.time > self.late, info


def test_what_only_happens_to_those_who_are_late_is_found_behind_a_door():
    """A random walk is through the door long before."""
    with pytest.raises(WorldError, match="truncated an episode by itself after"):
        enumerate_env(Door(), far, longest=400)


@pytest.mark.parametrize("action", range(4))
def test_an_action_that_wears_out_is_found(action):
    """A random walk of 400 steps takes none of four actions 180 times."""

    class Worn(Corridor):
        worn = 180

        def __init__(self):
            super().__init__()
            self.action_space = gym.spaces.Discrete(4)

        def reset(self, **options):
            self.used = 0
            return super().reset(**options)

        def step(self, taken):
            self.used += taken == action
            seen, *_ = super().step(taken % 2)
            return seen, 0.0, False, self.used >= self.worn, {}

    with pytest.raises(WorldError, match="truncated an episode by itself after"):
        enumerate_env(Worn(), far, longest=400)


@pytest.mark.slow
@pytest.mark.parametrize("clock", [3, 99, 101, 777, 5000])
def test_a_clock_that_ends_episodes_is_refused(clock):
    env = Corridor(clock=clock, ends=True)
    with pytest.raises(WorldError, match=r"led to|not deterministic") as problem:
        enumerate_env(env, far)
    assert "state_key" in problem.value.fix
    product = cranium.product(env, cranium.compile_language("far"), far, horizon=10_000)
    result = cranium.train(product, "ql", steps=500, seed=0)
    assert result.path == "python", "what cannot be listed steps by itself"


@pytest.mark.slow
@pytest.mark.parametrize("clock", [3, 40])
def test_a_clock_that_ends_episodes_can_be_told_apart(clock):
    key = lambda env, seen: (int(seen), env.unwrapped.time)  # noqa: E731
    table = enumerate_env(Corridor(clock=clock, ends=True), far, state_key=key)
    assert table.horizon is None
    optimum = cranium.solve(TabularProduct.of(table, cranium.compile_language("far")))
    assert optimum.success_rate == (clock >= 4)


@pytest.mark.slow
def test_a_cut_that_depends_on_more_than_the_number_of_steps_is_refused():
    with pytest.raises(WorldError, match="truncated an episode by itself after") as problem:
        enumerate_env(Corridor(clock=25, counts=(1,)), far)
    assert 'path="python"' in problem.value.fix

    class Edge(Corridor):
        """The last cell cuts off."""

        def step(self, action):
            seen, reward, ended, _, info = super().step(action)
            return seen, reward, ended, bool(self.cell == 5), info

    with pytest.raises(WorldError, match="truncated an episode by itself after"):
        enumerate_env(Edge(), far)
    env = cranium.product(Edge(), cranium.compile_language("far"), far, horizon=50)
    assert cranium.train(env, "ql", steps=500, seed=0).path == "python"


class Listed(Corridor):
    """Has a model, which says nothing of the clock."""

    initial_state_distrib = (0, 1, 0, 0, 0, 0)
    P = {  # noqa: RUF012
        s: {a: [(1.0, min(max(s + 2 * a - 1, 0), 5), 0.0, False)] for a in range(2)}
        for s in range(6)
    }


def test_an_environment_with_a_model_has_its_clock_found_too():
    env = cranium.product(Listed(clock=12), ROUNDS, near)
    optimum = cranium.solve(env)
    assert optimum.product.world.horizon == 12
    assert optimum.success_rate == 0
    assert cranium.solve(cranium.product(Listed(clock=120), ROUNDS, near)).success_rate == 1
    with pytest.raises(WorldError, match="but the table knows"):
        cranium.solve(cranium.product(Listed(clock=150, ends=True), ROUNDS, near))


@pytest.mark.slow
@settings(max_examples=25)
@given(
    clock=st.one_of(st.none(), st.integers(1, 60)),
    horizon=st.integers(1, 60),
    rounds=st.integers(2, 4),
    pit=st.booleans(),
)
def test_what_is_solved_is_what_really_happens(clock, horizon, rounds, pit):
    task = cranium.compile_language(" near ".join(["far"] * rounds))
    env = cranium.product(Corridor(clock=clock, pit=pit), task, near, horizon=horizon)
    optimum = cranium.solve(env)
    model = optimum.product
    best = {
        (model.world.states[s], model.space.decode(int(x))): int(a)
        for s, x, a in zip(model.state, model.configuration, optimum.policy, strict=True)
    }
    success, length = rollout(env, lambda seen, configuration: best[int(seen), configuration])
    assert (float(success), length) == (optimum.success_rate, optimum.expected_length)


@pytest.mark.slow
def test_minigrid_counts_its_steps():
    minigrid = pytest.importorskip("minigrid")
    assert minigrid
    env = gym.make("MiniGrid-Empty-5x5-v0", max_steps=40)
    key = lambda env, _: (*map(int, env.unwrapped.agent_pos), int(env.unwrapped.agent_dir))  # noqa: E731

    class Shown(gym.ObservationWrapper):
        observation_space = gym.spaces.MultiDiscrete([5, 5, 4])

        def observation(self, observation):
            return np.array(key(self.env, None))

        def step(self, action):  # its reward for the goal falls with time
            observation, _, terminated, truncated, info = super().step(action)
            return observation, 0.0, terminated, truncated, info

    table = enumerate_env(Shown(env), lambda *_: (), state_key=key)
    assert table.horizon == 40
    assert table.sampled.longest == 40
    with pytest.raises(WorldError, match="but the table knows"):
        enumerate_env(env, lambda *_: (), state_key=key)


def test_a_clock_that_has_struck_strikes_again_after_as_many_steps():
    clock = Clock()
    for steps in range(1, 5):
        clock.see(steps, truncated=False)
    clock.see(5, truncated=True)
    clock.see(5, truncated=True)
    assert clock.cut == 5
    with pytest.raises(WorldError, match="after 5 steps, but another one continued after 5"):
        clock.see(5, truncated=False)
    lasting = Clock()
    lasting.see(9, truncated=False)
    with pytest.raises(WorldError, match="after 3 steps, but another one continued after 9"):
        lasting.see(3, truncated=True)


def test_time_limits_around_it_are_as_they_were_after_it_was_listed():
    class Stuck(Corridor):
        def __deepcopy__(self, memo):
            raise TypeError("cannot be copied")

    env = gym.wrappers.TimeLimit(Stuck(clock=30), 20)
    assert enumerate_env(env, far).horizon == 20
    assert env._max_episode_steps == 20


@pytest.mark.slow
def test_a_product_without_a_horizon_is_walked_as_far_as_the_environment_says():
    env = cranium.product(Named(clock=12_000), cranium.compile_language("far"), far)
    assert cranium.solve(env).product.world.horizon == 12_000
