"""Ponds inside the loop, and what networks learn there: an order of touches, a balance of them."""

from __future__ import annotations

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cranium
from cranium.learners.config import LearnerConfig
from cranium.learners.deep.continuous_worlds import build_continuous_world
from cranium.learners.schedules import Schedule
from cranium.learners.tabular.arrays import LearnerTables
from cranium.tables.space import open_space
from cranium.worlds import Ball, WaterWorld

pytestmark = pytest.mark.slow

SMALL = {"moving": False, "radius": 0.1, "thrust": 0.05, "top_speed": 0.1}
TOLD = {
    "evaluate_every": 1000,
    "evaluation_episodes": 20,
    "hidden": (64, 64),
    "learning_rate": 1e-3,
    "discount": 0.9,
    "target_every": 500,
    "exploration": Schedule(1.0, 0.1, over=5000),
}
TRIANGLE = [Ball("red", (0.2, 0.75)), Ball("blue", (0.8, 0.75)), Ball("green", (0.5, 0.15))]
STREWN = WaterWorld({"red": 1, "green": 1}, **SMALL)  # somewhere else in every episode
FIXED = WaterWorld(TRIANGLE, start=None, **SMALL)  # the agent begins somewhere else
BOTH = cranium.library.load("water-both")


def memory_of(machine):
    return LearnerTables(open_space(machine, 5), LearnerConfig(), 5, 600, 1)


def looped(ground, machine=BOTH):
    """A pond for the loop, and the labels of its rows."""
    memory = memory_of(machine)
    world = build_continuous_world(cranium.product(ground, machine, horizon=600), memory)
    return world, memory.space


# The pond, inside the loop


@pytest.mark.parametrize("actions", ["continuous", "discrete"])
@pytest.mark.parametrize("observation", ["relative", "absolute"])
@pytest.mark.parametrize("moving", [True, False])
def test_the_pond_moves_in_the_loop_as_in_the_environment(actions, observation, moving):
    told = {"actions": actions, "observation": observation, "moving": moving}
    ground = WaterWorld(radius=0.06, speed=0.02, thrust=0.02, top_speed=0.05, **told)
    world, space = looped(ground)
    step, observe = jax.jit(world.step), jax.jit(world.observe)
    rng, touches = np.random.default_rng(0), 0
    for seed in range(4):
        ground.reset(seed=seed)
        parts = (ground.position, ground.velocity, ground.places, ground.velocities)
        state = tuple(map(jnp.asarray, parts))
        for number in range(200):
            if number % 10 == 0:
                goal = rng.integers(len(ground.places))
            push = np.sign(ground.places[goal] - ground.position).astype(np.float32)
            action = push if actions == "continuous" else int(rng.choice(1 + np.arange(4)))
            seen, *_ = ground.step(action)
            state, row, ended, extra = step(state, jnp.asarray(action), jnp.zeros(0))
            np.testing.assert_allclose(observe(state), seen, atol=2e-5)
            known = ground.events & set(BOTH.propositions)
            assert space.labels[int(row)] == BOTH.alphabet.label(known)
            assert (bool(ended), extra.tolist()) == (False, [0.0])
            touches += bool(known)
    assert touches > 10


def test_several_colours_may_be_touched_at_once():
    balls = [Ball("red", (0.3, 0.6)), Ball("magenta", (0.3, 0.5)), Ball("cyan", (0.3, 0.4))]
    ground = WaterWorld(balls, moving=False, radius=0.1, thrust=0.1, top_speed=0.1)
    task = cranium.compile_language("red cyan")
    world, space = looped(ground, task)
    state = tuple(map(jnp.asarray, ([0.55, 0.5], [0.0, 0.0], world.places, world.flow)))
    _, row, *_ = world.step(state, jnp.asarray([-1.0, 0.0]), jnp.zeros(0))
    assert space.labels[int(row)] == task.alphabet.label({"red", "cyan"}), "nobody reads magenta"


@pytest.mark.parametrize("moving", [True, False])
@pytest.mark.parametrize("start", [(0.3, 0.4), None])
def test_balls_are_strewn_as_in_the_environment(moving, start):
    ground = WaterWorld(start=start, moving=moving)
    world, _ = looped(ground)
    u = np.random.default_rng(1).random((1000, world.reset_randoms)).astype(np.float32)
    position, velocity, places, flow = map(np.asarray, jax.vmap(world.reset)(u))
    assert not velocity.any()
    everything = np.concatenate([position[:, None], places], axis=1)
    apart = np.linalg.norm(everything[:, :, None] - everything[:, None], axis=-1)
    apart[:, np.arange(13), np.arange(13)] = 1
    assert apart[:, 0].min() > 3 * ground.radius
    assert apart.min() > 2 * ground.radius
    assert (np.abs(places - 0.5) <= 0.5 - ground.radius + 1e-6).all()
    drawn = [ground.reset(seed=seed)[0] is not None and ground.places for seed in range(1000)]
    np.testing.assert_allclose(places.mean((0, 1)), np.mean(drawn, axis=(0, 1)), atol=0.015)
    np.testing.assert_allclose(places.std((0, 1)), np.std(drawn, axis=(0, 1)), atol=0.015)
    speeds = np.linalg.norm(flow, axis=-1)
    np.testing.assert_allclose(speeds, ground.speed if moving else 0.0, rtol=1e-5)
    np.testing.assert_allclose(flow.mean((0, 1)), 0.0, atol=0.1 * ground.speed)
    if start is None:
        np.testing.assert_allclose(position.mean(0), 0.5, atol=0.03)
    else:
        np.testing.assert_allclose(position, np.broadcast_to(start, (1000, 2)), rtol=1e-6)


def test_balls_that_have_their_places_stay_there_and_the_agent_is_apart():
    world, _ = looped(FIXED, cranium.library.load("water-balance"))
    u = np.random.default_rng(1).random((1000, world.reset_randoms)).astype(np.float32)
    position, _, places, _ = map(np.asarray, jax.vmap(world.reset)(u))
    assert np.allclose(places, [ball.place for ball in TRIANGLE])
    assert np.linalg.norm(position[:, None] - places, axis=-1).min() > 0.3
    drawn = np.array([FIXED.reset(seed=seed)[0][:2] for seed in range(1000)])
    np.testing.assert_allclose(position.mean(0), drawn.mean(0), atol=0.03)


def test_ponds_that_are_too_large_or_behind_a_wrapper_step_in_python():
    red = cranium.compile_language("red")
    assert looped(WaterWorld({"red": 300}, radius=0.005), red)[0] is not None
    assert looped(WaterWorld({"red": 900}, radius=0.008), red)[0] is None
    wrapped = gym.wrappers.TimeLimit(WaterWorld(), 50)
    assert looped(wrapped)[0] is None
    colours = dict.fromkeys("ABCDEFGHI", 1)
    reads_all = cranium.compile_language(" ".join(colours))
    assert looped(WaterWorld(colours), reads_all)[0] is None


# What is learned


def by_chance(env, episodes=100):
    """How often random pushes have success."""
    env.action_space.seed(0)
    won = 0
    for seed in range(episodes):
        env.reset(seed=seed)
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(env.action_space.sample())
            over = terminated or truncated
        won += info["success"]
    return won / episodes


@pytest.mark.parametrize(
    ("pond", "task", "horizon", "path"),
    [
        (STREWN, "water-red-green", 25, "jax"),
        (FIXED, "water-balance", 40, "jax"),
        (FIXED, "water-balance", 40, "python"),
    ],
    ids=["red, then green", "as many reds as blues", "the same in Python"],
)
def test_counterfactual_dqn_solves_it_where_chance_does_not(pond, task, horizon, path):
    env = cranium.product(pond, cranium.library.load(task), horizon=horizon)
    assert by_chance(env) < 0.25
    how = {"path": "python"} if path == "python" else {}
    result = cranium.train(env, "cdqn", steps=20_000, seed=0, until="solved", **how, **TOLD)
    assert result.path == path
    assert result.samples_to_solve is not None
    fresh = cranium.evaluate(env, result.policy, episodes=100, seed=1000)
    assert fresh.success[0] > 0.8
    assert fresh.lengths[0] < horizon / 2


def test_counterfactual_td3_pushes_as_it_likes():
    ground = WaterWorld({"red": 1, "green": 1}, actions="continuous", **SMALL)
    env = cranium.product(ground, cranium.library.load("water-red-green"), horizon=25)
    assert by_chance(env) < 0.25
    more = {"hidden": (64, 64), "discount": 0.9, "noise": 0.3}
    told = {"evaluate_every": 1000, "evaluation_episodes": 20, **more}
    result = cranium.train(env, "ctd3", steps=20_000, seed=0, until="solved", **told)
    assert result.path == "jax"
    assert result.samples_to_solve is not None
    fresh = cranium.evaluate(env, result.policy, episodes=100, seed=1000)
    assert fresh.success[0] > 0.8


def test_the_same_seed_gives_the_same_network_in_a_full_pond():
    env = cranium.aamdp.make_product("Water", "both")
    small = {"hidden": (16, 16), "batch": 8, "evaluation_episodes": 1}
    one, two = (
        cranium.train(env, "cdqn", steps=300, seed=1, evaluate_every=every, **small)
        for every in (100, 300)
    )
    same = jax.tree.map(np.array_equal, one.policy.network, two.policy.network)
    assert all(jax.tree.leaves(same))
    assert one.path == "jax"
