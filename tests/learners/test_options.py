"""Options on reward machines: both paths against a naive learner, and tasks that are solved."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from support.naive_machine import all_labels
from support.naive_options import Naive, after_label
from support.random_tasks import RandomWorld, random_worlds, tasks
from support.strategies import build_for_tables, specs

import cranium
from cranium import RewardFunction, Transition
from cranium.errors import AutomatonError, InvalidArgumentError, RewardError, RunError
from cranium.learners import OptionsConfig, train
from cranium.learners.tabular.options import OptionsAgent, _worth, targets
from cranium.worlds import LetterEnv

SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
CONFIGS = st.builds(
    OptionsConfig,
    learning_rate=st.sampled_from([1.0, 0.3]),
    discount=st.sampled_from([0.9, 1.0]),
    exploration=st.sampled_from([0.0, 0.3, 1.0]),
    initial_value=st.sampled_from([0.0, 1.0]),
    success_reward=st.sampled_from([1.0, 2.0]),
    failure_reward=st.sampled_from([0.0, -1.0]),
)


def trained(env, **more):
    """The result, and the agent that made it."""
    agents = []

    class Kept(OptionsAgent):
        def __init__(self, *given):
            super().__init__(*given)
            agents.append(self)

    with patch("cranium.learners.tabular.options.OptionsAgent", Kept):
        return train(env, "hrm", **more), agents[0]


def tables(result, agent):
    """Both levels as dictionaries: (observation, source, target, action) and without the action."""
    low, high, options = {}, {}, agent.options
    names = agent.tables.space.configurations
    for o, view in enumerate(result.policy.observations):
        for n, (x, y) in enumerate(agent.pairs):
            key = (tuple(np.ravel(view).tolist()), names[x], names[y])
            high[key] = options.high[o, n]
            low |= {(*key, a): value for a, value in enumerate(options.low[o, n].tolist())}
    return low, high


@st.composite
def reward_machines(draw):
    machine = build_for_tables(draw(specs(max_counters=draw(st.integers(0, 1)))))
    try:
        return cranium.unroll(machine, counter_limit=2) if machine.counters else machine
    except (AutomatonError, RunError):
        reject()


@st.composite
def option_tasks(draw):
    """A reward machine and a world."""
    if draw(st.booleans()):
        machine = draw(reward_machines())
        return machine, draw(random_worlds(machine.propositions))
    return draw(tasks(counters=0))


@pytest.mark.slow
@SLOW
@given(st.data())
def test_both_paths_are_the_naive_learner(data):
    machine, world = data.draw(option_tasks())
    config, horizon = data.draw(CONFIGS), data.draw(st.integers(1, 40))
    env = cranium.product(world, machine, horizon=horizon)
    how = {"steps": 100, "seed": 3, "config": config, "evaluate_every": 100, "log": True}
    try:
        result, agent = trained(env, path="compiled", **how)
    except RunError:
        reject()  # some way leads to an error
    naive = Naive(world, machine, config, horizon, 3)
    naive.train(100)
    assert result.log.tolist() == [list(row) for row in naive.log]
    low, high = tables(result, agent)
    assert {key: naive.low[key] for key in low} == pytest.approx(low, rel=1e-12, abs=1e-12)
    assert {key: naive.high[key] for key in high} == pytest.approx(high, rel=1e-12, abs=1e-12)
    policy = result.policy
    for o, view in enumerate(policy.observations):
        for x, configuration in enumerate(policy.configurations):
            if configuration in naive.options:  # the overflow is not
                good = naive.greedy(tuple(view.tolist()), configuration)
                assert np.argmax(result.q[o, x]) in good
    alike(result, agent, *trained(env, path="python", **how))


def alike(result, agent, live, other):
    """The path in Python has met fewer observations; the rest is as at first."""
    for one, two in zip(tables(result, agent), tables(live, other), strict=True):
        unmet = {one[key] for key in one.keys() - two.keys()}
        assert unmet <= {agent.config.initial_value}
        assert two == {key: one[key] for key in two}
    assert (live.samples, live.episodes) == (result.samples, result.episodes)
    assert np.array_equal(live.log, result.log)


@pytest.mark.slow
@SLOW
@given(st.data())
def test_there_is_an_option_for_every_way_out_that_some_label_takes(data):
    machine = data.draw(reward_machines())
    found = targets(machine)
    assert machine.start in found
    for x, ends in found.items():
        steps = [after_label(machine, x, y) for y in all_labels(machine.propositions)]
        leads = {step[0] for step in steps if step is not None}
        assert len(ends) == len({*ends})
        assert {*ends} == (set() if machine.is_terminal(x) else leads - {x})
        assert {*ends} <= {*found}


@pytest.mark.parametrize("task", ["coffee", "mail", "coffee-and-mail", "patrol"])
def test_the_office_tasks_are_solved(task):
    env = gym.make(f"cranium/ToroOffice-{task}-v0")
    for seed in range(3):
        result = train(env, "hrm", steps=30_000, seed=seed, until="solved")
        assert result.evaluation.solved
        assert result.path == "compiled"


def letters(times=2):
    machine = cranium.unroll(cranium.library.load("anbcdn"), counter_limit=2)
    return cranium.product(LetterEnv.experiment(times), machine, horizon=100)


def test_the_unrolled_letter_task_is_solved_with_the_fewest_steps():
    result = train(letters(), "hrm", steps=100_000, seed=0)
    assert result.evaluation.solved
    assert result.evaluation.lengths.tolist() == [21]


def test_the_same_seed_gives_the_same_result_and_another_another():
    one, same, other = (trained(letters(), steps=5000, seed=seed)[1] for seed in (0, 0, 1))
    assert np.array_equal(one.options.low, same.options.low)
    assert np.array_equal(one.options.high, same.options.high)
    assert not np.array_equal(one.options.low, other.options.low)


def test_both_paths_learn_the_same():
    env = gym.make("cranium/ToroOffice-coffee-and-mail-v0")
    how = {"steps": 8000, "seed": 5, "evaluate_every": 8000}
    alike(*trained(env, path="compiled", **how), *trained(env, path="python", **how))


def corridor(*transitions):
    """Cells 0 to 4, begun at 1: bad at the left end, good at the right one."""
    machine = cranium.CountingRewardAutomaton(
        propositions=["bad", "good"],
        initial="u",
        terminal=["failed", "won"],
        accepting=["won"],
        transitions=transitions,
    )
    names = {0: frozenset(["bad"]), 4: frozenset(["good"])}
    ends = [max(s - 1, 0) if a == 0 else min(s + 1, 4) for s in range(5) for a in range(2)]
    table = [[(1, s, names.get(s, frozenset()), False)] for s in ends]
    world = RandomWorld(5, table, ("bad", "good"))
    world.initial = lambda options: [(1.0, 1)]
    return cranium.product(world, machine, horizon=50)


@pytest.mark.slow
def test_reward_functions_count_on_both_paths_and_levels():
    env = corridor(
        Transition(source="u", guard="bad", reward=RewardFunction("a", lambda s, a, t: 3.0 - a)),
        Transition(
            source="u",
            guard="good & !bad",
            target="won",
            reward=RewardFunction("b", lambda s, a, t: 7.0 + s[0] * a),
        ),
    )
    how = {"steps": 2000, "seed": 1, "exploration": 0.5, "discount": 0.5, "initial_value": 0.0}
    found, agent = trained(env, path="compiled", **how)
    alike(found, agent, *trained(env, path="python", **how))
    low, high = (set(table.values()) for table in tables(found, agent))
    # Left in cell 0 pays 3 for ever: 3 / (1 - 0.5). On the high level 7 + 3 · 1 is paid at last.
    assert max(low) == pytest.approx(6)
    assert max(high) > 3


def test_untried_options_have_no_value_and_new_states_take_the_mean_of_tried_ones():
    high = np.array([[-1.0, 9.0, 9.0], [-3.0, -1.0, 9.0], [9.0, 9.0, 9.0]])
    worth = _worth(high, np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]], np.bool_))
    never = -np.inf
    assert worth.tolist() == [[-1, never, never], [-3, -1, never], [-2, -1, never]]


@pytest.mark.parametrize(("path", "after"), [("compiled", "u"), ("python", "u"), ("compiled", "v")])
def test_values_that_become_infinite_stop_the_training(path, after):
    """On the low level, where it is paid to stay in u; on the high one, where to leave it."""

    def pays(reward):
        return corridor(
            Transition(source="u", guard="bad", target=after, reward=reward),
            Transition(source=after, guard="good & !bad", target="won", reward=reward),
        )

    how = {"steps": 2000, "path": path, "discount": 1.0, "learning_rate": 1.0}
    assert train(pays(1e3), "hrm", **how).samples == 2000
    with pytest.raises(RewardError, match=r"samples, in ⟨u⟩: a value became infinite or NaN"):
        train(pays(1e308), "hrm", **how)


def test_machines_with_counters_and_nonsense_are_refused():
    with pytest.raises(InvalidArgumentError, match="hrm learns on reward machines, but this"):
        train(gym.make("cranium/Letter-anbcdn-v0"), "hrm", steps=10)
    with pytest.raises(InvalidArgumentError, match="success_reward is a number, not 'much'"):
        OptionsConfig(success_reward="much")


@pytest.mark.slow
def test_the_loop_does_the_same_without_the_compiler():
    name = f"{Path(__file__)}::test_both_paths_are_the_naive_learner"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", name],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
