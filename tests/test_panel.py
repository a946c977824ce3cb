"""The worlds of the panels are what they are named after, and their halves are apart."""

from __future__ import annotations

import importlib
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import cranium
from cranium.worlds import LetterEnv, TabularWorld

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def module(name):
    return importlib.import_module(name)


def test_a_world_is_on_one_of_the_panels_and_there_are_twelve_at_least():
    panel = module("panel")
    assert not panel.TUNING.keys() & panel.HELD_OUT.keys()
    assert len(panel.TUNING) + len(panel.HELD_OUT) >= 12
    problems = [*panel.TUNING.values(), *panel.HELD_OUT.values()]
    assert all(len(set(problem.tasks)) == 2 for problem in problems)


def every_problem():
    names = {
        "tuning": [
            "FrozenLake 4x4",
            "CliffWalking slippery",
            "Taxi in the rain",
            "Letter, slip 0.2",
            "Office, slip 0.1",
            "Craft, slip 0.2",
            "random MDP, 30 states",
        ],
        "held-out": [
            "FrozenLake 8x8",
            "CliffWalking",
            "Blackjack",
            "Letter, slip 0.1",
            "Office, slip 0.2",
            "Craft, slip 0.1",
            "random MDP, 60 states",
        ],
    }
    return [(panel, name) for panel, worlds in names.items() for name in worlds]


@pytest.mark.slow
@pytest.mark.parametrize(("panel", "name"), every_problem(), ids=lambda each: each)
def test_a_task_can_be_succeeded_in_and_its_optimum_is_known(panel, name):
    for number in (0, 1):
        best = cranium.solve(module("panel").make(panel, name, number))
        assert 0.1 < best.start_value < 1
        assert best.success_rate > 0.1


@pytest.mark.slow
def test_a_minigrid_is_the_same_in_every_episode():
    for panel, name in (
        ("tuning", "MiniGrid empty, slip 0.1"),
        ("held-out", "MiniGrid door, slip 0.1"),
    ):
        best = cranium.solve(module("panel").make(panel, name, 1))
        assert best.success_rate > 0.9
        assert np.count_nonzero(best.product.initial) == 1


def test_a_slip_mixes_the_wanted_move_with_those_at_right_angles():
    worlds = module("panel_worlds")
    world = worlds.ours(LetterEnv.experiment(1), 0.2)
    state = world.table.states.index(((4, 4), (1,)))
    found = {
        world.table.states[o.state][0]: o.probability for o in world.outcomes(state, 0)
    }  # right, up and down
    assert found == pytest.approx({(4, 5): 0.8, (3, 4): 0.1, (5, 4): 0.1})
    assert TabularWorld.of(world).verify(world, steps=300) == 300


def test_a_world_without_slips_has_the_optimum_of_the_world_it_was_made_of():
    task = cranium.library.load("anbcdn")
    world = LetterEnv.experiment(2)
    same = module("panel_worlds").ours(world, 0.0)
    found = [
        cranium.solve(cranium.product(each, task, horizon=100)).start_value
        for each in (world, same)
    ]
    assert found[0] == pytest.approx(found[1])


def test_blackjack_is_gymnasiums():
    """The chance to win by the simple rule: hit below 17."""
    cards = gym.make("Blackjack-v1")
    won, count = 0, 4_000
    for number in range(count):
        (total, *_), _ = cards.reset(seed=0 if number == 0 else None)
        over = False
        while not over:
            (total, *_), reward, over, _, _ = cards.step(int(total < 17))
        won += reward > 0
    world = module("panel_worlds").blackjack()
    env = cranium.product(world, cranium.compile_language("hit* win"), horizon=20)
    model = cranium.solve(env).product
    seen = np.array(model.world.observations)[model.world.observation[model.state]]
    policy = (seen[:, 0] < 17).astype(np.int64)
    from cranium.aamdp.kernels import follow

    arrays = (model.first, model.next_pair, model.probability, model.reward)
    share = follow(*arrays, model.success, policy, model.initial, 30, 1.0, 0.0)[1]
    assert abs(share - won / count) < 4 * np.sqrt(share * (1 - share) / count)


def test_what_stays_near_the_optimum_until_the_end_is_told():
    defaults = module("defaults")
    curve = np.array([[10, 0, 0.96, 0], [20, 0, 0.94, 0], [30, 0, 0.97, 0], [40, 0, 1.0, 0]])
    assert defaults.first_to_stay(curve) == 30
    assert defaults.first_to_stay(curve[:2]) is None
    told = defaults.summary([curve, curve[:2], np.array([[10, 0, 1.0, 0], [20, 0, 0.5, 0]])])
    assert (told["near"], told["kept"], told["seeds"]) == (1, 2, 3)
