"""WaterWorld: pushing, touching, observing, drawing."""

from __future__ import annotations

import math
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import cranium
from cranium.aamdp import make_product
from cranium.worlds import Ball, WaterWorld

NOTHING, RIGHT, LEFT, UP, DOWN = range(5)
EASY = {"moving": False, "radius": 0.1, "thrust": 0.05, "top_speed": 0.1}


def still(*balls, **options):
    """A pond in which the balls stand still."""
    return WaterWorld([Ball(*ball) for ball in balls], **{**EASY, **options})


def begin(env, **options):
    env.reset(seed=0, options=options)
    return env


def read(env, actions):
    """The events of each step."""
    found = []
    for action in actions:
        env.step(action)
        found.append(" ".join(sorted(env.events)))
    return found


# Moving


def test_a_push_adds_to_the_velocity_and_the_agent_glides_on():
    env = begin(WaterWorld(thrust=0.01, top_speed=0.03))
    for action, place in [(RIGHT, 0.51), (NOTHING, 0.52), (RIGHT, 0.54), (LEFT, 0.55)]:
        seen, reward, terminated, truncated, info = env.step(action)
        assert np.allclose(seen[:2], [place, 0.5])
        assert (reward, terminated, truncated, info) == (0.0, False, False, {})
    assert seen.dtype == np.float32


def test_pushes_are_nothing_right_left_up_and_down():
    env = WaterWorld(thrust=0.01)
    assert env.action_space == gym.spaces.Discrete(5)
    ways = [(0, 0), (0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01)]
    for action, way in enumerate(ways):
        begin(env).step(action)
        assert np.allclose(env.velocity, way)
        assert np.allclose(env.position, np.add((0.5, 0.5), way))


def test_each_direction_has_its_top_speed():
    env = begin(WaterWorld(thrust=0.01, top_speed=0.025))
    for action in [RIGHT] * 5 + [DOWN] * 5:
        env.step(action)
    assert np.allclose(env.velocity, [0.025, -0.025])


def test_a_continuous_push_that_is_too_large_is_cut_off():
    env = begin(WaterWorld(actions="continuous", thrust=0.01))
    env.step([7.0, -0.5])
    assert np.allclose(env.velocity, [0.01, -0.005])


def test_the_discrete_world_is_the_continuous_one_with_five_actions():
    few, many = WaterWorld(), WaterWorld(actions="continuous")
    for env in (few, many):
        env.reset(seed=4)
    for action in np.random.default_rng(0).integers(5, size=500):
        assert (few.step(action)[0] == many.step(many.moves[action])[0]).all()
        assert few.events == many.events


def test_a_wall_reflects_the_agent_and_what_is_behind_it_is_folded_back():
    env = begin(still(("red", (0.2, 0.2)), thrust=0.08), start=(0.85, 0.5))
    env.step(RIGHT)
    assert np.allclose(env.position, [0.87, 0.5]), "0.03 behind the wall, at 0.9"
    assert np.allclose(env.velocity, [-0.08, 0.0])


def test_a_corner_reflects_both_parts():
    balls = [Ball("red", (0.12, 0.11), 225)]
    env = begin(WaterWorld(balls, radius=0.1, speed=0.1))
    before = env.velocities.copy()
    env.step(NOTHING)
    assert (env.velocities == -before).all()
    part = 0.1 / math.sqrt(2)
    assert np.allclose(env.places, [[0.2 - 0.12 + part, 0.2 - 0.11 + part]])


def test_no_ball_ever_loses_or_wins_speed():
    env = begin(WaterWorld({"red": 5, "blue": 5}, speed=0.3))
    before = np.abs(env.velocities)
    turned = 0
    for _ in range(500):
        was = env.velocities
        env.step(NOTHING)
        assert (np.abs(env.velocities) == before).all(), "not by a bit"
        turned += (env.velocities != was).sum()
    assert turned > 100


def test_the_agent_keeps_its_speed_when_it_is_not_pushed():
    env = begin(WaterWorld(actions="continuous"))
    for _ in range(3):
        env.step([0.8, 0.3])
    energy = np.sum(env.velocity**2)
    seen = np.array([env.step([0, 0])[0] for _ in range(300)])
    assert (seen[:, 2] < 0).any(), "it came to a wall"
    assert np.sum(env.velocity**2) == energy


# Touching


def test_a_touch_is_the_step_in_which_contact_begins_and_again_after_leaving():
    env = begin(still(("red", (0.5, 0.5))), start=(0.17, 0.5))
    # 0.33, 0.28, 0.23, 0.18 apart; then it stops, and goes back: 0.23 and further; contact is 0.2
    walk = [RIGHT, NOTHING, NOTHING, LEFT, LEFT, NOTHING, RIGHT, RIGHT, NOTHING, NOTHING]
    found = read(env, walk)
    assert found == ["", "", "red", "", "", "", "", "", "red", ""]


def test_a_ball_that_comes_to_the_agent_touches_it():
    env = begin(WaterWorld([Ball("red", (0.2, 0.5), 0)], radius=0.1, speed=0.04))
    assert read(env, [NOTHING] * 5) == ["", "", "red", "", ""], "0.26, 0.22, 0.18 apart"


def test_who_is_in_contact_when_the_episode_begins_has_not_touched():
    env = begin(still(("red", (0.55, 0.5))))
    assert env.events == frozenset()
    assert read(env, [UP, DOWN]) == ["", ""]


def test_a_step_that_passes_through_does_not_touch():
    env = still(("red", (0.5, 0.5)), radius=0.05, thrust=0.4, top_speed=0.4)
    assert read(begin(env, start=(0.3, 0.5)), [RIGHT]) == [""]


def test_balls_of_several_colours_can_be_touched_in_one_step():
    env = still(("red", (0.7, 0.55)), ("blue", (0.7, 0.45)), ("green", (0.2, 0.2)))
    begin(env, start=(0.47, 0.5))
    assert env.vocabulary == ("red", "blue", "green")
    assert read(env, [RIGHT, NOTHING]) == ["blue red", ""]


def test_a_second_ball_of_a_colour_is_a_touch_while_the_first_is_in_contact():
    env = still(("red", (0.7, 0.5)), ("red", (0.76, 0.5)))
    begin(env, start=(0.47, 0.5))
    assert env.vocabulary == ("red",)
    assert read(env, [RIGHT, NOTHING, NOTHING]) == ["red", "red", ""]


def test_balls_pass_through_each_other():
    env = begin(WaterWorld([Ball("red", (0.4, 0.8)), Ball("blue", (0.6, 0.8), 180)], speed=0.05))
    for _ in range(4):
        env.step(NOTHING)
    assert np.allclose(env.places, [[0.6, 0.8], [0.4, 0.8]], atol=1e-6)


@pytest.mark.parametrize("view", ["relative", "absolute"])
@pytest.mark.parametrize("moving", [True, False])
def test_labels_can_be_told_from_what_is_observed_and_nothing_else(view, moving):
    env = WaterWorld(
        {"red": 2, "blue": 2}, moving=moving, observation=view, radius=0.08, speed=0.03,
        thrust=0.02, top_speed=0.06,
    )  # fmt: skip
    rng = np.random.default_rng(0)

    def contacts(seen):
        balls = seen[4:].reshape(4, -1)[:, :2]
        ways = balls if view == "relative" else balls - seen[:2]
        return (ways**2).sum(axis=1) < 4 * env.radius * env.radius

    touches = 0
    for seed in range(10):
        before, _ = env.reset(seed=seed)
        for _ in range(200):
            after = env.step(rng.integers(5))[0]
            new = contacts(after) & ~contacts(before)
            assert env.events == {env.colours[i] for i in np.flatnonzero(new)}
            touches += new.sum()
            before = after
    assert touches > 50


@pytest.mark.parametrize("view", ["relative", "absolute"])
def test_the_checker_of_labellings_is_content(view):
    # A still pond with a coarse grid of speeds comes to the same places again.
    env = WaterWorld(layout="corners", moving=False, radius=0.125, thrust=0.0625, top_speed=0.0625,
                     observation=view)  # fmt: skip
    machine = cranium.library.load("water-both")
    report = cranium.check_labelling(gym.wrappers.TimeLimit(env, 100), machine, steps=5_000)
    assert report.is_sound
    assert report.never_seen == ()
    assert report.unknown == ()


@pytest.mark.parametrize("view", ["relative", "absolute"])
def test_what_is_observed_says_what_comes_next(view):
    """The observation is a state: put back into a world, it goes on alike."""
    env = WaterWorld({"red": 1, "blue": 1}, observation=view, speed=0.02)
    env.reset(seed=3)
    rng = np.random.default_rng(1)
    for _ in range(300):
        seen = env.step(rng.integers(5))[0]
        other = WaterWorld({"red": 1, "blue": 1}, observation=view, speed=0.02)
        balls = seen[4:].reshape(2, 4)
        other.position, other.velocity = seen[:2].copy(), seen[2:4] * env.top_speed
        other.places = balls[:, :2] + (seen[:2] if view == "relative" else 0)
        other.velocities = balls[:, 2:] * env.speed
        action = rng.integers(5)
        twin = pickle.loads(pickle.dumps(env))
        assert np.allclose(twin.step(action)[0], other.step(action)[0], atol=1e-5)


# Tasks


def test_touching_red_and_then_green_is_rewarded():
    env = make_product("Water", "red-green", layout="pair", **EASY)
    env.reset(seed=0)
    walk = [LEFT, LEFT, RIGHT, RIGHT, RIGHT] + [NOTHING] * 7
    ended = []
    for action in walk:
        *_, reward, terminated, _, info = env.step(action)
        ended.append((reward, terminated))
        if terminated:
            break
    assert ended[-1] == (1.0, True)
    assert info["success"]
    assert not any(reward or over for reward, over in ended[:-1])


def test_a_label_of_two_colours_reaches_the_machine():
    world = still(("red", (0.7, 0.55)), ("blue", (0.7, 0.45)), ("green", (0.2, 0.2)))
    env = cranium.product(world, cranium.library.load("water-balance"), horizon=50)
    env.reset(seed=0, options={"start": (0.47, 0.5)})
    *_, info = env.step(RIGHT)
    assert info["label"] == {"red", "blue"}
    assert info["machine_state"] == "even"


# Around it


@pytest.mark.parametrize("options", [{}, {"start": None}, {"layout": "ring", "moving": False}])
def test_the_same_seed_gives_the_same_episodes(options):
    one, other = WaterWorld(**options), WaterWorld(**options)
    assert (one.reset(seed=3)[0] == other.reset(seed=3)[0]).all()
    for action in np.random.default_rng(0).integers(5, size=200):
        assert (one.step(action)[0] == other.step(action)[0]).all()
        assert one.events == other.events
    assert (one.reset()[0] == other.reset()[0]).all()


def test_what_was_seen_is_not_written_into():
    env = WaterWorld(layout="pair")
    first, _ = env.reset(seed=0)
    kept = first.copy()
    env.step(RIGHT)[0][:] = 0.0
    assert (first == kept).all()
    assert env.step(NOTHING)[0][0] > 0.5
    assert (env.reset(seed=0)[0] == kept).all(), "the layout is not moved by an episode"
    env.places[:] = env.position[:] = 0.0
    assert (env.reset(seed=0)[0] == kept).all(), "nor by one who writes into the world"


VARIANTS = [
    {},
    {"moving": False, "observation": "absolute"},
    {"start": None, "layout_seed": 1, "speed": 0.5, "thrust": 0.7, "top_speed": 0.9},
    {"layout": "ring", "radius": 0.1, "speed": 0.8, "observation": "absolute"},
]


@pytest.mark.parametrize("actions", ["continuous", "discrete"])
@pytest.mark.parametrize("options", VARIANTS)
def test_every_variant_pleases_the_checker_keeps_its_bounds_and_can_be_pickled(actions, options):
    env = WaterWorld(actions=actions, **options)
    check_env(env, skip_render_check=True)
    env.reset(seed=1)
    copy = pickle.loads(pickle.dumps(env))
    env.action_space.seed(0)
    for _ in range(500):
        action = env.action_space.sample()
        seen = env.step(action)[0]
        assert env.observation_space.contains(seen)
        assert (seen == copy.step(action)[0]).all()


def test_a_ball_along_an_axis_has_the_greatest_velocity_that_is_shown():
    env = WaterWorld([Ball("red", (0.5, 0.8), heading) for heading in (0, 90, 180, 270)])
    seen = env.reset(seed=0)[0]
    assert env.observation_space.contains(seen)
    assert np.allclose(seen[4:].reshape(4, 4)[:, 2:], [[1, 0], [0, 1], [-1, 0], [0, -1]], atol=1e-6)


def test_text_and_images():
    env = WaterWorld(layout="corners", render_mode="ansi", radius=0.05)
    assert env.render() is None
    begin(env, start=(0.51, 0.81))
    assert env.render().splitlines()[3] == ". . . r r . . . . . @ . . . . g g . . ."
    image = begin(WaterWorld(layout="corners", render_mode="rgb_array"))
    one = image.render()
    image.step(RIGHT)
    assert one.shape == (320, 320, 3)
    assert one.dtype == np.uint8
    assert (one != image.render()).any()
    red, green = one[64 + 9, 64], one[64 + 9, 256]
    assert red[0] > 2 * red[1]
    assert green[1] > 1.5 * green[0]


def test_a_ball_is_never_too_small_for_the_text():
    env = WaterWorld({"red": 1}, render_mode="ansi", radius=0.005)
    for seed in range(30):
        env.reset(seed=seed)
        assert "r" in env.render()


def test_a_colour_without_a_paint_is_drawn_too():
    env = begin(WaterWorld({"black": 1, "mauve": 1}, render_mode="rgb_array"))
    assert env.render().shape == (320, 320, 3)
