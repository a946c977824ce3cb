"""Processes that share a folder share the work: every trial is run once, whoever is killed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
from support.engines import InProcessEngine

from cranium._runtime.processes import start_time, this_machine
from cranium.errors import EngineError, FileAccessError
from cranium.experiments import Store, local_engine, locks, runner
from cranium.experiments.locks import TrialLocks
from cranium.experiments.records import read_record
from cranium.experiments.trial import run_trial
from cranium.paper import ComplexityConfig, run

pytestmark = pytest.mark.slow

CONFIG = ComplexityConfig(trials=2, most=1)
ELSEWHERE = "0" * 12
JOBS = 8


@pytest.fixture
def jobs(tmp_path):
    return CONFIG.jobs(Store(tmp_path))


@pytest.fixture
def take(tmp_path):
    """Make locks that are given back at the end."""
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(TrialLocks(tmp_path))


def ended_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def leave(folder, job, **owner):
    """A lock as another process would leave it."""
    told = {"machine": this_machine(), "process": os.getpid(), "started": "1", "token": "other"}
    path = folder / f".{job.name}.lock"
    path.write_text(json.dumps({**told, **owner}))
    return path


# One lock


def test_a_trial_is_locked_by_one_at_a_time(tmp_path, jobs, take):
    ours, theirs = take(), take()
    assert ours.take(jobs[0])
    assert not theirs.take(jobs[0])
    assert theirs.take(jobs[1])
    theirs.release(jobs[0])  # it is not theirs
    assert not take().take(jobs[0])
    ours.release(jobs[0])
    assert theirs.take(jobs[0])


def test_locks_are_given_back_at_the_end_whatever_happened(tmp_path, jobs):
    ours = TrialLocks(tmp_path)
    with contextlib.suppress(RuntimeError), ours:
        assert ours.take(jobs[0])
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_process_that_is_gone_is_taken_over_at_once(tmp_path, jobs, take):
    ours = take()
    leave(tmp_path, jobs[0], process=ended_process())
    leave(tmp_path, jobs[1], process=os.getpid(), started="1")  # another one had this number
    assert ours.take(jobs[0])
    assert ours.take(jobs[1])


def test_the_lock_of_a_process_that_is_there_is_not(tmp_path, jobs, take):
    ours = take()
    leave(tmp_path, jobs[0], started=start_time(os.getpid()))
    assert not ours.take(jobs[0])


def test_the_lock_of_another_machine_is_taken_over_after_a_time(tmp_path, jobs, take, monkeypatch):
    ours = take()
    path = leave(tmp_path, jobs[0], machine=ELSEWHERE)
    assert not ours.take(jobs[0])
    monkeypatch.setattr(locks, "STALE", 0.0)
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))  # it is renewed: somebody is there
    assert not ours.take(jobs[0])
    time.sleep(0.01)
    assert ours.take(jobs[0])


def test_an_old_lock_of_another_machine_is_taken_over_at_once(tmp_path, jobs, take):
    path = leave(tmp_path, jobs[0], machine=ELSEWHERE)
    os.utime(path, (1, path.stat().st_mtime - locks.OLD - 10))
    assert take().take(jobs[0])


def test_a_lock_that_is_held_is_renewed(tmp_path, jobs, monkeypatch):
    monkeypatch.setattr(locks, "RENEWED", 0.01)
    with TrialLocks(tmp_path) as ours:
        ours.take(jobs[0])
        path = tmp_path / f".{jobs[0].name}.lock"
        os.utime(path, (1, 1))
        end = time.monotonic() + 60
        while path.stat().st_mtime == 1:
            assert time.monotonic() < end
            time.sleep(0.01)


def test_only_one_takes_a_stale_lock_over_also_on_nfs(tmp_path, take, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def as_on_nfs(stream, how, real=fcntl.flock):
        """There, an exclusive lock needs a file that is open for writing (see man 2 flock)."""
        if fcntl.fcntl(stream, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")
        real(stream, how)

    monkeypatch.setattr(fcntl, "flock", as_on_nfs)
    with take()._guarded() as one, take()._guarded() as other:
        assert (one, other) == (True, False)
    assert list(tmp_path.iterdir()) == []


def test_settings_that_grow_meanwhile_let_no_second_process_take_the_same_stale_lock(
    tmp_path, jobs, take, monkeypatch
):
    run(CONFIG, tmp_path, InProcessEngine())
    leave(tmp_path, jobs[0], process=ended_process())
    ours, theirs, had, looked = take(), take(), [], []
    leave(tmp_path, jobs[0], process=ended_process())  # the first was cleared
    really = ours._is_stale

    def is_stale(path):
        looked.append(really(path))
        if len(looked) == 2:  # now it is sure, and nothing is removed yet
            run(ComplexityConfig(trials=3, most=1), tmp_path, InProcessEngine())
            had.append(theirs.take(jobs[0]))
        return looked[-1]

    monkeypatch.setattr(ours, "_is_stale", is_stale)
    had.append(ours.take(jobs[0]))
    assert looked == [True, True]
    assert had == [False, True]


def without_flock(monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def as_on_some_clusters(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", as_on_some_clusters)


def without_fcntl(monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)


@pytest.mark.parametrize("kind", [without_flock, without_fcntl])
def test_only_one_takes_a_stale_lock_over_where_files_cannot_be_locked(
    tmp_path, jobs, take, monkeypatch, kind
):
    kind(monkeypatch)
    with take()._guarded() as one, take()._guarded() as other:
        assert (one, other) == (True, False)
    assert list(tmp_path.iterdir()) == []
    ours = take()
    leave(tmp_path, jobs[0], process=ended_process())
    assert ours.take(jobs[0])


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (lambda _: None, [".guard"]),
        (without_flock, [".guard", ".guard.lock"]),
        (without_fcntl, [".guard.lock"]),
    ],
)
def test_who_was_killed_while_taking_over_a_lock_is_in_nobodys_way(
    tmp_path, jobs, monkeypatch, kind, names
):
    kind(monkeypatch)
    left = leave(tmp_path, jobs[0], process=ended_process())
    for name in names:
        (tmp_path / name).write_bytes(left.read_bytes())
    assert run(CONFIG, tmp_path, InProcessEngine()).ran == JOBS
    assert len(list(tmp_path.iterdir())) == JOBS + 1


def test_a_guard_is_not_followed_elsewhere(tmp_path, jobs):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / ".guard").symlink_to(tmp_path / "new")
    with TrialLocks(folder) as ours:
        with pytest.raises(FileAccessError, match="cannot lock a trial"), ours._guarded():
            pass
        assert ours.take(jobs[1])
    assert not (tmp_path / "new").exists()


ODD = {
    "empty": lambda path: path.write_bytes(b""),
    "not text": lambda path: path.write_bytes(b"\xff"),
    "a list": lambda path: path.write_text("[]"),
    "nested": lambda path: path.write_text("[" * 900),
    "large": lambda path: path.write_bytes(bytes(10_000)),
    "a pipe": os.mkfifo,
    "a link": lambda path: path.symlink_to(path.parent / "precious"),
    "a link to nowhere": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("make", ODD.values(), ids=ODD.keys())
def test_what_is_no_lock_is_waited_for_no_longer_than_one(tmp_path, jobs, take, monkeypatch, make):
    (tmp_path / "precious").write_text("precious")
    ours = take()
    make(tmp_path / f".{jobs[0].name}.lock")
    assert not ours.take(jobs[0])
    monkeypatch.setattr(locks, "STALE", 0.0)
    time.sleep(0.01)
    assert ours.take(jobs[0])
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_lock_that_cannot_be_removed_is_an_error_and_not_waited_for(
    tmp_path, jobs, take, monkeypatch
):
    (tmp_path / f".{jobs[0].name}.lock").mkdir()
    ours = take()
    ours.take(jobs[0])
    monkeypatch.setattr(locks, "STALE", 0.0)
    time.sleep(0.01)
    with pytest.raises(FileAccessError, match="a lock whose owner is gone"):
        ours.take(jobs[0])


def test_of_many_that_take_over_a_stale_lock_one_has_it(tmp_path, take):
    many, gone = ComplexityConfig(trials=20, most=1).jobs(Store(tmp_path)), ended_process()
    everybody, had = [take() for _ in range(6)], list[str]()
    for job in many:
        leave(tmp_path, job, process=gone)
    barrier = threading.Barrier(len(everybody))

    def take_all(ours):
        for job in many:
            barrier.wait()
            if ours.take(job):
                had.append(job.name)

    threads = [threading.Thread(target=take_all, args=(each,)) for each in everybody]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(Counter(had).values()) <= {1}
    # Whoever came at the moment in which another was looking goes away without it.
    for job in many:
        assert job.name in had or take().take(job)


# Runs


class Counted(InProcessEngine):
    """Waits after each trial for the others."""

    def __init__(self, barrier):
        super().__init__()
        self.barrier = barrier

    def run(self, jobs):
        for result in super().run(jobs):
            with contextlib.suppress(threading.BrokenBarrierError):
                self.barrier.wait(0.05)
            yield result


def test_two_runs_at_once_run_every_trial_once(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "POLL", 0.01)
    barrier = threading.Barrier(2)
    both, outcomes = [Counted(barrier), Counted(barrier)], []
    threads = [
        threading.Thread(target=lambda e=each: outcomes.append(run(CONFIG, tmp_path, e)))
        for each in both
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(outcome.ran for outcome in outcomes) == JOBS
    assert [outcome.there + outcome.ran for outcome in outcomes] == [JOBS, JOBS]
    assert sorted([*both[0].ran, *both[1].ran]) == sorted(
        path.stem for path in tmp_path.glob("*-*.json")
    )
    assert len(list(tmp_path.iterdir())) == JOBS + 1


def test_two_runs_that_try_again_what_failed_try_it_once(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "POLL", 0.01)
    broken, counts = [True], Counter()

    def perhaps(trial, seed):
        counts[trial.key, seed] += 1
        if broken[0] and seed == 1:
            raise ValueError("no luck")
        return run_trial(trial, seed)

    monkeypatch.setattr(local_engine, "run_trial", perhaps)
    assert len(run(CONFIG, tmp_path, InProcessEngine()).failed) == JOBS // 2
    broken[0], barrier = False, threading.Barrier(2)
    threads = [
        threading.Thread(target=lambda: run(CONFIG, tmp_path, Counted(barrier), retry_failed=True))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(counts.values()) == {1: JOBS // 2, 2: JOBS // 2}


def test_what_a_killed_process_had_locked_is_run_and_its_locks_and_drafts_are_cleared(
    tmp_path, jobs
):
    run(CONFIG, tmp_path, InProcessEngine())
    gone = ended_process()
    (tmp_path / f"{jobs[0].name}.json").unlink()
    leave(tmp_path, jobs[0], process=gone)
    leave(tmp_path, jobs[1], process=gone)  # it was killed when the record was written
    name = f".{jobs[2].name}.json.{this_machine()}-{gone}-{'0' * 16}.draft"
    (tmp_path / name).write_text("half")
    engine = InProcessEngine()
    run(CONFIG, tmp_path, engine)
    assert engine.ran == [jobs[0].name]
    assert len(list(tmp_path.iterdir())) == JOBS + 1


def test_what_others_left_who_were_killed_during_a_run_is_cleared_at_its_end(tmp_path, jobs):
    class Killing(InProcessEngine):
        def run(self, jobs):
            for number, found in enumerate(super().run(jobs)):
                yield found
                if number == JOBS - 1:
                    gone = ended_process()
                    leave(tmp_path, found[0], process=gone)
                    name = f".{found[0].name}.json.{this_machine()}-{gone}-{'0' * 16}.draft"
                    (tmp_path / name).write_text("half")

    assert run(CONFIG, tmp_path, Killing()).ran == JOBS
    assert len(list(tmp_path.iterdir())) == JOBS + 1


def test_what_another_machine_is_running_is_waited_for(tmp_path, jobs, monkeypatch):
    monkeypatch.setattr(runner, "POLL", 0.01)
    run(CONFIG, tmp_path / "other", InProcessEngine())
    tmp_path.joinpath("results").mkdir()
    lock = leave(tmp_path / "results", jobs[0], machine=ELSEWHERE)
    engine = InProcessEngine()

    class Other(threading.Thread):
        def run(self):
            end = time.monotonic() + 60
            while len(engine.ran) < JOBS - 1 and time.monotonic() < end:
                time.sleep(0.01)
            name = f"{jobs[0].name}.json"
            (tmp_path / "other" / name).replace(tmp_path / "results" / name)
            lock.unlink()

    other = Other()
    other.start()
    outcome = run(CONFIG, tmp_path / "results", engine)
    other.join()
    assert (outcome.ran, outcome.there) == (JOBS - 1, 1)
    assert jobs[0].name not in engine.ran
    assert read_record(tmp_path / "results" / f"{jobs[0].name}.json").done


def test_what_a_machine_that_is_gone_was_running_is_run(tmp_path, jobs, monkeypatch):
    monkeypatch.setattr(runner, "POLL", 0.01)
    monkeypatch.setattr(locks, "STALE", 0.05)
    leave(tmp_path, jobs[0], machine=ELSEWHERE)
    outcome = run(CONFIG, tmp_path, InProcessEngine())
    assert outcome.ran == JOBS


class Dropping(InProcessEngine):
    """Takes all that it is given, and runs no more than so many of it."""

    def __init__(self, most):
        super().__init__()
        self.most = most

    def run(self, jobs):
        yield from list(super().run(jobs))[: self.most]


def test_an_engine_that_asks_for_no_trial_is_not_offered_them_for_ever(tmp_path):
    class Lazy:
        workers = 1
        asked = 0

        def run(self, jobs):
            self.asked += 1
            assert self.asked < 5, "it goes on for ever"
            yield from ()

    with pytest.raises(EngineError, match="has no result of any"):
        run(CONFIG, tmp_path, Lazy())
    assert not list(tmp_path.glob(".*"))


def test_an_engine_that_drops_trials_is_not_waited_for(tmp_path):
    assert run(CONFIG, tmp_path, Dropping(3)).ran == JOBS
    with pytest.raises(EngineError, match="was given 8 trials, and has no result of any"):
        run(CONFIG, tmp_path / "none", Dropping(0))
