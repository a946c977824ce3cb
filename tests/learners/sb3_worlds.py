"""Worlds, wrappers and tasks for the tests of the door to Stable-Baselines3."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

import cranium


class Clock(gym.Env):
    """Every observation occurs once: it says whose it is and when; so a sample tells its step."""

    def __init__(self, name=0, vocabulary=("A", "B", "C"), actions=None, events=None, ends=0.1):
        self.name, self.vocabulary, self.ends, self.given = name, vocabulary, ends, events
        self.observation_space = gym.spaces.Box(-1, 10**6, (2,), np.float32)
        self.action_space = actions or gym.spaces.Discrete(3)
        self.events, self.time, self.log = frozenset(), 0, {}
        self.rng = np.random.default_rng(name)

    def look(self):
        return np.array([self.name, self.time], np.float32)

    def reset(self, *, seed=None, options=None):
        self.time += 1
        return self.look(), {}

    def step(self, action):
        before = self.look()
        self.time += 1
        drawn = frozenset(e for e in self.vocabulary if self.rng.random() < 0.4)
        self.events = drawn if self.given is None else self.given
        ended, cut = (bool(self.rng.random() < self.ends) for _ in range(2))
        own = float(self.rng.integers(3))
        after = self.look()
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
