"""Fill a replay buffer from any loop, and step the machine by hand for everything it samples."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import cranium
from cranium import RewardFunction
from cranium.counterfactual import CounterfactualReplay
from cranium.tables.configurations import apply_limit, is_overflow


def fill_from_one(replay, env, steps, seed=0):
    """Random actions in one environment; ``dones`` are ``terminated``."""
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    for _ in range(steps):
        action = env.action_space.sample()
        after, reward, terminated, truncated, info = env.step(action)
        replay.add(observation, after, action, reward, terminated, info)
        observation = env.reset()[0] if terminated or truncated else after


def fill_from_vector(replay, envs, steps, seed=0, *, whole_dones=False):
    """Random actions in a vector environment, as in a script of CleanRL."""
    envs.action_space.seed(seed)
    observations, _ = envs.reset(seed=seed)
    for _ in range(steps):
        actions = envs.action_space.sample()
        after, rewards, terminated, truncated, infos = envs.step(actions)
        dones = terminated | truncated if whole_dones else terminated
        replay.add(observations, after, actions, rewards, dones, infos)
        observations = after


def vector_of(clocks, machine, mode=AutoresetMode.NEXT_STEP, **options):
    makers = [lambda c=c: cranium.product(c, machine, **options) for c in clocks]
    return SyncVectorEnv(makers, autoreset_mode=mode)


def one_of(observations, i):
    if isinstance(observations, dict):
        return {key: part[i] for key, part in observations.items()}
    return observations[i]


def check_batch(replay: CounterfactualReplay, clocks, machine, size=64, *, ground=False):
    """Compare every sampled transition with the machine; returns the configurations before it."""
    encoding, sources = replay.source.encoding, []
    log = {key: entry for clock in clocks for key, entry in clock.log.items()}
    batch = replay.sample(size)
    assert len(batch.actions) == len(batch.rewards) == size
    for i in range(size):
        seen, source = encoding.decode(one_of(batch.observations, i))
        before, taken, then, events, ended, own = log[tuple(np.ravel(seen))]
        assert not is_overflow(source)
        assert not machine.is_terminal(source)
        step = machine.step(source, events & set(machine.propositions))
        target = apply_limit(step.configuration, encoding.counter_limit)
        due = step.reward
        if isinstance(due, RewardFunction):
            due = due(before, taken, then)
        shown, reached = encoding.decode(one_of(batch.next_observations, i))
        assert reached == target
        assert tuple(np.ravel(shown)) == tuple(then)
        assert batch.rewards[i] == pytest.approx(due + own * ground, rel=1e-5, abs=1e-5)
        over = is_overflow(target) or machine.is_terminal(target)
        assert batch.dones[i] == float(over or ended)
        assert np.all(batch.actions[i] == taken)
        sources.append(source)
    return sources


class AddsToRewards(gym.Wrapper):
    def step(self, action):
        observation, reward, *rest = self.env.step(action)
        return observation, reward + 3, *rest
