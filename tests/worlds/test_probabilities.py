"""What is no probability distribution is refused, in tables and in live worlds."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranium
from cranium.errors import WorldError
from cranium.worlds import FiniteEnv, Outcome, TabularWorld


class Wheel(FiniteEnv):
    """One state that is spun, with any numbers for chances."""

    vocabulary = ("won",)
    action_space = gym.spaces.Discrete(2, start=3)
    observation_space = gym.spaces.MultiDiscrete([3])

    def __init__(self, chances=(0.5, 0.5), starts=(1.0,)):
        super().__init__()
        self.chances, self.starts = chances, starts

    def initial(self, options):
        return [(chance, 0) for chance in options.get("starts", self.starts)]

    def outcomes(self, state, action):
        if action == 3:
            return [Outcome(1.0, 0)]
        return [Outcome(chance, 1 + i % 2, i % 2 == 1) for i, chance in enumerate(self.chances)]

    def label(self, state, action, after):
        return frozenset({"won"} if after == 2 else ())

    def observe(self, state):
        return np.array([state])


WRONG: list[tuple] = [
    (0.5, 0.3),
    (1.5, -0.5),
    (0.5, 0.6),
    (),
    (nan, 1.0),
    (inf, 0.0),
    (1.0, 1e-6),
    ("x", 1.0),
]
WRONG += [(10**400, 0.0), (1 + 0j, 0.0)]


@pytest.mark.parametrize("chances", WRONG)
def test_outcomes_that_are_no_distribution_are_refused_everywhere(chances):
    world = Wheel(chances)
    with pytest.raises(WorldError, match=r"action 4 .*in 0") as problem:
        TabularWorld.of(world)
    if chances == (0.5, 0.3):
        assert "sum to 0.8" in str(problem.value)
    world.reset(seed=0)
    world.step(3)
    with pytest.raises(WorldError, match=r"the outcomes of action 4 in 0 have"):
        world.step(4)
    env = cranium.product(Wheel(chances), cranium.compile_language("won"), horizon=10)
    with pytest.raises(WorldError, match="action 4"):
        cranium.solve(env)
    with pytest.raises(WorldError, match="action 4"):
        cranium.train(env, "ql", steps=200, seed=0)


@pytest.mark.parametrize("starts", [(0.5, 0.3), (1.5, -0.5), (), (nan,)])
def test_starts_that_are_no_distribution_are_refused_everywhere(starts):
    for world, options in ((Wheel(starts=starts), None), (Wheel(), {"starts": starts})):
        with pytest.raises(WorldError, match="the starts have"):
            world.reset(seed=0, options=options)
    with pytest.raises(WorldError, match="the starts have"):
        TabularWorld.of(Wheel(starts=starts))


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=40))
def test_whatever_is_divided_by_its_sum_is_accepted(weights):
    chances = tuple(weight / sum(weights) for weight in weights)
    world = Wheel(chances)
    table = TabularWorld.of(world)
    assert table.probability[table.pair == 1].sum() == pytest.approx(1)
    world.reset(seed=0)
    world.step(4)


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=40))
def test_numbers_in_single_precision_are_a_distribution_too(weights):
    chances = np.array(weights, np.float32)
    chances /= chances.sum()
    world = Wheel(tuple(chances), starts=tuple(chances))
    table = TabularWorld.of(world)
    found = table.probability[table.pair == 1]
    assert found.sum() == pytest.approx(1, abs=1e-9)
    assert found == pytest.approx(chances, abs=1e-6)
    world.reset(seed=0)
    world.step(4)
    assert world._moves[0, 4][0] == found.tolist(), "the world draws what the table says"


def lake(**changed):
    env = gym.make("FrozenLake-v1", is_slippery=True).unwrapped
    for name, value in changed.items():
        setattr(env, name, value)
    return env


@pytest.mark.parametrize("chances", [(0.5, 0.3), (1.5, -0.5)])
def test_a_model_that_is_no_distribution_is_refused(chances):
    goal = lambda s, a, s2: ()  # noqa: E731
    wrong = {**lake().P, 4: {a: [(p, 4, 0.0, False) for p in chances] for a in range(4)}}
    with pytest.raises(WorldError, match="the outcomes of action 0 in 4 have"):
        TabularWorld.from_model(lake(P=wrong), goal)
    with pytest.raises(WorldError, match="the starts have"):
        TabularWorld.from_model(lake(initial_state_distrib=[*chances, *[0.0] * 14]), goal)


def test_a_table_that_was_changed_by_hand_is_checked_too():
    table = TabularWorld.of(Wheel())
    with pytest.raises(WorldError, match="the outcomes of action 3 in 0 have"):
        replace(table, probability=-table.probability)
    with pytest.raises(WorldError, match=r"sum to 0\.5"):
        replace(table, initial=table.initial / 2)
    with pytest.raises(WorldError, match=r"sum to 1\.0000001"):
        replace(table, probability=table.probability * 1.0000001)
