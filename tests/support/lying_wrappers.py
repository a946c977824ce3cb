"""Wrappers around a product that change what it does, and some that do not."""

from __future__ import annotations

import gymnasium as gym
import numpy as np


class Walk(gym.Env):
    """Six cells; action 1 goes right, 0 left."""

    observation_space = gym.spaces.Discrete(6)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return 0, {}

    def step(self, action):
        self.cell = min(5, self.cell + 1) if action else max(0, self.cell - 1)
        return self.cell, 0.0, False, False, {}


class Skips(gym.Wrapper):
    """Repeats an action three times, as frame skipping does."""

    def step(self, action):
        total = 0.0
        for _ in range(3):
            seen, reward, terminated, truncated, info = self.env.step(action)
            total += reward
            if terminated or truncated:
                break
        return seen, total, terminated, truncated, info


class SkipsToTheEnd(gym.Wrapper):
    """Takes one step, or all that are left at once: the product is then over."""

    def step(self, action):
        while True:
            told = self.env.step(action)
            if told[2] or told[3] or action == 0:
                return told


class Hides(gym.Wrapper):
    """Says nothing of an end (2), or of being cut off (3)."""

    def __init__(self, env, which):
        super().__init__(env)
        self.which = which

    def step(self, action):
        told = list(self.env.step(action))
        told[self.which] = False
        return tuple(told)


class Resets(Hides):
    """Begins the next episode by itself, and says nothing of the end of the last."""

    def step(self, action):
        told = list(self.env.step(action))
        if told[self.which]:
            told[0], _ = self.env.reset()
            told[self.which] = False
        return tuple(told)


class Softens(gym.Wrapper):
    """Calls every end one that was cut off."""

    def step(self, action):
        seen, reward, terminated, truncated, info = self.env.step(action)
        return seen, reward, False, terminated or truncated, info


class Ends(gym.Wrapper):
    """Ends every episode after its second step."""

    def reset(self, **options):
        self.count = 0
        return self.env.reset(**options)

    def step(self, action):
        self.count += 1
        seen, reward, terminated, truncated, info = self.env.step(action)
        return seen, reward, terminated or self.count == 2, truncated, info


class Pays(gym.Wrapper):
    """Pays a little more."""

    def step(self, action):
        seen, reward, *rest = self.env.step(action)
        return seen, reward + 1e-8, *rest


class Doubles(gym.Wrapper):
    """Pays twice as much."""

    def step(self, action):
        seen, reward, *rest = self.env.step(action)
        return seen, 2 * reward, *rest


class Warms(gym.Wrapper):
    """Takes a step in reset, as no-op resets do."""

    def reset(self, **options):
        self.env.reset(**options)
        seen, *_, info = self.env.step(0)
        return seen, info


class Mutes(gym.Wrapper):
    """Tells no events."""

    def step(self, action):
        *told, info = self.env.step(action)
        return *told, {**info, "label": frozenset()}


class Keeps(gym.Wrapper):
    """Tells nothing at all."""

    def step(self, action):
        return *self.env.step(action)[:4], {}


class Idles(gym.Wrapper):
    """Does nothing every other time."""

    last = None

    def reset(self, **options):
        self.last = None
        return self.env.reset(**options)

    def step(self, action):
        if self.last is None:
            self.last = self.env.step(action)
            return self.last
        told, self.last = self.last, None
        return told


LIARS = {
    "skips": (Skips, "takes several of its steps at once"),
    "skips to the end": (SkipsToTheEnd, "takes several of its steps at once"),
    "hides the end": (
        lambda env: Hides(env, 2),
        "hides the end of an episode|was terminated as truncated",
    ),
    "hides the cut": (lambda env: Hides(env, 3), "hides the end of an episode"),
    "resets at the end": (lambda env: Resets(env, 2), "begins the next episode by itself"),
    "resets at the cut": (lambda env: Resets(env, 3), "begins the next episode by itself"),
    "softens": (Softens, "reports an episode that was terminated as truncated"),
    "ends": (Ends, "ends episodes"),
    "pays": (Pays, "changes the reward"),
    "doubles": (Doubles, "changes the reward"),
    "idles": (Idles, "takes no step"),
}
"""What is found out wherever environments step in Python, and what is said of it."""

DUMB = {
    "warms up": (Warms, "takes steps of its own in reset"),
    "mutes": (Mutes, "changes the labels in info"),
    "keeps": (Keeps, "info has no 'label'"),
}
"""What is found out where a learner is told labels by a product in the same process."""


class Single(gym.Wrapper):
    """Rewards in another kind of number, and in single precision."""

    def step(self, action):
        seen, reward, *rest = self.env.step(action)
        return seen, np.float32(reward), *rest


HONEST = {
    "time limit": lambda env: gym.wrappers.TimeLimit(env, 3),
    "statistics": gym.wrappers.RecordEpisodeStatistics,
    "single precision": Single,
    "order": gym.wrappers.OrderEnforcing,
    "nothing": gym.Wrapper,
}
"""What may stand around a product."""
