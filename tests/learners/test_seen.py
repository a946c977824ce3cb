"""Which counter values are seen: the same for tables and networks, compiled or in Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.event_sequence import EventSequence, expected_seen_counters, up_down_machine

import cranium
from cranium.learners.preparation import prepare_loop
from cranium.learners.tabular import kernels

SMALL = {"hidden": (4,), "batch": 2, "warmup": 1000, "replay": 50}
PATHS = [("cql", "compiled"), ("cql", "python"), ("cdqn", "compiled"), ("cdqn", "python")]


def seen_by(env, learner, path, steps):
    """Those that a learner has written down after so many samples."""
    told = SMALL if learner == "cdqn" else {}
    more = {"configurations": "seen", "path": path, "evaluate_every": steps, **told}
    run = prepare_loop(env, learner, steps=steps, seed=0, **more).run
    while run.agent.tables.position[kernels.SAMPLES] < steps:
        assert run.learn(steps) == kernels.RUNNING
    arrays, space = run.agent.tables.arrays, run.agent.tables.space
    known = arrays.known
    if learner == "cdqn":
        known = np.asarray(run.state.seen_counters if path == "compiled" else run.seen_counters)
    return {
        configuration.counters
        for x, configuration in enumerate(space.configurations)
        if known[arrays.counters[x]] and configuration.state == "u"
    }


@pytest.mark.slow
@settings(max_examples=15)
@given(st.data())
def test_tables_and_networks_have_seen_the_same_counters(data):
    tape = tuple(data.draw(st.lists(st.sampled_from(["A", "AA", "B", "C", ""]), min_size=2)))
    tape = tuple(one[:1] for one in tape)
    ends = data.draw(st.sets(st.integers(0, len(tape) - 1), max_size=1))
    horizon, steps = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 20))
    wanted = expected_seen_counters(tape, ends, horizon, steps)
    for learner, path in PATHS:
        env = cranium.product(EventSequence(tape, ends), up_down_machine(), horizon=horizon)
        assert seen_by(env, learner, path, steps) == wanted, (learner, path)


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "path"), PATHS)
def test_counters_at_termination_or_truncation_are_not_seen(learner, path):
    """After two As the horizon is reached; a C ends with five more: neither is acted in."""
    env = cranium.product(EventSequence(("A", "A", "A")), up_down_machine(), horizon=2)
    assert seen_by(env, learner, path, 10) == {(0,), (1,)}
    env = cranium.product(EventSequence(("A", "C")), up_down_machine(), horizon=9)
    assert seen_by(env, learner, path, 10) == {(0,), (1,)}
