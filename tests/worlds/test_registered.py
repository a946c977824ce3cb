"""One test over every registered id: what Gymnasium's users rely on."""

from __future__ import annotations

import functools
import multiprocessing
import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import cranium
from cranium.aamdp import CATALOGUE, make_product, make_world

WORLDS = [entry.id for entry in CATALOGUE]
PRODUCTS = [entry.product_id(task) for entry in CATALOGUE for task in entry.tasks]
EVERY = pytest.mark.parametrize("name", WORLDS + PRODUCTS)


def same(one, other):
    if isinstance(one, dict):
        return set(one) == set(other) and all(same(one[key], other[key]) for key in one)
    return bool(np.all(np.asarray(one) == np.asarray(other)))


def draw(env, rng, count):
    """Random actions, drawn without the environment's own generator."""
    if isinstance(env.action_space, gym.spaces.Box):
        return rng.uniform(-1, 1, (count, *env.action_space.shape)).astype(np.float32)
    return rng.integers(env.action_space.n, size=count)


@EVERY
def test_gymnasiums_checker_is_content(name):
    env = gym.make(name, render_mode="rgb_array")
    with warnings.catch_warnings():
        # A product is a wrapper, which the checker remarks on.
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        check_env(env if name in PRODUCTS else env.unwrapped)


@EVERY
def test_the_same_seed_gives_the_same_episodes(name):
    one, other = gym.make(name), gym.make(name)
    actions = draw(one, np.random.default_rng(1), 300)
    for env in (one, other):
        env.action_space.seed(0)
    assert same(one.reset(seed=7)[0], other.reset(seed=7)[0])
    for action in actions:
        here, there = one.step(action), other.step(action)
        assert same(here[0], there[0])
        assert here[1:4] == there[1:4]
        assert here[4] == there[4]
        if here[2] or here[3]:
            assert same(one.reset()[0], other.reset()[0])


@EVERY
def test_ten_thousand_random_steps_stay_in_the_space_and_the_vocabulary(name):
    env = gym.make(name, disable_env_checker=True)
    rng = np.random.default_rng(0)
    observation, _ = env.reset(seed=0)
    known = set(env.unwrapped.vocabulary)
    ended = 0
    for action in draw(env, rng, 10_000):
        observation, reward, terminated, truncated, _ = env.step(action)
        assert env.unwrapped.events <= known
        assert env.observation_space.contains(observation)
        assert np.isfinite(reward)
        if terminated or truncated:
            ended += 1
            observation, _ = env.reset()
    assert ended > 0


@EVERY
def test_it_can_be_pickled_in_the_middle_of_an_episode(name):
    env = gym.make(name)
    env.reset(seed=3)
    first, *others = draw(env, np.random.default_rng(4), 5)
    env.step(first)
    copy = pickle.loads(pickle.dumps(env))
    for action in others:
        assert same(env.step(action)[0], copy.step(action)[0])


@EVERY
def test_reset_options_make_the_instances_and_unknown_ones_are_refused(name):
    env = gym.make(name)
    for options in getattr(env.unwrapped, "instances", dict)().values():
        first, _ = env.reset(seed=1, options=dict(options))
        assert env.observation_space.contains(first)
        again, _ = env.reset(seed=1, options=dict(options))
        assert same(first, again)
    with pytest.raises(cranium.CraniumError, match="no such option for reset: 'gold'"):
        env.reset(options={"gold": 3})


@EVERY
def test_processes_of_their_own_do_the_same(name):
    multiprocessing.set_forkserver_preload(["cranium"])  # else every process imports it anew
    made = [functools.partial(gym.make, name)] * 2
    many = gym.vector.AsyncVectorEnv(made, context="forkserver")
    try:
        single = [gym.make(name) for _ in made]
        observation, _ = many.reset(seed=[3, 4])
        alone = [env.reset(seed=3 + i)[0] for i, env in enumerate(single)]
        rng = np.random.default_rng(0)
        for _ in range(20):
            for i, seen in enumerate(alone):
                assert same(part(observation, i), seen)
            actions = draw(single[0], rng, 2)
            observation, rewards, terminated, truncated, _ = many.step(actions)
            steps = [env.step(action) for env, action in zip(single, actions, strict=True)]
            alone = [step[0] for step in steps]
            assert [step[1] for step in steps] == list(rewards)
            if terminated.any() or truncated.any():
                assert [step[2] for step in steps] == list(terminated)
                break
    finally:
        many.close()


def part(observation, i):
    """What one of several environments has seen."""
    if isinstance(observation, dict):
        return {key: part(value, i) for key, value in observation.items()}
    return observation[i]


@pytest.mark.parametrize(
    "name",
    [
        "cranium/Letter-anbcdn-v0",
        "cranium/Office-mail-and-coffee-v0",
        "cranium/Point-deliver-v0",
        "cranium/Water-balance-v0",
    ],
)
@pytest.mark.parametrize(
    "mode", [gym.vector.AutoresetMode.NEXT_STEP, gym.vector.AutoresetMode.SAME_STEP]
)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_vector_environments_agree_with_single_ones(name, mode, kind):
    settings = {"autoreset_mode": mode}
    if kind == "async":
        settings["context"] = "forkserver"  # JAX, if a test has started it, warns of a plain fork
    many = gym.make_vec(name, num_envs=2, vectorization_mode=kind, vector_kwargs=settings)
    try:
        single = [gym.make(name) for _ in range(2)]
        observation, _ = many.reset(seed=5)
        alone = [env.reset(seed=5 + i)[0] for i, env in enumerate(single)]
        done = [False, False]
        rng = np.random.default_rng(2)
        for _ in range(250):
            actions = draw(single[0], rng, 2)
            observation, rewards, terminated, truncated, info = many.step(actions)
            for i, env in enumerate(single):
                if mode == gym.vector.AutoresetMode.NEXT_STEP and done[i]:
                    alone[i], _ = env.reset()
                    done[i] = False
                    assert rewards[i] == 0
                    continue
                alone[i], reward, over, cut, own = env.step(actions[i])
                assert (reward, over, cut) == (rewards[i], terminated[i], truncated[i])
                done[i] = over or cut
                final = info.get("final_info", info)
                if mode == gym.vector.AutoresetMode.SAME_STEP and done[i]:
                    assert final["success"][i] == own["success"]
                    alone[i], _ = env.reset()
                elif not done[i]:
                    assert info["machine_state"][i] == own["machine_state"]
            for key in ("machine_state", "counters", "ground"):
                assert same(observation[key][0], alone[0][key])
                assert same(observation[key][1], alone[1][key])
    finally:
        many.close()


def test_unknown_worlds_and_tasks_are_refused_with_the_nearest():
    with pytest.raises(cranium.CraniumError, match="no such world: 'Lettre'"):
        make_world("Lettre")
    with pytest.raises(cranium.CraniumError, match="no such task in the world Office: 'mial'"):
        make_product("Office", "mial")


@pytest.mark.sb3
@EVERY
def test_the_checker_of_stable_baselines_is_content(name):
    from stable_baselines3.common.env_checker import check_env as check_sb3

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*")  # advice, not errors
        check_sb3(gym.make(name, render_mode="rgb_array"))
