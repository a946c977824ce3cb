"""Machines and worlds in which much happens in an episode."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st
from laws.test_table_laws import RandomWorld, machine_of, random_worlds
from support.naive_machine import all_labels
from support.strategies import guard_for, specs

import cranium
from cranium import Transition

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
        machine = machine_of(draw(specs(max_counters=counters)))
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
