"""WaterWorld: where the balls are, and what it refuses."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import cranium
from cranium.aamdp import make_product
from cranium.errors import CraniumError, InvalidArgumentError, UnknownNameError, WorldError
from cranium.worlds import Ball, WaterWorld
from cranium.worlds.balls import LAYOUTS


def begin(env, **options):
    env.reset(seed=0, options=options)
    return env


# Where the balls are


def test_the_pond_of_the_literature_is_the_default():
    env = begin(WaterWorld())
    assert env.vocabulary == ("red", "green", "blue", "cyan", "yellow", "magenta")
    assert env.observation_space.shape == (4 + 12 * 4,)
    assert np.allclose(np.hypot(*env.velocities.T), env.speed)


def test_balls_are_drawn_in_every_episode_apart_from_each_other_and_the_agent():
    env = WaterWorld({"red": 6, "blue": 6}, radius=0.05, start=None)
    seen = set()
    for seed in range(50):
        env.reset(seed=seed)
        seen.add(env.places.tobytes())
        apart = [math.dist(a, b) for i, a in enumerate(env.places) for b in env.places[:i]]
        assert min(apart) > 0.1
        assert min(math.dist(env.position, place) for place in env.places) > 0.15
    assert len(seen) == 50


def test_a_layout_seed_draws_the_balls_once():
    one = WaterWorld(layout_seed=3)
    places = [begin(one).places.copy(), one.reset(seed=1) and one.places.copy()]
    assert (places[0] == places[1]).all()
    assert (begin(WaterWorld(layout_seed=4)).places != places[0]).any()
    free = begin(WaterWorld(), layout_seed=3)
    assert (free.places == places[0]).all(), "the same as an option of an episode"
    assert (free.velocities == begin(one).velocities).all()
    free.reset()
    assert (free.places != places[0]).any()


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_named_layout_is_where_it_says(name):
    env = begin(WaterWorld(layout=name))
    assert np.allclose(env.places, [ball.place for ball in LAYOUTS[name]])
    assert env.colours == tuple(ball.colour for ball in LAYOUTS[name])
    angles = np.degrees(np.arctan2(*env.velocities.T[::-1])) % 360
    assert np.allclose(angles, [ball.heading for ball in LAYOUTS[name]], atol=1e-3)
    apart = np.linalg.norm(env.places - env.position, axis=1)
    assert (apart > 2 * env.radius).all(), "nothing is in contact at the start"


def test_an_episode_can_be_told_where_everything_is():
    env = WaterWorld({"red": 1, "blue": 1})
    balls = [Ball("red", (0.2, 0.3), 90), Ball("blue", (0.7, 0.6))]
    begin(env, start=(0.1, 0.9), balls=balls)
    assert np.allclose(env.position, (0.1, 0.9))
    assert np.allclose(env.places, [(0.2, 0.3), (0.7, 0.6)])
    assert np.allclose(env.velocities, [(0, env.speed), (env.speed, 0)], atol=1e-8)


def test_a_start_that_is_drawn_touches_no_ball_of_a_fixed_layout():
    env = WaterWorld(layout="corners", start=None, radius=0.1)
    starts = set()
    for seed in range(50):
        env.reset(seed=seed)
        starts.add(env.position.tobytes())
        assert min(math.dist(env.position, place) for place in env.places) > 0.3
    assert len(starts) == 50


def test_balls_that_stand_still_stay_and_show_no_velocity():
    env = begin(WaterWorld(layout="ring", moving=False))
    assert env.observation_space.shape == (4 + 6 * 2,)
    before = env.places.copy()
    for _ in range(50):
        env.step(1)
    assert (env.places == before).all()


# Mistakes


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WaterWorld(radius=0), "the radius is a number above 0 and up to 0.25, not 0"),
        (lambda: WaterWorld(radius=0.3), "not 0.3"),
        (lambda: WaterWorld(speed=math.nan), "the speed of the balls is a number above 0"),
        (lambda: WaterWorld(speed=0.95), "up to 0.925, not 0.95"),
        (lambda: WaterWorld(thrust="1"), "the thrust is a number above 0 and up to 1.85, not '1'"),
        (lambda: WaterWorld(top_speed=1), "the top speed is a number above 0 and up to 0.925"),
        (lambda: WaterWorld(moving=1), "moving is true or false, not 1"),
        (lambda: WaterWorld(start=(0.5, 0.99)), "each part of the start is a number from 0.0375"),
        (lambda: WaterWorld(start=5), "the start is a point (x, y) of the square, not 5"),
        (lambda: WaterWorld(actions="few"), "discrete or continuous, not 'few'"),
        (lambda: WaterWorld(observation="all"), "relative or absolute, not 'all'"),
        (lambda: WaterWorld(render_mode="human"), "ansi or rgb_array, not 'human'"),
        (lambda: WaterWorld({}), "there is one ball at least"),
        (lambda: WaterWorld([]), "a list with one at least, not []"),
        (lambda: WaterWorld("ring"), "{colour: number}, or a list with one at least, not 'ring'"),
        (lambda: WaterWorld(["red"]), "a ball is a Ball, not 'red'"),
        (lambda: WaterWorld({"red": 0}), "the number of red balls is a whole number"),
        (lambda: WaterWorld({"": 1}), "a colour is a name, not ''"),
        (lambda: WaterWorld({3: 1}), "a colour is a name, not 3"),
        (lambda: WaterWorld([Ball("", (0.5, 0.5))]), "a colour is a name, not ''"),
        (lambda: WaterWorld([Ball("red", (0.5, 0.0))]), "the place of a red ball is a number"),
        (lambda: WaterWorld([Ball("red", 0.5)]), "the place of a red ball is a point (x, y)"),
        (lambda: WaterWorld([Ball("red", (0.5, 0.5), math.inf)]), "the heading of a red ball"),
        (lambda: WaterWorld({"red": 1}, layout="ring"), "give balls or a layout, not both"),
        (lambda: WaterWorld(layout="ring", layout_seed=1), "balls that have theirs"),
        (lambda: WaterWorld(layout_seed=-1), "layout_seed is a whole number of at least 0"),
        (lambda: WaterWorld({"red": 50}), "50 balls and an agent of the radius 0.0375 are too"),
        (lambda: WaterWorld({"red": 10**9}), "1,000 balls at most, not 1,000,000,000"),
        (lambda: WaterWorld(layout="ring", radius=0.14, start=None), "too many to be strewn"),
        (lambda: WaterWorld().step(0), "has not begun"),
        (lambda: WaterWorld().reset(options={"strat": 1}), "no such option for reset: 'strat'"),
        (lambda: WaterWorld().reset(options={"start": (8, 8)}), "to 0.9625, not 8"),
        (lambda: WaterWorld().reset(options={"layout_seed": "x"}), "at least 0, not 'x'"),
        (lambda: WaterWorld().reset(options={"balls": 3}), "not 3"),
        (
            lambda: WaterWorld({"red": 1}).reset(options={"balls": [Ball("blue", (0.2, 0.2))]}),
            "the balls of this world are red, not blue",
        ),
        (
            lambda: WaterWorld({"red": 1}).reset(
                options={"balls": [Ball("red", (0.2, 0.2))], "layout_seed": 1}
            ),
            "give one of them",
        ),
    ],
)  # fmt: skip
def test_nonsense_is_refused(make, message):
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        make()


def test_an_unknown_layout_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'corners'"):
        WaterWorld(layout="corner")
    with pytest.raises(UnknownNameError, match="no such layout"):
        WaterWorld(layout=["corners"])


@pytest.mark.parametrize(
    ("actions", "wrong"),
    [
        ("continuous", [0, 1.0, [1, 2, 3], [math.nan, 0], "up", None, [[0, 0]], ["a", "b"]]),
        ("discrete", [5, -1, 1.5, "up", None, [0, 1]]),
    ],
)
def test_an_action_that_is_none_is_refused(actions, wrong):
    env = begin(WaterWorld(actions=actions))
    for action in wrong:
        with pytest.raises(InvalidArgumentError, match="an action of this world"):
            env.step(action)


@pytest.mark.parametrize("learner", ["ql", "cql", None])
def test_what_needs_a_finite_world_says_so(learner):
    env = make_product("Water", "red-green")
    with pytest.raises(CraniumError, match="are not finitely many") as caught:
        cranium.solve(env) if learner is None else cranium.train(env, learner=learner, steps=100)
    assert isinstance(caught.value, WorldError)
