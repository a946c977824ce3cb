"""A fault of the machine is no result: of a process, the memory, the disk, a cache, or a link."""

from __future__ import annotations

import json
import os
import pickle
import resource
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.engines import InProcessEngine
from support.trials import Given, training
from support.waiting import call_within_a_minute

from cranium.errors import (
    EngineError,
    FileAccessError,
    FileFormatError,
    MissingExtraError,
    ModelError,
    RecordError,
    UnknownNameError,
)
from cranium.experiments import DamagedRecordWarning, LocalEngine, Store, local_engine
from cranium.experiments.attempts import HOPELESS, TRIES
from cranium.experiments.faults import find_machine_fault
from cranium.experiments.records import read_record
from cranium.experiments.results import read_study
from cranium.experiments.trial import Job, run_trial
from cranium.figures.page import write_report
from cranium.figures.studies import draw_study
from cranium.paper import ComplexityConfig, load_configs, run

pytestmark = pytest.mark.slow

CONFIG = ComplexityConfig(trials=2, most=1)
JOBS = 8


def records_in(folder):
    return sorted(folder.glob("*-*.json"))


# Which errors are the machine's

FAULTS = [
    OSError(28, "No space left on device"),
    FileNotFoundError(2, "No such file or directory", "kernels.nbi"),
    FileAccessError("cannot read a transcript"),
    MemoryError(),
    EOFError("Ran out of input"),
    pickle.UnpicklingError("pickle data was truncated"),
    ModuleNotFoundError("No module named 'jax'"),
    MissingExtraError("networks need JAX"),
    ModelError("nobody answers"),
    type("XlaRuntimeError", (RuntimeError,), {})("RESOURCE_EXHAUSTED: Out of memory"),
    RuntimeError("can't start new thread"),
]
ERRORS = [
    ValueError("no luck"),
    ZeroDivisionError("division by zero"),
    UnknownNameError("no such learner"),
    RecursionError("too deep"),
    AssertionError(),
    RuntimeError("RESOURCE_EXHAUSTED"),
    type("XlaRuntimeError", (RuntimeError,), {})("INVALID_ARGUMENT: shapes"),
]


def named(error):
    return type(error).__name__


@pytest.mark.parametrize("problem", FAULTS, ids=named)
def test_a_fault_of_the_machine_is_no_result_and_the_same_command_goes_on(
    tmp_path, monkeypatch, problem
):
    def fail(trial, seed):
        if seed == 1:
            raise problem
        return run_trial(trial, seed)

    monkeypatch.setattr(local_engine, "run_trial", fail)
    with pytest.raises(EngineError, match=type(problem).__name__):
        run(CONFIG, tmp_path, InProcessEngine())
    assert len(records_in(tmp_path)) == JOBS // 2
    assert all(read_record(path).done for path in records_in(tmp_path))
    monkeypatch.undo()
    outcome = run(CONFIG, tmp_path, InProcessEngine())
    assert (outcome.ran, outcome.failed) == (JOBS // 2, [])


@pytest.mark.parametrize("problem", ERRORS, ids=named)
def test_an_error_of_the_trial_is_its_result(tmp_path, monkeypatch, problem):
    def fail(trial, seed):
        raise problem

    monkeypatch.setattr(local_engine, "run_trial", fail)
    assert len(run(CONFIG, tmp_path, InProcessEngine()).failed) == JOBS


def test_whatever_comes_from_the_cache_of_compiled_functions_is_the_machines(tmp_path):
    from numba.core.caching import IndexDataCacheFile

    cache = IndexDataCacheFile(str(tmp_path), "kernels", "stamp")
    Path(cache._index_path).write_bytes(pickle.dumps(cache._version) + pickle.dumps(5))
    with pytest.raises(TypeError) as caught:
        cache.load("key")
    assert find_machine_fault(caught.value) is not None
    assert find_machine_fault(TypeError(str(caught.value))) is None
    wrapped = RuntimeError("compilation failed")
    wrapped.__cause__ = OSError(5, "Input/output error")
    assert find_machine_fault(wrapped) == "OSError: [Errno 5] Input/output error"


# Workers

SCRIPT = """
import json, os, signal, sys
from pathlib import Path

folder = Path(sys.argv[1])


def note(what):
    with (folder / what).open("a") as file:
        file.write("x\\n")
    return (folder / what).stat().st_size // 2


EARLY

from cranium.errors import CraniumError
from cranium.experiments import LocalEngine, local_engine
from cranium.paper import ComplexityConfig, run
from cranium.experiments.trial import run_trial

LATE

if __name__ == "__main__":
    told = {"error": None}
    try:
        outcome = run(ComplexityConfig(trials=TRIALS, most=1), folder / "records", LocalEngine(2))
        told |= {"ran": outcome.ran, "failed": len(outcome.failed)}
    except CraniumError as problem:
        told["error"] = [type(problem).__name__, problem.message, problem.fix]
    print(json.dumps(told))
"""
DIE = "os.kill(os.getpid(), signal.SIGKILL)"


def run_script(folder, *, early="", late="", trials=2):
    path = folder / "script.py"
    path.write_text(
        SCRIPT.replace("EARLY", early).replace("LATE", late).replace("TRIALS", str(trials))
    )
    done = subprocess.run(
        [sys.executable, str(path), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stderr == "", "no thread, and no worker, may print a traceback"
    return json.loads(done.stdout)


def test_workers_that_are_killed_as_they_start_are_replaced(tmp_path):
    hook = f'if __name__ != "__main__" and note("starts") <= 6:\n    {DIE}\n'
    assert run_script(tmp_path, early=hook) == {"error": None, "ran": JOBS, "failed": 0}
    assert len((tmp_path / "starts").read_text().splitlines()) == 6 + 2


def test_where_every_worker_is_killed_as_it_starts_the_run_stops_and_says_why(tmp_path):
    told = run_script(tmp_path, early=f'if __name__ != "__main__":\n    {DIE}\n')
    kind, message, fix = told["error"]
    assert kind == "EngineError"
    assert message.startswith("12 processes in a row did not get as far as running a trial")
    assert "SIGKILL" in message
    assert "__main__" not in message + fix
    assert records_in(tmp_path / "records") == []


ONCE = """
def perhaps(trial, seed):
    if note(f"{trial.key}-{seed}") == 1:
        FAULT
    return run_trial(trial, seed)


local_engine.run_trial = perhaps
"""


@pytest.mark.parametrize(
    "fault",
    [DIE, "os._exit(1)", 'raise OSError(28, "No space left on device")', "raise MemoryError"],
)
def test_every_trial_that_is_lost_once_is_run_again(tmp_path, fault):
    told = run_script(tmp_path, late=ONCE.replace("FAULT", fault), trials=1)
    assert told == {"error": None, "ran": JOBS // 2, "failed": 0}
    records = records_in(tmp_path / "records")
    assert len(records) == JOBS // 2
    assert all(read_record(path).done for path in records)
    assert {len((tmp_path / path.stem).read_text().splitlines()) for path in records} == {2}


def test_where_every_trial_is_lost_not_all_are_tried_and_the_reason_is_said(tmp_path):
    always = ONCE.replace("== 1", ">= 1")
    hook = always.replace("FAULT", 'raise OSError(28, "No space left on device")')
    told = run_script(tmp_path, late=hook, trials=4)
    kind, message, fix = told["error"]
    assert kind == "EngineError"
    assert f"{HOPELESS} trials were lost {TRIES} times" in message
    assert "No space left on device" in message
    assert "the same command" in fix
    assert list((tmp_path / "records").iterdir()) == [tmp_path / "records" / "experiment.json"]
    tries = Counter(len(path.read_text()) // 2 for path in tmp_path.glob("*-[0-9]"))
    assert tries[TRIES] >= HOPELESS
    assert tries.total() < 2 * JOBS


# Compiled code


def delete(path):
    path.unlink()


def empty(path):
    os.truncate(path, 0)


def damage_always(folder, damage, until, done):
    """Damage all compiled code in a folder as soon as it is there."""
    while not until.wait(0.005):
        for path in folder.rglob("*.code"):
            with suppress(OSError):
                if path.stat().st_size:
                    damage(path)
                    done.append(path.name)


@pytest.mark.parametrize("damage", [delete, empty])
def test_a_cache_that_is_emptied_during_a_run_makes_no_trial_fail(
    tmp_path, monkeypatch, capfd, damage
):
    trial = training("ql", steps=2000, evaluate_every=2000, until="budget")
    config = Given(given=tuple(Job(trial, seed) for seed in range(6)))
    expected = {job: run_trial(job.trial, job.seed) for job in config.given}
    cache, stop, done = tmp_path / "cache", threading.Event(), []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))  # for the workers, as they start
    thread = threading.Thread(target=damage_always, args=(cache, damage, stop, done))
    thread.start()
    try:
        outcome = run(config, tmp_path / "results", LocalEngine(2))
    finally:
        stop.set()
        thread.join()
    assert len(done) > 5, "the cache was emptied again and again"
    assert (outcome.ran, outcome.failed) == (6, [])
    store = Store(tmp_path / "results")
    assert {job: store.find(job).result for job in config.given} == expected
    said = capfd.readouterr().err.splitlines()
    assert all(line.endswith("was damaged: it is compiled again") for line in said)
    assert len(said) <= 2, "no more than one line from each worker"


# Disks


@contextmanager
def files_of_at_most(size):
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))


class Interrupted(InProcessEngine):
    """Stops before anything has run; the manifest is there."""

    def run(self, jobs):
        raise RuntimeError("no engine")
        yield


def test_a_disk_that_is_full_stops_the_run_and_leaves_no_half_record(tmp_path):
    with files_of_at_most(600), pytest.raises(FileAccessError, match="File too large"):
        run(CONFIG, tmp_path, InProcessEngine())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RuntimeError), files_of_at_most(100_000):
        run(CONFIG, tmp_path, Interrupted())
    with files_of_at_most(600), pytest.raises(FileAccessError, match="File too large"):
        run(CONFIG, tmp_path, InProcessEngine())
    assert [path.name for path in tmp_path.iterdir()] == ["experiment.json"]
    outcome = run(CONFIG, tmp_path, InProcessEngine())
    assert (outcome.ran, outcome.failed) == (JOBS, [])


def test_a_disk_that_is_full_leaves_the_old_figure(tmp_path):
    run(CONFIG, tmp_path, InProcessEngine())
    study = read_study(tmp_path)
    draw_study(study)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with files_of_at_most(600), pytest.raises(FileAccessError, match="File too large"):
        draw_study(study)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_in_which_nothing_can_be_written_is_refused_before_anything_is_run(tmp_path):
    (tmp_path / "file").write_text("")
    engine = InProcessEngine()
    with pytest.raises(FileAccessError, match="cannot make the folder"):
        run(CONFIG, tmp_path / "file" / "results", engine)
    assert engine.ran == []


def test_a_finished_run_is_read_without_writing_anything(tmp_path):
    run(CONFIG, tmp_path, InProcessEngine())
    with files_of_at_most(0):
        assert run(CONFIG, tmp_path, InProcessEngine()).ran == 0


# Links, pipes and devices


@pytest.fixture
def finished(tmp_path):
    folder = tmp_path / "results"
    run(CONFIG, folder, InProcessEngine())
    (tmp_path / "precious").write_text("precious")
    return folder


def point_elsewhere(path):
    path.unlink(missing_ok=True)
    path.symlink_to(path.parents[1] / "precious")


def test_a_record_is_not_written_through_a_link(tmp_path, finished):
    path = records_in(finished)[0]
    point_elsewhere(path)
    with pytest.raises(RecordError, match="not a regular file"):
        read_record(path)
    with pytest.warns(DamagedRecordWarning, match=path.name):
        assert run(CONFIG, finished, InProcessEngine()).ran == 1
    assert (tmp_path / "precious").read_text() == "precious"
    assert read_record(path).done
    assert not path.is_symlink()


def test_settings_are_not_read_or_written_through_a_link(tmp_path, finished):
    point_elsewhere(finished / "experiment.json")
    engine = InProcessEngine()
    with pytest.raises(FileAccessError, match="symbolic link"):
        run(CONFIG, finished, engine)
    with pytest.raises(FileFormatError, match="symbolic link"):
        read_study(finished)
    assert engine.ran == []
    assert (tmp_path / "precious").read_text() == "precious"


def test_figures_captions_and_the_report_are_not_written_through_links(tmp_path, finished):
    study = read_study(finished)
    names = {path.with_suffix(end).name for path in draw_study(study) for end in (".svg", ".png")}
    names |= {path.name for path in finished.glob("*.md")} | {"report.html"}
    assert "complexity.md" in names
    for name in names:
        point_elsewhere(finished / name)
    draw_study(study)
    write_report([study], finished / "report.html")
    assert (tmp_path / "precious").read_text() == "precious"
    for name in names:
        assert (finished / name).stat(follow_symlinks=False).st_size > 100
        assert not (finished / name).is_symlink()


def test_a_report_goes_where_a_user_points(tmp_path, finished):
    link = tmp_path / "report.html"
    link.symlink_to(tmp_path / "precious")
    write_report([read_study(finished)], link, follow_links=True)
    assert "<figure" in (tmp_path / "precious").read_text()


def test_a_pipe_in_the_place_of_a_record_or_figure_hangs_nothing(finished):
    record, figure = records_in(finished)[0], finished / "complexity.svg"
    record.unlink()
    os.mkfifo(record)
    os.mkfifo(figure)
    with pytest.warns(DamagedRecordWarning, match=record.name):
        outcome = call_within_a_minute(run, CONFIG, finished, InProcessEngine())
    assert outcome.ran == 1
    assert read_record(record).done
    assert call_within_a_minute(draw_study, read_study(finished))
    assert figure.is_file()


def test_a_pipe_in_the_place_of_settings_is_refused_at_once(tmp_path, finished):
    path = finished / "experiment.json"
    path.unlink()
    os.mkfifo(path)
    assert "not a regular file" in call_within_a_minute(read_study, finished).message
    assert (
        "not a regular file"
        in call_within_a_minute(run, CONFIG, finished, InProcessEngine()).message
    )
    os.mkfifo(tmp_path / "mine.toml")
    assert (
        "not a regular file" in call_within_a_minute(load_configs, tmp_path / "mine.toml").message
    )


def test_settings_behind_a_link_are_refused(tmp_path):
    (tmp_path / "real.toml").write_text("[letter]\n")
    (tmp_path / "mine.toml").symlink_to(tmp_path / "real.toml")
    with pytest.raises(FileAccessError, match="symbolic link"):
        load_configs(tmp_path / "mine.toml")
