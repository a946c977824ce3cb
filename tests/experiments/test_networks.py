"""The experiment with networks: what is run, and what comes of missing JAX."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from cranium.cli import app
from cranium.errors import InvalidArgumentError, MissingExtraError, UnknownNameError
from cranium.experiments import LocalEngine, NetworksConfig, Store, run
from cranium.experiments.deep import ANYWHERE, BATCH, LETTERS, PUBLISHED
from cranium.experiments.reading import read_study
from cranium.experiments.totals import totals
from cranium.figures.deep import caption, draw


def jobs(**more):
    return NetworksConfig(trials=2, **more).jobs(Store("nowhere"))


def test_every_method_runs_with_every_seed_and_reward_machines_with_every_number():
    found = {(job.trial.method, job.trial.case): job.trial for job in jobs(times=2)}
    assert len(jobs(times=2)) == 2 * len(found)
    cases = {case for method, case in found if method == "CRM"}
    assert cases == {PUBLISHED, ANYWHERE, "letters, N = 1", "letters, N = 2"}
    assert {case for method, case in found if method == "CQL"} == {PUBLISHED, ANYWHERE, LETTERS}
    assert found["CRM", "letters, N = 2"].unroll == 2


def test_dqn_is_run_with_the_batch_of_the_others_too():
    found = {(job.trial.method, job.trial.case): job.trial for job in jobs()}
    for case in (PUBLISHED, ANYWHERE):
        assert found["DQN", case].settings["batch"] == BATCH
        assert found["CQL", case].settings["batch"] == BATCH
        assert found["DQN, same batch", case].settings["batch"] == 2 * BATCH
    assert (
        found["CQL", LETTERS].settings["imagined"] * BATCH
        == (found["DQN, same batch", LETTERS].settings["batch"])
    )
    published = found["DQN", PUBLISHED]
    assert (published.steps, published.settings["learning_rate"]) == (12_000, 1e-4)


def test_unknown_cases_and_methods_are_named():
    with pytest.raises(UnknownNameError, match="no such case: 'office'"):
        NetworksConfig(cases=("office",))
    with pytest.raises(UnknownNameError, match="no such method: 'PPO'"):
        NetworksConfig(methods=("PPO",))
    with pytest.raises(InvalidArgumentError, match="budget is a whole number"):
        NetworksConfig(budget=0)


def test_a_small_study_is_run_summed_up_and_drawn(tmp_path):
    config = NetworksConfig(1, methods=("CRM", "CQL heads"), cases=(LETTERS,), times=2, letters=200)
    outcome = run(config, tmp_path, LocalEngine(2))
    assert outcome.ran == 3
    assert not outcome.failed
    study = read_study(tmp_path)
    assert [group.method for group in totals(study)] == ["CRM"]
    assert list(draw(study)) == ["deep"]
    assert "N drawn from 1 to 2" in caption(study)


def test_without_jax_the_experiment_says_so_and_the_others_go_on(monkeypatch, tmp_path):
    monkeypatch.setattr("cranium.learners.deep.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"cranium\[deep\]"):
        NetworksConfig().require()
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(app, ["reproduce", "all", "--dry-run"])
    assert told.exit_code == 0
    assert "deep is left out" in told.output
    assert "office" in told.output
