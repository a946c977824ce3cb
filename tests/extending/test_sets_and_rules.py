"""A set of configurations and an exploration rule of a user's own, in tables."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from extending.neighbours import Neighbours
from extending.upper_half import UpperHalf

import cranium
from cranium.counterfactual import ConfigurationSet, Reachable, Seen
from cranium.errors import InvalidArgumentError
from cranium.learners import Boltzmann, Exploration, Optimism, Schedule


def letters():
    world = gym.make("cranium/Letter-v0").unwrapped
    task = cranium.library.load("anbcdn")
    return cranium.product(world, task, horizon=60, counter_limit=6)


def learned(env, path, **settings):
    """The values of everything that both paths know."""
    told = {"steps": 1_500, "path": path, "seed": 5, "counter_limit": 6}
    result = cranium.train(env, "cql", **told, **settings)
    policy = result.policy
    rows = {tuple(np.ravel(o)): row for row, o in enumerate(policy.observations)}
    return result, {
        (o, x, a): policy.q[row, column, a]
        for o, row in rows.items()
        for column, x in enumerate(policy.configurations)
        for a in range(policy.num_actions)
    }


SETTINGS = {
    "neighbours": {"configurations": Neighbours()},
    "two of them": {"configurations": Neighbours(distance=3, sample=2)},
    "seen up to 2": {"configurations": Seen(limit=2)},
    "up to 2": {"configurations": Reachable(limit=2)},
    "three of all": {"configurations": Reachable(sample=3)},
    "upper half": {"exploration": UpperHalf()},
    "softmax": {"exploration": Boltzmann(Schedule(1.0, 0.05, over=1_000))},
    "optimism": {"exploration": Optimism(1.0)},
}


def test_they_follow_the_protocols():
    assert isinstance(Neighbours(), ConfigurationSet)
    assert isinstance(UpperHalf(), Exploration)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SETTINGS if "of" not in name.split()])
def test_both_paths_learn_the_same_values(name):
    compiled, python = (
        learned(letters(), path, **SETTINGS[name]) for path in ("compiled", "python")
    )
    assert compiled[0].episodes == python[0].episodes
    shared = compiled[1].keys() & python[1].keys()
    assert len(shared) > 100
    assert all(compiled[1][entry] == python[1][entry] for entry in shared)


def test_a_set_restricts_what_is_learned_from_each_transition():
    updated = {}
    for name, settings in {"all": {}, "up to 2": SETTINGS["up to 2"]}.items():
        _, values = learned(letters(), "compiled", learning_rate=1.0, **settings)
        beyond = [value for (_, x, _), value in values.items() if x.counters[0] > 2]
        updated[name] = sum(value != 0.5 for value in beyond)
    assert updated["up to 2"] < updated["all"] / 2  # only where the environment really was


def test_a_sample_of_a_set_is_part_of_it_and_the_same_for_the_same_seed():
    one, other = (learned(letters(), "compiled", **SETTINGS["three of all"])[1] for _ in range(2))
    everything = learned(letters(), "compiled")[1]
    assert one == other != everything
    changed = sum(value != 0.5 for value in one.values())
    assert 0 < changed < sum(value != 0.5 for value in everything.values())


def test_boltzmann_draws_actions_in_proportion_to_their_exponentials():
    from cranium.learners.tabular.rule_kernels import draw_action

    values = np.array([0.0, 1.0, -1.0, 0.5])
    draws = np.random.default_rng(0).random(20_000)
    counts = np.bincount([draw_action(Boltzmann(0.7), values, 0.7, u) for u in draws], minlength=4)
    expected = np.exp(values / 0.7) / np.exp(values / 0.7).sum()
    assert counts / len(draws) == pytest.approx(expected, abs=0.015)


@pytest.mark.parametrize("path", ["compiled", "python"])
def test_an_error_in_a_rule_is_the_error_of_the_training(path):
    class Broken:
        rate = 0.1

        def probabilities(self, values, rate):
            raise ZeroDivisionError("in the rule")

    with pytest.raises(ZeroDivisionError, match="in the rule"):
        cranium.train(letters(), "cql", steps=100, path=path, exploration=Broken())


def test_what_a_set_or_a_rule_returns_is_checked():
    class Wide(Neighbours):
        def candidates(self, configurations, real):
            return np.ones((len(real), 3), bool)

    class Negative(UpperHalf):
        def probabilities(self, values, rate):
            return values - 1

    with pytest.raises(InvalidArgumentError, match=r"Wide\.candidates returned bool \(\d+, 3\)"):
        cranium.train(letters(), "cql", steps=10, configurations=Wide())
    with pytest.raises(InvalidArgumentError, match=r"Negative\.probabilities returned"):
        cranium.train(letters(), "cql", steps=10, exploration=Negative())
    with pytest.raises(InvalidArgumentError, match="configurations are current, seen, reachable"):
        cranium.train(letters(), "cql", steps=10, configurations="all")
    with pytest.raises(InvalidArgumentError, match="exploration is a number, a schedule or a rule"):
        cranium.train(letters(), "cql", steps=10, exploration="greedy")
