"""The examples with training loops of their own: each learns, and few of its lines are ours."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import cranium
from cranium.learners import TabularConfig
from cranium.worlds import LetterEnv

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "training_loops"
LOOPS = [
    pytest.param("torch_dqn", marks=pytest.mark.sb3),
    pytest.param("torch_sac", marks=pytest.mark.sb3),
    "jax_dqn",
]
MOST_CHANGED = 12


@cache
def module(name):
    spec = importlib.util.spec_from_file_location(f"loop_{name}", FOLDER / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found  # dataclasses look there
    spec.loader.exec_module(found)
    return found


def plain(text):
    """The same script with plain replay, as its first lines say how to get it."""
    kept = [line for line in text.splitlines() if not line.endswith("# counterfactual")]
    return "\n".join(line.replace("# plain: ", "") for line in kept)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_with_counterfactual_replay_learns(name):
    loop = module(name)
    assert loop.evaluate(loop.train(loop.Args(seed=1))) >= 0.9


@pytest.mark.parametrize("name", ["torch_dqn", "torch_sac", "jax_dqn"])
def test_few_lines_differ_from_plain_replay(name):
    text = (FOLDER / f"{name}.py").read_text()
    changed = [line for line in text.splitlines() if line.endswith("# counterfactual")]
    assert 1 <= len(changed) <= MOST_CHANGED
    assert any("CounterfactualReplay(" in line for line in changed)
    without = plain(text)
    names = {node.id for node in ast.walk(ast.parse(without)) if isinstance(node, ast.Name)}
    assert "ReplayBuffer" in names
    assert "CounterfactualReplay" not in names


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_runs_with_plain_replay_too(name, tmp_path):
    (tmp_path / f"{name}.py").write_text(plain((FOLDER / f"{name}.py").read_text()))
    (tmp_path / "plain_replay.py").write_text((FOLDER / "plain_replay.py").read_text())
    command = [sys.executable, "-W", "error", f"{name}.py", "--total-timesteps", "700"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"success rate: \d\.\d\d\n", done.stdout)


# Algorithm 1


@pytest.mark.parametrize("task", ["anbcn", "anbcdn"])
@pytest.mark.parametrize("seed", [0, 1])
def test_algorithm_1_computes_what_the_compiled_loop_computes(task, seed):
    machine, world = cranium.library.load(task), LetterEnv.experiment((1, 2))
    config = TabularConfig(
        configurations="seen", exploration=0.3, learning_rate=0.5, discount=0.9, initial_value=0.0
    )
    horizon, steps = 25, 1_500
    env = cranium.product(world, machine, horizon=horizon)
    result = cranium.train(env, "cql", steps=steps, seed=seed, config=config)
    first, second = np.random.SeedSequence(seed).spawn(2)
    generators = [np.random.default_rng(g) for g in (first, int(second.generate_state(1)[0]))]
    naive = module("algorithm_1")
    found = naive.list_configurations(machine, horizon)
    expected = naive.counterfactual_q_learning(
        world, machine, found, steps, horizon, 0.5, 0.9, 0.3, *generators
    )
    assert len({x for _, x, _ in expected}) > 3
    policy = result.policy
    for o, observation in enumerate(policy.observations):
        for x, configuration in enumerate(policy.configurations):
            for a in range(4):
                key = (tuple(observation.tolist()), configuration, a)
                assert policy.q[o, x, a] == pytest.approx(expected.get(key, 0.0), abs=1e-12)


def test_algorithm_1_stands_on_its_page_as_it_is_tested():
    text = (FOLDER / "algorithm_1.py").read_text()
    shown = re.search(r"^# -- algorithm 1 --\n(.*?)^# -- end --", text, re.M | re.S)[1].strip()
    assert shown in (ROOT / "docs" / "counterfactual.md").read_text()
    body = shown.partition("\n\n\n")[0].splitlines()
    assert len(body) - 4 <= 25  # without its arguments and its docstring


@pytest.mark.slow
def test_algorithm_1_runs_as_a_script():
    command = [sys.executable, "-W", "error", str(FOLDER / "algorithm_1.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "⟨" in done.stdout
