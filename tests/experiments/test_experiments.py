"""Every experiment from its config to its groups, as small as it can be, in processes."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace

import pytest
from support.engines import InProcessEngine

from cranium.errors import FileFormatError, RecordError
from cranium.experiments import LocalEngine, Store
from cranium.experiments.results import export, find_studies, read_studies, read_study, to_rows
from cranium.experiments.statistics import summarise
from cranium.paper import ComplexityConfig, LetterConfig, OfficeConfig, RewardMachinesConfig, run
from cranium.paper.complexity import MACHINES
from cranium.paper.config import read_config
from cranium.paper.reward_machines import CASES

pytestmark = pytest.mark.slow

LETTER = LetterConfig(times=(1,), trials=2, methods=("CQL", "CRM"), tuning_trials=1)
PAPER = LetterConfig(protocol="paper", times=(1,), trials=1, methods=("CQL",))
OFFICE = OfficeConfig(
    trials=2, mail=1, methods=("CQL", "planner"), tuning_trials=1, budget=20_000
)  # fmt: skip
BASELINES = RewardMachinesConfig(trials=2, methods=("QL", "HRM"), budget=2000)
COMPLEXITY = ComplexityConfig(trials=1, most=2)


def finished(config, folder):
    outcome = run(config, folder, LocalEngine(2))
    assert (outcome.failed, outcome.interrupted) == ([], False)
    assert outcome.ran == len(outcome.jobs)
    study = read_study(folder)
    assert study.config.to_data() == config.study().manifest(Store(folder)).to_data()
    assert read_config(study, type(config)) == config
    assert (study.missing, study.failed) == (0, ())
    assert all(len(group.records) == group.wanted == config.trials for group in study.groups)
    for group in study.groups:
        assert [record.seed for record in group.records] == list(range(config.trials))
        assert group.values == tuple(study.config.value_of(record) for record in group.records)
        assert group.summary == summarise(group.values)
    return study


def test_the_letter_experiment(tmp_path):
    study = finished(LETTER, tmp_path)
    assert [(g.method, g.case) for g in study.groups] == [("CQL", "N = 1"), ("CRM", "N = 1")]
    assert study.methods == ["CQL", "CRM"]
    assert study.tuning == 24
    for group in study.groups:
        assert group.summary.solved == 2
        assert all(value % 100 == 0 for value in group.values)  # it is looked at every 100 samples
        assert group.config["settings"].keys() >= {"learning_rate", "exploration"}
    made = {g.method: g.config["problem"]["made with"] for g in study.groups}
    assert made["CRM"]["unrolled"] == 1
    assert "unrolled" not in made["CQL"]
    assert study.group("CQL", "N = 2") is None


def test_reward_machines_are_unrolled_for_each_n_and_once_for_all(tmp_path):
    config = replace(LETTER, times=(1, 2), trials=1)
    limits = {
        (job.trial.method, job.trial.case): job.trial.problem["made with"].get("unrolled")
        for job in config.jobs(Store(tmp_path))
    }
    cases = ("N = 1", "N = 2", "N = 1 to 2")
    assert limits == {
        **{("CQL", case): None for case in cases},
        **{("CRM", case): limit for case, limit in zip(cases, (1, 2, 2), strict=True)},
    }


def test_the_protocol_of_the_paper(tmp_path):
    study = finished(PAPER, tmp_path)
    (group,) = study.groups
    assert (group.method, group.case, study.tuning) == ("CQL", "N = 1", 0)
    (record,) = group.records
    assert group.values == (record.result["streak"],)
    assert group.config["until"] == 100
    told = group.config["problem"]["made with"]["options"]
    assert told == {"times": 1, "observation": "cell"}
    assert record.result["elsewhere"].keys() == {"A once"}


def test_the_office_experiment(tmp_path):
    study = finished(OFFICE, tmp_path)
    assert [group.method for group in study.groups] == ["CQL", "planner"]
    assert {group.case for group in study.groups} == {"up to 1 items of mail"}
    assert study.tuning == 12  # the planner has nothing to tune
    for group in study.groups:
        for record in group.records:
            curve = record.result["curve"]
            assert curve[-1][0] == record.result["taken"] == group.config["steps"]
            assert all(len(point) == 4 for point in curve)
            solved = [samples for samples, success, *_ in curve if success == 1]
            assert record.result["samples"] == (solved[0] if solved else None)
    assert study.group("planner", OFFICE.case).summary.solved == 2


def test_the_baselines(tmp_path):
    study = finished(BASELINES, tmp_path)
    assert {(group.method, group.case) for group in study.groups} == {
        (method, case) for method in ("QL", "HRM") for case in ("coffee and mail", "all four")
    }
    for group in study.groups:
        assert group.summary.run == 2
        for record in group.records:
            assert len(record.result["optimal rates"]) == len(CASES[group.case].split("+"))
            assert all(place % 1000 == 0 for place, _ in record.result["rates"])


def test_the_sizes_of_machines(tmp_path):
    study = finished(COMPLEXITY, tmp_path)
    for unit in MACHINES.values():
        one, two = (study.group("RM", f"{limit} {unit}").values[0] for limit in (1, 2))
        assert study.group("CRA", f"any {unit}").values[0] <= one < two


@pytest.mark.parametrize("budget", [1, 19, 99])
def test_a_budget_of_next_to_nothing_is_not_solved_but_no_error(tmp_path, budget):
    configs = [
        replace(LETTER, budget=budget, methods=("CQL",)),
        replace(OFFICE, budget=budget),
        replace(BASELINES, budget=budget),
    ]
    for config in configs:
        folder = tmp_path / config.name
        assert run(config, folder, InProcessEngine()).failed == []
        for group in read_study(folder).groups:
            assert group.summary.solved == 0
            assert (group.summary.run, group.summary.mean, group.summary.iqm) == (2, None, None)


# Reading


def test_a_study_can_be_read_before_it_is_finished(tmp_path):
    class Half(InProcessEngine):
        def run(self, jobs):
            for number, found in enumerate(super().run(jobs)):
                if number == 5:
                    raise KeyboardInterrupt
                yield found

    assert run(LETTER, tmp_path, Half()).interrupted
    study = read_study(tmp_path)
    assert study.groups == ()
    assert (study.tuning, study.missing) == (5, 19)


def test_a_folder_can_be_moved(tmp_path):
    run(COMPLEXITY, tmp_path / "old", InProcessEngine())
    before = read_study(tmp_path / "old")
    shutil.move(tmp_path / "old", tmp_path / "new")
    after = read_study(tmp_path / "new")
    assert after.groups == before.groups
    assert run(COMPLEXITY, tmp_path / "new", InProcessEngine()).ran == 0


def test_studies_are_read_in_the_order_of_the_paper(tmp_path):
    paper = replace(PAPER, methods=("CRM",))
    for config in (OFFICE, COMPLEXITY, paper, LETTER):
        (tmp_path / config.folder).mkdir()
        text = config.study().manifest(Store(tmp_path)).to_json()
        (tmp_path / config.folder / "experiment.json").write_text(text)
    (tmp_path / "empty").mkdir()
    found = [study.folder.name for study in read_studies(tmp_path)]
    assert found == ["letter", "letter-paper", "complexity", "office"]
    assert find_studies(tmp_path / "office") == [tmp_path / "office"]
    for nothing in (tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(RecordError, match=str(nothing)):
            find_studies(nothing)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"3",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"experiment": "leter"}',
        b'{"experiment": []}',
        b'{"experiment": "letter", "trials": 3}',
        b'{"experiment": "study", "format": 2, "study": "a"}',
    ],
    ids=range(10),
)
def test_a_study_that_cannot_be_read_is_named(tmp_path, content):
    (tmp_path / "experiment.json").write_bytes(content)
    with pytest.raises(FileFormatError, match=r"experiment\.json"):
        read_study(tmp_path)


def test_a_folder_without_an_experiment_is_no_study(tmp_path):
    with pytest.raises(FileFormatError, match=str(tmp_path)):
        read_study(tmp_path)


def test_every_trial_is_a_row(tmp_path):
    run(LETTER, tmp_path / "letter", InProcessEngine())
    study = read_study(tmp_path / "letter")
    export([study], tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(newline="") as stream:
        found = list(csv.DictReader(stream))
    assert len(found) == 4
    for text, row in zip(found, to_rows([study]), strict=True):
        assert float(text["value"]) == row["value"]
        assert float(text["success"]) == row["success"] == 1.0
        assert json.loads(text["settings"]) == json.loads(row["settings"])
        assert (text["method"], text["seed"]) == (row["method"], str(row["seed"]))


def test_no_trial_is_no_row(tmp_path):
    export([], tmp_path / "all.csv")
    assert (tmp_path / "all.csv").read_text().startswith("experiment,method,case,seed,status,value")


def test_parquet_has_the_same_rows(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    run(COMPLEXITY, tmp_path, InProcessEngine())
    study = read_study(tmp_path)
    export([study], tmp_path / "all.parquet")
    assert parquet.read_table(tmp_path / "all.parquet").to_pylist() == to_rows([study])
