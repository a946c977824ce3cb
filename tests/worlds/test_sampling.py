"""What was only tried out is called so: generators of an environment's own, and rare chances."""

from __future__ import annotations

import random

import gymnasium as gym
import numpy as np
import pytest
from support.clock_worlds import Corridor, far

import cranium
from cranium.errors import WorldError
from cranium.worlds import LetterEnv, enumerate_env
from cranium.worlds.sampling import draws, generators, reseed

SHARED = np.random.default_rng(0)


class Slippery(Corridor):
    """Stays where it is with some chance, by a generator that it keeps to itself."""

    def __init__(self, chance, kind="own", where=range(6)):
        super().__init__()
        self.chance, self.where = chance, where
        self.held = {
            "own": {"deep": [np.random.default_rng(7)]},
            "old": np.random.RandomState(7),
            "python": random.Random(7),
            "np_random": None,
            "shared": None,
        }[kind]
        self.kind = kind

    def draw(self):
        if self.kind == "own":
            return self.held["deep"][0].random()
        if self.kind == "old":
            return self.held.random_sample()
        if self.kind == "python":
            return self.held.random()
        return (self.np_random if self.kind == "np_random" else SHARED).random()

    def step(self, action):
        before = self.cell
        seen, *rest = super().step(action)
        if before in self.where and self.draw() < self.chance:
            self.cell = seen = before
        return seen, *rest


KINDS = ["own", "old", "python", "np_random", "shared"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_chance_that_is_everywhere_is_found(kind):
    with pytest.raises(WorldError, match=r"not deterministic|but the table knows"):
        enumerate_env(Slippery(0.002, kind), far)


@pytest.mark.parametrize("kind", KINDS)
def test_a_chance_that_is_missed_is_said_to_be_possible(kind):
    env = cranium.product(
        Slippery(1e-7, kind, where=(3,)), cranium.compile_language("far"), far, horizon=50
    )
    optimum = cranium.solve(env)
    assert optimum.success_rate == 1, "as far as was seen"
    told = optimum.sampled
    assert (told.pairs, told.random, told.random_tries) == (12, 2, 50)
    assert told.missed == pytest.approx(0.06)
    assert "an outcome with a probability below 0.06 may have been missed" in str(told)
    result = cranium.train(env, "planner", steps=1000, seed=0)
    assert result.path == "compiled"
    assert not result.evaluation.exact
    assert result.evaluation.sampled == told
    assert "may have been missed" in str(result.evaluation)
    assert result.evaluation.optimum is not None
    assert result.evaluation.gap == pytest.approx(0, abs=1e-9)


def test_where_no_random_numbers_are_drawn_that_is_said():
    told = enumerate_env(Corridor(), far, longest=300).sampled
    assert (told.tries, told.starts, told.random, told.missed) == (3, 100, 0, None)
    assert (told.steps, told.longest) == (1000 + 10 * 300, 300)
    assert "no random numbers were seen" in str(told)
    assert enumerate_env(Corridor(), far, verify=0).sampled.steps == 0


def test_what_has_a_model_is_exact():
    env = cranium.product(LetterEnv.experiment(1), cranium.library.load("anbcdn"), horizon=50)
    assert cranium.solve(env).sampled is None
    found = cranium.train(env, "planner", steps=300, seed=0).evaluation
    assert found.exact
    assert found.sampled is None


class Uncopied(Slippery):
    def __deepcopy__(self, memo):
        raise TypeError("cannot be copied")


@pytest.mark.parametrize("kind", ["own", "np_random"])
def test_an_environment_that_cannot_be_copied_draws_other_numbers_each_time(kind):
    class Seeded(Uncopied):
        def reset(self, *, seed=None, options=None):
            if seed is not None and self.kind == "own":
                self.held = {"deep": [np.random.default_rng(seed)]}
            return super().reset(seed=seed)

    with pytest.raises(WorldError, match="not deterministic"):
        enumerate_env(Seeded(0.3, kind), far, verify=0)


def test_generators_are_found_wherever_they_are_kept():
    class Parts:
        __slots__ = ("rng",)

        def __init__(self):
            self.rng = random.Random(3)

    closed = np.random.default_rng(4)
    env = Slippery(0.1, "old")
    env.parts = [Parts()]
    env.function = lambda: 1 + closed.random()
    wrapped = gym.wrappers.TimeLimit(env, 5)
    found = generators(wrapped)
    for one in (env.held, env.parts[0].rng, closed, SHARED):
        assert any(one is other for other in found)
    for one in found:
        before = draws([one])
        reseed(one, 5)
        first = one.random() if hasattr(one, "random") else one.random_sample()
        assert draws([one]) != before
        reseed(one, 5)
        assert first == (one.random() if hasattr(one, "random") else one.random_sample())


def test_listing_leaves_the_generators_of_the_environment_alone():
    env = Slippery(1e-7)
    env.reset(seed=0)
    own = env.held["deep"][0].bit_generator.state
    enumerate_env(env, far, longest=100)
    assert env.held["deep"][0].bit_generator.state == own
