"""What becomes of trials that are lost: crashes are failures of trials, faults of machines are not."""

from __future__ import annotations

from typing import Literal

import pytest

from cranium.errors import EngineError
from cranium.experiments.attempts import HOPELESS, PROBE, TRIES, Attempts, Loss
from cranium.experiments.local_engine import run_job
from cranium.experiments.trial import FunctionTrial, Job

Kind = Literal["crashed", "killed", "fault", "over"]
JOBS = [
    Job(FunctionTrial("x", "RM", f"N = {n}", function="builtins:dict", settings={"n": n}), 0)
    for n in range(1, 13)
]
GOOD = run_job(JOBS[0])


def lose(attempts: Attempts, kind: Kind, reason: str = "oh") -> None:
    """Lose the next job as often as it is tried."""
    first = attempts.take()
    assert first is not None
    for number in range(TRIES):
        job = first if number == 0 else attempts.take()
        assert job == first
        assert attempts.end(job, Loss(kind, f"{reason} {number}")) == []


@pytest.mark.parametrize("kind", ["crashed", "killed"])
def test_a_crash_is_recorded_as_soon_as_another_trial_shows_that_the_machine_works(
    kind: Kind,
) -> None:
    attempts = Attempts(JOBS[:2])
    lose(attempts, kind)
    assert attempts.take() == JOBS[1]
    (job, record), ended = attempts.end(JOBS[1], GOOD)
    assert ended == (JOBS[1], GOOD)
    assert (job, record.key, record.status) == (JOBS[0], JOBS[0].trial.key, "failed")
    assert (record.tries, record.error) == (("oh 0", "oh 1"), "lost 3 times: oh 2")
    assert (attempts.take(), list(attempts.finish())) == (None, [])


def test_a_record_keeps_the_reasons_of_the_attempts_that_were_lost() -> None:
    attempts = Attempts(JOBS[:1])
    attempts.end(attempts.take() or PROBE, Loss("fault", "no space"))
    attempts.end(attempts.take() or PROBE, Loss("killed", "no memory"))
    [(_, record)] = attempts.end(attempts.take() or PROBE, GOOD)
    assert record.tries == ("no space", "no memory")
    assert record.done


def test_a_fault_of_the_machine_is_no_result_and_is_said_at_the_end() -> None:
    attempts = Attempts(JOBS[:3])
    lose(attempts, "fault", "no space")
    lose(attempts, "crashed")
    assert [job for job, _ in attempts.end(attempts.take() or PROBE, GOOD)] == [JOBS[1], JOBS[2]]
    with pytest.raises(EngineError, match=r"1 trial was lost 3 times: RM, N = 1.*no space 2"):
        list(attempts.finish())


@pytest.mark.parametrize("kind", ["killed", "fault"])
def test_after_several_lost_trials_in_a_row_the_run_stops(kind: Kind) -> None:
    attempts = Attempts(JOBS)
    for _ in range(HOPELESS - 1):
        lose(attempts, kind)
    with pytest.raises(EngineError, match=f"{HOPELESS} trials were lost {TRIES} times"):
        lose(attempts, kind)


def test_if_every_trial_crashes_a_probe_shows_whether_the_machine_can_run_anything() -> None:
    attempts = Attempts(JOBS[: HOPELESS + 1])
    for _ in range(HOPELESS):
        lose(attempts, "crashed")
    assert attempts.take() == PROBE
    found = attempts.end(PROBE, run_job(PROBE))
    assert [job for job, _ in found] == JOBS[:HOPELESS]  # the probe itself has no record
    assert all(record.status == "failed" for _, record in found)
    assert attempts.take() == JOBS[HOPELESS]


def test_if_the_probe_crashes_too_nothing_is_recorded() -> None:
    attempts = Attempts(JOBS)
    for _ in range(HOPELESS):
        lose(attempts, "crashed")
    with pytest.raises(EngineError, match=f"{HOPELESS} trials were lost"):
        lose(attempts, "crashed")


def test_a_trial_over_its_limit_is_a_failure_at_once() -> None:
    attempts = Attempts(JOBS[:1])
    attempts.end(attempts.take() or PROBE, Loss("killed", "no memory"))
    [(job, record)] = attempts.end(attempts.take() or PROBE, Loss("over", "too long", 5.0, 4.0))
    assert (job, record.status, record.error) == (JOBS[0], "failed", "too long")
    assert (record.tries, record.wall, record.cpu) == (("no memory",), 5.0, 4.0)
