"""Options with dictionaries, slowly and obviously."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from support.naive_learning import pick

from cranium.errors import RunError
from cranium.learners.tabular.options import targets


def near_best(values):
    return {key for key in values if values[key] == pytest.approx(max(values.values()), abs=1e-9)}


def after_label(machine, x, label):
    """Where a label leads, and what it pays; None if the machine refuses it."""
    try:
        found = machine.step(x, label)
    except RunError:
        return None
    return found.configuration, found.reward


class Naive:
    """Options with dictionaries, slowly and obviously, with the same random numbers."""

    def __init__(self, world, machine, config, horizon, seed):
        first, second = np.random.SeedSequence(seed).spawn(2)
        self.rng = np.random.default_rng(first)
        self.nature = np.random.default_rng(int(second.generate_state(1)[0]))
        self.world, self.machine, self.config, self.horizon = world, machine, config, horizon
        self.options = targets(machine)
        self.actions = range(world.action_space.n)
        self.low = defaultdict(lambda: float(config.initial_value))
        self.high = defaultdict(lambda: float(config.initial_value))
        self.tried = set()
        self.log = []

    def see(self, state):
        return tuple(self.world.observe(state).tolist())

    def choose(self, values, explore, which):
        if explore < self.config.exploration:
            return int(which * len(values))
        ties = [i for i, value in enumerate(values) if value == max(values)]
        return ties[int(which * len(ties))]

    def learn(self, o, action, o2, label, terminated):
        learned = {}
        for x, ends in self.options.items():
            for y in ends:
                found = after_label(self.machine, x, label)
                if found is None:
                    continue
                then, target = found
                if then == y:
                    target = self.config.success_reward
                elif then != x:
                    target = self.config.failure_reward
                elif not terminated:
                    best = max(self.low[o2, x, y, a] for a in self.actions)
                    target += self.config.discount * best
                value = self.low[o, x, y, action]
                learned[o, x, y, action] = value + self.config.learning_rate * (target - value)
        self.low |= learned  # all at once

    def settle(self, began, x, y, rewards, o2, x2, terminated):
        # Multiplied step by step, because powers round differently, and a tie may turn on that.
        target, weight = 0.0, 1.0
        for reward in rewards:
            target += weight * reward
            weight *= self.config.discount
        if not terminated and self.options[x2]:
            best = max(self.high[o2, x2, y2] for y2 in self.options[x2])
            target += weight * best
        value = self.high[began, x, y]
        self.high[began, x, y] = value + self.config.learning_rate * (target - value)
        self.tried.add((began, x, y))

    def train(self, steps):
        samples = steps
        while steps > 0:
            state, x, age = pick(self.nature, self.world.initial({})), self.machine.start, 0
            option, over, earned = None, False, 0.0
            while steps > 0 and not over:
                o = self.see(state)
                explore, which, vary, any_action = (self.rng.random() for _ in range(4))
                if option is None and self.options[x]:
                    values = [self.high[o, x, y] for y in self.options[x]]
                    option = o, x, self.options[x][self.choose(values, explore, which)]
                    rewards = []
                if option is None:
                    action = int(any_action * len(self.actions))
                else:
                    values = [self.low[o, x, option[2], a] for a in self.actions]
                    action = self.choose(values, vary, any_action)
                found = [(out.probability, out) for out in self.world.outcomes(state, action)]
                out = pick(self.nature, found)
                label = self.world.label(state, action, out.state)
                self.learn(o, action, self.see(out.state), label, out.terminated)
                x2, reward = after_label(self.machine, x, label)
                ended = out.terminated or self.machine.is_terminal(x2)
                age, steps, earned = age + 1, steps - 1, earned + reward
                over = ended or age == self.horizon
                if option is not None:
                    rewards.append(reward)
                    if over or x2 != x:
                        self.settle(*option, rewards, self.see(out.state), x2, ended)
                        option = None
                state, x = out.state, x2
            if over:
                self.log.append((samples - steps, earned, self.machine.is_accepting(x)))

    def greedy(self, o, x):
        """The best actions of the best options; between equals rounding may decide."""
        worth = {y: self.high[o, x, y] for y in self.options[x] if (o, x, y) in self.tried}
        if not worth:
            for y in self.options[x]:
                found = [self.high[key] for key in self.tried if key[1:] == (x, y)]
                worth[y] = np.mean(found) if found else -np.inf
        good = set()
        for y in near_best(worth):
            good |= near_best({a: self.low[o, x, y, a] for a in self.actions})
        return good or {0}
