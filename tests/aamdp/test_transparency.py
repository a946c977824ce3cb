"""Wrappers are seen through because of what they are, not because of what they are called."""

from __future__ import annotations

import gymnasium as gym
import pytest

import cranium
from cranium.aamdp import AutomatonAugmentedMDP, find_product
from cranium.aamdp.product import shortest_horizon
from cranium.aamdp.wrappers import TRANSPARENT, is_transparent
from cranium.errors import WorldError
from cranium.learners import train

GOAL = cranium.labelling_from_cells({15: "goal"})
TASK = cranium.compile_language("goal")


def lake():
    return gym.make("FrozenLake-v1", is_slippery=False)


class _Backwards:
    """Does the opposite of what it is told."""

    def step(self, action):
        return self.env.step((action + 2) % 4)


class _Taxed:
    """Takes something away at every step."""

    def step(self, action):
        seen, reward, *rest = self.env.step(action)
        return seen, reward - 0.1, *rest


def namesake(kind, behaviour):
    """A wrapper of the user's that is called like one of Gymnasium's."""
    return type(kind.__name__, (behaviour, gym.Wrapper), {})


def descendant(kind, behaviour):
    """A subclass of one of Gymnasium's wrappers, of the same name, that does something else."""
    return type(kind.__name__, (behaviour, kind), {})


def put_around(kind, env):
    return kind(env, 100) if issubclass(kind, gym.wrappers.TimeLimit) else kind(env)


GYMNASIUMS = sorted((one for one in TRANSPARENT if "gymnasium" in one.__module__), key=repr)
EVERY = pytest.mark.parametrize("kind", GYMNASIUMS, ids=lambda kind: kind.__name__)
HOW = pytest.mark.parametrize("make", [namesake, descendant])


@EVERY
def test_gymnasiums_own_are_seen_through(kind):
    env = put_around(kind, cranium.product(put_around(kind, lake()), TASK, GOAL, horizon=100))
    assert is_transparent(env)
    assert cranium.solve(env).success_rate == 1


@pytest.mark.slow
@HOW
@EVERY
def test_a_wrapper_inside_the_product_that_is_only_called_like_gymnasiums_is_not(kind, make):
    mine = make(kind, _Backwards)
    env = cranium.product(put_around(mine, lake().unwrapped), TASK, GOAL, horizon=100)
    with pytest.raises(WorldError, match=f"the wrapper {kind.__name__} may change"):
        cranium.solve(env)
    assert train(env, "ql", steps=50).path == "python"


@HOW
@EVERY
def test_a_wrapper_around_the_product_that_is_only_called_like_gymnasiums_is_not(kind, make):
    mine = make(kind, _Taxed)
    env = put_around(mine, cranium.product(lake(), TASK, GOAL, horizon=100))
    with pytest.raises(WorldError, match=f"the wrapper {kind.__name__} may change"):
        cranium.solve(env)
    with pytest.raises(WorldError, match="may change states, rewards or termination"):
        train(env, "ql", steps=50, path="compiled")
    with pytest.raises(WorldError, match="around the product changes the reward"):
        train(env, "ql", steps=50)


class Cheat(AutomatonAugmentedMDP):
    """A product that pays for every step."""

    def step(self, action):
        seen, reward, *rest = super().step(action)
        return seen, float(reward) + 1, *rest


class Named(AutomatonAugmentedMDP):
    """A product with another name."""


def test_a_product_that_steps_in_its_own_way_is_not_taken_for_one_that_does_not():
    env = Cheat(lake(), TASK, GOAL, horizon=100)
    assert find_product(env) is env
    with pytest.raises(WorldError, match="Cheat may step in another way"):
        cranium.solve(env)
    with pytest.raises(WorldError, match="around the product changes the reward"):
        train(env, "ql", steps=50)
    plain = Named(lake(), TASK, GOAL, horizon=100)
    assert plain.is_plain
    assert cranium.solve(plain).success_rate == 1


class Patient(gym.wrappers.TimeLimit):
    """Cuts nothing off."""

    def step(self, action):
        return self.env.step(action)


def test_only_gymnasiums_own_time_limit_is_one():
    bare = lake().unwrapped
    bare.spec = None
    assert shortest_horizon(gym.wrappers.TimeLimit(bare, 7), None) == 7
    assert shortest_horizon(Patient(bare, 7), None) is None


def test_our_own_worlds_are_not_read_through_a_wrapper_that_only_looks_harmless():
    """Their events are read without a call where nothing is in between."""
    mine = namesake(gym.wrappers.TimeLimit, _Backwards)
    world = cranium.worlds.LetterEnv.experiment(1)
    task = cranium.library.load("anbcdn")
    assert cranium.product(world, task, horizon=100)._world is not None
    assert cranium.product(mine(world), task, horizon=100)._world is None
