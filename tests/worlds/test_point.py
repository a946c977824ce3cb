"""PointWorld: walls, entering regions, regions that are used up, and arrays for compiled loops."""

from __future__ import annotations

import math
import pickle
import re

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import assume, given
from hypothesis import strategies as st

import cranium
from cranium.aamdp import make_product
from cranium.errors import CraniumError, InvalidArgumentError, UnknownNameError, WorldError
from cranium.worlds import PointWorld, Region, plane

RIGHT, LEFT, UP, DOWN = range(4)
MIDDLE = [Region("goal", (0.5, 0.5), 0.1)]


def read(env, actions):
    """The events of each step."""
    found = []
    for action in actions:
        env.step(action)
        found.append("".join(sorted(env.events)))
    return found


def at(env, x, y, **options):
    env.reset(seed=0, options={"start": (x, y), **options})
    return env


# Moving


def test_a_step_adds_the_velocity_times_the_speed():
    env = at(PointWorld(MIDDLE, speed=0.2), 0.5, 0.5)
    seen, reward, terminated, truncated, info = env.step(np.array([0.5, -1.0], np.float32))
    assert np.allclose(seen, [0.6, 0.3])
    assert (reward, terminated, truncated, info) == (0.0, False, False, {})
    assert seen.dtype == np.float32


def test_an_action_that_is_too_large_is_cut_off():
    env = at(PointWorld(MIDDLE, speed=0.1), 0.2, 0.2)
    assert np.allclose(env.step([7.0, -0.5])[0], [0.3, 0.15])


def test_walls_stop_the_point_in_one_direction_and_let_it_slide_in_the_other():
    env = at(PointWorld(MIDDLE, speed=0.5), 0.9, 0.1)
    assert np.allclose(env.step([1, 1])[0], [1.0, 0.6])
    assert np.allclose(env.step([0, 1])[0], [1.0, 1.0])


def test_noise_moves_the_point_and_never_through_a_wall():
    env = at(PointWorld(MIDDLE, noise=0.3), 0.0, 0.0)
    seen = np.array([env.step([0, 0])[0] for _ in range(300)])
    assert seen.std() > 0.1
    assert seen.min() == 0
    assert seen.max() == 1


def test_discrete_actions_are_the_moves_of_the_grids_at_full_speed():
    env = at(PointWorld(MIDDLE, actions="discrete"), 0.5, 0.5)
    assert env.action_space == gym.spaces.Discrete(4)
    ways = [(RIGHT, [0.6, 0.5]), (UP, [0.6, 0.6]), (LEFT, [0.5, 0.6]), (DOWN, [0.5, 0.5])]
    for action, expected in ways:
        assert np.allclose(env.step(action)[0], expected)


def test_the_discrete_world_is_the_continuous_one_with_four_actions():
    few, many = PointWorld(actions="discrete", noise=0.02), PointWorld(noise=0.02)
    for env in (few, many):
        env.reset(seed=4)
    for action in np.random.default_rng(0).integers(4, size=500):
        one, other = few.step(action)[0], many.step(many.moves[action])[0]
        assert (one == other).all()
        assert few.events == many.events


# Entering


def test_only_a_step_that_begins_outside_and_ends_inside_enters():
    env = at(PointWorld(MIDDLE, actions="discrete", speed=0.08), 0.5, 0.35)
    walk = [UP, UP, UP, DOWN, UP, UP, DOWN]
    assert read(env, walk) == ["goal", "", "", "", "", "", "goal"]


def test_an_episode_that_begins_in_a_region_has_not_entered_it():
    region = Region("goal", (0.5, 0.5), 0.125)
    env = at(PointWorld([region], actions="discrete", speed=0.125), 0.5, 0.5)
    assert env.events == frozenset()
    assert read(env, [UP, UP, DOWN]) == ["", "", ""], "the border is outside"
    assert read(env, [DOWN]) == ["goal"]


def test_a_step_that_passes_through_does_not_enter():
    env = at(PointWorld(MIDDLE, actions="discrete", speed=0.3), 0.5, 0.35)
    assert read(env, [UP]) == [""]


def test_regions_may_share_an_event():
    env = PointWorld([Region("tree", (0.2, 0.5)), Region("tree", (0.8, 0.5))], actions="discrete")
    assert env.vocabulary == ("tree",)
    at(env, 0.5, 0.5)
    assert read(env, [LEFT] * 3 + [RIGHT] * 6) == ["", "tree"] + [""] * 5 + ["tree", ""]


coordinates = st.floats(0, 1, width=32)
discs = st.tuples(st.tuples(coordinates, coordinates), st.floats(0.0625, 0.5, width=32))


@pytest.mark.slow
@given(
    st.lists(discs, min_size=1, max_size=4),
    st.tuples(coordinates, coordinates),
    st.lists(st.tuples(st.floats(-3, 3, width=32), st.floats(-3, 3, width=32)), max_size=6),
    st.sampled_from([0.125, 0.25, 1.0]),
)
def test_moving_and_entering_are_what_they_are_by_hand(discs, start, actions, speed):
    """One number at a time, with a distance for each region; close calls are left out."""
    centres = np.array([centre for centre, _ in discs])
    radii = np.array([radius for _, radius in discs])
    before = list(start)
    for action in actions:
        after = []
        for where, way in zip(before, action, strict=True):
            goes = where + speed * (-1 if way < -1 else 1 if way > 1 else way)
            after.append(0.0 if goes < 0 else 1.0 if goes > 1 else goes)
        moved = plane.move(np.array(before), np.array(action), speed)
        assert np.allclose(moved, after, atol=1e-12)
        found = plane.find_entered(np.array(before), np.array(after), centres, radii)
        for (centre, radius), entered in zip(discs, found, strict=True):
            was, is_ = math.dist(before, centre) - radius, math.dist(after, centre) - radius
            if min(abs(was), abs(is_)) > 1e-9:
                assert entered == (was > 0 > is_)
        before = after


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), max_size=60), st.integers(1, 3))
def test_the_world_says_what_a_slow_walk_through_it_says(actions, mail):
    env = at(PointWorld(mail=mail, speed=0.25), 0.5, 0.5)
    left = mail
    for action in actions:
        before = env.position
        after = env.step(action)[0][:2]
        expected = []
        for region in env.regions:
            was, is_ = (
                math.dist(place, region.centre) - region.radius for place in (before, after)
            )
            assume(min(abs(was), abs(is_)) >= 1e-6)  # else too close to call in single precision
            if was > 0 > is_:
                empty = region.event == "mail" and left == 0
                expected.append("empty" if empty else region.event)
                left -= region.event == "mail" and not empty
        assert sorted(env.events) == expected
        assert env.left.tolist() == [-1, -1, left, -1]


# Regions that are used up

IN_OUT = [LEFT, RIGHT]


def test_mail_runs_out_and_the_room_then_says_that_it_is_empty():
    env = at(PointWorld(mail=2, actions="discrete", speed=0.15), 0.4, 0.8)
    assert read(env, IN_OUT * 4) == ["mail", "", "mail", "", "empty", "", "empty", ""]


@pytest.mark.parametrize(
    ("view", "shown"), [("offers", [1, 1, 1, 0, 0]), ("markov", [0.5, 0.25, 0.25, 0, 0])]
)
def test_the_observation_shows_whether_anything_is_left_or_how_much(view, shown):
    env = PointWorld(mail=(1, 4), actions="discrete", speed=0.15, observation=view)
    at(env, 0.4, 0.8, times={"mail": 2})
    seen = [env.reset(options={"start": (0.4, 0.8), "times": {"mail": 2}})[0]]
    seen += [env.step(action)[0] for action in IN_OUT * 2]
    assert [float(observation[2]) for observation in seen] == shown
    assert all(env.observation_space.contains(observation) for observation in seen)


def test_without_regions_that_run_out_only_the_position_is_shown():
    assert PointWorld(mail=None).observation_space.shape == (2,)
    assert "empty" not in PointWorld(mail=None).vocabulary
    assert PointWorld(mail=None).instances() == {}


def test_how_often_is_drawn_for_every_episode_and_can_be_fixed():
    env = PointWorld(mail=(2, 4))
    drawn = set()
    for seed in range(40):
        env.reset(seed=seed)
        drawn.add(int(env.left[2]))
    assert drawn == {2, 3, 4}
    for name, options in env.instances().items():
        env.reset(options=options)
        assert name == f"mail {env.left[2]} times"
    env.reset(options={"times": {"mail": (3, 4)}})
    assert env.left[2] in (3, 4)
    env.reset(options={"times": {"mail": 1}})
    assert env.left[2] == 1, "less than is ever drawn is allowed, as in the other worlds"


def test_regions_with_the_same_event_run_out_one_by_one():
    regions = [
        Region("coin", (0.2, 0.5), times=1, then="gone"),
        Region("coin", (0.8, 0.5), times=(1, 2), then="gone"),
    ]
    env = PointWorld(regions, actions="discrete", speed=0.15)
    at(env, 0.4, 0.5, times={"coin": 1})
    assert env.left.tolist() == [1, 1]
    assert read(env, [*IN_OUT, *IN_OUT]) == ["coin", "", "gone", ""]
    assert env.left.tolist() == [0, 1]
    assert list(env.instances()) == ["coin once"]


# Tasks


def test_visiting_one_place_and_then_the_other_is_rewarded():
    env = make_product("Point", "visit", actions="discrete")
    env.reset(seed=0)
    walk = [LEFT] * 2 + [DOWN] * 2 + [RIGHT] * 4
    rewards = [env.step(action)[1] for action in walk]
    assert rewards == [0.0] * 7 + [1.0]
    assert env.configuration.state == "done"


@pytest.mark.parametrize("count", [1, 3, 5])
def test_collecting_all_mail_and_delivering_as_often_is_rewarded(count):
    env = make_product("Point", "deliver", actions="discrete", speed=0.15)
    env.reset(seed=0, options={"start": (0.4, 0.8), "times": {"mail": count}})
    collect, deliver = [LEFT, RIGHT] * (count + 1), [RIGHT, LEFT] * count
    walk = [*collect, RIGHT, *deliver]
    ended = [env.step(action)[1:3] for action in walk[:-1]]
    assert ended == [(0.0, False)] * (len(walk) - 2) + [(1.0, True)]


def test_delivering_before_the_room_is_empty_fails():
    env = make_product("Point", "deliver", actions="discrete", mail=2, speed=0.15)
    env.reset(seed=0, options={"start": (0.4, 0.8)})
    for action in (LEFT, RIGHT, RIGHT, RIGHT):
        _, reward, terminated, _, info = env.step(action)
    assert (reward, terminated, info["machine_state"]) == (0.0, True, "failed")


@pytest.mark.parametrize("view", ["offers", "markov"])
def test_labels_are_a_function_of_what_is_observed(view):
    env = PointWorld(actions="discrete", speed=0.15, observation=view)
    env = gym.wrappers.TimeLimit(env, 100)
    machine = cranium.library.load("point-deliver")
    report = cranium.check_labelling(env, machine, steps=20_000)
    assert report.is_sound
    assert report.never_seen == ()


# Around it


@pytest.mark.parametrize("options", [{}, {"start": None, "noise": 0.05}])
def test_the_same_seed_gives_the_same_episodes(options):
    one, other = PointWorld(**options), PointWorld(**options)
    actions = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    assert (one.reset(seed=3)[0] == other.reset(seed=3)[0]).all()
    for action in actions:
        assert (one.step(action)[0] == other.step(action)[0]).all()
        assert one.events == other.events
    assert (one.reset()[0] == other.reset()[0]).all()
    assert one.left.tolist() == other.left.tolist()


def test_the_start_may_be_random():
    env = PointWorld(start=None)
    starts = {tuple(env.reset(seed=seed)[0][:2].tolist()) for seed in range(50)}
    assert len(starts) == 50


def test_what_was_seen_is_not_written_into():
    env = PointWorld(mail=1)
    first, _ = env.reset(seed=0)
    kept = first.copy()
    second = env.step([1, 0])[0]
    second[:] = 0.0
    assert (first == kept).all()
    assert np.allclose(env.step([0, 0])[0], [0.6, 0.5, 1.0])


@pytest.mark.parametrize("actions", ["continuous", "discrete"])
@pytest.mark.parametrize("options", [{}, {"mail": None}, {"start": None, "noise": 0.1}])
def test_every_variant_pleases_the_checker_and_can_be_pickled(actions, options):
    env = PointWorld(actions=actions, **options)
    check_env(env, skip_render_check=True)
    env.reset(seed=1)
    copy = pickle.loads(pickle.dumps(env))
    action = env.action_space.sample()
    assert (env.step(action)[0] == copy.step(action)[0]).all()


def test_text_and_images():
    env = PointWorld(mail=1, actions="discrete", speed=0.15, render_mode="ansi")
    assert env.render() is None
    at(env, 0.41, 0.81)
    assert env.render().splitlines()[3] == ". m m m m m m . @ . . . . p p p p p p ."
    env.step(LEFT)
    assert env.render().splitlines()[3] == ". e e e e @ e . . . . . . p p p p p p ."
    at(env, 1.0, 0.0)
    assert env.render().splitlines()[-1].endswith("@")
    image = at(PointWorld(render_mode="rgb_array"), 0.5, 0.5)
    one = image.render()
    image.step([1, 1])
    assert one.shape == (320, 320, 3)
    assert one.dtype == np.uint8
    assert (one != image.render()).any()


def test_the_arrays_have_the_shapes_that_they_say():
    env = PointWorld(mail=(1, 5), observation="markov")
    assert env.centres.shape == (4, 2)
    assert env.radii.shape == (4,)
    assert [env.vocabulary[i] for i in env.event_index] == ["A", "B", "mail", "person"]
    assert env.then_index.tolist() == [-1, -1, env.vocabulary.index("empty"), -1]
    assert env.least.tolist() == [-1, -1, 1, -1]
    assert env.most.tolist() == [-1, -1, 5, -1]
    assert (env.limited.tolist(), env.scale.tolist()) == ([2], [5.0])
    assert env.moves.tolist() == [[1, 0], [-1, 0], [0, 1], [0, -1]]
    assert env.start.tolist() == [0.5, 0.5]


def test_the_dynamics_run_over_many_points_at_once():
    env, rng = PointWorld(mail=(1, 2)), np.random.default_rng(0)
    single = [PointWorld(mail=(1, 2)) for _ in range(5)]
    for number, one in enumerate(single):
        one.reset(seed=number)
    position = np.array([one.position for one in single])
    left = np.array([one.left for one in single])
    for _ in range(200):
        actions = rng.uniform(-1, 1, (5, 2)).astype(np.float32)
        after = plane.move(position, actions, env.speed)
        found = plane.find_entered(position, after, env.centres, env.radii)
        left, event = plane.take_event(left, found, env.event_index, env.then_index)
        seen, position = plane.observe(after, left, env.limited, env.scale), after
        for number, one in enumerate(single):
            assert (one.step(actions[number])[0] == seen[number]).all()
            happened = {env.vocabulary[event[number]]} if event[number] >= 0 else set()
            assert one.events == happened


def test_the_dynamics_run_in_a_compiled_loop_of_jax():
    jax = pytest.importorskip("jax")
    xp = jax.numpy
    env = PointWorld(mail=2)
    env.reset(seed=0)

    @jax.jit
    def walk(position, left, actions):
        def step(carry, action):
            before, left = carry
            after = plane.move(before, action, env.speed, xp=xp)
            found = plane.find_entered(before, after, env.centres, env.radii, xp)
            left, event = plane.take_event(left, found, env.event_index, env.then_index, xp)
            return (after, left), (plane.observe(after, left, env.limited, env.scale, xp), event)

        return jax.lax.scan(step, (position, left), actions)[1]

    actions = np.random.default_rng(5).uniform(-1, 1, (300, 2)).astype(np.float32)
    seen, events = walk(env.position, env.left, actions)
    for action, observation, event in zip(actions, seen, events, strict=True):
        assert np.allclose(env.step(action)[0], observation, atol=1e-5)
        assert env.events == ({env.vocabulary[event]} if event >= 0 else set())


# Mistakes


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PointWorld(speed=0), "the speed is a number above 0 and up to 1, not 0"),
        (lambda: PointWorld(speed=math.nan), "not nan"),
        (lambda: PointWorld(speed="0.1"), "not '0.1'"),
        (lambda: PointWorld(noise=-1), "the noise is a number from 0 to 1, not -1"),
        (lambda: PointWorld(start=(0.5, 2)), "each part of the start is a number from 0"),
        (lambda: PointWorld(start=5), "the start is a point (x, y) of the square, not 5"),
        (lambda: PointWorld(actions="few"), "continuous or discrete, not 'few'"),
        (lambda: PointWorld(observation="all"), "offers or markov, not 'all'"),
        (lambda: PointWorld(render_mode="human"), "ansi or rgb_array, not 'human'"),
        (lambda: PointWorld(mail=0), "at least 1, not 0"),
        (lambda: PointWorld(mail=(3, 1)), "at least 3, not 1"),
        (lambda: PointWorld(MIDDLE, mail=3), "give it to the region"),
        (lambda: PointWorld([]), "one at least, not []"),
        (lambda: PointWorld({"A": (0, 0)}), "regions are a list"),
        (lambda: PointWorld(["A"]), "a region is a Region, not 'A'"),
        (lambda: PointWorld([Region(3, (0, 0))]), "an event is a name, not 3"),
        (lambda: PointWorld([Region("A", (0, 0), 0)]), "the radius of A is a number above 0"),
        (lambda: PointWorld([Region("A", (0, 1.5))]), "the centre of A is a number from 0"),
        (lambda: PointWorld([Region("A", 0.5)]), "the centre of A is a point (x, y)"),
        (lambda: PointWorld([Region("A", (0, 0), times=1, then="A")]), "still gives 'A'"),
        (lambda: PointWorld([*MIDDLE, Region("B", (0.6, 0.5))]), "goal at (0.5, 0.5) and B at"),
        (lambda: PointWorld([*MIDDLE, Region("B", (0.75, 0.5))]), "overlap"),
        (lambda: PointWorld().step([0, 0]), "has not begun"),
        (lambda: PointWorld().reset(options={"tiems": 1}), "no such option for reset: 'tiems'"),
        (lambda: PointWorld().reset(options={"times": 3}), "{event: number}, not 3"),
        (lambda: PointWorld().reset(options={"times": {"mail": 7}}), "at most 5 times, not 7"),
        (lambda: PointWorld().reset(options={"start": (8, 8)}), "from 0 to 1, not 8"),
    ],
)
def test_nonsense_is_refused(make, message):
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        make()


def test_an_event_that_does_not_run_out_cannot_be_fixed():
    with pytest.raises(UnknownNameError, match="no such event that runs out: 'A'"):
        PointWorld().reset(options={"times": {"A": 1}})


@pytest.mark.parametrize(
    ("actions", "wrong"),
    [
        ("continuous", [0, 1.0, [1, 2, 3], [math.nan, 0], "up", None, [[0, 0]], ["a", "b"]]),
        ("discrete", [4, -1, 1.5, "up", None, [0, 1]]),
    ],
)
def test_an_action_that_is_none_is_refused(actions, wrong):
    env = at(PointWorld(actions=actions), 0.5, 0.5)
    for action in wrong:
        with pytest.raises(InvalidArgumentError, match="an action of this world"):
            env.step(action)


@pytest.mark.parametrize("actions", ["continuous", "discrete"])
@pytest.mark.parametrize("learner", ["ql", "cql", "planner", None])
def test_what_needs_a_finite_world_says_so(actions, learner):
    env = make_product("Point", "visit", actions=actions)
    message = "discrete actions" if actions == "continuous" else "are not finitely many"
    with pytest.raises(CraniumError, match=message) as caught:
        cranium.solve(env) if learner is None else cranium.train(env, learner=learner, steps=100)
    assert isinstance(caught.value, WorldError)


def test_squares_of_the_discrete_world_are_enough_for_a_table():
    env = make_product("Point", "visit", actions="discrete")
    cells = lambda seen: tuple(np.floor(seen * 10 + 0.5).astype(int))  # noqa: E731
    result = cranium.train(env, learner="cql", steps=20_000, seed=0, discretise=cells)
    assert result.evaluation.solved
