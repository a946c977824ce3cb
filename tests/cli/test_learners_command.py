"""cranium learners: the registered learners and their settings."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from cranium.cli import app
from cranium.cli.learners import find_settings
from cranium.cli.train import _parse_settings
from cranium.learners import LEARNERS, Learner
from cranium.learners.registry import agent_config


def call(*arguments, code=0):
    result = CliRunner().invoke(app, ["learners", *arguments], env={"COLUMNS": "120"})
    assert result.exit_code == code, result.output
    return result.output


def test_all_learners_are_listed_with_a_sentence():
    rows = [line.split(maxsplit=1) for line in call().splitlines()[1:-1]]
    assert [name for name, _ in rows] == list(LEARNERS)
    assert all(summary.strip().endswith(".") for _, summary in rows)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_setting_of_a_learner_has_a_default_and_a_meaning(name):
    settings = list(find_settings(LEARNERS[name]))
    assert all(setting.default and setting.meaning for setting in settings), settings
    assert not [setting for setting in settings if "`" in setting.meaning]
    shown = call(name)
    assert shown.startswith(f"{name}: ")
    for setting in settings:
        assert setting.name in shown


@pytest.mark.parametrize("name", LEARNERS)
def test_defaults_are_shown_as_set_takes_them(name):
    for setting in find_settings(LEARNERS[name]):
        default = LEARNERS[name].settings[setting.name]
        if default is not None:
            assert _parse_settings([f"x={setting.default}"])["x"] == default


def test_settings_of_a_base_class_have_the_meaning_that_the_base_class_gives():
    meanings = {setting.name: setting.meaning for setting in find_settings(LEARNERS["ctd3"])}
    assert meanings["hidden"] == "The number of units in each hidden layer."
    assert "γ" in meanings["discount"]


class RandomAgent:
    """Acts at random.

    Args:
        problem: The task.
        temperature (float): How ``random`` it
            is.
        discount: γ.
    """

    def __init__(self, problem, *, temperature=0.5, discount=0.9): ...


def test_a_learner_of_a_users_own_is_explained_by_the_docstring_of_its_class():
    learner = Learner("random", "Acts at random.", agent_config(RandomAgent))
    assert list(find_settings(learner)) == [
        ("temperature", "0.5", "How random it is."),
        ("discount", "0.9", "γ."),
    ]


def test_learners_as_json():
    (one,) = json.loads(call("planner", "--json"))
    assert (one["name"], one["settings"][0]["name"]) == ("planner", "discount")
    assert [each["name"] for each in json.loads(call("--json"))] == list(LEARNERS)


def test_an_unknown_learner_is_refused_with_the_known_ones():
    said = call("cqll", code=2)
    assert "no such learner: 'cqll'" in said
    assert "did you mean 'cql'?" in said
