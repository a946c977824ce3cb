"""Trackers: what each writes is read back, and no tracker changes what is learned."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from typing import ClassVar

import gymnasium as gym
import numpy as np
import pytest
from support.tracked_files import hide_package, read_scalars, read_wandb_records

import cranium
from cranium.errors import (
    FileAccessError,
    FileFormatError,
    InvalidArgumentError,
    MissingExtraError,
    UnknownNameError,
)
from cranium.experiments import RunDescription, track
from cranium.experiments.trackers import TrackerWarning, find_tracker
from cranium.learners import train_seeds

FIGURES = ("evaluation/success", "evaluation/return", "evaluation/steps")


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    """Nothing is sent anywhere."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def env():
    return gym.make("cranium/Letter-anbcdn-v0", times=1)


def train(env, *trackers, learner="cql", callbacks=(), **more):
    told = {"steps": 900, "evaluate_every": 300, **more}
    return cranium.train(env, learner, callbacks=[track(*trackers), *callbacks], **told)


class Noting:
    """A tracker that keeps what it is told."""

    runs: list[list]

    def __init__(self):
        self.told = []
        type(self).runs.append(self.told)

    def begin(self, run):
        self.told.append(("begin", run))

    def log(self, samples, values):
        self.told.append((samples, dict(values)))

    def end(self, status, summary):
        self.told.append((status, dict(summary)))


@pytest.fixture
def noting():
    return type("Noted", (Noting,), {"runs": []})


def points(curve, column):
    return [(int(row[0]), row[1 + column]) for row in curve]


# What each writes


def test_a_tracker_is_told_the_run_its_evaluations_and_its_result(env, noting):
    result = train(env, noting)
    (told,) = noting.runs
    (_, run), *logged, (status, summary) = told
    assert (run.group, run.name) == ("A^N B C D^N", ("cql", "seed 0"))
    assert run.settings == result.config.as_dict()
    assert run.metadata["learner"] == "cql"
    assert run.metadata["steps"] == 900
    assert [samples for samples, _ in logged] == [300, 600, 900]
    for column, name in enumerate(FIGURES):
        assert [(at, values[name]) for at, values in logged] == points(result.curve, column)
    assert logged[-1][1]["training/episodes"] == result.episodes
    assert logged[-1][1]["training/successes"] == result.successes
    assert 0 < logged[-1][1]["training/exploration"] <= 1
    assert -1 <= logged[-1][1]["training/return"] <= 1
    assert status == "finished"
    assert summary["samples"] == 900
    assert summary["success"] == result.evaluation.success.mean()
    assert ("samples_to_solve" in summary) == (result.samples_to_solve is not None)


def test_a_csv_file_has_a_row_for_each_value_of_all_runs(env, tmp_path):
    results = [train(env, "csv:runs.csv", seed=seed) for seed in (3, 4)]
    with (tmp_path / "runs.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for result in results:
        ours = [row for row in rows if row["run"] == f"cql, seed {result.seed}"]
        assert {row["group"] for row in ours} == {"A^N B C D^N"}
        for column, name in enumerate(FIGURES):
            found = [(int(r["samples"]), float(r["value"])) for r in ours if r["name"] == name]
            assert found == points(result.curve, column)
        told = {row["name"]: row["value"] for row in ours}
        assert told["settings/discount"] == str(result.config.discount)
        assert told["metadata/seed"] == str(result.seed)
        assert told["result/status"] == "finished"
    assert {row["run"] for row in rows} == {"cql, seed 3", "cql, seed 4"}


@pytest.mark.slow
def test_tensorboard_reads_the_event_file_with_the_curve_settings_and_result(env, tmp_path):
    results = [train(env, "tensorboard:runs") for _ in range(2)]
    folder = tmp_path / "runs" / "A^N B C D^N" / "cql"
    # The same run again does not write into the folder of the first.
    assert sorted(path.name for path in folder.iterdir()) == ["seed 0", "seed 0 (2)"]
    for result, name in zip(results, ("seed 0", "seed 0 (2)"), strict=True):
        (file,) = (folder / name).iterdir()
        assert file.name.startswith("events.out.tfevents.")
        scalars, texts = read_scalars(file)
        for column, figure in enumerate(FIGURES):
            expected = [(at, np.float32(value)) for at, value in points(result.curve, column)]
            assert scalars[figure] == expected
        assert scalars["result/samples"] == [(900, 900)]
        assert f"|discount|{result.config.discount}|" in texts["settings/text_summary"]
        assert "|task|A^N B C D^N|" in texts["metadata/text_summary"]
        assert texts["status/text_summary"] == "finished"


@pytest.mark.slow
def test_the_curves_of_a_run_that_goes_on_can_be_seen_in_tensorboard(env, tmp_path):
    def look(progress):
        (file,) = (tmp_path / "runs").rglob("events*")
        seen.append(len(read_scalars(file)[0][FIGURES[0]]))

    seen = []
    train(env, "tensorboard:runs", callbacks=[look])
    assert seen == [1, 2, 3]


@pytest.mark.slow
def test_wandb_writes_the_history_config_and_summary_of_an_offline_run(env, tmp_path):
    import wandb

    result = train(env, "wandb:team/cranium")
    wandb.teardown()  # its own process writes the file
    (file,) = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    records = list(read_wandb_records(file))
    (run,) = [record.run for record in records if record.WhichOneof("record_type") == "run"]
    assert (run.entity, run.project) == ("team", "cranium")
    assert (run.display_name, run.run_group) == ("cql, seed 0", "A^N B C D^N")
    config = {each.key: json.loads(each.value_json) for each in run.config.update}
    assert config["learner"] == "cql"
    assert config["settings/discount"] == result.config.discount
    history = [
        {
            (item.nested_key[0] if item.nested_key else item.key): json.loads(item.value_json)
            for item in record.history.item
        }
        for record in records
        if record.WhichOneof("record_type") == "history"
    ]
    for column, name in enumerate(FIGURES):
        found = [(row["_step"], row[name]) for row in history if name in row]
        assert found == points(result.curve, column)
    summary = {}
    for record in records:
        for each in record.summary.update:
            summary[each.key or each.nested_key[0]] = json.loads(each.value_json)
    assert summary["samples"] == 900
    assert summary["status"] == "finished"
    assert [record.exit.exit_code for record in records if record.HasField("exit")] == [0]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["mlflow:store", "mlflow:sqlite:///store/mlflow.db"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of MLflow's database, where we read it
def test_mlflow_has_the_metrics_parameters_and_status_of_a_run(env, tmp_path, where):
    from mlflow.tracking import MlflowClient

    result = train(env, where)
    client = MlflowClient(tracking_uri=f"sqlite:///{tmp_path}/store/mlflow.db")
    experiment = client.get_experiment_by_name("A^N B C D^N")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.run_name == "cql, seed 0"
    assert run.info.status == "FINISHED"
    assert run.data.params["discount"] == str(result.config.discount)
    assert run.data.params["seed"] == run.data.tags["cranium.seed"] == "0"
    for column, name in enumerate(FIGURES):
        found = [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, name)]
        assert sorted(found) == points(result.curve, column)
    assert run.data.metrics["result/samples"] == 900


# No tracker changes what is learned


def test_tracking_changes_no_number(env, noting):
    alone = cranium.train(env, "cql", steps=900, evaluate_every=300)
    tracked = train(env, noting, "csv:runs.csv")
    assert np.array_equal(alone.curve, tracked.curve)
    assert np.array_equal(alone.q, tracked.q)


@pytest.mark.parametrize("when", ["begin", "log", "end"])
def test_a_tracker_that_fails_is_told_once_and_the_training_and_the_others_go_on(env, noting, when):
    def fail(*_):
        raise ConnectionError("the server is gone")

    broken = type("Broken", (Noting,), {"runs": [], when: fail})
    with pytest.warns(
        TrackerWarning, match=r"stopped tracking: ConnectionError: the server"
    ) as got:
        result = train(env, broken, noting)
    assert len(got) == 1
    assert np.array_equal(
        result.curve, cranium.train(env, "cql", steps=900, evaluate_every=300).curve
    )
    assert noting.runs[0][-1][0] == "finished"
    assert [word for word, _ in broken.runs[0]] == {"begin": [], "log": ["begin"]}.get(
        when, ["begin", 300, 600, 900]
    )


def test_warnings_of_a_tracker_are_none_of_the_training(env):
    class Deprecated(Noting):
        runs: ClassVar[list[list]] = []

        def log(self, samples, values):
            import warnings

            warnings.warn("use another library", DeprecationWarning, stacklevel=1)
            super().log(samples, values)

    train(env, Deprecated)  # every warning is an error here
    assert len(Deprecated.runs[0]) == 5


def test_a_run_that_ctrl_c_ended_is_interrupted_and_one_that_an_error_ended_has_failed(env, noting):
    def stop(progress):
        raise KeyboardInterrupt

    def fail(progress):
        raise ArithmeticError

    assert train(env, noting, callbacks=[stop]).interrupted
    with pytest.raises(ArithmeticError):
        train(env, noting, callbacks=[fail])
    assert [run[-1][0] for run in noting.runs] == ["interrupted", "failed"]
    assert noting.runs[0][-1][1]["samples"] == 300
    assert noting.runs[1][-1][1] == {}


def test_several_seeds_are_several_runs(env, noting):
    results = train_seeds(
        env, "planner", steps=60, seeds=(5, 6), evaluate_every=20, callbacks=[track(noting)]
    )
    assert [told[0][1].name for told in noting.runs] == [
        ("planner", "seed 5"),
        ("planner", "seed 6"),
    ]
    for told, result in zip(noting.runs, results, strict=True):
        assert [at for at, values in told[1:-1]] == result.curve[:, 0].tolist()


def test_evaluations_between_two_calls_are_logged_at_their_own_samples(env, noting):
    result = train(env, noting, evaluate_every=200, every=450)
    logged = noting.runs[0][1:-1]
    evaluated = [(at, values[FIGURES[0]]) for at, values in logged if FIGURES[0] in values]
    assert evaluated == points(result.curve, 0)
    counted = [at for at, values in logged if "training/episodes" in values]
    assert counted == [450, 900]


# What is refused before anything is learned


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("tensorboard:runs", "tensorboardX", "tensorboard"),
        ("wandb:project", "wandb", "wandb"),
        ("mlflow:store", "mlflow.tracking", "mlflow"),
        ("mlflow:store", "sqlalchemy", "mlflow"),
    ],
)
def test_an_extra_that_is_missing_is_named_before_the_first_sample(
    env, monkeypatch, tmp_path, name, module, extra
):
    hide_package(monkeypatch, module)
    with pytest.raises(MissingExtraError, match=r"not (all )?installed") as found:
        train(env, name)
    assert f"[{extra}]" in found.value.fix


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("tensorboard", InvalidArgumentError, "no tracker is called 'tensorboard'"),
        ("csv: ", InvalidArgumentError, "no tracker is called"),
        ("comet:project", InvalidArgumentError, "there is no module 'comet'"),
        ("math:pie", UnknownNameError, "no such name in math: 'pie'"),
        ("math:pi", InvalidArgumentError, "math:pi is 3.14"),
        (7, InvalidArgumentError, "a tracker is 7"),
    ],
)
def test_names_of_no_tracker_are_refused(name, error, message):
    with pytest.raises(error, match=message):
        find_tracker(name)


def test_places_that_cannot_be_written_are_refused_before_the_first_sample(env, tmp_path):
    (tmp_path / "file").write_text("seed,value\n1,2\n")
    with pytest.raises(FileFormatError, match="is not a file of tracked runs"):
        train(env, "csv:file")
    assert (tmp_path / "file").read_text() == "seed,value\n1,2\n"
    with pytest.raises(FileAccessError, match="cannot write"):
        train(env, "csv:nowhere/runs.csv")
    with pytest.raises(FileAccessError, match="cannot make the folder"):
        train(env, "tensorboard:file/runs")
    with pytest.raises(FileAccessError, match="cannot make the folder"):
        train(env, "mlflow:file/store")


def test_folders_of_runs_stay_within_the_folder_of_the_tracker():
    run = RunDescription("../..", ("/etc", "a/b\\c", "..", "x" * 500, "Größe $N^2$\n"))
    parts = run.folder.split("/")
    assert parts[:4] == ["-", "-etc", "a-b-c", "-"]
    assert parts[4] == "x" * 80
    assert parts[5] == "Größe -N^2--"


# The command line


OWN = """
class Printing:
    def begin(self, run):
        print("begin", run.title)

    def log(self, samples, values):
        print("log", samples, values["evaluation/success"])

    def end(self, status, summary):
        print("end", status)
"""


@pytest.mark.slow
def test_cranium_train_takes_several_trackers_and_one_in_a_file_of_the_users(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    told = ["--seeds", "2", "--steps", "60", "--evaluate-every", "30", "--with", "times=1"]
    command = [sys.executable, "-m", "cranium", "train", "Letter", "anbcdn", "--learner", "planner"]
    trackers = ["--track", "mine.py:Printing", "--track", "csv:runs.csv"]
    done = subprocess.run([*command, *told, *trackers], capture_output=True, text=True, check=True)
    for seed in (0, 1):
        lines = [f"begin planner, seed {seed}", "log 30 0.0", "log 60 1.0", "end finished"]
        assert "\n".join(lines) in done.stdout
    assert (tmp_path / "runs.csv").read_text().count("evaluation/success") == 4
    refused = subprocess.run(
        [*command, *told, "--track", "csv:nowhere/runs.csv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert "cannot write" in refused.stderr
    assert "seed 0" not in refused.stdout


@pytest.mark.slow
def test_wandb_without_an_account_says_what_to_do_before_the_first_sample(monkeypatch, tmp_path):
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "nothing"))
    monkeypatch.setenv("HOME", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "cranium", "train", "Letter", "anbcdn", "--track", "wandb:project"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert "wandb does not know your account" in done.stderr
    assert "WANDB_MODE=offline" in done.stderr
    assert not list(tmp_path.glob("wandb/*run-*"))
