"""The experiment with networks: what is run, and what comes of missing JAX."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.engines import InProcessEngine
from typer.testing import CliRunner

import cranium
from cranium.aamdp.planning import tabulate_product
from cranium.aamdp.registry import make_env
from cranium.cli import app
from cranium.errors import InvalidArgumentError, MissingExtraError, UnknownNameError
from cranium.experiments import LocalEngine, Store
from cranium.experiments.results import read_final_success, read_study
from cranium.figures.page import write_report
from cranium.paper import NetworksConfig, run
from cranium.paper.deep import (
    ANYWHERE,
    BATCH,
    LETTERS,
    MAIL,
    PUBLISHED,
    arrange_panels,
    caption,
    draw,
)

pytestmark = pytest.mark.slow


def jobs(**more):
    return NetworksConfig(trials=2, **more).jobs(Store("nowhere"))


def test_every_method_runs_with_every_seed_and_reward_machines_with_every_number():
    found = {(job.trial.method, job.trial.case): job.trial for job in jobs(times=2)}
    assert len(jobs(times=2)) == 2 * len(found)
    cases = {case for method, case in found if method == "CRM"}
    one = {f"{what}, N = {count}" for what in ("letters", "mail") for count in (1, 2)}
    assert cases == {PUBLISHED, ANYWHERE, LETTERS, MAIL, *one}
    cases = {case for method, case in found if method == "CQL"}
    assert cases == {PUBLISHED, ANYWHERE, LETTERS, MAIL}
    made = {name: trial.problem["made with"] for name, trial in found.items()}
    for what in ("letters", "mail"):
        assert made["CRM", f"{what}, N = 1"]["unrolled"] == 1
        assert made["CRM", f"{what}, N = 2"]["unrolled"] == 2
        assert made["CRM", f"{what}, N drawn"]["unrolled"] == 2
        assert "unrolled" not in made["CQL", f"{what}, N drawn"]
    assert made["CRM", "mail, N = 2"]["options"] == {"mail": 2, "start": "anywhere"}
    for method in ("CRM", "CQL"):
        assert made[method, MAIL]["options"] == {"mail": [1, 2], "start": "anywhere"}


def test_dqn_is_run_with_the_batch_of_the_others_too():
    found = {(job.trial.method, job.trial.case): job.trial for job in jobs()}
    for case in (PUBLISHED, ANYWHERE):
        assert found["DQN", case].settings["batch"] == BATCH
        assert found["CQL", case].settings["batch"] == BATCH
        assert found["DQN, same batch", case].settings["batch"] == 2 * BATCH
    for case in (LETTERS, MAIL):
        imagined = found["CQL", case].settings["num_counterfactuals"]
        assert found["CQL heads", case].settings["num_counterfactuals"] == imagined
        assert found["DQN, same batch", case].settings["batch"] == imagined * BATCH
    published = found["DQN", PUBLISHED]
    assert (published.steps, published.settings["learning_rate"]) == (12_000, 1e-4)


def test_unknown_cases_and_methods_are_named():
    with pytest.raises(UnknownNameError, match="no such case: 'office'"):
        NetworksConfig(cases=("office",))
    with pytest.raises(UnknownNameError, match="no such method: 'PPO'"):
        NetworksConfig(methods=("PPO",))
    with pytest.raises(InvalidArgumentError, match="budget is a whole number"):
        NetworksConfig(budget=0)


@pytest.mark.parametrize("times", [1, 3])
def test_with_mail_all_configurations_are_imagined(times):
    found = {(job.trial.method, job.trial.case): job.trial for job in jobs(times=times)}
    trial = found["CQL", MAIL]
    options = trial.problem["made with"]["options"]
    told = {"start": options["start"], "mail": tuple(options["mail"])}
    model = tabulate_product(make_env("Office", cranium.library.load("office-deliver"), told))
    alive = {x for x in model.space.configurations if x.state in ("collecting", "delivering")}
    assert len(alive) == trial.settings["num_counterfactuals"]


def test_a_small_study_is_run_summed_up_and_drawn(tmp_path):
    few = {"times": 2, "letters": 200, "mail": 200}
    config = NetworksConfig(1, methods=("CRM", "CQL heads"), cases=(LETTERS, MAIL), **few)
    outcome = run(config, tmp_path, LocalEngine(2))
    assert outcome.ran == 8
    assert not outcome.failed
    study = read_study(tmp_path)
    summed = [(group.method, group.case) for group in study.sums]
    assert summed == [
        ("CRM", "letters, all N, a machine for each"),
        ("CRM", "mail, all N, a machine for each"),
    ]
    figure = draw(study)["deep"]
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["CRM", "CQL heads", "CRM, N = 2 only"]
    told = caption(study)
    assert "N drawn from 1 to 2" in told
    for case in (LETTERS, MAIL):
        for method in ("CRM", "CQL heads"):
            (record,) = study.group(method, case).records
            assert f"{method} {read_final_success(record):.2f} (" in told.split(f"{case}: ")[1]
    write_report([study], tmp_path / "report.html")
    assert "Seed by seed: success of the greedy policy" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(("cases", "shape"), [(1, (1, 1)), (3, (1, 3)), (4, (2, 2)), (5, (3, 2))])
def test_panels_are_put_beside_each_other_and_then_below(cases, shape):
    assert arrange_panels(cases) == shape


def test_without_jax_the_experiment_says_so_and_the_others_go_on(monkeypatch, tmp_path):
    monkeypatch.setattr("cranium.learners.deep.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[deep\]'"):
        NetworksConfig().require()
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(app, ["reproduce", "all", "--dry-run"])
    assert told.exit_code == 0
    assert "deep is skipped" in told.output
    assert "office" in told.output


def test_the_caption_says_of_crm_and_cql_what_their_curves_say(tmp_path):
    config = NetworksConfig(
        2, methods=("CRM", "CQL"), cases=("office, as published",), published=90
    )
    run(config, tmp_path, InProcessEngine())
    study = read_study(tmp_path)
    assert "their curves are the same for 2 of 2 seeds" in caption(study)
    assert "one reward machine" not in caption(study)
    changed = []
    for group in study.groups:
        records = list(group.records)
        if group.method == "CQL":
            curve = [[90, 1.0, 1.0, 1.0]]
            records[0] = replace(records[0], result={**records[0].result, "curve": curve})
        changed.append(replace(group, records=tuple(records)))
    told = caption(replace(study, groups=tuple(changed)))
    assert "have equal curves for 1 of 2 seeds" in told
    alone = replace(study, groups=study.groups[:1])
    assert "CRM and CQL (" not in caption(alone)
