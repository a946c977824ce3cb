"""Worlds, wrappers and tasks for the tests of the door to Stable-Baselines3."""

from __future__ import annotations

import importlib

import gymnasium as gym
import numpy as np
import pytest

import cranium
from cranium import RewardFunction
from cranium.aamdp import BoxEncoding
from cranium.errors import RunError
from cranium.tables.configurations import apply_limit, is_overflow

NEVER = 10**9


def algorithm(env, replay, kind=None, **options):
    """An algorithm that only collects: at random, and never learns."""
    kind = kind or importlib.import_module("stable_baselines3").DQN
    dictionary = isinstance(env.observation_space, gym.spaces.Dict)
    policy = "MultiInputPolicy" if dictionary else "MlpPolicy"
    settings = {"buffer_size": 400, "learning_starts": NEVER, "policy_kwargs": {"net_arch": [4]}}
    return kind(policy, env, **{**settings, "device": "cpu", "seed": 0, **replay, **options})


def collect(clocks, machine, *, steps=60, encoding=None, imagined=0.5, kind="reachable", **options):
    """Several clocks with one task; what was stored, by an unmodified algorithm."""
    vectors = importlib.import_module("stable_baselines3.common.vec_env")
    counterfactual = importlib.import_module("cranium.learners.sb3").counterfactual
    encoding = encoding or BoxEncoding("raw")
    settings = {"counter_limit": 4, **options, "encoding": encoding}
    make = [lambda c=c: counterfactual(c, machine, **settings)[0] for c in clocks]
    env, replay = counterfactual(
        vectors.DummyVecEnv(make), counterfactual_ratio=imagined, configurations=kind
    )
    model = algorithm(env, replay)
    try:
        model.learn(steps)
        model.learn(steps)  # resets in the middle of an episode
    except RunError:
        pass  # the machine refused
    return model.replay_buffer


def elsewhere(env):
    """As if the environments ran in other processes: nobody gets at them."""
    wrapper = importlib.import_module("stable_baselines3.common.vec_env").VecEnvWrapper

    class Elsewhere(wrapper):
        unwrapped = None

        def reset(self):
            return self.venv.reset()

        def step_wait(self):
            return self.venv.step_wait()

    return Elsewhere(env)


def numpy_of(samples, i):
    def pick(value):
        return (
            {k: pick(v) for k, v in value.items()} if isinstance(value, dict) else value[i].numpy()
        )

    found = [pick(part) for part in samples[:5]]
    for part in found:
        if isinstance(part, dict):
            part["machine_state"] = part["machine_state"].item()
    return found


def check(buffer, clocks, machine, size=64, *, ground=False):
    """Step the machine by hand for every sample; returns the configurations they begin in."""
    encoding, sources = buffer.replay.transitions.encoding, []
    log = {key: entry for clock in clocks for key, entry in clock.log.items()}
    samples = buffer.sample(size)
    assert len(samples.actions) == size
    for i in range(size):
        observation, action, after, done, reward = numpy_of(samples, i)
        seen, source = encoding.decode(observation)
        before, taken, then, events, ended, own = log[tuple(np.ravel(seen))]
        assert not machine.is_terminal(source)
        assert not is_overflow(source)
        step = machine.step(source, events & set(machine.propositions))
        target = apply_limit(step.configuration, encoding.counter_limit)
        due = step.reward
        if isinstance(due, RewardFunction):
            due = due(before, taken, then)
        shown, reached = encoding.decode(after)
        if is_overflow(target):
            assert is_overflow(reached)
        else:
            assert reached == target
        assert tuple(np.ravel(shown)) == tuple(then)
        assert reward.item() == pytest.approx(due + own * ground, rel=1e-5, abs=1e-5)
        over = is_overflow(target) or machine.is_terminal(target)
        assert done.item() == float(over or ended)
        assert np.all(action == taken)
        sources.append(source)
    return sources


class Clock(gym.Env):
    """Every observation occurs once: it says whose it is and when; so a sample tells its step."""

    def __init__(
        self, name=0, vocabulary=("A", "B", "C"), actions=None, events=None, ends=0.1, kind="f4"
    ):
        self.name, self.vocabulary, self.ends, self.given = name, vocabulary, ends, events
        self.observation_space = gym.spaces.Box(-1, 10**6, (2,), np.dtype(kind))
        self.action_space = actions or gym.spaces.Discrete(3)
        self.events, self.time, self.log = frozenset(), 0, {}
        self.rng = np.random.default_rng(name)

    def observe(self):
        return np.array([self.name, self.time], self.observation_space.dtype)

    def reset(self, *, seed=None, options=None):
        self.time += 1
        return self.observe(), {}

    def step(self, action):
        before = self.observe()
        self.time += 1
        drawn = frozenset(e for e in self.vocabulary if self.rng.random() < 0.4)
        given = self.given(self.time) if callable(self.given) else self.given
        self.events = drawn if given is None else given
        ended, cut = (bool(self.rng.random() < self.ends) for _ in range(2))
        own = float(self.rng.integers(3))
        after = self.observe()
        self.log[tuple(before)] = (before, action, after, self.events, ended, own)
        return after, own, ended, cut and not ended, {}


def early(s, a, t):
    return float(s[1]) + 0.25 * float(np.sum(a))


def late(s, a, t):
    return -float(t[1])


class Slope(gym.Env):
    """A continuous world: the action moves, from 0 to 10; the events are those of a labelling."""

    observation_space = gym.spaces.Box(-1e6, 1e6, (1,), np.float64)
    action_space = gym.spaces.Box(0.0, 10.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        self.x = 1000.0
        return np.array([self.x]), {}

    def step(self, action):
        self.x += float(action[0]) * 100
        return np.array([self.x]), 0.0, self.x > 3000, False, {}


@cranium.labelling("far")
def far(s, a, t):
    return "far" if t[0] > 2000 else ()


def cost(s, a, t):
    return -float(a[0]) + (float(t[0]) - float(s[0])) / 7


def climber(function=cost):
    rules = """
        propositions: [far]
        initial: u
        transitions:
          - {from: u, when: far, reward: cost, to: v}
          - {from: u, when: "!far", reward: cost}
          - {from: v, when: far, reward: 5}
          - {from: v, when: "!far", reward: cost, to: u}
    """
    return cranium.loads(rules, rewards={"cost": function})


class Ending(gym.Wrapper):
    def step(self, action):
        observation, reward, _, truncated, info = self.env.step(action)
        return observation, reward, True, truncated, info


class Hiding(gym.Wrapper):
    """Begins the next episode by itself, and tells nobody."""

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            observation, _ = self.env.reset()
        return observation, reward, False, False, info


class Softening(gym.Wrapper):
    """Says that what ended was cut off."""

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, False, terminated or truncated, info


class Paying(gym.Wrapper):
    """Pays something more for each step."""

    def __init__(self, env, more):
        super().__init__(env)
        self.more = more

    def step(self, action):
        observation, reward, *rest = self.env.step(action)
        return observation, reward + self.more, *rest


class Discreet(gym.Wrapper):
    """Keeps something back."""

    def __init__(self, env, key):
        super().__init__(env)
        self.key = key

    def step(self, action):
        *told, info = self.env.step(action)
        return *told, {key: value for key, value in info.items() if key != self.key}


class Repeated(gym.Wrapper):
    """Does everything three times."""

    def step(self, action):
        for _ in range(3):
            observation, reward, terminated, truncated, info = self.env.step(action)
            if terminated or truncated:
                break
        return observation, reward, terminated, truncated, info


class Rescaled(gym.ObservationWrapper):
    def observation(self, observation):
        return observation / 2


class Longer(gym.ObservationWrapper):
    def __init__(self, env):
        super().__init__(env)
        self.observation_space = gym.spaces.Box(-1, 1, (99,))

    def observation(self, observation):
        return np.zeros(99, np.float32)


class Line(gym.Env):
    """Five cells in a row, from the middle; left and right."""

    observation_space = gym.spaces.Discrete(5)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.x = 2
        return self.x, {}

    def step(self, action):
        self.x = min(max(self.x + (1 if action else -1), 0), 4)
        return self.x, 0.0, False, False, {}


ENDS = cranium.labelling_from_cells({0: "left", 4: "right"})
TASK = cranium.loads(
    """
    propositions: [left, right]
    initial: a
    terminal: [done]
    accepting: [done]
    transitions:
      - {from: a, when: right, to: b}
      - {from: b, when: left, to: c}
      - {from: c, when: right, to: done, reward: 1}
    """
)
