"""Recorded conversations with a real model, replayed: right, wrong and refused machines."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.measure_words import WAYS, is_regular, judged, measure, summary, tasks, truths

import cranium
from cranium.assist import Transcript, accepts

TALK = Path(__file__).with_name("recorded.jsonl")


@pytest.fixture(scope="module")
def found():
    return measure(Transcript(path=TALK, mode="replay"), say=lambda _: None)


@pytest.mark.slow
def test_with_verification_most_are_right_and_none_is_wrong(found):
    told = {way: (can, cannot) for way, can, cannot in summary(found)}
    can, cannot = told["verified"]
    assert can["right"] >= 0.85 * sum(can.values())
    assert "wrong" not in can
    assert cannot == {"right": 5}, "what nobody can do is refused"
    once, _ = told["one call"]
    assert once["wrong"] > 0, "without verification wrong machines are handed out"
    assert once["right"] < can["right"]
    written, _ = told["paper"]
    assert written.get("right", 0) < once["right"], (
        "automata that the model writes itself are worse"
    )


def test_tasks_on_which_nothing_was_tuned_are_right_or_refused(found):
    told = {way: can for way, can, _ in summary(found, new=True)}
    assert set(told["verified"]) == {"right", "refused"}
    assert told["verified"]["right"] >= 0.7 * sum(told["verified"].values())
    assert told["one call"]["wrong"] >= 2


def test_there_are_tasks_of_every_kind():
    kinds = " ".join(task["kind"] for task in tasks())
    assert len(tasks()) >= 20
    for kind in ("regular", "counted", "several counters", "forbidden", "choice", "any order"):
        assert kind in kinds
    assert "ambiguous" in kinds
    assert "impossible" in kinds
    assert sum(is_regular(task) for task in tasks()) >= 10


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task["id"])
def test_the_examples_fit_the_languages_that_are_right(task):
    for machine in truths(task):
        for wanted, key in ((True, "accept"), (False, "reject")):
            for word in [*task[key], *task["held_out"][key]]:
                assert accepts(machine, word.split()) is wanted, (str(machine), word)
    assert set(WAYS) == {"one call", "verified", "paper"}


def test_a_wrong_machine_is_judged_wrong():
    task = next(task for task in tasks() if task["id"] == "three-keys")
    assert judged(task, cranium.compile_language("key^3 door")) == "right"
    assert judged(task, cranium.compile_language("key^2 door")) == "wrong"
    assert judged(task, None) == "refused"
