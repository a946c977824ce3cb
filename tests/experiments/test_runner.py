"""Runs: nothing twice, nothing lost, whatever is killed; and a trial always comes out the same."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from support.engines import InProcessEngine
from support.experiment_process import JOBS, WAIT, ExperimentProcess, records_in
from support.trials import training

from cranium.errors import EngineError, InvalidArgumentError
from cranium.experiments import (
    DamagedRecordWarning,
    LocalEngine,
    RunCallback,
    Store,
    local_engine,
    pool,
    study_trial,
)
from cranium.experiments.attempts import make_lost_error
from cranium.experiments.local_engine import run_job
from cranium.experiments.records import read_record
from cranium.experiments.results import read_study
from cranium.experiments.trial import Job, run_trial
from cranium.paper import ComplexityConfig, LetterConfig, OfficeConfig, RewardMachinesConfig, run
from cranium.paper.config import read_config

pytestmark = pytest.mark.slow

CONFIG = ComplexityConfig(trials=4, most=1)


def without_times(record):
    return replace(record, wall=0.0, cpu=0.0)


def contents(folder):
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in records_in(folder)}


@pytest.fixture
def failing(monkeypatch):
    """Trials of reward machines with the seeds in this set fail; counts how often each was run."""
    seeds, counts = {1, 2}, Counter()

    def perhaps(trial, seed):
        counts[trial.method, trial.case, seed] += 1
        if trial.method == "RM" and seed in seeds:
            raise ValueError(f"no luck with {seed}")
        return run_trial(trial, seed)

    monkeypatch.setattr(local_engine, "run_trial", perhaps)
    perhaps.seeds, perhaps.counts = seeds, counts
    return perhaps


# What is run


def test_a_second_run_runs_nothing_and_writes_no_record(tmp_path):
    first = run(CONFIG, tmp_path, InProcessEngine())
    assert first.ran == len(first.jobs) == 16
    before = contents(tmp_path)
    engine = InProcessEngine()
    second = run(CONFIG, tmp_path, engine)
    assert (second.ran, engine.ran, second.jobs) == (0, [], first.jobs)
    assert contents(tmp_path) == before


def test_only_what_is_missing_is_run(tmp_path):
    run(replace(CONFIG, trials=2), tmp_path, InProcessEngine())
    before = contents(tmp_path)
    gone = records_in(tmp_path)[3]
    gone.unlink()
    engine = InProcessEngine()
    outcome = run(CONFIG, tmp_path, engine)
    assert outcome.ran == 8 + 1
    assert gone.stem in engine.ran
    after = contents(tmp_path)
    assert all(after[name] == before[name] for name in before if name != gone.name)


@pytest.mark.parametrize(
    "other",
    [
        RewardMachinesConfig(trials=1, methods=("QL",), budget=2000),  # another experiment
        CONFIG.quick(),
        replace(CONFIG, trials=3),  # fewer trials
        replace(CONFIG, trials=5).quick(),
    ],
    ids=["another", "quick", "fewer", "more, but quick"],
)
def test_a_folder_is_not_taken_from_the_run_that_it_belongs_to(tmp_path, other):
    config = replace(CONFIG, most=11)
    first = run(config, tmp_path, InProcessEngine())
    told = (tmp_path / "experiment.json").read_bytes()
    before = contents(tmp_path)
    engine = InProcessEngine()
    with pytest.raises(
        InvalidArgumentError, match=r"with other settings|holds the results of"
    ) as caught:
        run(other, tmp_path, engine)
    assert str(tmp_path) in caught.value.message
    assert "another folder" in caught.value.fix
    assert engine.ran == []
    assert (tmp_path / "experiment.json").read_bytes() == told
    assert contents(tmp_path) == before
    assert run(config, tmp_path, InProcessEngine()).ran == 0
    assert len(first.jobs) == len(before)


def test_a_folder_may_grow_by_trials_and_methods(tmp_path):
    config = RewardMachinesConfig(trials=1, methods=("QL",), cases=("coffee and mail",), budget=500)
    assert run(config, tmp_path, InProcessEngine()).ran == 1
    assert run(replace(config, trials=2), tmp_path, InProcessEngine()).ran == 1
    assert (
        run(replace(config, trials=2, methods=("QL", "CRM")), tmp_path, InProcessEngine()).ran == 2
    )
    with pytest.raises(InvalidArgumentError, match="methods"):
        run(replace(config, trials=2), tmp_path, InProcessEngine())


def test_a_folder_without_results_may_be_used_otherwise(tmp_path):
    with pytest.raises(RuntimeError):
        run(CONFIG, tmp_path, Broken())
    assert records_in(tmp_path) == []
    assert run(replace(CONFIG, trials=1), tmp_path, InProcessEngine()).ran == 4


def test_settings_that_nobody_can_read_any_more_are_written_anew(tmp_path):
    run(CONFIG, tmp_path, InProcessEngine())
    (tmp_path / "experiment.json").write_bytes(b'{"experiment": "comp')
    assert run(CONFIG, tmp_path, InProcessEngine()).ran == 0
    assert read_config(read_study(tmp_path), ComplexityConfig) == CONFIG


@pytest.mark.parametrize("told", [None, b'{"experiment": "comp', b"[]", b"\x00\xff"])
def test_other_settings_do_not_take_results_over_that_nobody_says_the_settings_of(tmp_path, told):
    run(CONFIG, tmp_path, InProcessEngine())
    path, before = tmp_path / "experiment.json", contents(tmp_path)
    path.unlink() if told is None else path.write_bytes(told)
    for other in (replace(CONFIG, trials=1), RewardMachinesConfig(trials=1, methods=("QL",))):
        with pytest.raises(InvalidArgumentError, match="results of another run"):
            run(other, tmp_path, InProcessEngine())
    assert path.exists() == (told is not None)
    assert contents(tmp_path) == before
    assert run(CONFIG, tmp_path, InProcessEngine()).ran == 0
    assert read_config(read_study(tmp_path), ComplexityConfig) == CONFIG


class Broken(InProcessEngine):
    def run(self, jobs):
        raise RuntimeError
        yield


def test_what_is_run_later_depends_on_what_was_found(tmp_path):
    config = LetterConfig(trials=2, times=(1,), methods=("CQL",), tuning_trials=1)
    stages = []

    class Listening(RunCallback):
        def begin(self, jobs, there):
            stages.append(({job.trial.stage for job in jobs}, len(jobs), there))

    outcome = run(config, tmp_path, InProcessEngine(), callback=Listening())
    assert stages == [({"tuning"}, 12, 0), ({"final"}, 2, 12)]
    assert outcome.ran == len(outcome.jobs) == 14
    final = [job for job in outcome.jobs if job.trial.stage == "final"]
    tuned = {job.trial.settings["learning_rate"]: job for job in outcome.jobs}
    assert final[0].trial.settings["learning_rate"] in tuned


class Notes(RunCallback):
    """Writes down what it is told."""

    def __init__(self, stop=None):
        self.told, self.stop = [], stop

    def begin(self, jobs, there):
        self.told.append("begin")

    def finished(self, job, record):
        self.told.append(job.name)
        if self.stop is not None and len(self.told) > 3:
            raise self.stop

    def end(self):
        self.told.append("end")


def test_the_callback_is_called_after_each_record_was_written(tmp_path):
    class Looking(Notes):
        def finished(self, job, record):
            super().finished(job, record)
            assert read_record(tmp_path / f"{job.name}.json") == record

    callback = Looking()
    outcome = run(CONFIG, tmp_path, InProcessEngine(), callback=callback)
    names = [job.name for job in sorted(outcome.jobs, key=lambda job: job.seed)]
    assert callback.told == ["begin", *names, "end"], "all methods come along together"


def test_ctrl_c_ends_a_run_and_what_was_found_stays(tmp_path):
    callback = Notes(KeyboardInterrupt)
    outcome = run(CONFIG, tmp_path, InProcessEngine(), callback=callback)
    assert outcome.interrupted
    assert outcome.ran == 3
    assert callback.told[-1] == "end"
    assert len(records_in(tmp_path)) == 3
    again = run(CONFIG, tmp_path, InProcessEngine())
    assert (again.ran, again.interrupted) == (13, False)


def test_an_error_of_the_runner_itself_is_not_swallowed_and_what_was_found_stays(tmp_path):
    callback = Notes(RuntimeError)
    with pytest.raises(RuntimeError):
        run(CONFIG, tmp_path, InProcessEngine(), callback=callback)
    assert callback.told[-1] == "end"
    assert len(records_in(tmp_path)) == 3


def test_a_training_that_ctrl_c_cut_short_is_no_result(tmp_path, monkeypatch):
    monkeypatch.setattr(
        study_trial,
        "train",
        lambda *a, real=study_trial.train, **k: replace(real(*a, **k), interrupted=True),
    )
    config = LetterConfig(trials=1, times=(1,), methods=("planner",))
    outcome = run(config, tmp_path, InProcessEngine())
    assert outcome.interrupted
    assert records_in(tmp_path) == []


# Trials that fail


def test_a_trial_that_fails_is_recorded_with_its_traceback_and_the_others_go_on(tmp_path, failing):
    outcome = run(CONFIG, tmp_path, InProcessEngine())
    assert outcome.ran == 16
    assert {(job.trial.case, job.seed) for job, _ in outcome.failed} == {
        (case, seed) for case in ("1 items of mail", "1 N") for seed in (1, 2)
    }
    for job, record in outcome.failed:
        assert read_record(tmp_path / f"{job.name}.json") == record
        assert (record.status, record.done, record.result) == ("failed", False, {})
        assert "Traceback" in record.error
        assert f"ValueError: no luck with {job.seed}" in record.error


def test_what_failed_is_reported_again_but_not_run_again(tmp_path, failing):
    first = run(CONFIG, tmp_path, InProcessEngine())
    second = run(CONFIG, tmp_path, InProcessEngine())
    assert second.ran == 0
    assert second.failed == first.failed
    assert set(failing.counts.values()) == {1}


def test_what_failed_is_tried_again_once_if_that_is_asked_for(tmp_path, failing):
    run(CONFIG, tmp_path, InProcessEngine())
    failing.seeds.remove(2)
    outcome = run(CONFIG, tmp_path, InProcessEngine(), retry_failed=True)
    assert outcome.ran == 4
    assert {job.seed for job, _ in outcome.failed} == {1}
    again = {place: count for place, count in failing.counts.items() if count > 1}
    assert set(again.values()) == {2}
    assert {(place[0], place[2]) for place in again} == {("RM", 1), ("RM", 2)}


def test_a_trial_that_is_new_and_fails_is_not_tried_twice_in_one_run(tmp_path, failing):
    outcome = run(CONFIG, tmp_path, InProcessEngine(), retry_failed=True)
    assert len(outcome.failed) == 4
    assert set(failing.counts.values()) == {1}


def test_what_failed_is_counted_but_in_no_statistics(tmp_path, failing):
    run(CONFIG, tmp_path, InProcessEngine())
    study = read_study(tmp_path)
    group = study.group("RM", "1 N")
    assert (group.wanted, len(group.records), group.failed) == (4, 4, 2)
    assert len(group.values) == group.summary.run == group.summary.solved == 2
    assert group.summary.deviation == 0
    assert len(study.failed) == 4
    assert study.missing == 0


def test_a_candidate_that_fails_in_tuning_is_not_chosen(tmp_path, monkeypatch):
    def perhaps(trial, seed):
        if trial.stage == "tuning" and trial.settings["learning_rate"] < 1:
            raise ZeroDivisionError
        return run_trial(trial, seed)

    monkeypatch.setattr(local_engine, "run_trial", perhaps)
    config = LetterConfig(trials=1, times=(1,), methods=("CQL",), tuning_trials=1)
    outcome = run(config, tmp_path, InProcessEngine())
    assert len(outcome.failed) == 8
    (group,) = read_study(tmp_path).groups
    assert group.config["settings"]["learning_rate"] == 1.0


# A trial is a function of its config and its seed


def some_jobs(folder):
    """One of every kind and learner."""
    store = Store(folder)
    letter = LetterConfig(times=(1, 2))
    configs = [
        letter,
        OfficeConfig(mail=1, budget=3000),
        replace(letter, protocol="paper"),
        RewardMachinesConfig(1, budget=3000),
    ]
    found = {}
    for config in configs:
        for job in config.jobs(store):
            trial = job.trial
            small = replace(trial, steps=min(trial.steps, 8000))
            found.setdefault((config.folder, trial.method, trial.case), small)
    jobs = [Job(trial, 1_000_003) for trial in found.values()]
    return [*jobs, *ComplexityConfig(1, most=2).jobs(store)]


def test_a_trial_is_the_same_whatever_ran_before_it_and_in_whichever_process(tmp_path):
    jobs = some_jobs(tmp_path)
    here = {job: without_times(run_job(job)) for job in jobs}
    assert all(record.done for record in here.values())
    again = {job: without_times(run_job(job)) for job in reversed(jobs)}
    there = {job: without_times(record) for job, record in LocalEngine(2).run(jobs[::-1])}
    for job in jobs:
        assert json.dumps(again[job].result) == json.dumps(here[job].result)
        assert json.dumps(there[job].result) == json.dumps(here[job].result)
    assert again == here
    assert there == here


def test_another_seed_gives_another_training():
    trial = training("cql", evaluate_every=10)
    assert run_trial(trial, 0) != run_trial(trial, 1)


# Processes


@pytest.fixture
def script(tmp_path):
    started = []

    def start(*args, **kwargs):
        started.append(ExperimentProcess(tmp_path, *args, **kwargs))
        return started[-1]

    yield start
    for each in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(each.process.pid, signal.SIGKILL)
        each.process.communicate()


def alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def cpu_seconds(process):
    with contextlib.suppress(OSError):
        told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def wait_until_gone(processes, seconds=5):
    deadline = time.monotonic() + seconds
    while left := [process for process in processes if alive(process)]:
        assert time.monotonic() < deadline, f"{left} are still there"
        time.sleep(0.05)


def check_whole(folder):
    for path in records_in(folder):
        assert read_record(path).done


linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")


@linux
def test_killing_a_run_loses_only_what_is_running_and_leaves_no_process(script):
    first = script()
    first.wait_for(5)
    children = first.children()
    assert len(first.workers()) == 2
    first.process.kill()
    first.process.wait()
    wait_until_gone(children)
    before = contents(first.folder)
    assert 5 <= len(before) < JOBS
    check_whole(first.folder)
    told = script(pause=0).end()
    assert told == {"ran": JOBS - len(before), "interrupted": False, "failed": 0, "jobs": JOBS}
    after = contents(first.folder)
    assert {name: after[name] for name in before} == before
    assert len(after) == JOBS
    check_whole(first.folder)


@linux
def test_workers_deep_in_compiled_code_end_with_their_parent(script):
    first = script(pause=0, config="Endless()")
    deadline = time.monotonic() + WAIT
    # They train once they have used more time than it takes to get ready.
    while len([worker for worker in first.workers() if cpu_seconds(worker) > 3]) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    children = first.children()
    first.process.kill()
    first.process.wait()
    wait_until_gone(children)
    assert records_in(first.folder) == []


@linux
@pytest.mark.parametrize("everybody", [False, True], ids=["the run", "the run and its workers"])
def test_ctrl_c_stops_a_run_cleanly_and_loses_nothing(script, everybody):
    first = script()
    first.wait_for(5)
    children = first.children()
    (os.killpg if everybody else os.kill)(first.process.pid, signal.SIGINT)
    told = first.end()
    assert told["interrupted"]
    wait_until_gone(children)
    before = contents(first.folder)
    assert told["ran"] == len(before) < JOBS
    assert len(list(first.folder.iterdir())) == len(before) + 1  # and experiment.json: no litter
    check_whole(first.folder)
    told = script(pause=0).end()
    assert (told["ran"], told["interrupted"]) == (JOBS - len(before), False)
    after = contents(first.folder)
    assert {name: after[name] for name in before} == before


@linux
def test_a_worker_that_is_killed_is_replaced_and_its_job_run_again(script):
    first = script()
    first.wait_for(5)
    os.kill(first.workers().pop(), signal.SIGKILL)
    told = first.end()
    assert told == {"ran": JOBS, "interrupted": False, "failed": 0, "jobs": JOBS}
    assert len(records_in(first.folder)) == JOBS
    check_whole(first.folder)


def test_two_runs_at_once_come_to_what_one_comes_to(script, tmp_path):
    one, other = script(), script()
    told = [one.end(), other.end()]
    assert all(each["jobs"] == JOBS and not each["failed"] for each in told)
    assert sum(each["ran"] for each in told) == JOBS, "every trial is run once"
    check_whole(one.folder)
    outcome = run(ComplexityConfig(trials=8, most=2), tmp_path / "alone", InProcessEngine())
    alone, together = Store(tmp_path / "alone"), Store(one.folder)
    for job in outcome.jobs:
        assert without_times(together.find(job)) == without_times(alone.find(job))
    names = {path.name for path in one.folder.iterdir()}
    assert names == {path.name for path in alone.folder.iterdir()}


def test_a_damaged_record_is_repaired_by_workers_too(tmp_path):
    config = ComplexityConfig(trials=1, most=1)
    outcome = run(config, tmp_path, LocalEngine(1))
    path = Store(tmp_path).path(outcome.jobs[0])
    path.write_bytes(path.read_bytes()[:100])
    with pytest.warns(DamagedRecordWarning, match=path.name):
        assert run(config, tmp_path, LocalEngine(1)).ran == 1
    check_whole(tmp_path)


def test_what_was_lost_is_no_result_and_is_run_by_the_next_run(tmp_path):
    class Losing(InProcessEngine):
        def run(self, jobs):
            found = list(super().run(jobs))
            yield from found[1:]
            raise make_lost_error({found[0][0]: "out of\nmemory"})

    with pytest.raises(EngineError, match=r"seed 0 \(out of memory\)") as caught:
        run(CONFIG, tmp_path, Losing())
    assert "the same command tries again" in caught.value.fix
    assert len(records_in(tmp_path)) == 15
    check_whole(tmp_path)
    again = run(CONFIG, tmp_path, InProcessEngine())
    assert (again.ran, again.failed) == (1, [])


def test_without_a_free_file_descriptor_no_process_is_started_and_that_is_said():
    resource = pytest.importorskip("resource")
    job = CONFIG.jobs(Store(Path("nowhere")))[0]
    engine = LocalEngine(1)
    [_] = engine.run([job])  # whatever is loaded at the first time is
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Path(os.devnull).open() as stream:
        free = stream.fileno()
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        with pytest.raises(EngineError, match="no process can be started to run trials: Too many"):
            list(engine.run([job]))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_what_a_worker_has_done_is_not_lost_when_others_do_not_even_start():
    first, second = CONFIG.jobs(Store(Path("nowhere")))[:2]
    workers = pool.WorkerPool(2, [], run_job)
    try:
        workers.submit(first)
        [good] = workers.workers
        assert workers._receive(good) is None  # it is ready, and gets its job
        assert good.connection.poll(WAIT)  # which is done
        workers.submit(second)
        workers.workers[1].process.kill()
        workers.workers[1].process.join()
        workers.failed_starts = pool.KILLED_STARTS - 1
        replies = dict(workers.replies())
        assert replies[first].done
        assert replies[second] is None  # not begun
        assert len(replies) == 2
        workers.submit(second)
        with pytest.raises(EngineError, match="did not get as far as running a trial"):
            workers.replies()
    finally:
        workers.stop()


FIRST_WORKER = """
import signal, sys
from pathlib import Path

from cranium.experiments.local_engine import run_job
from cranium.experiments.pool import WorkerPool

if __name__ == "__main__":
    pool = WorkerPool(1, [], run_job)
    status = Path(f"/proc/{pool._start().process.pid}/status").read_text()
    pool.stop()
    print(int(status.split("SigBlk:")[1].split()[0], 16) >> (signal.SIGINT - 1) & 1)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_the_first_worker_does_not_hear_ctrl_c_either_while_it_starts(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(FIRST_WORKER)
    told = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["1"]


def test_a_script_that_starts_itself_again_is_told_what_to_do(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\n"
        "from cranium.experiments import LocalEngine\n"
        "from cranium.paper import ComplexityConfig, run\n"
        "run(ComplexityConfig(most=1), Path('out'), LocalEngine(1))\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode != 0
    assert 'put what runs them under if __name__ == "__main__":' in done.stderr
    assert not list((tmp_path / "out").glob("*-*.json"))
