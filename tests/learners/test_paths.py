"""Both paths, task by task: what docs/learners.md calls the same is the same, bit for bit.

``CRANIUM_PATH_STEPS=20000 pytest tests/learners/test_paths.py`` compares for longer.
"""

from __future__ import annotations

import os

import gymnasium as gym
import numpy as np
import pytest
from support.training_paths import assert_same_results, train_on_both_paths

import cranium
from cranium.aamdp import CATALOGUE
from cranium.learners import Schedule, Visits
from cranium.worlds import FiniteEnv, LetterEnv, LetterSpec, OfficeWorld, Outcome

STEPS = int(os.environ.get("CRANIUM_PATH_STEPS", "400"))
ODD = {
    "learning_rate": Visits(0.7),
    "shaping": True,
    "discount": 0.97,
    "exploration": Schedule(1.0, 0.05, 50, unit="episodes"),
}


def lake(**options):
    goal = cranium.labelling_from_cells({15: "goal"})
    return cranium.product(
        gym.make("FrozenLake-v1", **options), cranium.compile_language("goal"), goal
    )


@cranium.labelling("pickup", "deliver")
def fares(before, action, after):
    rides = before // 4 % 5 == 4
    if action == 4 and after != before:
        return "pickup"
    return "deliver" if action == 5 and rides and after // 4 % 5 == after % 4 else ()


def taxi(**options):
    task = cranium.compile_language("pickup deliver")
    return cranium.product(gym.make("Taxi-v4", **options), task, fares, horizon=60)


def letters(observation="markov", start=(4, 4)):
    world = LetterEnv.experiment((1, 3), observation=observation)
    if start is None:
        near = [LetterSpec("A", (0, 0), (1, 3), "B"), LetterSpec("C", (0, 2))]
        world = LetterEnv([*near, LetterSpec("D", (2, 0))], rows=3, columns=3, start=None)
    return cranium.product(world, cranium.library.load("anbcdn"), horizon=60, counter_limit=4)


def listed_tasks():
    for entry in CATALOGUE:
        if entry.name not in ("Point", "Water"):
            yield from ((entry.name, task) for task in entry.tasks)


TASKS = {
    **{
        f"{world}-{task}": lambda world=world, task=task: cranium.aamdp.make_product(world, task)
        for world, task in listed_tasks()
    },
    "lake": lake,
    "dry-lake": lambda: lake(is_slippery=False),
    "taxi": taxi,
    "rainy-taxi": lambda: taxi(is_rainy=True),
    "letters-anywhere": lambda: letters(start=None),
    "hidden-letters": lambda: letters("cell"),
}


def test_these_are_the_27_tasks():
    assert len(TASKS) == 27


@pytest.mark.parametrize("settings", [{}, ODD], ids=["plain", "odd"])
@pytest.mark.parametrize("name", TASKS)
def test_q_learning_is_the_same_on_both_paths_in_every_task(name, settings):
    one, other = train_on_both_paths(TASKS[name](), "ql", steps=STEPS, seed=1, **settings)
    rows = [one.policy.number(seen) for seen in other.policy.observations]
    met = list(other.policy.configurations)
    for place, configuration in enumerate(one.policy.configurations):
        found = one.q[rows, place]
        if configuration in met:
            assert np.array_equal(found, other.q[:, met.index(configuration)])
        else:  # in Python it is added when it is met
            assert (found == one.config.first_value).all()
    assert np.array_equal(one.log, other.log)
    assert one.episodes == other.episodes


COUNTING = {
    "letters": (lambda: LetterEnv.experiment((1, 3)), "anbcdn", 5),
    "office": (lambda: OfficeWorld((1, 2)), "office", 3),
    "craft": (lambda: cranium.aamdp.make_world("CraftCount"), "craft-planks-and-cloths", 3),
    "patrol": (lambda: cranium.aamdp.make_world("ToroOffice"), "toro-patrol", 0),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "learner"),
    [
        *((name, learner) for name in COUNTING for learner in ("cql", "seen", "planner")),
        ("patrol", "crm"),
        ("patrol", "hrm"),
    ],
)
def test_counterfactual_learners_are_the_same_on_both_paths_with_a_counter_limit(name, learner):
    world, task, limit = COUNTING[name]
    env = cranium.product(world(), cranium.library.load(task), horizon=100, counter_limit=limit)
    settings = {"configurations": "seen"} if learner == "seen" else {}
    learner = "cql" if learner == "seen" else learner
    assert_same_results(
        *train_on_both_paths(env, learner, steps=STEPS, seed=2, counter_limit=limit, **settings)
    )


def test_without_a_counter_limit_the_counterfactual_set_has_only_what_a_finite_world_can_reach():
    """Why the paths differ then, as the page on learners says."""
    env = cranium.product(LetterEnv.experiment((1, 3)), cranium.library.load("anbcdn"), horizon=60)
    one, other = train_on_both_paths(env, "cql", steps=STEPS, seed=1)
    assert len(one.policy.configurations) < len(other.policy.configurations)


class Twice(FiniteEnv):
    """Names one of its starts twice, and has outcomes whose probabilities are no round numbers."""

    vocabulary = ("A",)
    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.MultiDiscrete([4])

    def initial(self, options):
        return [(0.25, 0), (0.25, 1), (0.25, 2), (0.25, 0)]

    def outcomes(self, state, action):
        return [Outcome(1 / 7, (state + i) % 4) for i in range(7)] if action else [Outcome(1.0, 0)]

    def label(self, state, action, after):
        return frozenset({"A"} if after == 3 else ())

    def observe(self, state):
        return np.array([state])


def test_a_start_that_is_named_twice_is_drawn_alike_on_both_paths():
    env = cranium.product(Twice(), cranium.compile_language("A^3"), horizon=12)
    one, other = train_on_both_paths(env, "ql", steps=1500, seed=4)
    assert one.episodes > 100
    assert_same_results(one, other)
