"""The dynamics of the pond against slow ones, in many ponds at once, and in a compiled loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.naive_pond import NaivePond

from cranium.worlds import WaterWorld, pond

parts = st.floats(0, 1)
signed = st.floats(-1, 1)
radii = st.sampled_from([0.0375, 0.1, 0.25])


@given(st.tuples(parts, parts), st.tuples(signed, signed), radii, st.integers(1, 40))
def test_bouncing_is_a_straight_way_through_mirrored_ponds(start, way, radius, steps):
    """Unfold the walls: the way is straight, and each part of the place a wave of triangles."""
    width = 1 - 2 * radius
    place = np.array([radius + width * part for part in start])
    velocity = np.array([width * part for part in way])
    begun, flow = place.copy(), velocity.copy()
    for _ in range(steps):
        place, velocity = pond.glide(place, velocity, radius)
    for i in range(2):
        along = (begun[i] - radius + steps * flow[i]) % (2 * width)
        there = along <= width
        assert math.isclose(
            place[i], radius + (along if there else 2 * width - along), abs_tol=1e-9
        )
        assert abs(velocity[i]) == abs(flow[i])
        if min(along, abs(along - width), 2 * width - along) > 1e-9:
            assert velocity[i] == (flow[i] if there else -flow[i])


@given(st.tuples(parts, parts), st.tuples(signed, signed), radii, st.integers(1, 20))
def test_who_turns_back_finds_the_way_home(start, way, radius, steps):
    width = 1 - 2 * radius
    begun = np.array([radius + width * part for part in start])
    place, velocity = begun, np.array([width * part for part in way])
    for _ in range(steps):
        place, velocity = pond.glide(place, velocity, radius)
    velocity = -velocity
    for _ in range(steps):
        place, velocity = pond.glide(place, velocity, radius)
    assert np.allclose(place, begun, atol=1e-9)


@given(
    st.integers(0, 10_000),
    st.lists(st.tuples(st.floats(-2, 2, width=32), st.floats(-2, 2, width=32)), max_size=40),
    st.booleans(),
)
def test_the_world_does_what_a_slow_one_does(seed, pushes, moving):
    counts = {"red": 2, "green": 2, "blue": 1}
    env = WaterWorld(
        counts, actions="continuous", moving=moving, radius=0.08, speed=0.05, thrust=0.03,
        top_speed=0.1, start=None,
    )  # fmt: skip
    env.reset(seed=seed)
    slow = NaivePond(env)
    for push in pushes:
        env.step(push)
        touched = slow.step(push)
        assert np.allclose([env.position, *env.places], slow.places, atol=1e-5)
        assume(touched is not None)
        assert env.events == touched


# Arrays


def run_in(xp, env, position, velocity, places, velocities, push):
    """One step with the functions of the pond."""
    before = pond.relative_position(position, places)
    pushed = pond.accelerate(velocity, push, env.thrust, env.top_speed, xp)
    position, velocity = pond.glide(position, pushed, env.radius, xp)
    places, velocities = pond.glide(places, velocities, env.radius, xp)
    after = pond.relative_position(position, places)
    found = pond.find_colours(pond.find_touched(before, after, env.radius, xp), env.paint, xp)
    seen = pond.observe(position, velocity, after, velocities, env.top_speed, env.speed, xp)
    return (position, velocity, places, velocities), (seen, found)


def parts_of(env):
    return env.position, env.velocity, env.places, env.velocities


def test_the_dynamics_run_over_many_ponds_at_once():
    single = [WaterWorld(actions="continuous") for _ in range(5)]
    for number, one in enumerate(single):
        one.reset(seed=number)
    states = [np.array(part) for part in zip(*map(parts_of, single), strict=True)]
    rng = np.random.default_rng(0)
    for _ in range(200):
        pushes = rng.uniform(-1, 1, (5, 2)).astype(np.float32)
        states, (seen, found) = run_in(np, single[0], *states, pushes)
        for number, one in enumerate(single):
            assert (one.step(pushes[number])[0] == seen[number]).all()
            assert one.events == {one.vocabulary[i] for i in np.flatnonzero(found[number])}


def test_the_dynamics_run_in_a_compiled_loop_of_jax():
    jax = pytest.importorskip("jax")
    env = WaterWorld(actions="continuous", radius=0.06, speed=0.02, thrust=0.02, top_speed=0.05)
    env.reset(seed=0)
    pushes = np.random.default_rng(5).uniform(-1, 1, (300, 2)).astype(np.float32)

    @jax.jit
    def glide(state, pushes):
        step = lambda state, push: run_in(jax.numpy, env, *state, push)  # noqa: E731
        return jax.lax.scan(step, state, pushes)[1]

    seen, found = glide(parts_of(env), pushes)
    touches = 0
    for push, observation, colours in zip(pushes, seen, found, strict=True):
        assert np.allclose(env.step(push)[0], observation, atol=1e-4)
        assert env.events == {env.vocabulary[i] for i in np.flatnonzero(colours)}
        touches += len(env.events)
    assert touches > 20
