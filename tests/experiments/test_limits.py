"""Limits of memory and time, and trials that end their process: the others go on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.bad_trials import attempts_of, write_bad_study

from cranium import Study
from cranium.errors import InvalidArgumentError
from cranium.experiments.attempts import TRIES
from cranium.experiments.records import Record, read_record
from cranium.studies import load_study

pytestmark = pytest.mark.slow

MEMORY = "1500 MB"
TIME = "15 s"
WAIT = 120


@pytest.fixture(autouse=True)
def the_path_stays() -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path


def run_study(folder: Path, how: str, **more: object) -> dict[tuple[str, int], Record]:
    """Run a study of a good learner and a bad one; returns the records."""
    study = load_study(write_bad_study(folder, how, **more))  # type: ignore[arg-type]
    result = study.run(folder / "records", workers=2)
    assert len(result.jobs) == result.ran == len(list((folder / "records").glob("*-*.json")))
    assert study.run(folder / "records", workers=2).ran == 0  # nothing is run twice
    return records_in(folder)


def records_in(folder: Path) -> dict[tuple[str, int], Record]:
    found = [read_record(path) for path in (folder / "records").glob("*-*.json")]
    return {(record.config["method"], record.seed): record for record in found}


def is_there(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until_gone(process: int) -> None:
    end = time.monotonic() + WAIT
    while is_there(process):
        assert time.monotonic() < end, f"{process} is still there"
        time.sleep(0.05)


# Trials that end their process


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("exit", "its process ended with status 9"),
        ("abort", "its process was ended by SIGABRT"),
        ("segfault", "its process was ended by SIGSEGV"),
        ("killed", "its process was ended by SIGKILL"),
    ],
)
def test_a_trial_that_ends_its_process_each_time_is_a_failure_and_the_others_go_on(
    tmp_path: Path, how: str, reason: str
) -> None:
    records = run_study(tmp_path, how, seeds=2)
    assert Counter(attempts_of(tmp_path)) == {
        **{f"bad {seed}": TRIES for seed in range(2)},
        **{f"good {seed}": 1 for seed in range(2)},
    }
    for seed in range(2):
        assert records["good", seed].done
        bad = records["bad", seed]
        assert (bad.status, bad.error) == ("failed", f"lost {TRIES} times: {reason}")
        assert bad.tries == (reason,) * (TRIES - 1)


def test_if_all_trials_of_a_study_crash_each_is_recorded_because_the_machine_works(
    tmp_path: Path,
) -> None:
    records = run_study(tmp_path, "abort", seeds=6, only=True)
    assert [record.status for record in records.values()] == ["failed"] * 6
    assert Counter(attempts_of(tmp_path)) == {f"bad {seed}": TRIES for seed in range(6)}


def test_a_failure_that_is_tried_again_keeps_its_reasons(tmp_path: Path) -> None:
    run_study(tmp_path, "exit", seeds=1)
    file = tmp_path / "limits.py"
    # The same study, but it does not crash now, as after the repair of a library.
    file.write_text(file.read_text().replace("os._exit(9)", "pass"))
    study = load_study(file)
    result = study.run(tmp_path / "again", workers=1)
    assert result.failed == []
    [new] = (path.name for path in (tmp_path / "again").glob("*-*.json")
             if read_record(path).config["method"] == "bad")  # fmt: skip
    [old] = (path for path in (tmp_path / "records").glob("*-*.json")
             if read_record(path).config["method"] == "bad")  # fmt: skip
    # Its code is part of its key; the failure is put where the new trial has its record.
    told = json.loads(old.read_text())["record"]
    assert told["tries"]
    job = next(job for job in study.trials if f"{job.name}.json" == new)
    from cranium.experiments import Store

    failed = read_record(old)
    from dataclasses import replace

    Store(tmp_path / "again").save(job, replace(failed, key=job.trial.key))
    assert study.run(tmp_path / "again", workers=1).ran == 0
    assert study.run(tmp_path / "again", workers=1, retry_failed=True).ran == 1
    record = read_record(tmp_path / "again" / new)
    assert record.done
    assert record.tries == (*failed.tries, failed.error)


# Limits of memory


@pytest.mark.parametrize("how", ["grow", "grow_elsewhere"])
def test_a_trial_that_uses_too_much_memory_is_ended_and_the_others_go_on(
    tmp_path: Path, how: str
) -> None:
    records = run_study(tmp_path, how, trial_memory=MEMORY)
    assert Counter(attempts_of(tmp_path) if how == "grow" else
                   [one for one in attempts_of(tmp_path) if not one.startswith("child")]
                   ) == {"bad 0": 1, "bad 1": 1, "good 0": 1, "good 1": 1}  # fmt: skip
    for seed in range(2):
        assert records["good", seed].done
        bad = records["bad", seed]
        assert bad.status == "failed"
        assert bad.error is not None
        assert bad.error.startswith("over its limit: it used ")
        assert bad.error.endswith("of memory, and its limit is 1.5 GB (trial_memory)")
        assert bad.wall > 0
        assert bad.cpu > 0
    for line in (tmp_path / "log").read_text().splitlines():
        if line.startswith("child"):
            wait_until_gone(int(line.split()[1]))


def test_memory_that_the_system_refuses_is_the_failure_of_a_trial_with_a_limit(
    tmp_path: Path,
) -> None:
    records = run_study(tmp_path, "ask_for_everything", trial_memory=MEMORY)
    bad = records["bad", 0]
    assert bad.status == "failed"
    assert bad.error is not None
    assert "Unable to allocate" in bad.error
    assert attempts_of(tmp_path).count("bad 0") == 1
    assert records["good", 0].done


def test_what_an_earlier_trial_left_in_a_worker_does_not_count(tmp_path: Path) -> None:
    file = write_bad_study(tmp_path, "keep", seeds=4, only=True, trial_memory=MEMORY)
    hoard = "    def keep(self):\n        sys.hoard = getattr(sys, 'hoard', [])\n"
    hoard += "        sys.hoard.append(numpy.ones(10**8))\n\n    def exit(self):"
    file.write_text(file.read_text().replace("    def exit(self):", hoard))
    result = load_study(file).run(tmp_path / "records", workers=1)
    assert (result.ran, result.failed) == (4, [])


# Limits of time


@pytest.mark.parametrize("how", ["sleep", "loop"])
def test_a_trial_that_takes_too_long_is_ended_even_in_compiled_code_and_the_others_go_on(
    tmp_path: Path, how: str
) -> None:
    records = run_study(tmp_path, how, seeds=1, trial_time=TIME)
    assert sorted(attempts_of(tmp_path)) == ["bad 0", "good 0"]
    assert records["good", 0].done
    bad = records["bad", 0]
    assert bad.status == "failed"
    assert bad.error is not None
    assert bad.error.startswith("over its limit: it took 15")
    assert bad.error.endswith("its limit is 15 s (trial_time)")
    assert bad.wall >= 15
    for line in (tmp_path / "log").read_text().splitlines():
        wait_until_gone(int(line.split()[-1]))


def test_the_command_has_the_limits_too_and_says_what_failed(tmp_path: Path) -> None:
    write_bad_study(tmp_path, "grow", seeds=1)
    done = subprocess.run(
        [sys.executable, "-m", "cranium", "run", "limits.py", "--trial-memory", "1.5GB"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "failed: bad, one, seed 0: over its limit: it used" in done.stdout
    assert (tmp_path / "results" / "limits" / "report.html").is_file()


def test_a_trial_is_the_same_with_other_limits(tmp_path: Path) -> None:
    plain, limited = (
        load_study(write_bad_study(tmp_path / name, "exit", **more))
        for name, more in (("a", {}), ("b", {"trial_memory": "2 GB", "trial_time": 60}))
    )
    # The log is elsewhere; it is part of the code.
    file = tmp_path / "b" / "limits.py"
    file.write_text(file.read_text().replace(str(tmp_path / "b"), str(tmp_path / "a")))
    limited = load_study(file)
    assert [job.name for job in plain.trials] == [job.name for job in limited.trials]
    assert limited.trials[0].trial.limits.memory == 2 * 10**9


@pytest.mark.parametrize(
    "limits",
    [
        {"trial_memory": 0},
        {"trial_memory": "2"},
        {"trial_memory": "much"},
        {"trial_memory": "2 GBps"},
        {"trial_memory": []},
        {"trial_memory": True},
        {"trial_time": 0},
        {"trial_time": "0 min"},
        {"trial_time": -5},
        {"trial_time": "soon"},
        {"trial_time": "5 parsecs"},
        {"trial_time": float("nan")},
    ],
)
def test_limits_that_make_no_sense_are_refused(limits: dict[str, object]) -> None:
    with pytest.raises(InvalidArgumentError, match=next(iter(limits))):
        Study("a", {"b": ("Letter", "A B")}, {"c": "cql"}, steps=100, **limits)  # type: ignore[arg-type]


# The end of the run itself


@pytest.mark.skipif(sys.platform != "linux", reason="Linux ends the workers")
@pytest.mark.parametrize("how", ["loop", "sleep"])
def test_when_the_run_is_killed_its_workers_end_whatever_they_are_doing(
    tmp_path: Path, how: str
) -> None:
    write_bad_study(tmp_path, how, seeds=1, only=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "cranium", "run", "limits.py", "--workers", "1"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        log, end = tmp_path / "log", time.monotonic() + WAIT
        while not (log.exists() and log.read_text().endswith("\n")):
            assert time.monotonic() < end
            time.sleep(0.05)
        worker = int(log.read_text().split()[-1])
        assert is_there(worker)
    finally:
        process.kill()
        process.wait()
    try:
        wait_until_gone(worker)
    finally:
        with contextlib.suppress(OSError):
            os.kill(worker, signal.SIGKILL)
