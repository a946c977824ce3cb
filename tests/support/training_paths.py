"""The compiled and the Python path of training: run both, and compare their results."""

from __future__ import annotations

import numpy as np

from cranium.learners import train


def assert_same_results(one, other):
    """The values, counts and logs of the Python path are those of the compiled loop, bit for bit."""
    for number, seen in enumerate(other.policy.observations):
        row = one.policy.number(seen)
        for place, configuration in enumerate(one.policy.configurations):
            assert np.array_equal(
                one.q[row, place], other.q[number, other.policy.place(configuration)]
            )
    assert (one.samples, one.episodes, one.successes, one.overflows) == (
        other.samples,
        other.episodes,
        other.successes,
        other.overflows,
    )
    assert np.array_equal(one.log, other.log)
    assert len(one.log) == one.episodes


def train_on_both_paths(env, learner="cql", **options):
    """Train on the compiled path, then on the Python path."""
    options |= {"evaluate_every": options["steps"], "log": True}
    one = train(env, learner, path="compiled", **options)
    other = train(env, learner, path="python", **options)
    assert (one.path, other.path) == ("compiled", "python")
    return one, other
