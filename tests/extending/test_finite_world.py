"""A finite world of a user's own is taken by products, planners, learners and commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from extending.finite_world import SIZE, WIND, Lake

import cranium
from cranium.errors import WorldError
from cranium.worlds import FiniteWorld, Outcome, TabularWorld, World

HERE = Path(__file__).parent
TASK = "fish^N harbour^N"


@pytest.fixture
def task():
    return cranium.compile_language(TASK)


class TestAWorldThatInherits:
    def test_it_has_at_most_40_lines_and_imports_only_public_names(self):
        text = (HERE / "finite_world.py").read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 40
        used = [line for line in text.splitlines() if "import" in line and "cranium" in line]
        assert used == ["from cranium.worlds import FiniteEnv, Outcome"]
        assert {"FiniteEnv", "Outcome"} <= set(cranium.worlds.__all__)

    def test_it_follows_the_protocols(self):
        assert isinstance(Lake(), World)
        assert isinstance(Lake(), FiniteWorld)

    def test_its_table_is_the_model(self):
        table = TabularWorld.of(Lake())
        assert table.num_states == SIZE * SIZE
        assert {frozenset(), frozenset({"fish"}), frozenset({"harbour"})} == set(table.labels)
        assert set(table.probability) == {1 - WIND, WIND}

    def test_the_product_reads_its_events(self, task):
        env = cranium.product(gym.make("lake/Lake-v0"), task)
        env.reset(seed=0)
        for action in (3, 3, 3, 1, 1, 1):
            observation, _, _, _, info = env.step(action)
        assert info["label"] == {"fish"}
        assert info["counters"] == (1,)
        assert observation["ground"].tolist() == [SIZE - 1, SIZE - 1]
        assert env.horizon == 60

    def test_the_optimum_is_exact(self, task):
        optimum = cranium.solve(cranium.product(gym.make("lake/Lake-v0"), task))
        assert optimum.sampled is None
        assert optimum.success_rate > 0.99
        # The way is 6 moves to the fish and 3 to the harbour; the wind helps on the first.
        assert 8 < optimum.expected_length < 9.2

    def test_training_is_compiled_and_solves_it(self, task):
        env = cranium.product(gym.make("lake/Lake-v0"), task)
        result = cranium.train(env, "cql", steps=60_000, seed=0, path="compiled")
        assert result.path == "compiled"
        assert result.evaluation.exact
        assert result.evaluation.success[0] > 0.95

    def test_both_paths_learn_the_same(self, task):
        envs = [cranium.product(gym.make("lake/Lake-v0"), task) for _ in range(2)]
        one = cranium.train(envs[0], "cql", steps=3_000, seed=1, path="compiled")
        other = cranium.train(envs[1], "cql", steps=3_000, seed=1, path="python")
        assert (one.episodes, one.successes) == (other.episodes, other.successes)
        exact = [cranium.evaluate(envs[0], found.policy).values for found in (one, other)]
        assert np.array_equal(*exact)


class TestCommands:
    def run(self, *words, check=True):
        known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
        done = subprocess.run(
            [sys.executable, "-m", "cranium", *words],
            capture_output=True,
            text=True,
            env=known,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    @pytest.mark.slow
    def test_solve_takes_the_id_and_the_module_that_registers_it(self):
        done = self.run("solve", "finite_world:lake/Lake-v0", "-l", TASK)
        assert "success   1.0000 within 60 steps" in done.stdout

    @pytest.mark.slow
    def test_train_takes_it(self, tmp_path):
        world, file = "finite_world:lake/Lake-v0", tmp_path / "agent.npz"
        words = ("--steps", "60k", "-l", TASK, "--save", str(file), "--json")
        done = self.run("train", world, *words, check=False)  # 1: not every episode succeeds
        found = json.loads(done.stdout)[0]
        assert found["evaluation"][0]["success"] > 0.95
        done = self.run("evaluate", str(file), "--world", world, "--json", check=False)
        assert json.loads(done.stdout) == found["evaluation"]

    @pytest.mark.slow
    def test_a_file_alone_does_not_choose_an_environment(self, tmp_path):
        file = tmp_path / "agent.npz"
        words = ("--steps", "2k", "-l", TASK, "--save", str(file), "--json")
        self.run("train", "finite_world:lake/Lake-v0", *words, check=False)
        done = self.run("evaluate", str(file), check=False)
        assert done.returncode == 2
        assert "'lake/Lake-v0', and a file cannot choose which code is run" in done.stderr

    @pytest.mark.slow
    def test_worlds_lists_its_events(self):
        done = self.run("worlds", "finite_world:lake/Lake-v0")
        assert "fish, harbour" in done.stdout

    @pytest.mark.slow
    def test_a_module_that_does_not_exist_is_one_line(self):
        done = self.run("solve", "no_such_module:lake/Lake-v0", "-l", TASK, check=False)
        assert done.returncode != 0
        assert "there is no module 'no_such_module'" in done.stderr
        assert "Traceback" not in done.stderr


class Pier(gym.Env):
    """A world that inherits nothing of ours: it has its own ``step`` and ``reset``."""

    vocabulary = ("end",)
    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Discrete(5)
    slip = 0.2

    def __init__(self):
        self.state, self.events = 0, frozenset()

    def initial(self, options):
        return [(1.0, 0)]

    def outcomes(self, state, action):
        ahead = min(state + 1, 4) if action else max(state - 1, 0)
        return [Outcome(0.8, ahead), Outcome(0.2, state)]

    def label(self, state, action, after):
        return "end" if after == 4 else ()

    def observe(self, state):
        return state

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.events = 0, frozenset()
        return self.state, {}

    def step(self, action):
        stays = self.np_random.random() < self.slip
        if not stays:
            self.state = self.outcomes(self.state, action)[0].state
        self.events = frozenset({"end"} if self.state == 4 else ())
        return self.state, 0.0, False, False, {}


class LyingPier(Pier):
    """Its steps do not follow its model."""

    slip = 0.5


class TestAWorldThatInheritsNothing:
    def test_it_follows_the_protocols(self):
        assert isinstance(Pier(), FiniteWorld)

    def test_it_is_solved_from_its_model(self):
        env = cranium.product(Pier(), cranium.compile_language("end"), horizon=100)
        optimum = cranium.solve(env, discount=0.9)
        assert optimum.sampled is None
        # V = (0.8 γ / (1 - 0.2 γ))^3 · 0.8 / (1 - 0.2 γ), because the last step is not discounted
        stay = 1 - 0.2 * 0.9
        assert optimum.start_value == pytest.approx((0.8 * 0.9 / stay) ** 3 * 0.8 / stay)

    def test_it_is_trained_compiled(self):
        env = cranium.product(Pier(), cranium.compile_language("end"), horizon=100)
        result = cranium.train(env, "cql", steps=20_000, seed=0, path="compiled")
        assert result.evaluation.solved

    def test_a_model_that_its_steps_do_not_follow_is_refused(self):
        env = cranium.product(LyingPier(), cranium.compile_language("end"), horizon=100)
        with pytest.raises(WorldError):
            cranium.solve(env)
