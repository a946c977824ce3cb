"""Callbacks: when they are called, what they see and do, and that they change no number."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from support.every_learner import NETWORKS, TABLES, assert_same, assert_same_policy, letters

import cranium
from cranium.errors import InvalidArgumentError, PolicyError
from cranium.learners import Streak, TrainingProgress, train, train_seeds

TOLD = {"steps": 1_000, "seed": 1, "evaluate_every": 250}


class Notes:
    """Writes down what it is told."""

    def __init__(self, stop_at: int | None = None, policies: bool = False) -> None:
        self.stop_at, self.policies = stop_at, policies
        self.seen: list[TrainingProgress] = []
        self.calls: list[str] = []
        self.begun: list[TrainingProgress] = []
        self.ended: list[cranium.learners.TrainingResult | None] = []

    def __call__(self, progress):
        self.calls.append("call")
        self.seen.append(progress)
        if self.policies:
            progress.policy()
        return self.stop_at is not None and progress.samples >= self.stop_at

    def begin(self, progress):
        self.calls.append("begin")
        self.begun.append(progress)

    def end(self, result):
        self.calls.append("end")
        self.ended.append(result)


@pytest.mark.slow
@pytest.mark.parametrize("training", [*TABLES, *NETWORKS], ids=lambda each: each.name)
def test_callbacks_change_no_number(training):
    notes = Notes(policies=True)
    told = {"evaluate_every": training.steps // 4 - 7}
    alone = training.train(**told)
    followed = training.train(**told, callbacks=[notes], every=61)
    assert_same(alone, followed)
    expected = [*range(61, training.steps, 61), training.steps]
    assert [each.samples for each in notes.seen] == expected
    assert np.array_equal(np.concatenate([each.log for each in notes.seen]), alone.log)


@pytest.mark.parametrize("path", ["compiled", "python"])
def test_a_streak_is_found_where_it_is_found_without_callbacks(path):
    told = {"steps": 60_000, "seed": 2, "until": Streak(5), "path": path, "evaluate_every": 7_500}
    alone = train(letters(1), "cql", **told)
    assert alone.samples < 60_000
    assert alone.samples % 7_500 % 1_000 == 0
    for every in (1_700, 333):
        assert_same(alone, train(letters(1), "cql", callbacks=[Notes()], every=every, **told))


def test_a_callback_sees_where_the_training_is():
    notes = Notes()
    result = train(letters(1), "cql", callbacks=[notes], every=500, log=True, **TOLD)
    first, last = notes.seen
    assert (first.samples, last.samples, last.steps) == (500, 1_000, 1_000)
    assert (first.learner, first.seed, first.path, first.task) == (
        "cql",
        1,
        "compiled",
        "A^N B C D^N",
    )
    assert first.environment == "LetterEnv"
    assert first.config == result.config
    assert first.exploration == 0.05
    assert first.evaluate_every == 250
    assert first.curve.tolist() == result.curve[:2].tolist()
    assert first.evaluation.success.mean() == result.curve[1, 1]
    assert last.evaluation is result.evaluation
    assert (last.episodes, last.successes) == (result.episodes, result.successes)
    assert first.episodes == len(first.log)
    assert last.episodes == len(first.log) + len(last.log)
    assert first.mean_return == first.log[:, 1].mean()


def test_without_a_number_callbacks_are_called_at_every_evaluation():
    notes = Notes()
    train(letters(1), "ql", callbacks=[notes], **TOLD)
    assert [each.samples for each in notes.seen] == [250, 500, 750, 1_000]


def test_the_log_is_only_in_the_result_if_it_was_asked_for():
    notes = Notes()
    result = train(letters(1), "ql", callbacks=[notes], **TOLD)
    assert len(result.log) == 0
    assert sum(len(each.log) for each in notes.seen) == result.episodes


def test_a_callback_that_returns_true_stops_the_training():
    first, other = Notes(stop_at=400), Notes()
    result = train(letters(1), "ql", callbacks=[first, other], every=100, **TOLD)
    assert result.samples == 400
    assert not result.interrupted
    assert len(first.seen) == len(other.seen) == 4  # all are called before it stops
    assert result.curve[:, 0].tolist() == [250]
    assert result.evaluation.instances


def test_the_policy_is_the_one_of_that_moment():
    kept = []

    def keep(progress):
        kept.append(progress.policy())

    train(letters(1), "cql", callbacks=[keep], every=400, **TOLD)
    told = {**TOLD, "steps": 400}
    assert np.array_equal(kept[0].q, train(letters(1), "cql", **told).q)
    assert kept[0].about["samples"] == 400


def test_the_policy_of_a_moment_that_is_over_is_refused():
    notes = Notes()
    train(letters(1), "ql", callbacks=[notes], every=400, **TOLD)
    assert_same_policy(notes.seen[-1].policy(), notes.seen[-1].policy())
    with pytest.raises(PolicyError, match="state after 400 samples, and 1,000 have been taken"):
        notes.seen[0].policy()


def test_begin_and_end_are_called_around_it():
    notes = Notes()
    result = train(letters(1), "ql", callbacks=[notes], every=500, **TOLD)
    assert notes.calls == ["begin", "call", "call", "end"]
    assert notes.begun[0].samples == 0
    assert notes.begun[0].evaluation is None
    assert notes.ended == [result]


def test_an_error_of_a_callback_is_raised_and_all_that_began_end():
    notes = Notes()

    def fails(progress):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        train(letters(1), "ql", callbacks=[notes, fails], every=100, **TOLD)
    assert notes.calls == ["begin", "call", "end"]
    assert notes.ended == [None]


def test_an_error_in_the_end_of_one_leaves_out_no_other():
    class Failing(Notes):
        def end(self, result):
            super().end(result)
            raise ZeroDivisionError("mine")

    first, last = Failing(), Notes()
    with pytest.raises(ZeroDivisionError, match="mine"):
        train(letters(1), "ql", callbacks=[first, last], every=500, **TOLD)
    assert len(last.ended) == len(first.ended) == 1


def test_ctrl_c_in_a_callback_keeps_what_was_learned():
    notes = Notes()

    def press(progress):
        if progress.samples == 300:
            raise KeyboardInterrupt

    result = train(letters(1), "ql", callbacks=[notes, press], every=100, **TOLD)
    assert (result.samples, result.interrupted) == (300, True)
    assert notes.ended == [result]


def test_each_seed_is_followed():
    notes = Notes()
    results = train_seeds(letters(1), "ql", seeds=(4, 7), steps=200, callbacks=[notes], every=100)
    assert [(each.seed, each.samples) for each in notes.seen] == [
        (4, 100),
        (4, 200),
        (7, 100),
        (7, 200),
    ]
    assert notes.ended == results
    for result in results:
        assert_same(result, train(letters(1), "ql", seed=result.seed, steps=200))


@pytest.mark.slow
def test_seeds_that_learn_together_are_followed_and_stopped_one_by_one():
    told = {"hidden": (8,), "batch": 4, "warmup": 20, "evaluate_every": 60, "steps": 120}

    def stop(progress):
        return progress.seed == 4 and progress.samples == 80

    notes = Notes()
    alone = train_seeds(letters(1), "cdqn", seeds=(4, 7), **told)
    results = train_seeds(
        letters(1), "cdqn", seeds=(4, 7), callbacks=[notes, stop], every=40, **told
    )
    assert [each.samples for each in results] == [80, 120]
    assert [(each.seed, each.samples) for each in notes.seen] == [
        *((seed, samples) for samples in (40, 80) for seed in (4, 7)),
        (7, 120),
    ]
    assert notes.ended == results
    assert np.array_equal(results[0].curve, alone[0].curve[:1])
    assert np.array_equal(results[1].curve[:1], alone[1].curve[:1])


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"callbacks": print}, "callbacks are a list"),
        ({"callbacks": ["log"]}, "a callback is a function of the progress, not 'log'"),
        ({"callbacks": [Notes]}, "a callback is a function of the progress"),
        ({"callbacks": [print], "every": 0}, "every is a whole number of at least 1, not 0"),
        ({"every": 100}, "every says how often callbacks are called and checkpoints are written"),
        ({"callbacks": [lambda progress: "stop"]}, "returned 'stop'"),
    ],
)
def test_nonsense_is_refused(told, message):
    with pytest.raises(InvalidArgumentError, match=message):
        train(letters(1), "ql", **TOLD, **told)


def test_numbers_of_numpy_stop_too():
    env = gym.make("cranium/Letter-anbcdn-v0", times=1)
    stop = [lambda progress: np.bool_(True)]
    assert train(env, "ql", callbacks=stop, every=100, **TOLD).samples == 100
