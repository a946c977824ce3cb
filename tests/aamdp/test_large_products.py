"""Products of which few pairs can be reached are listed in as little memory as those take."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import cranium
from cranium.aamdp import tabular_product
from cranium.aamdp.planning import tabulate_world
from cranium.aamdp.registry import make_env
from cranium.aamdp.tabular_product import TabularProduct, _KeySet
from cranium.learners import evaluation

pytestmark = pytest.mark.slow

ARRAYS = ("state", "configuration", "first", "next_pair", "probability", "reward", "success", "initial")  # fmt: skip


def deliver(mail):
    return make_env("Office", cranium.library.load("office-deliver"), {"mail": mail})


def test_a_product_is_the_same_whether_its_pairs_are_in_a_table_or_searched_for(monkeypatch):
    env = deliver((1, 3))
    world = tabulate_world(env)
    table = TabularProduct.of(world, env.automaton, counter_limit=env.counter_limit)
    for size in (1, 1000):
        monkeypatch.setattr(tabular_product, "SMALL_TABLE", size)
        found = TabularProduct.of(world, env.automaton, counter_limit=env.counter_limit)
        for name in ARRAYS:
            assert np.array_equal(getattr(found, name), getattr(table, name)), name


@pytest.mark.parametrize("size", [1, 64, 1 << 22])
def test_a_set_of_keys_is_a_set(size, monkeypatch):
    monkeypatch.setattr(tabular_product, "SMALL_TABLE", size)
    rng = np.random.default_rng(0)
    keys, known = _KeySet(), set()
    for _ in range(40):
        asked = np.unique(rng.integers(0, 500, rng.integers(1, 30)))
        fresh = keys.without(asked)
        assert fresh.tolist() == sorted(set(asked.tolist()) - known)
        if len(fresh):
            added = rng.permutation(fresh)
            keys.add(added)
            known |= set(added.tolist())


def test_memory_grows_with_what_can_be_reached_not_with_all_pairs():
    env = deliver(200)
    world = tabulate_world(env)
    tracemalloc.start()
    try:
        found = TabularProduct.of(world, env.automaton, counter_limit=env.counter_limit)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    all_pairs = world.num_states * len(found.space)
    assert found.num_pairs * 100 < all_pairs
    assert peak < 8 * all_pairs, f"{peak:,} bytes"  # one number for each pair would be too many


class Asked:
    """A policy that keeps count of what it is asked at once."""

    def __init__(self, policy):
        self.policy, self.sizes = policy, []

    def __getattr__(self, name):
        return getattr(self.policy, name)

    def __call__(self, *given):
        return self.policy(*given)

    def actions(self, observations, configurations, any_action):
        self.sizes.append(len(observations) * len(configurations))
        return self.policy.actions(observations, configurations, any_action)


def test_a_policy_is_asked_in_parts_and_answers_the_same(monkeypatch):
    env = deliver(2)
    policy = cranium.train(env, "planner", steps=500, seed=0).policy.with_unknown("random")
    whole = Asked(policy)
    expected = cranium.evaluate(env, whole)
    assert len(whole.sizes) == 1
    monkeypatch.setattr(evaluation, "MOST_ASKED", 300)
    parts = Asked(policy)
    found = cranium.evaluate(env, parts)
    assert len(parts.sizes) > 5
    assert max(parts.sizes) <= 300
    assert str(found) == str(expected)
    assert found.exact


def test_a_world_with_too_many_states_is_evaluated_in_episodes(monkeypatch):
    env = deliver(1)
    policy = cranium.train(env, "planner", steps=500, seed=0).policy.with_unknown("random")
    assert cranium.evaluate(env, policy, episodes=2).exact
    monkeypatch.setattr(evaluation, "LISTED_STATES", 50)
    found = cranium.evaluate(env, policy, episodes=2)
    assert not found.exact
    assert found.episodes.tolist() == [2]
