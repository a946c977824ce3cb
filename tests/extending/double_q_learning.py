"""Double Q-learning with counterfactual experience, as an agent of a user's own.

Two tables are kept; one chooses the best next action, the other one values it. Every transition is
relabelled with all configurations that the machine can reach.
"""

import numpy as np

import cranium
from cranium.learners import Policy


class DoubleQLearning:
    """Counterfactual Double Q-learning (van Hasselt, 2010), in tables."""

    def __init__(self, problem, *, discount=0.99, learning_rate=0.5, epsilon=0.1):
        self.problem = problem
        self.discount = discount
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.tables = {}  # from observations to values: [2, X, A]
        self.observations = []

    def values(self, observation):
        """Return both tables of an observation, with room for all known configurations."""
        key = tuple(np.ravel(observation))
        table = self.tables.get(key)
        if table is None:
            self.observations.append(observation)
        known = 0 if table is None else table.shape[1]
        missing = len(self.problem.space) - known
        if missing:
            new = np.full((2, missing, self.problem.action_space.n), 0.5)
            table = new if table is None else np.concatenate([table, new], axis=1)
            self.tables[key] = table
        return table

    def act(self, observation, configuration):
        """Choose an action, ε-greedily on the sum of both tables."""
        rng = self.problem.rng
        if rng.random() < self.epsilon:
            return int(rng.integers(self.problem.action_space.n))
        values = self.values(observation)[:, configuration].sum(axis=0)
        return int(rng.choice(np.flatnonzero(values == values.max())))

    def observe(self, sample):
        """Update one of the tables, drawn at random, in every configuration at once."""
        found = self.problem.relabel(sample, "reachable")
        before, after = (
            self.values(sample.observation),
            self.values(sample.next_observation),
        )
        one, other = self.problem.rng.permutation(2)
        best = after[one, found.target].argmax(axis=-1)
        ahead = np.where(found.terminated, 0.0, after[other, found.target, best])
        error = found.reward + self.discount * ahead - before[one, found.source, sample.action]
        step = self.learning_rate * found.weight * error
        before[one, found.source, sample.action] += step

    def policy(self):
        """Return the greedy policy of both tables together."""
        q = np.array([self.values(seen).sum(axis=0) for seen in self.observations])
        configurations = tuple(self.problem.space.configurations)
        machine = self.problem.product.automaton
        space = self.problem.observation_space
        return Policy(q, tuple(self.observations), configurations, machine, observation_space=space)

    def save(self, path):
        """Write the policy, which ``Policy.load`` reads."""
        self.policy().save(path)


cranium.learners.register("double-q", DoubleQLearning)
