"""From words to a trained agent: replayed without a model, asked anew with one, and what fails."""

from __future__ import annotations

import hashlib
import json
import pickle
from dataclasses import replace

import pytest
from support.engines import InProcessEngine
from support.model_servers import serving
from typer.testing import CliRunner

from cranium.automata.equivalence import equivalent
from cranium.cli import app
from cranium.errors import (
    InvalidArgumentError,
    TranscriptError,
    UnknownNameError,
)
from cranium.experiments import LocalEngine, Store
from cranium.experiments.results import read_study
from cranium.experiments.study_trial import pack
from cranium.experiments.trial import run_trial
from cranium.figures.page import write_report
from cranium.figures.studies import draw_study
from cranium.formats import library
from cranium.formats.files import loads
from cranium.paper import NaturalLanguageConfig, run
from cranium.paper.config import read_config
from cranium.paper.natural_language import caption, find_machines

pytestmark = pytest.mark.slow

SMALL = NaturalLanguageConfig(trials=2, methods=("CQL", "CRM", "planner"), tuning_trials=1)
PLANNER = NaturalLanguageConfig(trials=1, methods=("planner",))
OTHER = replace(PLANNER, description="Collect a coffee and deliver it to a person.")
COFFEE = json.dumps(
    {
        "steps": [
            {"phrase": "Collect a coffee", "events": ["coffee"], "how": "sequence", "count": "1"},
            {"phrase": "deliver it", "events": ["person"], "how": "sequence", "count": "1"},
        ],
        "forbidden": [],
    }
)


@pytest.fixture
def nobody(monkeypatch):
    """Whoever is asked, that fails."""

    def refuse(*_):
        raise AssertionError("somebody was asked")

    monkeypatch.setattr("cranium.assist.openai_model.send_request", refuse)


# Replayed


def test_a_small_study_is_run_read_and_drawn(tmp_path):
    outcome = run(SMALL, tmp_path, LocalEngine(2))
    assert (outcome.failed, outcome.ran) == ([], len(outcome.jobs))
    study = read_study(tmp_path)
    assert (study.missing, study.tuning) == (0, 24)
    assert read_config(study, NaturalLanguageConfig) == SMALL
    assert study.methods == ["CQL", "CRM", "planner"]
    for group in study.groups:
        assert (group.summary.solved, len(group.records)) == (2, 2)
    assert study.group("CQL", study.groups[0].case).values == study.groups[1].values
    written = [path.name for path in draw_study(study)]
    assert written == ["natural-language.svg", "machine-words.svg"]
    for name in ("natural-language.png", "natural-language.svg", "machine-words.png"):
        assert (tmp_path / name).stat().st_size > 1_000
    told = (tmp_path / "natural-language.md").read_text()
    for part in ("qwen2.5-coder-1.5b (in a recorded", "its first answer passed", "does the same"):
        assert part in told
    write_report([study], tmp_path / "report.html")
    assert "The machine that came of the words" in (tmp_path / "report.html").read_text()


def test_the_words_come_first_and_everything_else_has_their_machine(tmp_path):
    store = Store(tmp_path)
    (words,) = PLANNER.jobs(store)
    assert (words.trial.stage, words.seed) == ("first", 0)
    run(PLANNER, tmp_path, InProcessEngine())
    task, (again, *others) = store.find(words).result, PLANNER.jobs(Store(tmp_path))
    assert again == words
    digest = hashlib.sha256(task["machine"].encode()).hexdigest()[:16]
    assert {job.trial.problem["machine"] for job in others} == {digest}
    assert equivalent(loads(task["machine"]), library.load("mail-delivery")).equal
    assert (task["language"], task["answers"]) == ("mail person never decoration", 1)
    assert (task["equivalent"], task["proved"], task["states"], task["transitions"]) == (
        *(True, True),
        *(2, 4),
    )


def test_a_replayed_conversation_takes_no_model_and_comes_to_the_same_every_time(nobody):
    PLANNER.require()
    trial = PLANNER.specification()
    assert run_trial(trial, 0) == run_trial(trial, 0)
    assert json.loads(json.dumps(run_trial(trial, 0))) == run_trial(trial, 0)  # plain data


@pytest.mark.parametrize("method", ["QL", "CQL", "HRM", "planner"])
def test_what_is_learned_is_what_the_machine_of_the_paper_teaches(method):
    config = replace(PLANNER, methods=(method,), budget=20_000)
    task = run_trial(config.specification(), 0)
    trial = config._training(task).trials[0].trial
    words = pickle.loads(trial.payload).make_env
    paper = replace(words, task="mail-delivery", machine="")
    assert paper() is not words()
    known = replace(trial, payload=pack(pickle.loads(trial.payload)._replace(make_env=paper)))
    assert run_trial(trial, 3) == run_trial(known, 3)


def test_another_recording_is_another_trial(tmp_path, monkeypatch):
    before = PLANNER.specification()
    monkeypatch.setattr("cranium.paper.natural_language.RECORDED", tmp_path)
    (tmp_path / before.settings["recording"]).write_text("{}\n")
    assert PLANNER.specification().key != before.key


# Other words, and other models


def test_words_that_nobody_recorded_are_refused_before_anything_is_run(tmp_path, monkeypatch):
    with pytest.raises(TranscriptError, match="Collect a coffee") as caught:
        OTHER.require()
    assert "model = " in caught.value.fix
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.toml"
    path.write_text(f'[natural-language]\ndescription = "{OTHER.description}"\n')
    told = CliRunner().invoke(app, ["reproduce", "--config", str(path)])
    assert told.exit_code == 2
    assert "no answer was recorded" in told.output
    assert not (tmp_path / "results").exists()


def test_in_python_they_are_a_failed_trial_and_nothing_is_trained(tmp_path):
    outcome = run(OTHER, tmp_path, InProcessEngine())
    ((job, record),) = outcome.failed
    assert (outcome.ran, job.trial.stage) == (1, "first")
    assert "TranscriptError" in record.error
    study = read_study(tmp_path)
    assert (study.groups, len(study.failed), find_machines(study)) == ((), 1, [])
    assert [path.name for path in draw_study(study)] == ["natural-language.svg"]
    assert "No machine has come of these words" in caption(study)


def test_a_model_can_be_asked_and_is_asked_once(tmp_path):
    with serving("Certainly!", COFFEE) as (script, address):
        config = replace(OTHER, model="scripted", server=address)
        config.require()
        assert run(config, tmp_path, InProcessEngine()).failed == []
        assert run(config, tmp_path, InProcessEngine()).ran == 0
        assert len(script.asked) == 2
    (task,) = (record.result for record in read_study(tmp_path).first)
    assert (task["language"], task["answers"], task["equivalent"]) == ("coffee person", 2, False)
    study = read_study(tmp_path)
    assert study.groups[0].summary.solved == 1
    for part in ("scripted (asked for this run)", "its answer number 2", "It is not the machine"):
        assert part in caption(study)


def test_who_is_asked_is_part_of_the_trial():
    asked = replace(PLANNER, model="gpt")
    keys = {c.specification().key for c in (PLANNER, asked, replace(asked, model="qwen"), OTHER)}
    assert len(keys) == 4
    assert [asked.source[name] for name in ("recording", "digest")] == ["", ""]


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(InvalidArgumentError, match="without a model"):
        NaturalLanguageConfig(server="http://127.0.0.1:1/v1")
    with pytest.raises(UnknownNameError, match="no such method: 'PPO'"):
        NaturalLanguageConfig(methods=("PPO",))
    with pytest.raises(InvalidArgumentError, match="budget"):
        NaturalLanguageConfig(budget=0)


def test_a_budget_of_next_to_nothing_is_not_solved_but_no_error(tmp_path):
    config = replace(PLANNER, budget=1)
    assert run(config, tmp_path, InProcessEngine()).failed == []
    study = read_study(tmp_path)
    assert study.groups[0].summary.solved == 0
    assert draw_study(study)
