"""A policy file is refused for a world that differs in anything, and the error says in what."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from support.environments import make_letter_product

import cranium
from cranium.errors import PolicyError
from cranium.learners import train
from cranium.learners.fingerprint import CODE, differences, fingerprint
from cranium.worlds import LetterEnv, Outcome, PointWorld, WaterWorld
from cranium.worlds.finite import FiniteEnv

TEXT_FINGERPRINT = Path(__file__).parents[1] / "golden" / "policies_with_text_fingerprint"
"""Policy files in which the fingerprint of the world is one text, as it was at first."""


class Coin(FiniteEnv):
    """A coin that is tossed, and lies on one of its sides at first."""

    vocabulary = ("heads", "tails")
    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.MultiDiscrete([2])

    def __init__(self, bias=0.5, start=0.5, swapped=False) -> None:
        super().__init__()
        self.bias, self.start, self.swapped = bias, start, swapped

    def initial(self, options):
        return [(self.start, 0), (1 - self.start, 1)]

    def outcomes(self, state, action):
        return [Outcome(self.bias, 0), Outcome(1 - self.bias, 1)]

    def label(self, state, action, after):
        return frozenset({"heads" if after != self.swapped else "tails"})

    def observe(self, state):
        return np.array([state])


def coin(horizon=20, task="heads tails heads", labelling=None, limit=None, **more):
    machine = cranium.compile_language(task)
    return cranium.product(Coin(**more), machine, labelling, horizon=horizon, counter_limit=limit)


def tails_only(before, action, after):
    return "tails"


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"bias": 0.6}, "other transitions"),
        ({"start": 0.4}, "other starts"),
        ({"swapped": True}, "other labels"),
        ({"labelling": tails_only}, "other labels"),
        ({"horizon": 21}, "horizon: 20 in training, 21 here"),
        ({"limit": 5}, "counter limit: None in training, 5 here"),
    ],
)
@pytest.mark.parametrize("path", ["compiled", "python"])
def test_a_finite_world_that_differs_is_refused_and_named(tmp_path, other, told, path):
    policy = train(coin(), "ql", steps=200, path=path).policy
    policy.save(tmp_path / "agent.npz")
    cranium.Policy.load(tmp_path / "agent.npz", coin())
    cranium.Policy.load(tmp_path / "agent.npz")
    if path == "python":  # it was not listed, and is known by its first steps
        told = told.replace("other transitions", "other first transitions")
        told = "labelling" if "labelling" in other else told
        told = told.replace("other labels", "other first transitions")
    with pytest.raises(PolicyError, match=f"made for another world: {told}") as caught:
        cranium.Policy.load(tmp_path / "agent.npz", coin(**other))
    assert ";" not in caught.value.message  # nothing else differs
    assert "without" in caught.value.fix
    if "horizon" in other:
        assert "horizon=20" in caught.value.fix


def test_a_time_limit_around_the_product_is_a_horizon_too(tmp_path):
    train(coin(), "ql", steps=100).policy.save(tmp_path / "agent.npz")
    with pytest.raises(PolicyError, match="horizon: 20 in training, 7 here"):
        cranium.Policy.load(tmp_path / "agent.npz", gym.wrappers.TimeLimit(coin(), 7))


def test_what_the_task_does_not_read_makes_no_other_world(tmp_path):
    class More(Coin):
        vocabulary = (*Coin.vocabulary, "clink")

        def label(self, state, action, after):
            return super().label(state, action, after) | {"clink"}

    More.__name__ = "Coin"
    train(coin(), "ql", steps=100).policy.save(tmp_path / "agent.npz")
    task = cranium.compile_language("heads tails heads")
    cranium.Policy.load(tmp_path / "agent.npz", cranium.product(More(), task, horizon=20))


class Paying(gym.Env):
    """Two cells, and rewards of its own."""

    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, pays=1.0) -> None:
        self.pays = pays

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return 0, {}

    def step(self, action):
        self.at = int(action)
        return self.at, self.pays * action, False, False, {}


def test_rewards_of_the_environment_count_where_they_are_added(tmp_path):
    one = cranium.labelling_from_cells({1: "one"})
    task = cranium.compile_language("one one")

    def env(pays=1.0, add=True):
        return cranium.product(Paying(pays), task, one, horizon=9, add_ground_reward=add)

    path = tmp_path / "agent.npz"
    train(env(), "ql", steps=100).policy.save(path)
    cranium.Policy.load(path, env())
    with pytest.raises(PolicyError, match="another world: other ground rewards"):
        cranium.Policy.load(path, env(2.0))
    with pytest.raises(PolicyError, match="ground reward: added in training, not added here"):
        cranium.Policy.load(path, env(add=False))
    train(env(add=False), "ql", steps=100).policy.save(path)
    cranium.Policy.load(path, env(2.0, add=False))


def product_of(world, task, horizon=50):
    return cranium.product(world, cranium.library.load(task), horizon=horizon)


@pytest.mark.parametrize(
    "other",
    [
        {"speed": 0.2},
        {"noise": 0.05},
        {"start": (0.4, 0.5)},
        {"start": None},
        {"mail": (1, 2)},
        {"observation": "markov"},
    ],
)
def test_parameters_of_the_point_are_told_apart(other):
    known = fingerprint(product_of(PointWorld(mail=(1, 3)), "point-visit"))
    same = product_of(PointWorld(mail=(1, 3)), "point-visit")
    assert not differences(json.loads(json.dumps(known)), same)
    found = differences(known, product_of(PointWorld(**{"mail": (1, 3), **other}), "point-visit"))
    name = "regions" if "mail" in other else next(iter(other))
    assert list(found) == [f"parameter {name}"]


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ({"speed": 0.01}, "speed"),
        ({"thrust": 0.01}, "thrust"),
        ({"top_speed": 0.03}, "top speed"),
        ({"layout_seed": 4}, "layout"),
        ({"start": None}, "start"),
    ],
)
def test_parameters_of_the_pond_are_told_apart(other, name):
    balls = {"balls": {"red": 1, "green": 1}, "layout_seed": 3}

    def pond(**more):
        task = cranium.compile_language("red green")
        return cranium.product(WaterWorld(**{**balls, **more}), task, horizon=50)

    known = json.loads(json.dumps(fingerprint(pond())))
    assert not differences(known, pond())
    found = set(differences(known, pond(**other)))
    assert f"parameter {name}" in found
    assert found <= {f"parameter {name}", "parameter layout"}  # with its velocities


@pytest.mark.slow
def test_networks_are_refused_in_a_faster_or_noisier_world(tmp_path):
    path = tmp_path / "agent.npz"
    env = product_of(PointWorld(mail=1), "point-visit")
    train(env, "ctd3", steps=100, hidden=(8, 8), evaluation_episodes=1).policy.save(path)
    cranium.Policy.load(path, product_of(PointWorld(mail=1), "point-visit"))
    with pytest.raises(PolicyError, match=r"parameter noise: 0\.0 in training, 0\.01 here"):
        cranium.Policy.load(path, product_of(PointWorld(mail=1, noise=0.01), "point-visit"))


def test_environments_of_others_are_known_by_what_they_say_of_themselves():
    def pole(horizon=50, name="goal", cells=None, **kwargs):
        env = gym.make("CartPole-v1", **kwargs)

        def events(before, action, after):
            return name if after[0] > 1 else ()

        given = events if cells is None else cranium.labelling_from_cells(cells)
        return cranium.product(env, cranium.compile_language("goal"), given, horizon=horizon)

    known = json.loads(json.dumps(fingerprint(pole())))
    assert not differences(known, pole())
    assert list(differences(known, pole(sutton_barto_reward=True))) == ["made with"]
    assert list(differences(known, pole(horizon=60))) == ["horizon"]
    assert list(differences(known, pole(cells={1: "goal"}))) == ["labelling"]
    table = fingerprint(pole(cells={1: "goal"}))
    assert not differences(table, pole(cells={1: "goal"}))
    assert list(differences(table, pole(cells={2: "goal"}))) == ["labelling"]
    lake = fingerprint(
        cranium.product(
            gym.make("MountainCar-v0"), cranium.compile_language("goal"), lambda s, a, s2: "goal"
        )
    )
    assert "environment" in differences(lake, pole())


LIMIT = 1


def above(x, limit):
    """Part of what the labellings below do."""
    return x > limit


def labellings(limit):
    """Labellings of one kind each, whose names do not say what they do."""

    def by_closure(before, action, after):
        return "goal" if after[0] > limit else ()

    def by_default(before, action, after, least=(limit, {"x", "y", "z"})):
        return "goal" if after[0] > least[0] else ()

    def by_helper(before, action, after):
        return "goal" if above(after[0], LIMIT * limit) else ()

    class Object:
        if limit == 1:

            def __call__(self, before, action, after):
                return "goal" if after[0] > 1 else ()
        else:

            def __call__(self, before, action, after):
                return "goal" if after[0] > 2 else ()

    by_constant = {1: lambda s, a, t: "goal" if t[0] > 1 else ()}
    by_constant[2] = lambda s, a, t: "goal" if t[0] > 2 else ()
    declared = cranium.labelling("goal")(by_closure)
    partly = functools.partial(lambda least, s, a, t: "goal" if t[0] > least else (), limit)
    return [by_closure, by_default, by_helper, Object(), by_constant[limit], declared, partly]


@pytest.mark.parametrize("kind", range(7))
def test_labellings_of_one_name_are_told_apart_by_what_they_do(kind):
    """Where a world cannot be listed: there nobody sees which labels it has."""

    def pole(limit):
        task = cranium.compile_language("goal")
        return cranium.product(gym.make("CartPole-v1"), task, labellings(limit)[kind], horizon=50)

    known = json.loads(json.dumps(fingerprint(pole(1))))
    assert not differences(known, pole(1))
    (found,) = differences(known, pole(2)).values()
    assert found.startswith("other code of the labelling")


def test_what_another_python_compiled_is_not_compared():
    task = cranium.compile_language("goal")
    env = cranium.product(gym.make("CartPole-v1"), task, labellings(1)[0], horizon=50)
    known = fingerprint(env)
    known["code of the labelling, cpython-399"] = "0" * 16
    del known[CODE]
    assert not differences(known, env)


@pytest.mark.slow
def test_the_code_of_a_labelling_is_the_same_in_every_process():
    text = "\n".join(
        [
            "from cranium.learners.code_digest import code_digest",
            "KNOWN = {'a', 'b', 'c', 'd'}",
            "def helper(x): return x in {'x', 'y', 'z'} or x in KNOWN or helper(x[1:])",
            "def label(s, a, t): return 'goal' if helper(t) else ()",
            "print(code_digest(label))",
        ]
    )
    found = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        told = [sys.executable, "-c", text]
        done = subprocess.run(told, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1


def test_a_listed_world_is_known_by_what_it_does_not_by_its_names(tmp_path):
    """The same table from an id, from a class, and with events that somebody else wrote."""
    path = tmp_path / "agent.npz"
    train(make_letter_product(1), "ql", steps=100).policy.save(path)
    made = gym.make("cranium/Letter-anbcdn-v0", times=1)
    cranium.Policy.load(path, made)
    world = LetterEnv.experiment(1)
    by_hand = cranium.product(world, cranium.library.load("anbcdn"), horizon=made.unwrapped and 100)
    cranium.Policy.load(path, by_hand)


# Policy files of an older version, whose fingerprint is one text


@pytest.mark.parametrize("name", ["table", "network", "actor"])
def test_policy_files_with_a_text_fingerprint_still_load(name):
    policy = cranium.Policy.load(TEXT_FINGERPRINT / f"{name}.npz")
    info = {
        "machine_state": policy.automaton.start.state,
        "counters": policy.automaton.start.counters,
    }
    seen = [0.5, 0.5, 1.0] if name == "actor" else [4, 4, 1]
    assert policy.action_space.contains(policy.act(seen, info))


def test_a_text_fingerprint_is_compared_with_the_world():
    def point(**more):
        return product_of(PointWorld(mail=1, **more), "point-visit")

    env = make_letter_product(1)
    policy = cranium.Policy.load(TEXT_FINGERPRINT / "table.npz", env).with_unknown("nearest")
    assert cranium.evaluate(env, policy).solved
    cranium.Policy.load(TEXT_FINGERPRINT / "network.npz", env)
    cranium.Policy.load(TEXT_FINGERPRINT / "actor.npz", point())
    for name in ("table", "network"):
        with pytest.raises(PolicyError, match="another world"):
            cranium.Policy.load(TEXT_FINGERPRINT / f"{name}.npz", make_letter_product(2))
        with pytest.raises(PolicyError, match="another world"):
            cranium.Policy.load(
                TEXT_FINGERPRINT / f"{name}.npz", make_letter_product(1, start=(5, 5))
            )


def test_a_policy_with_a_text_fingerprint_keeps_it_when_saved_again(tmp_path):
    policy = cranium.Policy.load(TEXT_FINGERPRINT / "table.npz", make_letter_product(1))
    policy.save(tmp_path / "again.npz")
    again = cranium.Policy.load(tmp_path / "again.npz", make_letter_product(1))
    assert np.array_equal(again.q, policy.q)
    with pytest.raises(PolicyError, match="another world"):
        cranium.Policy.load(tmp_path / "again.npz", make_letter_product(2))
