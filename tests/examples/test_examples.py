"""The examples in environments that we did not write: each is trained once, here."""

from __future__ import annotations

import importlib.util
import math
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import cranium
from cranium import languages
from cranium.aamdp.tabular_product import TabularProduct
from cranium.worlds import enumerate_env

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if not path.stem.startswith("sb3"))
MARKED = re.compile(r"^ *# -- yours --\n(.*?)^ *# -- end --$", re.MULTILINE | re.DOTALL)
MOST_LINES = 15


@cache
def module(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@cache
def learned(name, **how):
    return module(name).learn(**how)


def all_of(name):
    """What each run of an example came to: FrozenLake has two."""
    kinds = [{"slippery": False}, {"slippery": True}] if name == "frozen_lake" else [{}]
    return [learned(name, **how) for how in kinds]


def lines_written(name):
    marked = MARKED.findall((EXAMPLES / f"{name}.py").read_text())
    assert len(marked) == 1, f"{name} does not say which lines are yours"
    lines = [line.strip() for line in marked[0].splitlines()]
    return len([line for line in lines if line and not line.startswith("#")])


def play(env, policy, seed):
    """The events of a greedy episode, one letter after the other, and its steps and success."""
    observation, info = env.reset(seed=seed)
    word, steps, over = [], 0, False
    rng = np.random.default_rng(seed)
    while not over:
        ground, configuration = env.encoding.decode(observation)
        observation, _, terminated, truncated, info = env.step(policy(ground, configuration, rng))
        word += sorted(info["label"])
        steps, over = steps + 1, terminated or truncated
    return word, steps, info["success"]


@pytest.mark.parametrize("name", NAMES)
def test_a_user_writes_few_lines(name):
    assert 0 < lines_written(name) <= MOST_LINES


@pytest.mark.parametrize("name", NAMES)
def test_an_example_tells_what_it_learned(name, monkeypatch, capsys):
    results = [result for _, result, *_ in all_of(name)]  # with the real function, before
    monkeypatch.setattr(module(name), "learn", lambda **how: learned(name, **how))
    module(name).main()
    told = capsys.readouterr().out
    assert all(f"{result.samples:,} samples" in told for result in results)


def test_an_example_runs_as_a_script_without_warnings():
    command = [sys.executable, "-W", "error", str(EXAMPLES / "cliff_walking.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "steps: 20, optimum 20" in done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_every_success_is_a_word_of_the_language(name):
    """The oracle decides it, on the syntax tree: it knows nothing of the machine."""
    text = re.search(r'compile_language\("(.*)"\)', (EXAMPLES / f"{name}.py").read_text())[1]
    language = languages.parse_language(text)
    for env, result, *_ in all_of(name):
        policy = result.policy.with_unknown("random")
        played = [play(env, policy, seed) for seed in range(20)]
        for word, _, success in played:
            assert languages.is_member(language, word) == success, word
        assert any(success for _, _, success in played)


@pytest.mark.parametrize("name", ["frozen_lake", "cliff_walking", "vector"])
def test_what_is_learned_is_nearly_the_optimum(name):
    for env, result, *_ in all_of(name):
        optimum = cranium.solve(env)
        assert result.path == "compiled"
        assert result.evaluation.values[0] == pytest.approx(optimum.start_value, abs=0.0101)
        assert result.evaluation.success[0] == pytest.approx(optimum.success_rate, abs=0.03)


# What the labellings say, against what the environments themselves know


def transitions(env):
    """Everything that can happen in an environment that has a model."""
    for state, actions in env.unwrapped.P.items():
        for action, outcomes in actions.items():
            for _, after, reward, terminated in outcomes:
                yield (state, action, int(after)), reward, terminated


def test_a_fall_is_what_the_cliff_fines():
    env, _ = learned("cliff_walking")
    found = [(env.labelling(*step), reward) for step, reward, _ in transitions(env) if step[0] < 37]
    assert sum(reward == -100 for _, reward in found) == 11
    assert all(("fall" in events) == (reward == -100) for events, reward in found)


def test_a_pickup_and_a_delivery_are_what_the_taxi_does_not_fine():
    env, _ = learned("taxi")
    seen = set()
    for (before, action, after), reward, terminated in transitions(env):
        _, _, passenger, destination = env.unwrapped.decode(before)
        if passenger == destination:
            continue  # no episode begins or goes on there
        events = env.labelling(before, action, after)
        assert ("deliver" in events) == terminated == (reward == 20)
        assert ("pickup" in events) == (action == 4 and reward != -10)
        assert ("loaded" in events) == (action < 4 and passenger == 4)
        assert ("empty" in events) == (action < 4 and passenger != 4)
        seen |= events
    assert seen == {"empty", "pickup", "loaded", "deliver"}


def test_the_key_and_the_door_are_what_minigrid_says_they_are():
    world, label = learned("minigrid_door")[0].env, learned("minigrid_door")[0].labelling
    base, seen, ends = world.unwrapped, set(), 0
    world.action_space.seed(0)
    observation, _ = world.reset(seed=0)
    for _ in range(4000):
        held, was_open = base.carrying, door_is_open(base)
        action = world.action_space.sample()
        after, _, terminated, truncated, _ = world.step(action)
        events = label(observation, action, after)
        assert ("key" in events) == (held is None and base.carrying is not None)
        assert ("open" in events) == (door_is_open(base) and not was_open)
        assert ("goal" in events) == terminated
        seen, ends = seen | events, ends + terminated
        observation = world.reset()[0] if terminated or truncated else after
    assert seen == {"key", "open", "goal"}
    assert ends


def door_is_open(base):
    return any(cell is not None and cell.type == "door" and cell.is_open for cell in base.grid.grid)


# What was learned


def test_slippery_ice_leaves_no_certain_way_and_firm_ice_does():
    firm, slippery = (cranium.solve(env) for env, _ in all_of("frozen_lake"))
    assert firm.success_rate == 1
    assert 0.5 < slippery.success_rate < 0.6


@pytest.mark.parametrize(("name", "starts"), [("taxi", 300), ("dict_observations", 5)])
def test_every_start_of_a_drawn_task_is_learned(name, starts):
    env, result = learned(name)
    assert result.path == "compiled"
    assert len(result.evaluation.instances) == starts
    assert result.evaluation.solved
    assert result.evaluation.gap.min() > -1e-9
    assert result.evaluation.gap.max() < 0.06
    assert result.evaluation.lengths.mean() >= cranium.solve(env).expected_length * 0.95


def test_the_door_is_opened_about_as_soon_as_possible():
    env, result = learned("minigrid_door")
    assert result.path == "python"
    assert result.evaluation.solved
    played = [play(env, result.policy.with_unknown("random"), seed) for seed in range(10)]
    env.unwrapped.max_steps = 10**6  # listing walks on and on in copies of one episode
    world = enumerate_env(env.env, env.labelling, starts=300, repeats=1, verify=200)
    optimum = cranium.solve(TabularProduct.of(world, env.automaton, counter_limit=9))
    soonest = []
    for seed in range(10):
        ground = env.reset(seed=seed)[0]["ground"]
        state = next(
            s for s, o in zip(world.states, world.observations, strict=True) if (o == ground).all()
        )
        value = optimum.value[optimum.product.pair(state, env.automaton.start)]
        soonest.append(1 + round(math.log(value) / math.log(optimum.discount)))
    taken = [steps for _, steps, _ in played]
    assert all(t >= s for t, s in zip(taken, soonest, strict=True))
    assert sum(taken) <= 1.2 * sum(soonest)


def test_the_pendulum_gets_up_from_starts_it_was_not_judged_by():
    env, result = learned("pendulum")
    assert result.evaluation.solved
    policy = result.policy.with_unknown("random")
    other = cranium.evaluate(env, policy, episodes=100, seed=1000)
    assert other.success[0] > 0.9
    swings = {play(env, policy, seed)[0].count("swing") for seed in range(20)}
    assert len(swings) > 2  # N is not the same each time


def test_eight_environments_at_once_succeed_as_often_as_is_computed():
    env, result, envs = learned("vector")
    found = module("vector").collect(env, result.policy, envs, steps=4000, seed=1)
    assert len(found) > 200
    exact = float(result.evaluation.success[0])
    # Episodes that go on when the collecting stops are missing, so a little more than chance.
    assert np.mean(found) == pytest.approx(
        exact, abs=4 * math.sqrt(exact * (1 - exact) / len(found))
    )


def test_the_table_in_the_documentation_is_what_the_examples_show():
    page = (ROOT / "docs" / "environments.md").read_text()
    rows = re.findall(
        r"^\|.*`(\w+)\.py`[^|]*\|[^|]*\| (\d+) \| `(\w+)` \| ([\d,]+) \|$", page, re.M
    )
    shown = [(name, int(lines), learner, count) for name, lines, learner, count in rows]
    expected = [
        (name, lines_written(name), result.learner, f"{result.samples:,}")
        for name in NAMES
        for _, result, *_ in all_of(name)
    ]
    assert sorted(shown) == sorted(expected)
