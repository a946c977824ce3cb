"""Records: whole or not there, found out if they are damaged, named by what they depend on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from dataclasses import replace

import pytest
from support import trials
from support.engines import InProcessEngine

from cranium.errors import FileAccessError, RecordError
from cranium.experiments import DamagedRecordWarning, Record, Store
from cranium.experiments.local_engine import run_job
from cranium.experiments.records import read_record
from cranium.experiments.results import read_study, to_rows
from cranium.experiments.trial import Job
from cranium.learners import Schedule
from cranium.paper import ComplexityConfig, run

CONFIG = ComplexityConfig(trials=1, most=2)


SETTINGS = {"learning_rate": 0.5, "exploration": Schedule(1.0, 0.01, 100, "episodes")}


def training(**more):
    given = {"options": {"times": [1, 3], "observation": "cell"}, "settings": SETTINGS}
    return trials.training(**{**given, **more})


@pytest.fixture
def job():
    return Job(trials.size_trial(limit=2), 3)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


# There and back


def test_a_record_comes_back_as_it_was(store, job):
    record = run_job(job)
    store.save(job, record)
    assert read_record(store.path(job)) == record
    assert Store(store.folder).find(job) == record
    assert list(store) == [record]
    assert [path.name for path in store.folder.iterdir()] == [f"{job.name}.json"]


def test_odd_numbers_and_letters_come_back(store, job):
    odd = {"a": [0.1, 1e-300, 10**30, None, True, -0.0, float("inf")], "λ\n": {"\ud800": "☃"}}
    done = run_job(job)
    record = replace(done, result={**done.result, **odd}, error="Ärger")
    store.save(job, record)
    assert Store(store.folder).find(job) == record


def test_a_record_can_be_read_without_the_code_that_made_it(store):
    job = Job(training(steps=200), 7)
    store.save(job, run_job(job))
    told = json.loads(store.path(job).read_text())["record"]
    assert told["config"]["kind"] == "StudyTrial"
    assert told["config"]["settings"]["learning_rate"] == 0.5
    assert told["seed"] == 7
    assert told["versions"].keys() >= {"python", "cranium", "numpy", "numba"}


def test_a_trial_without_a_record_has_none(store, job):
    assert store.find(job) is None
    assert list(store) == []


def test_a_record_of_an_error_is_not_done(store, job):
    other = Job(job.trial, 4)
    store.save(job, run_job(job))
    store.save(other, replace(run_job(other), status="failed", result={}, error="Traceback"))
    assert (store.find(job).done, store.find(other).done) == (True, False)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileAccessError, match="file"):
        Store(tmp_path / "file" / "folder").make()


# Damage


def change(path, **more):
    """Write the file anew, with something else in it, but well-formed."""
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, **more}))


def grow(path):
    told = json.loads(path.read_text())
    told["record"]["result"]["states"] += 1
    path.write_text(json.dumps(told))


def flip(path):
    content = bytearray(path.read_bytes())
    content[content.index(b'"states": ') + len(b'"states": ')] ^= 1  # another digit
    path.write_bytes(content)


DAMAGE = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "flipped": flip,
    "empty": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "not text": lambda path: path.write_bytes(b"\xff\xfe\xfd"),
    "a list": lambda path: path.write_text("[1, 2, 3]"),
    "a number": lambda path: path.write_text("3"),
    "a text": lambda path: path.write_text('"record"'),
    "null": lambda path: path.write_text("null"),
    "something else": lambda path: path.write_text('{"name": "not a record"}'),
    "nested": lambda path: path.write_text("[" * 100_000),
    "another format": lambda path: change(path, format=2),
    "a text for a format": lambda path: change(path, format="1"),
    "another checksum": lambda path: change(path, checksum="0" * 64),
    "no checksum": lambda path: change(path, checksum=None),
    "another value": grow,
    "a record that is none": lambda path: change(path, record=[]),
    "an empty record": lambda path: change(path, record={}),
}
EVERY_DAMAGE = pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())


@EVERY_DAMAGE
def test_damage_is_found_reported_and_only_that_trial_is_run_again(tmp_path, damage):
    before = run(CONFIG, tmp_path, InProcessEngine())
    paths = {job.name: Store(tmp_path).path(job) for job in before.jobs}
    contents = {name: path.read_bytes() for name, path in paths.items()}
    broken = before.jobs[2]
    damage(paths[broken.name])
    with pytest.raises(RecordError, match=broken.name):
        read_record(paths[broken.name])
    with pytest.warns(DamagedRecordWarning, match=broken.name):
        assert len(list(Store(tmp_path))) == len(before.jobs) - 1
    engine = InProcessEngine()
    with pytest.warns(DamagedRecordWarning, match=broken.name):
        outcome = run(CONFIG, tmp_path, engine)
    assert engine.ran == [broken.name]
    assert (outcome.ran, outcome.failed) == (1, [])
    whole = json.loads(contents[broken.name])["record"]["result"]
    assert read_record(paths[broken.name]).result == whole
    for name, path in paths.items():
        assert name == broken.name or path.read_bytes() == contents[name]
    assert run(CONFIG, tmp_path, InProcessEngine()).ran == 0


def test_the_record_of_another_trial_under_this_name_is_found_out(store, job):
    other = Job(job.trial, job.seed + 1)
    store.save(other, run_job(other))
    store.path(job).write_bytes(store.path(other).read_bytes())
    with pytest.warns(DamagedRecordWarning, match=f"{job.name}.* another trial"):
        assert Store(store.folder).find(job) is None
    assert Store(store.folder).find(other) is not None


def test_any_bit_that_flips_is_found_out_or_changes_nothing(store, job):
    store.save(job, run_job(job))
    path, whole = store.path(job), Store(store.folder).find(job)
    content = path.read_bytes()
    unnoticed = 0
    for place in range(len(content)):
        for bit in (1 << (place % 8), 1 << ((place + 3) % 8)):
            path.write_bytes(content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :])
            try:
                assert read_record(path) == whole
                unnoticed += 1
            except RecordError:
                pass
    assert unnoticed < 5  # such as 1e-05 and 1E-05


def test_any_end_that_is_missing_is_found_out(store, job):
    store.save(job, run_job(job))
    path = store.path(job)
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(RecordError):
            read_record(path)


def test_a_record_that_is_a_folder_is_an_error_not_a_reason_to_run(store, job):
    store.path(job).mkdir()
    with pytest.raises(FileAccessError, match=job.name):
        store.find(job)


# Crashes in the middle of a write


class Crash(BaseException):
    pass


@pytest.mark.parametrize("error", [OSError(28, "No space left"), Crash(), KeyboardInterrupt()])
@pytest.mark.parametrize(
    ("step", "old"),
    [("fsync", True), ("fsync", False), ("chmod", True), ("replace", True), ("replace", False)],
)
def test_a_crash_while_writing_leaves_the_old_file_or_none_and_no_litter(
    store, job, monkeypatch, step, error, old
):
    first, second = run_job(job), replace(run_job(job), result={"states": -1})
    if old:
        store.save(job, first)

    def crash(*_, **__):
        raise error

    expected = FileAccessError if isinstance(error, OSError) else type(error)
    with monkeypatch.context() as patch:
        patch.setattr(os, step, crash)
        with pytest.raises(expected):
            store.save(job, second)
    assert [path.name for path in store.folder.iterdir()] == [f"{job.name}.json"] * old
    for reader in (store, Store(store.folder)):  # the store itself does not believe in it either
        assert reader.find(job) == (first if old else None)


def test_a_record_is_on_the_disk_before_it_has_its_name(store, job, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *a, real=real, name=name: calls.append(name) or real(*a)
        )
    store.save(job, run_job(job))
    assert calls == [
        "fsync",
        "replace",
        "fsync",
    ]  # the file, its name, and the folder with the name


def test_a_draft_that_a_killed_process_left_is_no_record(store, job):
    store.save(job, run_job(job))
    (store.folder / f".{job.name}.json.abc123").write_bytes(b'{"format": 1, "che')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(Store(store.folder))) == 1


# Names


def test_keys_do_not_change_from_version_to_version():
    # Results that lie on somebody's disk are found by these.
    assert training().key == "b5c3cafabf60b168"
    assert trials.size_trial(limit=2).key == "4a40df2f207f1b07"
    assert Job(training(), 12).name == "b5c3cafabf60b168-12"


def test_keys_do_not_depend_on_the_order_of_settings_or_the_kind_of_list():
    turned = dict(reversed(SETTINGS.items()))
    assert list(turned) != list(SETTINGS)
    assert training(settings=turned).key == training().key
    assert training(options={"observation": "cell", "times": (1, 3)}).key == training().key
    assert training(settings=turned) == training()
    assert len({training(settings=turned), training()}) == 1


def test_keys_do_not_depend_on_names_in_legends_and_tables():
    named = training(method="QL", case="N = 2", experiment="other")
    assert named.key == training().key
    assert replace(training(), stage="tuning").key == training().key


def test_keys_depend_on_everything_else():
    found = [
        training(),
        training(task="anbcn"),
        training(learner="ql"),
        training(options={"times": [1, 4], "observation": "cell"}),
        training(settings={}),
        training(settings={"learning_rate": 0.25}),
        training(steps=5),
        training(evaluate_every=5),
        training(until="budget"),
        training(until=100),
        training(limit=1),
        training(tested_on={}),
        training(tested_on={"times": 2}),
        trials.size_trial(),
        trials.size_trial(limit=2),
        trials.size_trial("office"),
        replace(trials.size_trial(), function="builtins:dict"),
    ]
    assert len({trial.key for trial in found}) == len(found)


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_keys_do_not_depend_on_the_process(tmp_path, hash_seed):
    script = """
from cranium.learners import Schedule
from cranium.paper.problems import PaperProblem
from cranium.studies import Study
names = {"observation", "times"}
options = {name: {"observation": "cell", "times": [1, 3]}[name] for name in names}
settings = {"exploration": Schedule(1.0, 0.01, 100, "episodes"), "learning_rate": 0.5}
study = Study("a", {"b": PaperProblem("Letter", "anbcdn", options)},
              {"c": ("cql", {name: settings[name] for name in set(settings)})},
              steps=1_000_000, evaluate_every=100)
print(study.trials[0].trial.key)
"""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == training().key


def test_a_record_names_its_trial(store):
    job = Job(training(steps=200, until="budget"), 1)
    record = run_job(job)
    assert isinstance(record, Record)
    assert (record.key, record.seed, record.config) == (job.trial.key, 1, job.trial.data)


@pytest.mark.parametrize("success", [[[1]], "x", 3, {"a": "b"}, None])
def test_what_a_failed_trial_says_it_found_counts_for_nothing(success, tmp_path):
    run(CONFIG, tmp_path, InProcessEngine())
    store = Store(tmp_path)
    job = CONFIG.jobs(store)[0]
    failed = replace(store.find(job), status="failed", result={"success": success}, error="no")
    store.save(job, failed)
    study = read_study(tmp_path)
    assert [row["success"] for row in to_rows([study]) if row["status"] == "failed"] == [None]
