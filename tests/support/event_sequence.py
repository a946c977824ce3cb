"""A world with a fixed sequence of events, a machine that counts them, and the counters seen."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

import cranium
from cranium.worlds import FiniteEnv, Outcome


class EventSequence(FiniteEnv):
    """Emits the same sequence of labels again and again, whatever the action; some steps end it."""

    vocabulary = ("A", "B", "C")
    action_space = gym.spaces.Discrete(1)

    def __init__(self, events, ends=()):
        super().__init__()
        self.sequence, self.ends = events, ends
        self.observation_space = gym.spaces.Discrete(len(events))

    def initial(self, options):
        return [(1.0, 0)]

    def outcomes(self, state, action):
        return [Outcome(1.0, (state + 1) % len(self.sequence), terminated=state in self.ends)]

    def label(self, state, action, after):
        return frozenset(self.sequence[state])

    def observe(self, state):
        return np.int64(state)


def up_down_machine():
    """A counts up, B counts down, C ends and counts up by five, which is seen nowhere else."""
    steps = [
        {"source": "u", "guard": "A & !B & !C", "change": (1,)},
        {"source": "u", "guard": "B & !A & !C", "zero_pattern": "1", "change": (-1,)},
        {"source": "u", "guard": "C & !A & !B", "target": "done", "change": (5,)},
    ]
    return cranium.CountingRewardAutomaton(
        propositions=["A", "B", "C"],
        counters=["n"],
        initial="u",
        terminal=["done"],
        accepting=["done"],
        transitions=[cranium.Transition(**one) for one in steps],
    )


def expected_seen_counters(events, ends, horizon, steps):
    """The counter values in which the agent has to act, from stepping the machine itself."""
    task = up_down_machine()
    x, time, age, seen = task.start, 0, 0, {task.start.counters}
    for _ in range(steps):
        x, age = task.step(x, set(events[time])).configuration, age + 1
        over = task.is_terminal(x) or time in ends or age == horizon
        time = (time + 1) % len(events)
        if over:
            x, time, age = task.start, 0, 0
        seen.add(x.counters)
    return seen
