"""Which counter values are seen: the same for tables and networks, compiled or in Python."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranium
from cranium.learners.tabular import kernels
from cranium.learners.training import _prepare
from cranium.worlds import FiniteEnv, Outcome

SMALL = {"hidden": (4,), "batch": 2, "warmup": 1000, "replay": 50}
PATHS = [("cql", "compiled"), ("cql", "python"), ("cdqn", "compiled"), ("cdqn", "python")]


class Tape(FiniteEnv):
    """Shows events one after the other, again and again, whatever is done; some steps end it."""

    vocabulary = ("A", "B", "C")
    action_space = gym.spaces.Discrete(1)

    def __init__(self, events, ends=()):
        super().__init__()
        self.tape, self.ends = events, ends
        self.observation_space = gym.spaces.Discrete(len(events))

    def initial(self, options):
        return [(1.0, 0)]

    def outcomes(self, state, action):
        return [Outcome(1.0, (state + 1) % len(self.tape), terminated=state in self.ends)]

    def label(self, state, action, after):
        return frozenset(self.tape[state])

    def observe(self, state):
        return np.int64(state)


def machine():
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


def expected(tape, ends, horizon, steps):
    """The counter values of the configurations in which an action is due, asked of the machine."""
    task = machine()
    x, time, age, seen = task.start, 0, 0, {task.start.counters}
    for _ in range(steps):
        x, age = task.step(x, set(tape[time])).configuration, age + 1
        over = task.is_terminal(x) or time in ends or age == horizon
        time = (time + 1) % len(tape)
        if over:
            x, time, age = task.start, 0, 0
        seen.add(x.counters)
    return seen


def seen_by(env, learner, path, steps):
    """Those that a learner has written down after so many samples."""
    told = SMALL if learner == "cdqn" else {}
    more = {"configurations": "seen", "path": path, "evaluate_every": steps, **told}
    run = _prepare(env, learner, steps=steps, seed=0, **more).run
    while run.agent.tables.position[kernels.SAMPLES] < steps:
        assert run.learn(steps) == kernels.RUNNING
    arrays, space = run.agent.tables.arrays, run.agent.tables.space
    known = arrays.known
    if learner == "cdqn":
        known = np.asarray(run.life.known if path == "compiled" else run.known)
    return {
        configuration.counters
        for x, configuration in enumerate(space.configurations)
        if known[arrays.counters[x]] and configuration.state == "u"
    }


@settings(max_examples=15)
@given(st.data())
def test_tables_and_networks_have_seen_the_same_counters(data):
    tape = tuple(data.draw(st.lists(st.sampled_from(["A", "AA", "B", "C", ""]), min_size=2)))
    tape = tuple(one[:1] for one in tape)
    ends = data.draw(st.sets(st.integers(0, len(tape) - 1), max_size=1))
    horizon, steps = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 20))
    wanted = expected(tape, ends, horizon, steps)
    for learner, path in PATHS:
        env = cranium.product(Tape(tape, ends), machine(), horizon=horizon)
        assert seen_by(env, learner, path, steps) == wanted, (learner, path)


@pytest.mark.parametrize(("learner", "path"), PATHS)
def test_where_an_episode_is_over_nothing_is_seen(learner, path):
    """After two As the horizon is reached; a C ends with five more: neither is acted in."""
    env = cranium.product(Tape(("A", "A", "A")), machine(), horizon=2)
    assert seen_by(env, learner, path, 10) == {(0,), (1,)}
    env = cranium.product(Tape(("A", "C")), machine(), horizon=9)
    assert seen_by(env, learner, path, 10) == {(0,), (1,)}
