"""Products as Gymnasium sees them: its checker, their specifications, and copies of them."""

from __future__ import annotations

import copy
import functools
import pickle
import threading
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st
from support.environments import Line, moved

import cranium
from cranium import Transition
from cranium.aamdp import BoxEncoding, DictEncoding, TabularEncoding
from cranium.errors import HorizonWarning, WorldError

COUNT = cranium.CountingRewardAutomaton(
    propositions=["A"],
    counters=["n"],
    initial="u",
    terminal=["done"],
    accepting=["done"],
    transitions=[Transition(source="u", guard="A", change=(1,), reward=0.5)],
)


@cranium.labelling("A")
def first_half(before, action, after):
    """Whether the first action was taken; whether a number that is an action is positive."""
    return "A" if np.ravel(action)[0] in (0, 1) or np.ravel(action)[0] > 0 else ()


FOREIGN = ["FrozenLake-v1", "Taxi-v4", "Blackjack-v1", "CartPole-v1", "Pendulum-v1"]
ENCODINGS = {
    "dictionary": DictEncoding,
    "bits": BoxEncoding,
    "log": lambda: BoxEncoding("log"),
    "raw": lambda: BoxEncoding("raw"),
}


def remarks(env):
    """What the checker of Gymnasium warns of, in plain sentences."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env)
    return {str(one.message) for one in caught}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::cranium.errors.HorizonWarning")  # Blackjack has no limit
@pytest.mark.parametrize("horizon", [None, 30])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", FOREIGN)
def test_the_checker_says_no_more_of_a_product_than_of_its_environment(name, encoding, horizon):
    env = cranium.product(
        gym.make(name, render_mode="rgb_array"),
        COUNT,
        first_half,
        horizon=horizon,
        encoding=ENCODINGS[encoding](),
    )
    before = remarks(gym.make(name, render_mode="rgb_array").unwrapped)
    assert not [
        one for one in remarks(env) - before if "is different from the unwrapped" not in one
    ]


def test_who_made_a_product_without_a_horizon_is_warned_and_nobody_who_makes_it_again():
    with pytest.warns(HorizonWarning):
        env = cranium.product(gym.make("Blackjack-v1"), COUNT, first_half)
    assert env.spec.make().horizon is None  # where warnings are errors

    def make():
        return cranium.product(Line(), COUNT, moved)

    gym.register("test/EndlessLine-v0", make)
    try:
        with pytest.warns(HorizonWarning):
            gym.make("test/EndlessLine-v0")
    finally:
        del gym.registry["test/EndlessLine-v0"]


def test_a_space_that_nobody_can_flatten_is_no_vector():
    class Words(gym.Space):
        """A space of somebody's own, such as MiniGrid's of missions."""

    env = Line()
    env.observation_space = gym.spaces.Dict({"at": gym.spaces.Discrete(9), "words": Words()})
    with pytest.raises(WorldError, match="no fixed length as a vector"):
        cranium.product(env, COUNT, moved, horizon=9, encoding=BoxEncoding())


def test_the_checker_is_content_with_other_wrappers_around_and_products_inside():
    env = cranium.product(gym.make("FrozenLake-v1"), COUNT, first_half, horizon=20)
    around = gym.wrappers.TimeLimit(gym.wrappers.RecordEpisodeStatistics(env), 15)
    assert all("is different from the unwrapped" in one for one in remarks(around))
    twice = cranium.product(env, COUNT, lambda s, a, t: "A" if t["machine_state"] else ())
    assert all("is different from the unwrapped" in one for one in remarks(twice))


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "horizon": st.integers(1, 50),
        "counter_limit": st.integers(0, 9),
        "add_ground_reward": st.booleans(),
        "encoding": st.sampled_from([DictEncoding(), BoxEncoding("log"), BoxEncoding(clip=4)]),
    },
)


def same(one, other):
    if isinstance(one, dict):
        return set(one) == set(other) and all(same(one[key], other[key]) for key in one)
    return bool(np.all(np.asarray(one) == np.asarray(other)))


def assert_same_episodes(one, other, seed):
    """Both do the same from the same seed, whatever is done."""
    rng = np.random.default_rng(seed)
    assert same(one.reset(seed=seed)[0], other.reset(seed=seed)[0])
    for _ in range(40):
        action = int(rng.integers(4))
        here, there = one.step(action), other.step(action)
        assert same(here[0], there[0])
        assert here[1:] == there[1:]
        if here[2] or here[3]:
            break


@pytest.mark.slow
@given(OPTIONS, st.integers(0, 2**31))
def test_a_specification_makes_the_same_product_again(options, seed):
    env = cranium.product(gym.make("FrozenLake-v1"), COUNT, first_half, **options)
    again = env.spec.make()
    assert type(again) is type(env)
    told = ("automaton", "horizon", "counter_limit", "add_ground_reward", "observation_space")
    assert [getattr(again, name) for name in told] == [getattr(env, name) for name in told]
    assert_same_episodes(env, again, seed)
    assert_same_episodes(env, again.spec.make(), seed + 1)


@pytest.mark.slow
@given(OPTIONS, st.integers(0, 2**31))
def test_copies_and_what_was_pickled_do_the_same(options, seed):
    env = cranium.product(gym.make("FrozenLake-v1"), COUNT, first_half, **options)
    for make in (copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
        assert_same_episodes(env, make(env), seed)
        again = make(env)
        assert [one.name for one in again.spec.additional_wrappers] == ["AutomatonAugmentedMDP"]
        assert_same_episodes(env, again.spec.make(), seed)


def test_an_encoding_that_was_given_stays_unbound_and_is_bound_again():
    given_one = BoxEncoding("log")
    env = cranium.product(gym.make("FrozenLake-v1"), COUNT, first_half, encoding=given_one)
    again = env.spec.make()
    assert not hasattr(given_one, "space")
    assert again.encoding is not env.encoding
    assert again.observation_space == env.observation_space


@pytest.mark.parametrize("name", ["cranium/Letter-anbcdn-v0", "cranium/Office-deliver-v0"])
@pytest.mark.parametrize("options", [{}, {"encoding": BoxEncoding(), "counter_limit": 3}])
def test_registered_products_can_be_made_again_and_written_down(name, options):
    env = gym.make(name, horizon=20, product=options)
    again = env.spec.make()
    assert cranium.find_product(again).horizon == 20
    assert_same_episodes(env, again, 3)
    if not options:  # of objects there is no JSON
        from_text = gym.envs.registration.EnvSpec.from_json(env.spec.to_json()).make()
        assert_same_episodes(env, from_text, 4)


def test_an_entry_point_of_ones_own_may_make_a_product_of_functions_that_are_new_each_time():
    def make():
        def label(before, action, after):
            return moved(before, action, after)

        return cranium.product(Line(), COUNT, label, horizon=9)

    gym.register("test/LineTask-v0", make)
    try:
        env = gym.make("test/LineTask-v0")
        assert cranium.find_product(env.spec.make()).horizon == 9
    finally:
        del gym.registry["test/LineTask-v0"]


class Asks:
    """A labelling that asks an environment."""

    def __init__(self, env):
        self.env = env

    def __call__(self, before, action, after):
        return "A" if self.env.unwrapped.s == 1 else ()


def asking(env):
    """Labellings that only this environment can answer."""

    def label(before, action, after):
        return "A" if env.unwrapped.s == 1 else ()

    def by_default(before, action, after, base=env.unwrapped):
        return "A" if base.s == 1 else ()

    return {
        "closure": label,
        "default": by_default,
        "object": Asks(env),
        "method": Asks(env).__call__,
        "partial": functools.partial(
            lambda base, s, a, t: (base.s == 1 and "A") or (), env.unwrapped
        ),
        "declared": cranium.labelling("A")(label),
        "uncopied": cranium.labelling("A")(functools.partial(first_half.function)),
    }


@pytest.mark.parametrize("kind", list(asking(gym.make("FrozenLake-v1"))))
def test_a_labelling_that_asks_this_environment_cannot_be_specified(kind):
    env = gym.make("FrozenLake-v1")
    labelling = asking(env)[kind]
    if kind == "uncopied":
        labelling.function.keywords["lock"] = threading.Lock()
        assert cranium.product(env, COUNT, labelling).spec is None
        del labelling.function.keywords["lock"]
        assert cranium.product(env, COUNT, labelling).spec is not None
        return
    made = cranium.product(env, COUNT, labelling)
    assert made.spec is None
    assert gym.wrappers.TimeLimit(made, 5).spec is None
    assert cranium.product(env, COUNT, first_half).spec is not None


def test_a_table_has_a_specification_too():
    env = cranium.product(
        gym.make("FrozenLake-v1"), COUNT, first_half, encoding=TabularEncoding(), horizon=5
    )
    assert env.spec.make().observation_space == env.observation_space
