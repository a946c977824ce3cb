"""Random worlds, machines and settings of learners, and tasks in which much happens."""

from __future__ import annotations

from itertools import product

import gymnasium as gym
import numpy as np
from hypothesis import strategies as st
from support.naive_machine import all_labels
from support.strategies import build_for_tables, guard_for, specs

import cranium
from cranium import Transition
from cranium.learners import Schedule, TabularConfig, Visits
from cranium.worlds import FiniteEnv, Outcome

NAMES = ["A", "B"]
LABELS = all_labels(NAMES)
GUARDS = [guard_for(frozenset([label]), NAMES) for label in LABELS]


def paying_machine():
    """Go to the goal; every step pays something odd, by a reward function."""
    return cranium.loads(
        """
        propositions: [goal]
        initial: u
        terminal: [done]
        accepting: [done]
        transitions:
          - {from: u, when: goal, to: done, reward: near}
          - {from: u, when: "!goal", reward: near}
        """,
        rewards={"near": lambda s, a, t: int(np.ravel(t)[0] - np.ravel(s)[0]) / 10 - 0.01 * a},
    )


@st.composite
def tasks(draw, counters=1):
    """A machine and a world: anything small, or one in which much happens."""
    if draw(st.booleans()):
        machine = build_for_tables(draw(specs(max_counters=counters)))
        return machine, draw(random_worlds(machine.propositions))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return lively_machine(rng, draw(st.integers(0, counters))), lively_world(rng)


def lively_machine(rng, counters):
    """States u, v, w, all connected, which count up and down, pay and cost; x is seldom met.

    Only A and B together lead to x, which refuses most labels; the world never shows both.
    """
    rules = []
    for source, pattern, i in product("uvw", product("01", repeat=counters), range(4)):
        target = str(rng.choice(["u", "v", "w", "won"], p=[0.3, 0.3, 0.3, 0.1]))
        if source == "u" and i == 3:
            target = "x"
        rules.append(
            Transition(
                source=source,
                guard=GUARDS[i],
                zero_pattern="".join(pattern),
                target=target,
                change=tuple(int(rng.integers(-(digit == "1"), 2)) for digit in pattern),
                reward=float(rng.integers(-1, 2)),
            )
        )
    rules.append(Transition(source="x", guard=GUARDS[1], target="u", zero_pattern="*" * counters))
    return cranium.CountingRewardAutomaton(
        propositions=NAMES,
        counters=[f"n{i}" for i in range(counters)],
        initial="u",
        terminal=["won"],
        accepting=["won"],
        otherwise="error",
        transitions=rules,
    )


def lively_world(rng, *, random=True):
    """Four states, two actions, up to three outcomes each, some of which end."""
    table = [
        [
            (int(rng.integers(1, 4)), int(s), LABELS[rng.integers(3)], bool(rng.random() < 0.1))
            for s in rng.permutation(4)[: rng.integers(1, 4) if random else 1]
        ]
        for _ in range(8)
    ]
    return RandomWorld(4, table, ("A", "B"))


class RandomWorld(FiniteEnv):
    """A finite world from a table: for each state and action, outcomes.

    An outcome is a weight, the next state, the label and whether it terminates.
    """

    def __init__(self, states, table, vocabulary):
        super().__init__()
        self.states, self.table, self.vocabulary = states, table, vocabulary
        self.action_space = gym.spaces.Discrete(2)
        self.observation_space = gym.spaces.MultiDiscrete([states])

    def initial(self, options):
        return [(1.0, 0)]

    def outcomes(self, state, action):
        row = self.table[state * 2 + action]
        total = sum(weight for weight, *_ in row)
        return [Outcome(weight / total, after, ends) for weight, after, _, ends in row]

    def label(self, state, action, after):
        row = self.table[state * 2 + action]
        return next(events for _, found, events, _ in row if found == after)

    def observe(self, state):
        return np.array([state])


@st.composite
def random_worlds(draw, vocabulary):
    """Worlds of one to four states, with two actions and any labels of the vocabulary."""
    states = draw(st.integers(1, 4))
    events = st.frozensets(st.sampled_from(vocabulary))
    outcome = st.tuples(st.integers(1, 3), st.integers(0, states - 1), events, st.booleans())
    row = st.lists(outcome, min_size=1, max_size=3, unique_by=lambda found: found[1])
    table = draw(st.lists(row, min_size=2 * states, max_size=2 * states))
    return RandomWorld(states, table, vocabulary)


TABULAR_CONFIGS = st.builds(
    TabularConfig,
    configurations=st.sampled_from(["current", "seen", "reachable"]),
    learning_rate=st.sampled_from(
        [1.0, 0.3, Schedule(1.0, 0.1, 20), Schedule(1.0, 0.1, 7, unit="episodes"), Visits(0.7)]
    ),
    discount=st.sampled_from([0.9, 1.0]),
    exploration=st.sampled_from(
        [0.0, 0.5, 1.0, Schedule(1.0, 0.0, 30), Schedule(1.0, 0.0, 9, unit="episodes")]
    ),
    initial_value=st.sampled_from([0.0, 1.0]),
    shaping=st.sampled_from([False, True]),
)
