"""The same numbers are the same observation, and users see numbers."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import cranium
from cranium.errors import WorldError
from cranium.worlds import enumerate_env
from cranium.worlds.observations import conform, format_observation, observation_key

SMALL = arrays.arrays(
    np.int8, arrays.array_shapes(min_dims=0, max_dims=3, max_side=4), elements=st.integers(0, 100)
)


@pytest.mark.slow
@given(SMALL, st.sampled_from([np.int8, np.uint8, np.int32, np.int64, np.float32, np.float64]))
def test_the_dtype_of_an_array_does_not_matter(array, dtype):
    assert (
        observation_key(array.astype(dtype))
        == observation_key(array)
        == observation_key(array.tolist())
    )
    assert hash(observation_key(array.astype(dtype))) == hash(observation_key(array))


@pytest.mark.slow
@given(SMALL, SMALL)
def test_other_numbers_or_another_shape_are_another_observation(one, other):
    same = one.shape == other.shape and np.array_equal(one, other)
    if one.size and other.size:
        assert (observation_key(one) == observation_key(other)) == same


def test_large_arrays_are_told_apart_by_their_numbers_too():
    image = np.arange(4800).reshape(40, 40, 3) % 251
    assert (
        observation_key(image)
        == observation_key(image.astype(np.uint8))
        == observation_key(image.astype(np.float32))
    )
    other = image.copy()
    other[3, 3, 1] += 1
    assert observation_key(image) != observation_key(other)
    assert observation_key(image) != observation_key(image.reshape(3, 40, 40))
    assert observation_key(image / 2) != observation_key(image)
    zeros = np.zeros(2000)
    assert observation_key(zeros) == observation_key(-zeros)
    assert "b'" not in str(observation_key(image))


def test_zero_has_no_sign_and_nan_is_itself():
    assert observation_key(np.array([-0.0, 1.0])) == observation_key(np.array([0.0, 1.0]))
    assert hash(observation_key(-0.0)) == hash(observation_key(0))
    for seen in (np.array([np.nan, 1.0]), [math.nan, 1.0], (np.float32("nan"), 1)):
        assert {observation_key(seen): 7}[observation_key(np.array([np.nan, 1.0], np.float32))] == 7


class Pad(gym.Env):
    """Two cells and a bit, as a dictionary or as an array of some dtype; the start is drawn."""

    action_space = spaces.Discrete(2)

    def __init__(self, as_dict=False, dtype=np.int64) -> None:
        self.as_dict, self.dtype = as_dict, dtype
        array = spaces.Box(0, 3, (2,), dtype)
        own = spaces.Dict({"at": array, "bit": spaces.Discrete(2)})
        self.observation_space = own if as_dict else array

    def _seen(self):
        at = np.array(self.at, self.dtype)
        return {"at": at, "bit": self.at[0]} if self.as_dict else at

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = [int(self.np_random.integers(2)), 0]
        return self._seen(), {}

    def step(self, action):
        self.at[1] = min(self.at[1] + action, 3)
        return self._seen(), 0.0, False, False, {}


def goal(before, action, after):
    at = after["at"] if isinstance(after, dict) else after
    return "goal" if at[1] == 3 else ()


@pytest.mark.parametrize("as_dict", [False, True])
def test_nobody_is_shown_raw_bytes(as_dict):
    env = cranium.product(Pad(as_dict), cranium.compile_language("goal"), goal, horizon=20)
    result = cranium.train(env, "cql", steps=600, seed=0)
    optimum = cranium.solve(env)
    shown = [
        str(result.evaluation),
        *map(str, optimum.episodes()),
        repr(result.evaluation.instances),
    ]
    assert not any("\\x" in text or "b'" in text for text in shown)
    names = {"{at: (0, 0), bit: 0}", "{at: (1, 0), bit: 1}"} if as_dict else {"(0, 0)", "(1, 0)"}
    assert set(result.evaluation.instances) == names


def test_errors_of_enumeration_and_policies_show_numbers():
    class Noisy(Pad):
        def step(self, action):
            self.at[0] = int(self.np_random.integers(4))
            return super().step(action)

    with pytest.raises(WorldError, match=r"action 0 in \([01], 0\) led to") as caught:
        enumerate_env(Noisy(), goal)
    assert "\\x" not in str(caught.value)


def test_states_with_one_name_are_instances_of_their_own():
    """Large observations are shown in part only, and two starts may begin alike."""

    class Wide(Pad):
        observation_space = spaces.Box(0, 3, (50,), np.int64)

        def __init__(self) -> None:
            pass

        def _seen(self):
            return np.array([2] * 48 + self.at)

    events = lambda s, a, s2: "goal" if s2[-1] == 3 else ()  # noqa: E731
    env = cranium.product(Wide(), cranium.compile_language("goal"), events, horizon=20)
    result = cranium.train(env, "cql", steps=600, seed=0)
    assert len(result.evaluation.instances) == 2
    assert all(len(name) < 100 for name in result.evaluation.instances)


# What a space makes of an observation


@pytest.mark.parametrize(
    ("space", "given", "wanted"),
    [
        (spaces.Discrete(5), np.uint8(3), 3),
        (spaces.Discrete(5), 3.0, 3),
        (spaces.Discrete(5), np.array(3), 3),
        (spaces.MultiDiscrete([5, 5]), (1, 2), np.array([1, 2])),
        (spaces.MultiDiscrete([5, 5]), np.array([1, 2], np.uint8), np.array([1, 2])),
        (spaces.MultiBinary(2), [True, False], np.array([1, 0], np.int8)),
        (spaces.Box(0, 1, (2,)), [0.1, 1], np.array([0.1, 1], np.float32)),
        (spaces.Box(0, 255, (1, 2), np.uint8), [[3, 255.0]], np.array([[3, 255]], np.uint8)),
    ],
)
def test_numbers_become_what_the_environment_shows(space, given, wanted):
    found = conform(given, space)
    assert np.array_equal(found, wanted)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    assert space.contains(found)


def test_parts_of_an_observation_are_read_one_by_one():
    space = spaces.Dict({"at": spaces.Box(0, 3, (2,), np.int64), "bit": spaces.Discrete(2)})
    found = conform({"bit": np.uint8(1), "at": (3, 2)}, space)
    assert found["bit"] == 1
    assert space.contains(found)
    both = spaces.Tuple([spaces.Discrete(2), space])
    assert both.contains(conform([1, {"bit": 0, "at": [0, 0]}], both))


@pytest.mark.parametrize(
    ("space", "given", "told"),
    [
        (
            spaces.Discrete(5),
            [3],
            r"has the shape \(1,\), but an observation in Discrete\(5\) is one number",
        ),
        (spaces.Discrete(5), 2.5, "numbers that int64 can hold"),
        (spaces.Discrete(5), "three", "not made of numbers"),
        (spaces.MultiDiscrete([5, 5]), [1, 2, 3], r"has the shape \(3,\), not \(2,\)"),
        (spaces.MultiDiscrete([5, 5]), [[1], [2, 3]], "not an array of numbers"),
        (spaces.MultiDiscrete([5, 5]), [1, np.nan], "numbers that int64 can hold"),
        (spaces.Box(0, 255, (2,), np.uint8), [3, 256], "numbers that uint8 can hold"),
        (spaces.Box(0, 255, (2,), np.uint8), [3, -1], "numbers that uint8 can hold"),
        (spaces.Box(0, 1, (2,)), np.zeros((2, 2)), r"has the shape \(2, 2\), not \(2,\)"),
        (spaces.Dict({"a": spaces.Discrete(2)}), {"b": 1}, "not a dictionary with the keys a"),
        (spaces.Tuple([spaces.Discrete(2)]), (1, 1), "not a tuple of 1 parts"),
    ],
)
def test_another_shape_or_type_is_an_error_that_says_so(space, given, told):
    with pytest.raises(WorldError, match=told):
        conform(given, space)


def test_observations_are_written_in_plain_numbers():
    assert format_observation(np.array([[1, 2]], np.uint8)) == "((1, 2),)"
    assert format_observation(np.int64(4)) == "4"
    assert len(format_observation(np.zeros((100, 100)))) <= 60
