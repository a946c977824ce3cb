"""``cranium results --watch`` in a real terminal, while records arrive."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from support.engines import InProcessEngine
from support.terminal import Terminal

from cranium import Grid, Study
from cranium.cli.watch import StudyWatch, describe_seconds
from cranium.experiments import Store
from cranium.experiments.local_engine import run_job
from cranium.experiments.records import read_record
from cranium.experiments.runner import RunCallback
from cranium.studies.folder import ManifestWriter


def make_study(**more):
    told = {"seeds": 3, "steps": 200, "measure": "final_success", **more}
    return Study(
        "letters", {"one": ("Letter", "A B C D")}, {"planner": "planner", "CQL": "cql"}, **told
    )


@pytest.fixture
def folder(tmp_path):
    """A folder with the manifest of a study that has six trials, and no record."""
    study = make_study()
    ManifestWriter(study, tmp_path, RunCallback()).write()
    return tmp_path


def save(folder, job, **changes):
    """Write the record of a trial, as the process that runs the study does."""
    Store(folder).save(job, replace(run_job(job), **changes))


@pytest.mark.slow
def test_the_table_follows_the_records_and_ends_when_all_are_there(folder):
    jobs = make_study().trials
    shown = Terminal("results", str(folder), "--watch")
    shown.expect("letters: 0 of 6 trials")
    save(folder, jobs[0])
    shown.expect("letters: 1 of 6 trials")
    shown.expect("1 of 1, 2 missing")
    error = "Traceback\nArithmeticError: the shelf \x1b[2J fell over"
    save(folder, jobs[1], status="failed", error=error, result={})
    shown.expect("letters: 2 of 6 trials, 1 failed, about")
    shown.expect("failed: planner, one, seed 1: ArithmeticError: the shelf \\x1b[2J fell over")
    save(folder, jobs[1])  # with --retry-failed
    shown.expect("letters: 2 of 6 trials, about")
    for job in jobs[2:]:
        save(folder, job)
    shown.expect("success at the end")
    shown.expect("3 of 3")
    assert shown.end() == 0
    assert "trials are missing" not in shown.child.before


@pytest.mark.slow
@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM"])
def test_it_waits_for_a_study_and_ends_cleanly(tmp_path, how):
    shown = Terminal("results", str(tmp_path / "later"), "--watch")
    text = shown.child.logfile_read = io.StringIO()
    shown.expect("no results in")
    study, where = make_study(), tmp_path / "later"
    where.mkdir()
    ManifestWriter(study, where, RunCallback()).write()
    save(where, study.trials[0])
    shown.expect("letters: 1 of 6 trials")
    if how == "Ctrl-C":
        shown.press("\x03")
    else:
        shown.child.kill(signal.SIGTERM)
    shown.expect("5 trials are missing; the same command continues")
    assert shown.end() == 0
    assert "Traceback" not in shown.child.before
    assert text.getvalue().rindex("\x1b[?25h") > text.getvalue().rindex("\x1b[?25l")  # the cursor


@pytest.mark.slow
def test_it_follows_a_study_that_another_process_runs(tmp_path):
    (tmp_path / "study.toml").write_text(
        'name = "letters"\nseeds = 6\nsteps = 3000\nuntil = "budget"\n'
        '[problems]\none = ["Letter", "A B C D"]\n[learners]\nCQL = "cql"\n'
    )
    command = [
        sys.executable,
        "-m",
        "cranium",
        "run",
        "study.toml",
        "--dir",
        "out",
        "--workers",
        "1",
    ]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        shown = Terminal("results", "out", "--watch", cwd=tmp_path)
        assert shown.end() == 0  # when the last record is there
        assert "6 of 6" in shown.child.before
        assert running.wait(60) == 0
    finally:
        running.kill()
        running.wait()
    assert len(list(Store(tmp_path / "out"))) == 6


def test_only_new_records_are_read_again_and_those_that_failed(folder, monkeypatch):
    jobs = make_study().trials
    save(folder, jobs[0])
    save(folder, jobs[1], status="failed", error="an error", result={})
    watch = StudyWatch(folder)
    assert [len(watch.read().failed), watch.read().missing] == [1, 4]
    read = []
    monkeypatch.setattr(
        "cranium.experiments.records.read_record",
        lambda path: read.append(path.stem) or read_record(path),
    )
    save(folder, jobs[1])
    save(folder, jobs[2])
    found = watch.read()
    assert (len(found.failed), found.missing, found.trials) == (0, 3, 6)
    assert sorted(read) == sorted([jobs[1].name, jobs[2].name])


def test_a_damaged_record_is_told_and_counts_as_missing(folder):
    jobs = make_study().trials
    save(folder, jobs[0])
    watch = StudyWatch(folder)
    path = folder / f"{jobs[0].name}.json"
    path.write_text(path.read_text().replace("done", "gone"))
    assert watch.read().missing == 6
    assert "is damaged" in watch.damaged[0]


def test_the_time_that_is_left_is_that_of_the_latest_records(folder):
    jobs, now = make_study().trials, time.time()
    watch = StudyWatch(folder)
    assert watch.seconds_left(6) is None
    for number, job in enumerate(jobs[:3]):
        save(folder, job)
        os.utime(folder / f"{job.name}.json", (now, now - 20 + 10 * number))
    assert watch.seconds_left(3) == pytest.approx(30, abs=5)
    for number, job in enumerate(jobs[:3]):  # nothing has arrived for a while
        os.utime(folder / f"{job.name}.json", (now, now - 320 + 10 * number))
    assert watch.seconds_left(3) == pytest.approx(3 * 320 / 3, abs=10)


def test_a_study_whose_settings_are_being_tuned_is_not_finished(tmp_path):
    from cranium.cli.watch import _is_unfinished

    study = make_study(tune=Grid(learning_rate=[0.5, 1.0], seeds=1), seeds=1)

    class Stopping(InProcessEngine):
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def run(self, jobs):
            yield from super().run(jobs)
            tuned = [each.missing for each in [StudyWatch(tmp_path).read()]]
            looked.append((tuned, _is_unfinished(StudyWatch(tmp_path).read())))

    looked = []
    study.run(tmp_path, Stopping())
    assert looked[0][1]
    assert not _is_unfinished(StudyWatch(tmp_path).read())


def test_it_needs_a_terminal_and_shows_tables_only(folder):
    def call(*words):
        command = [sys.executable, "-m", "cranium", "results", str(folder), "--watch", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        return done.stderr

    assert "--watch needs a terminal" in call()
    assert "leave out --csv" in call("--csv", "trials.csv")


def test_durations_are_told_in_units_that_readers_know():
    assert [describe_seconds(each) for each in (0.2, 99, 101, 5_000, 36_000)] == [
        *("0 s", "99 s", "2 min", "83 min", "10 h 0 min"),
    ]
