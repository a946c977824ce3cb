"""Tabular learners: the compiled loop against a naive one, learned values against exact ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from extending.neighbours import Neighbours
from extending.upper_half import UpperHalf
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st
from support import naive_learning as naive
from support.environments import make_letter_product
from support.random_tasks import TABULAR_CONFIGS, lively_machine, lively_world, tasks

import cranium
from cranium import Transition
from cranium.aamdp import TabularProduct
from cranium.counterfactual import Reachable, Seen
from cranium.errors import CounterUnderflowError, InvalidArgumentError, RunError, UnknownNameError
from cranium.learners import Optimism, TabularConfig, Visits, train
from cranium.worlds import LetterEnv, LetterSpec, TabularWorld

SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@pytest.mark.slow
@SLOW
@given(st.data())
def test_the_compiled_loop_is_the_naive_one(data):
    machine, world = data.draw(tasks(counters=2))
    config = data.draw(TABULAR_CONFIGS)
    if data.draw(st.booleans()):
        own = st.sampled_from([Reachable(limit=1), Seen(limit=1), Neighbours()])
        rules = st.sampled_from([0.5, Optimism(2.0), UpperHalf(0.3)])
        config = replace(config, configurations=data.draw(own), exploration=data.draw(rules))
    horizon = data.draw(st.integers(1, 12))
    env = cranium.product(world, machine, counter_limit=3, horizon=horizon)
    try:
        model = TabularProduct.of(TabularWorld.of(world), machine, counter_limit=3)
        result = train(env, "cql", steps=60, seed=3, config=config, evaluate_every=60, log=True)
    except RunError:
        reject()  # some way leads to an error
    met = list(model.space.configurations)
    expected, log = naive.train(world, machine, config, met, 3, horizon, 60, 3)
    assert result.log.tolist() == [list(row) for row in log]
    policy = result.policy
    for o, view in enumerate(policy.observations):
        for x, configuration in enumerate(policy.configurations):
            for a in range(2):
                known = expected.get((tuple(view.tolist()), configuration, a), config.first_value)
                assert result.q[o, x, a] == pytest.approx(known, rel=1e-12, abs=1e-12)


def values(result, optimum):
    """The learned and the exact values of every pair and action."""
    model, policy = optimum.product, result.policy
    seen = model.world.observation[model.state]
    rows = [policy.number(model.world.observations[o]) for o in seen]
    columns = [policy.place(model.space.decode(int(x))) for x in model.configuration]
    return policy.q[rows, columns], optimum.q


@pytest.mark.parametrize("learner", ["ql", "cql"])
def test_with_learning_rate_one_a_deterministic_world_is_learned_exactly(learner):
    letters = [LetterSpec("A", (0, 0), 1, "B"), LetterSpec("C", (0, 2)), LetterSpec("D", (2, 0))]
    world = LetterEnv(letters, rows=3, columns=3, start=None)
    env = cranium.product(world, cranium.library.load("anbcdn"), counter_limit=1, horizon=10**6)
    config = TabularConfig(learning_rate=1.0, exploration=1.0, discount=0.9, initial_value=0.0)
    result = train(env, learner, steps=400_000, seed=0, config=config)
    learned, exact = values(result, cranium.solve(env, discount=0.9))
    assert np.abs(learned - exact).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["ql", "cql"])
@settings(max_examples=8, phases=[Phase.generate])
@given(seed=st.integers(0, 10**6), counters=st.integers(0, 1))
def test_with_falling_rates_random_products_are_approached(learner, seed, counters):
    rng = np.random.default_rng(seed)
    machine, world = lively_machine(rng, counters), lively_world(rng)
    env = cranium.product(world, machine, counter_limit=1, horizon=30)
    config = TabularConfig(
        learning_rate=Visits(0.7), exploration=1.0, discount=0.6, initial_value=0.0
    )
    result = train(env, learner, steps=2_000_000, seed=seed, config=config)
    optimum = cranium.solve(env, discount=0.6)
    learned, exact = values(result, optimum)
    often = reach(optimum.product, 30) > 0.3
    assert np.abs(learned - exact)[often].max() < 0.1


def reach(model, horizon):
    """How many times a pair is visited in an episode of random actions."""
    actions = model.world.num_actions
    pairs = np.repeat(np.arange(model.num_pairs * actions) // actions, np.diff(model.first))
    here, total = model.initial, np.zeros(model.num_pairs)
    for _ in range(horizon):
        total += here
        share = here[pairs] * model.probability / actions
        alive = model.next_pair >= 0
        here = np.bincount(model.next_pair[alive], share[alive], model.num_pairs)
    return total


def test_shaping_leaves_the_optimal_policy_as_it_is():
    for shaping in (False, True):
        config = TabularConfig(shaping=shaping, learning_rate=1.0, initial_value=1.0)
        result = train(make_letter_product(2), "cql", steps=200_000, seed=1, config=config)
        assert result.evaluation.lengths.tolist() == [21]


@pytest.mark.slow
def test_counterfactuals_need_fewer_samples_than_q_learning_and_shaping_fewer_still():
    def samples(learner, **more):
        found = [
            train(
                make_letter_product((1, 3)),
                learner,
                steps=300_000,
                seed=seed,
                **more,
                evaluate_every=100,
                until="solved",
            ).samples_to_solve
            for seed in range(5)
        ]
        assert None not in found
        return np.median(found)

    plain, imagined, shaped = samples("ql"), samples("cql"), samples("cql", shaping=True)
    assert shaped < imagined < plain


def test_one_counterfactual_policy_solves_all_n():
    result = train(make_letter_product((1, 5)), "cql", steps=100_000, seed=0)
    assert result.evaluation.solved
    assert result.evaluation.success.tolist() == [1] * 5


def test_crm_is_cql_on_a_reward_machine():
    machine = cranium.unroll(cranium.library.load("anbcdn"), counter_limit=2)
    env = cranium.product(LetterEnv.experiment(2), machine, horizon=100)
    one, other = (train(env, learner, steps=20_000, seed=4) for learner in ("crm", "cql"))
    assert np.array_equal(one.q, other.q)
    assert one.evaluation.solved
    with pytest.raises(InvalidArgumentError, match="crm learns on reward machines"):
        train(make_letter_product(), "crm", steps=10)


def toro_icarte(env, seed, steps, rate, discount, exploration, initial):
    """CRM as in the reward-machine literature: every state of the machine learns from every step."""
    machine, world = env.automaton, env.unwrapped
    first, second = np.random.SeedSequence(seed).spawn(2)
    agent = np.random.default_rng(first)
    env.reset(seed=int(second.generate_state(1)[0]))
    alive = [u for u in machine.states if u not in machine.terminal]
    q = defaultdict(lambda: [initial] * 4)
    u, s = machine.initial, tuple(world.observe(world.state).tolist())
    for _ in range(steps):
        explore, which = agent.random(), agent.random()
        ties = [a for a in range(4) if q[u, s][a] == max(q[u, s])]
        action = int(which * 4) if explore < exploration else ties[int(which * len(ties))]
        _, _, terminated, truncated, info = env.step(action)
        after = tuple(world.observe(world.state).tolist())
        learned = {}
        for v in alive:
            step = machine.step((v, ()), info["label"])
            target, w = step.reward, step.configuration.state
            if w not in machine.terminal:
                target += discount * max(q[w, after])
            learned[v] = q[v, s][action] + rate * (target - q[v, s][action])
        for v, value in learned.items():
            q[v, s] = [value if a == action else old for a, old in enumerate(q[v, s])]
        u, s = info["machine_state"], after
        if terminated or truncated:
            env.reset()
            u, s = machine.initial, tuple(world.observe(world.state).tolist())
    return q


@pytest.mark.parametrize("task", ["coffee", "patrol"])
def test_crm_is_toro_icartes_update_step_for_step(task):
    env = cranium.find_product(gym.make(f"cranium/ToroOffice-{task}-v0"))
    settings = {"discount": 0.9, "exploration": 0.1}
    result = train(env, "crm", steps=4000, seed=2, learning_rate=0.5, initial_value=2.0, **settings)
    expected = toro_icarte(env, 2, 4000, 0.5, 0.9, 0.1, 2.0)
    policy = result.policy
    for o, seen in enumerate(policy.observations):
        for x, configuration in enumerate(policy.configurations):
            if configuration.state not in env.automaton.terminal:
                found = expected[configuration.state, tuple(seen.tolist())]
                assert policy.q[o, x].tolist() == found


def test_the_same_seed_gives_the_same_result_and_another_another():
    one, same, other = (train(make_letter_product(), steps=5000, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(one.q, same.q)
    assert not np.array_equal(one.q, other.q)


def test_counterfactuals_teach_configurations_that_never_occurred():
    result = train(make_letter_product(1), "cql", steps=30_000, seed=0, counter_limit=4)
    assert result.evaluation.solved
    assert max(max(c.counters) for c in result.policy.configurations) == 4


def test_a_counter_underflow_stops_the_training_with_the_error_of_the_machine():
    machine = cranium.CountingRewardAutomaton(
        propositions=["A"],
        counters=["n"],
        initial="u",
        transitions=[
            Transition(source="u", guard="A", zero_pattern="0", change=(1,)),
            Transition(source="u", guard="A", zero_pattern="1", change=(-2,)),
        ],
    )
    world = LetterEnv([LetterSpec("A", (0, 0))], rows=1, columns=1, start=(0, 0))
    with pytest.raises(CounterUnderflowError):
        train(cranium.product(world, machine, horizon=100), steps=10)


def test_nonsense_is_refused():
    with pytest.raises(UnknownNameError, match="no such learner: 'sql'"):
        train(make_letter_product(), "sql", steps=10)
    for wrong in (0, -1, 1.5, None):
        with pytest.raises(InvalidArgumentError, match="steps is a whole number"):
            train(make_letter_product(), steps=wrong)
    with pytest.raises(InvalidArgumentError, match="current, seen, reachable or a set"):
        TabularConfig(configurations="all")
    with pytest.raises(InvalidArgumentError, match="exploration is a number from 0 to 1, not 7"):
        TabularConfig(exploration=7)
    with pytest.raises(InvalidArgumentError, match="a number or a schedule"):
        TabularConfig(exploration=Visits())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "test_tabular.py::test_the_compiled_loop_is_the_naive_one",
        "test_live.py::test_both_paths_give_the_same_values",
        "test_episodes.py::test_the_episode_log_is_what_the_environment_saw_bit_for_bit_on_both_paths",
    ],
)
def test_the_loops_do_the_same_without_the_compiler(name):
    name = str(Path(__file__).parent / name)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", name],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
