"""Configs: read from TOML, refused with reasons, frozen; and the tuning that they ask for."""

from __future__ import annotations

import statistics
from dataclasses import FrozenInstanceError, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranium.errors import (
    DuplicateNameError,
    FileAccessError,
    FileFormatError,
    InvalidArgumentError,
    UnknownNameError,
)
from cranium.experiments import Record, Store
from cranium.experiments.tuning import score_of
from cranium.learners.registry import choose_config
from cranium.paper import (
    ComplexityConfig,
    LetterConfig,
    OfficeConfig,
    RewardMachinesConfig,
    list_experiments,
    load_configs,
    make_config,
)
from cranium.paper.config import config_to_dict
from cranium.paper.grids import METHODS, list_settings
from cranium.paper.problems import PaperProblem
from cranium.studies import Candidates, Method, Study
from cranium.studies.definition import TUNING_SEED

EVERY = pytest.mark.parametrize("name", list(list_experiments()))


@pytest.fixture
def toml(tmp_path):
    def write(text):
        path = tmp_path / "mine.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


# Files


def test_a_file_has_a_table_for_each_experiment(toml):
    path = toml(
        """
        [letter]
        trials = 3
        protocol = "paper"
        times = [1, 2]
        methods = ["CQL", "QL"]

        [complexity]
        most = 7

        [reward-machines]
        """
    )
    assert load_configs(path) == [
        LetterConfig(trials=3, protocol="paper", times=(1, 2), methods=("CQL", "QL")),
        ComplexityConfig(most=7),
        RewardMachinesConfig(),
    ]


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("[leter]\ntrials = 3", UnknownNameError, ["'leter'", "did you mean 'letter'?"]),
        ("[letter]\ntrails = 3", InvalidArgumentError, ["trails of letter", "known: trials"]),
        ("[letter]\ntrials = 'many'", InvalidArgumentError, ["trials of letter", "'many'"]),
        ("[letter]\ntrials = true", InvalidArgumentError, ["trials of letter", "True"]),
        ("[letter]\ntrials = '3'", InvalidArgumentError, ["trials of letter", "'3'"]),
        ("[letter]\ntrials = 2.5", InvalidArgumentError, ["trials of letter", "2.5"]),
        ("[letter]\ntrials = inf", InvalidArgumentError, ["of letter"]),
        ("[letter]\ntrials = 1979-05-27", InvalidArgumentError, ["trials of letter", "1979-05-27"]),
        ("[letter]\ntrials = {a = 1}", InvalidArgumentError, ["trials of letter", "{'a': 1}"]),
        ("[letter]\ntimes = 3", InvalidArgumentError, ["times of letter", "not 3"]),
        ("[letter]\ntimes = [1, 'b']", InvalidArgumentError, ["times.1 of letter", "'b'"]),
        ("[letter]\nprotocol = 'papr'", InvalidArgumentError, ["protocol of letter", "'papr'"]),
        ("[letter]\ntrials = 0", InvalidArgumentError, ["trials", "not 0"]),
        ("[letter]\ntimes = []", InvalidArgumentError, ["times", "()"]),
        ("[letter]\ntimes = [2, 2]", InvalidArgumentError, ["times", "(2, 2)"]),
        ("[letter]\ntimes = [21]", InvalidArgumentError, ["21"]),
        ("[letter]\ntimes = [6]\nprotocol = 'paper'", InvalidArgumentError, ["6"]),
        ("[letter]\nmethods = ['CQ']", UnknownNameError, ["'CQ'", "did you mean 'CQL'?"]),
        ("[letter]\nmethods = []", InvalidArgumentError, ["method", "known: QL"]),
        ("[letter]\nmethods = ['QL', 'QL']", DuplicateNameError, ["'QL'", "twice"]),
        (
            "[letter]\nprotocol = 'paper'\nmethods = ['HRM']",
            InvalidArgumentError,
            ["the paper has no HRM", "CRM+RS"],
        ),
        ("[office]\nmail = 0", InvalidArgumentError, ["mail", "not 0"]),
        ("[reward-machines]\ncases = ['all']", UnknownNameError, ["'all'", "'all four'"]),
        ("trials = 3", FileFormatError, ["trials", "outside of a table"]),
        ("", FileFormatError, ["no experiment"]),
        ("# [letter]", FileFormatError, ["no experiment"]),
        ("[letter", FileFormatError, ["not TOML", "table"]),
        ("[letter]\ntrials = = 3", FileFormatError, ["not TOML", "line 2"]),
        ("[letter]\ntrials = 1\ntrials = 2", FileFormatError, ["not TOML"]),
        (b"[letter]\n# \xff\xfe", FileFormatError, ["not UTF-8"]),
        (b"\x00\x01\x02", FileFormatError, ["not TOML"]),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_the_value_and_the_file(toml, text, error, said):
    path = toml(text)
    with pytest.raises(error) as caught:
        load_configs(path)
    for part in (str(path), *said):
        assert part in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_file_that_is_nested_without_end_is_refused(toml):
    with pytest.raises(FileFormatError, match="not TOML"):
        load_configs(toml("[letter]\ntimes = " + "[" * 10_000))
    with pytest.raises(InvalidArgumentError, match="nested too deep"):
        load_configs(toml("[letter]\n" + "a." * 4000 + "a = 1"))
    with pytest.raises(FileFormatError, match="more than 16 KiB"):
        load_configs(toml("[letter]\n" + "a." * 500_000 + "a = 1"))


def test_files_that_cannot_be_read_are_named(tmp_path):
    for path in (tmp_path / "missing.toml", tmp_path):
        with pytest.raises(FileAccessError, match=str(path)):
            load_configs(path)


# Configs


@EVERY
def test_a_config_as_data_and_back_is_the_same(name):
    config = list_experiments()[name]().quick()
    data = config_to_dict(config)
    assert data.pop("experiment") == name
    assert make_config(name, data) == config
    assert hash(make_config(name, data)) == hash(config)


@EVERY
def test_a_config_is_frozen(name):
    config = list_experiments()[name]()
    for each in fields(config):
        with pytest.raises(FrozenInstanceError):
            setattr(config, each.name, 1)


@pytest.mark.slow
@EVERY
def test_a_quick_one_is_no_larger(name, tmp_path):
    config, store = list_experiments()[name](), Store(tmp_path)
    assert len(config.quick().jobs(store)) <= len(config.jobs(store))
    assert 0 < config.quick().cpu_seconds() <= config.cpu_seconds()


@EVERY
def test_the_jobs_are_all_different_and_the_same_every_time(name, tmp_path):
    config = list_experiments()[name]()
    jobs = config.jobs(Store(tmp_path))
    assert len({job.name for job in jobs}) == len(jobs)
    assert [job.name for job in list_experiments()[name]().jobs(Store(tmp_path))] == [
        j.name for j in jobs
    ]


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (LetterConfig, {"protocol": "papr"}),
        (LetterConfig, {"times": (True,)}),
        (LetterConfig, {"tuning_trials": 0}),
        (OfficeConfig, {"budget": 1.5}),
        (OfficeConfig, {"methods": ("QL", "QL")}),
        (RewardMachinesConfig, {"cases": ("all four", "all four")}),
        (RewardMachinesConfig, {"methods": ()}),
        (ComplexityConfig, {"most": 0}),
        (ComplexityConfig, {"trials": -1}),
    ],
)
def test_a_config_that_makes_no_sense_is_refused_in_python_too(kind, wrong):
    with pytest.raises((InvalidArgumentError, DuplicateNameError)):
        kind(**wrong)


def test_the_protocols_of_the_letter_experiment_do_not_share_a_folder():
    assert LetterConfig().folder != LetterConfig(protocol="paper").folder


# Tuning


RATES = (0.1, 0.2, 0.3)


def tuned(rates=RATES, seeds=3, **more):
    """A study that tunes a learning rate."""
    search = Candidates([{"learning_rate": rate} for rate in rates], seeds, **more)
    problem = PaperProblem("Letter", "anbcdn", {"times": 1})
    learner = Method("cql", {"configurations": "seen"}, tune=search)
    return Study("letter", {"N = 1": problem}, {"CQL": learner}, seeds=1, steps=1000)


def fill(store, jobs, samples):
    """Save a record for each job; ``samples`` are by learning rate and by seed."""
    store.make()
    for job in jobs:
        found = samples[job.trial.settings["learning_rate"]][job.seed - TUNING_SEED]
        done = found != "failed"
        result = {"taken": 9, "success": {}, "returns": {}, "lengths": {}, "curve": []}
        store.save(
            job,
            Record(
                job.trial.data,
                job.trial.key,
                job.seed,
                "done" if done else "failed",
                {"samples": found, **result} if done else {},
                None if done else "Traceback",
                0.0,
                0.0,
                {},
                "",
            ),
        )


@pytest.mark.parametrize(
    ("samples", "best"),
    [
        ({0.1: [100, 200, 300], 0.2: [100, 150, 900], 0.3: [150, 160, 170]}, 0.2),  # the median
        ({0.1: [1, 1, None], 0.2: [900, 900, 900], 0.3: [None, None, None]}, 0.2),  # most solved
        ({0.1: [1, None, None], 0.2: [5, 500, None], 0.3: [9, 400, None]}, 0.3),
        ({0.1: [1, 1, "failed"], 0.2: [900, 900, 900], 0.3: ["failed"] * 3}, 0.2),
        ({0.1: [9, 50, 90], 0.2: [9, 50, 60], 0.3: [20, 50, 60]}, 0.2),  # then the mean
        ({0.1: [5, 5, 5], 0.2: [5, 5, 5], 0.3: [5, 5, 5]}, 0.1),  # the first of equal ones
        ({0.1: [None] * 3, 0.2: [None] * 3, 0.3: [None] * 3}, 0.1),
    ],
)
def test_the_best_solved_most_and_then_has_the_least_median(tmp_path, samples, best):
    store, study = Store(tmp_path), tuned()
    jobs = study.jobs(store)
    assert [job.trial.stage for job in jobs] == ["tuning"] * 9
    fill(store, jobs, samples)
    *again, final = study.jobs(Store(tmp_path))
    assert again == jobs
    assert final.trial.settings["learning_rate"] == best
    assert final.trial.settings["configurations"] == "seen"
    assert final.trial.stage == "final"


@given(
    st.lists(st.integers(1, 3_000_000) | st.none(), min_size=5, max_size=5),
    st.lists(st.integers(1, 3_000_000) | st.none(), min_size=5, max_size=5),
)
def test_scores_order_candidates_as_the_rule_says(one, other):
    def rank(values):
        filled = [3_000_000 if value is None else value for value in values]
        return values.count(None), statistics.median(filled), statistics.fmean(filled)

    scores = [
        score_of(values, lower_is_better=True, budget=3_000_000, failed=False)
        for values in (one, other)
    ]
    assert (scores[0] < scores[1]) == (rank(one) < rank(other))


def test_nothing_is_chosen_while_a_trial_is_missing(tmp_path):
    store, study = Store(tmp_path), tuned(RATES[:2], 2)
    jobs = study.jobs(store)
    fill(store, jobs[:-1], {0.1: [1, 1], 0.2: [1, 1]})
    assert study.jobs(Store(tmp_path)) == jobs


def test_tuning_trials_have_a_budget_and_settings_of_their_own(tmp_path):
    for more, steps, until in (
        ({"steps": 100}, 100, "solved"),
        ({"steps": {"N = 1": 50}, "until": "budget"}, 50, None),
        ({"steps": {"N = 2": 50}}, 1000, "solved"),
        ({}, 1000, "solved"),
    ):
        jobs = tuned(RATES[:2], 1, **more).jobs(Store(tmp_path))
        assert [(job.trial.steps, job.trial.until) for job in jobs] == [(steps, until)] * 2
        assert jobs[1].trial.settings["configurations"] == "seen"
        assert jobs[1].trial.settings["learning_rate"] == 0.2
        assert {job.trial.stage for job in jobs} == {"tuning"}
        assert {job.seed for job in jobs} == {TUNING_SEED}


@pytest.mark.slow
@pytest.mark.parametrize("config", [LetterConfig(trials=5), OfficeConfig(trials=5)])
def test_what_was_chosen_is_tried_on_fresh_seeds(config, tmp_path):
    store = Store(tmp_path)
    jobs = config.jobs(store)
    tuning = [job for job in jobs if job.trial.stage == "tuning"]
    rates = (0.25, 0.5, 0.75, 1.0)
    fill(store, tuning, {rate: [1] * config.tuning_trials for rate in rates})
    every = config.jobs(Store(tmp_path))
    final = [job for job in every if job.trial.stage == "final"]
    assert {job.seed for job in final} == set(range(5))
    assert {job.seed for job in tuning} == {TUNING_SEED + n for n in range(config.tuning_trials)}
    assert {job.trial.method for job in final} == set(config.methods)
    assert {job.trial.key for job in final}.isdisjoint(job.trial.key for job in tuning)


def test_every_method_may_try_as_many_settings():
    tried = {method: len(list_settings(name)) for method, (_, _, name) in METHODS.items()}
    assert tried.pop("planner") == 1
    assert set(tried.values()) == {12}
    for _, _, name in METHODS.values():
        settings = [tuple(sorted(each.items(), key=str)) for each in list_settings(name)]
        assert len(set(settings)) == len(settings)


def test_every_method_has_as_many_tuning_jobs_with_the_same_budget_on_every_case(tmp_path):
    jobs = LetterConfig(times=(1, 3, 12)).jobs(Store(tmp_path))
    found = {}
    for job in jobs:
        if job.trial.stage == "tuning":
            found.setdefault((job.trial.case, job.trial.method), []).append(job)
    for value in (1, 3, 12):
        methods = {m: group for (case, m), group in found.items() if case == f"N = {value}"}
        assert set(methods) == set(METHODS) - {"planner"}
        assert {len(group) for group in methods.values()} == {12 * 5}
        assert len({job.trial.steps for group in methods.values() for job in group}) == 1


def test_the_tuning_of_one_case_does_not_depend_on_the_others(tmp_path):
    store = Store(tmp_path)
    alone = {job.name for job in LetterConfig(times=(1,)).jobs(store)}
    assert alone <= {job.name for job in LetterConfig(times=(1, 2, 12)).jobs(store)}


def test_more_trials_or_methods_keep_what_was_run(tmp_path):
    config, store = RewardMachinesConfig(trials=2, methods=("QL",)), Store(tmp_path)
    few = {job.name for job in config.jobs(store)}
    assert few < {job.name for job in replace(config, trials=3).jobs(store)}
    assert few < {job.name for job in replace(config, methods=("HRM", "QL")).jobs(store)}


def test_every_candidate_is_a_setting_of_its_learner():
    for learner, settings, name in METHODS.values():
        for candidate in list_settings(name):
            choose_config(learner, None, {**settings, **candidate})
