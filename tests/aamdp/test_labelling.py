"""Labelling functions, and the checker that looks at what they do."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from aamdp.envs import Line, moved

import cranium
from cranium.aamdp import Labelling
from cranium.errors import InvalidArgumentError, LabelError

TASK = cranium.compile_language("A B")


def test_a_declared_labelling_refuses_names_outside_of_its_vocabulary():
    wrong = cranium.labelling("mail")(lambda s, a, s2: "mial")
    with pytest.raises(LabelError, match="no such event of this labelling: 'mial'"):
        wrong(0, 0, 0)
    for events in ((), (3,)):
        with pytest.raises(InvalidArgumentError, match="name the events"):
            cranium.labelling(*events)
    with pytest.raises(InvalidArgumentError, match="a labelling is a function"):
        Labelling(3, ["A"])


def test_cells_may_be_numbers_or_rows_and_columns():
    cells = cranium.labelling_from_cells({(1, 2): "A", 7: ["A", "B"]})
    assert cells(None, 0, np.array([1, 2])) == {"A"}
    assert cells(None, 0, (1, 2)) == {"A"}
    assert cells(None, 0, np.int64(7)) == {"A", "B"}
    assert cells(None, 0, 8) == frozenset()
    assert cells.events == ("A", "B")


def test_the_checker_reports_what_was_seen_what_never_and_what_is_unknown():
    env = gym.wrappers.TimeLimit(Line(), 20)
    report = cranium.check_labelling(env, TASK, lambda s, a, s2: {"A", "C"} if a else (), steps=500)
    assert report.steps == 500 == sum(report.seen.values())
    assert report.never_seen == ("B",)
    assert report.unknown == ("C",)
    assert report.is_sound
    assert "never seen: B" in str(report)
    assert "unknown to the automaton: C" in str(report)


def test_the_checker_finds_labels_that_depend_on_something_hidden():
    count = iter(range(10_000))
    report = cranium.check_labelling(
        gym.wrappers.TimeLimit(Line(), 20), TASK, lambda s, a, s2: "AB"[next(count) % 2], steps=300
    )
    assert not report.is_sound
    labels = report.ambiguous[0][3]
    assert set(labels) == {frozenset("A"), frozenset("B")}


def test_the_checker_keeps_observations_that_the_environment_writes_into():
    env = gym.wrappers.TimeLimit(Line(), 20)
    assert cranium.check_labelling(env, TASK, moved, steps=500).is_sound
    assert cranium.check_labelling(env, TASK, moved, steps=500).seen[frozenset("A")] > 0
