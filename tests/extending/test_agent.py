"""Double Q-learning of a user's own is trained, evaluated, saved and registered like our learners."""

from __future__ import annotations

import ast
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from extending.double_q_learning import DoubleQLearning

import cranium
from cranium.errors import InvalidArgumentError, UnknownNameError
from cranium.learners import LEARNERS, Policy, Problem, register

HERE = Path(__file__).parent


def letters(**options):
    return gym.make("cranium/Letter-anbcdn-v0", times=1, **options)


def imported(path):
    """The modules of ours that a file imports, and the names that it takes from them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "cranium":
            yield from ((node.module, each.name) for each in node.names)


@pytest.mark.parametrize(
    ("name", "lines"), [("double_q_learning", 80), ("neighbours", 25), ("upper_half", 20)]
)
def test_an_extension_is_short_and_imports_only_public_names(name, lines):
    path = HERE / f"{name}.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= lines
    for module, taken in imported(path):
        public = {"cranium": cranium, "cranium.learners": cranium.learners}[module]
        assert taken in public.__all__


@pytest.mark.slow
@pytest.mark.parametrize("how", ["class", "name"])
def test_double_q_learning_solves_the_task(how):
    learner = DoubleQLearning if how == "class" else "double-q"
    told = {"until": "solved", "evaluate_every": 500, "learning_rate": 0.5}
    result = cranium.train(letters(), learner, steps=20_000, **told)
    assert result.evaluation.solved
    assert result.evaluation.exact
    assert result.evaluation.values > 0.9 * result.evaluation.optimum
    assert result.path == "python"
    assert result.learner == learner if how == "name" else "DoubleQLearning"


@pytest.mark.slow
def test_it_learns_with_fewer_samples_than_without_counterfactual_experience():
    class RealOnly(DoubleQLearning):
        def observe(self, sample):
            relabel = self.problem.relabel
            self.problem.relabel = lambda sample, _: relabel(sample, "current")
            super().observe(sample)
            del self.problem.relabel

    def samples(learner, seed):
        env = gym.make("cranium/Letter-anbcdn-v0", times=2)
        told = {"steps": 40_000, "until": "solved", "evaluate_every": 500, "seed": seed}
        return cranium.train(env, learner, **told).samples

    ours = [samples(DoubleQLearning, seed) for seed in range(3)]
    plain = [samples(RealOnly, seed) for seed in range(3)]
    assert np.median(ours) < np.median(plain)


def test_an_object_goes_on_learning_where_it_was():
    env = letters()
    agent = DoubleQLearning(Problem.of(env, seed=3))
    first = cranium.train(env, agent, steps=200)
    again = cranium.train(env, agent, steps=200)
    assert first.samples == again.samples == 200
    assert len(agent.observations) > 1
    assert again.learner == "DoubleQLearning"


@pytest.mark.slow
def test_the_same_seed_gives_the_same_result():
    one, other, another = (
        cranium.train(letters(), DoubleQLearning, steps=500, seed=seed) for seed in (0, 0, 1)
    )
    assert np.array_equal(one.policy.q, other.policy.q)
    assert one.policy.q.shape != another.policy.q.shape or (one.policy.q != another.policy.q).any()


def test_what_was_learned_is_saved_and_says_how_it_was_made(tmp_path):
    env = letters()
    result = cranium.train(env, DoubleQLearning, steps=300, learning_rate=0.25)
    result.policy.save(tmp_path / "agent.npz")
    found = Policy.load(tmp_path / "agent.npz", env)
    assert found.about["learner"] == "DoubleQLearning"
    assert found.about["config"] == {"discount": 0.99, "learning_rate": 0.25, "epsilon": 0.1}
    assert np.array_equal(found.q, result.policy.q)


def test_its_settings_are_checked():
    with pytest.raises(UnknownNameError, match="no such setting of double-q: 'rate'"):
        cranium.train(letters(), "double-q", steps=10, rate=1)


def test_a_registered_learner_is_listed_with_its_settings():
    found = LEARNERS["double-q"]
    assert found.summary == "Counterfactual Double Q-learning (van Hasselt, 2010), in tables."
    assert found.settings == {"discount": 0.99, "learning_rate": 0.5, "epsilon": 0.1}
    with pytest.raises(InvalidArgumentError, match="there is a learner called 'double-q' already"):
        register("double-q", DoubleQLearning)


def test_what_is_no_agent_is_refused():
    with pytest.raises(InvalidArgumentError, match="which is no agent"):
        cranium.train(letters(), lambda problem: 7, steps=10)
    with pytest.raises(UnknownNameError, match="no such learner"):
        cranium.train(letters(), 7, steps=10)

    class Stubborn(DoubleQLearning):
        def act(self, observation, configuration):
            return 99

    with pytest.raises(InvalidArgumentError, match=r"act returned 99, which is not in Discrete"):
        cranium.train(letters(), Stubborn, steps=10)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package with an entry point, as pip would lay it out."""
    info = tmp_path / "somebodys_learners-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: somebodys-learners\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(
        "[cranium.learners]\nsomebodys = somebodys_learners:Lazy\nbroken = somebodys_learners:Gone\n"
    )
    (tmp_path / "somebodys_learners.py").write_text(
        "class Lazy:\n"
        '    """Always does the same."""\n'
        "    def __init__(self, problem, *, action=1): self.action = action\n"
        "    def act(self, observation, configuration): return self.action\n"
        "    def observe(self, sample): pass\n"
        "    def policy(self): return lambda observation, configuration, rng=None: self.action\n"
        "    def save(self, path): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    registry = cranium.learners.registry._REGISTRY
    monkeypatch.setattr(registry, "_searched", False)
    monkeypatch.setattr(registry, "_known", dict(registry._known))


def test_learners_of_installed_packages_are_found(package):
    with pytest.warns(UserWarning, match="the learner 'broken' .* cannot be used"):
        assert "somebodys" in LEARNERS
    assert LEARNERS["somebodys"].summary == "Always does the same."
    result = cranium.train(letters(), "somebodys", steps=100, action=2, evaluation_episodes=1)
    assert result.evaluation.success == 0.0
    assert result.evaluation.episodes is not None  # a function is evaluated in episodes
