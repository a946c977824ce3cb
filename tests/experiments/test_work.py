"""What a trial does: lots, machines that are put together, and rates, against plain simulation."""

from __future__ import annotations

import json
import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st
from support.trials import size_trial, training

import cranium
from cranium.aamdp.planning import solve
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.aamdp.registry import make_world
from cranium.errors import ConversionError, InvalidArgumentError, UnknownNameError, WorldError
from cranium.experiments import Store
from cranium.experiments.trial import Trial, run_trial
from cranium.formats import library
from cranium.learners import train
from cranium.learners.preparation import generators
from cranium.paper.multi_task import (
    TaskSamplingEnv,
    find_task,
    recover_sampled_tasks,
    unite_machines,
)
from cranium.paper.problems import make_env
from cranium.paper.rates import compute_optimal_rates, compute_rates
from cranium.paper.reward_machines import BASELINES, CASES, REACHED, RewardMachinesConfig
from cranium.worlds import OfficeWorld, TabularWorld

NAMES = CASES["all four"].split("+")
MACHINES = [library.load(name) for name in NAMES]
EVENTS = sorted({p for machine in MACHINES for p in machine.propositions})
together = unite_machines(MACHINES, NAMES)
words = st.lists(st.sets(st.sampled_from(EVENTS), max_size=3).map(frozenset), max_size=30)


def four():
    return make_env("ToroOffice", CASES["all four"], None, ())


# Machines that are put together


def follow(machine, word):
    """The rewards until the end, and whether that is success."""
    here, rewards = machine.start, []
    for events in word:
        known = frozenset(events) & frozenset(machine.propositions)
        step = machine.step(here, known)
        here = step.configuration
        rewards.append(step.reward)
        if here.state in machine.terminal:
            break
    return rewards, here.state in machine.accepting


@given(st.integers(0, 3), words)
def test_after_it_has_read_a_task_the_union_does_what_that_machine_does(number, word):
    alone, success = follow(MACHINES[number], word)
    rewards, found = follow(together, [frozenset({f"task{number + 1}"}), *word])
    assert rewards[0] == 0
    assert np.allclose(rewards[1:], alone, rtol=0, atol=1e-8)
    assert len(rewards) == len(alone) + 1
    assert found == success


@given(st.integers(0, 3), words)
def test_the_tasks_of_others_change_nothing_once_one_is_known(number, word):
    noisy = [events | {f"task{1 + place % 4}"} for place, events in enumerate(word)]
    begin = frozenset({f"task{number + 1}"})
    assert follow(together, [begin, *word]) == follow(together, [begin, *noisy])


@given(words)
def test_without_a_task_nothing_happens(word):
    assert follow(together, word) == ([0.0] * len(word), False)


@pytest.mark.slow
@given(st.integers(0, 3), words)
def test_the_union_pays_exactly_what_the_machine_pays(number, word):
    alone, _ = follow(MACHINES[number], word)
    rewards, _ = follow(together, [frozenset({f"task{number + 1}"}), *word])
    assert rewards == [0.0, *alone]


def test_a_state_of_the_union_tells_its_task():
    for state in together.states:
        number = find_task(state, NAMES)
        assert state == "no task yet" or state.startswith(f"{NAMES[number]}: ")


def test_one_machine_stays_as_it_is_and_those_with_counters_are_refused():
    assert unite_machines([MACHINES[0]], ["a"]) is MACHINES[0]
    with pytest.raises(ConversionError, match="counters"):
        unite_machines([MACHINES[0], library.load("anbcdn")], ["a", "b"])


# The world in which a lot is drawn


def test_task_sampling_agrees_with_its_table():
    world = TaskSamplingEnv(make_world("ToroOffice"), NAMES)
    table = TabularWorld.of(world)
    assert table.verify(world, steps=5000) == 5000
    assert sorted(table.initial[table.initial > 0]) == [0.25] * 4
    assert len({tuple(seen) for seen in table.observations}) == len(table.observations)


@pytest.mark.parametrize("names", [NAMES, NAMES[:2]])
def test_gymnasiums_checker_is_content_with_task_sampling_and_the_product(names):
    world = TaskSamplingEnv(make_world("ToroOffice"), names)
    machine = unite_machines([library.load(name) for name in names], names)
    with warnings.catch_warnings():
        # It asks for a way to render, and a product is a wrapper, which it remarks on.
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        check_env(world, skip_render_check=True)
        check_env(AutomatonAugmentedMDP(world, machine, horizon=100), skip_render_check=True)


def test_what_is_seen_is_in_the_space_and_says_the_task_once():
    world = TaskSamplingEnv(make_world("ToroOffice"), NAMES)
    rng = np.random.default_rng(0)
    drawn = []
    for episode in range(200):
        seen, _ = world.reset(seed=episode)
        assert seen[-1] == 5
        assert world.observation_space.contains(seen)
        first = world.step(0)[0]
        (event,) = world.events
        assert event == f"task{first[-1]}"
        drawn.append(int(first[-1]))
        for action in rng.integers(4, size=5):
            seen = world.step(int(action))[0]
            assert world.observation_space.contains(seen)
            assert seen[-1] == 0
            assert not any(name.startswith("task") for name in world.events)
    counts = np.bincount(drawn, minlength=5)[1:]
    assert counts.sum() == 200
    assert counts.min() > 25


def test_the_task_can_be_asked_for():
    world = TaskSamplingEnv(make_world("ToroOffice"), NAMES)
    for number, (name, options) in enumerate(world.instances().items()):
        assert name == NAMES[number]
        for seed in range(5):
            world.reset(seed=seed, options=dict(options))
            world.step(1)
            assert world.events == {f"task{number + 1}"}
    with pytest.raises(UnknownNameError, match="toro-coffe"):
        world.reset(options={"task": "toro-coffe"})
    with pytest.raises(InvalidArgumentError, match="mail"):
        world.reset(options={"mail": 3})


def test_a_task_sampling_env_can_be_pickled():
    world = TaskSamplingEnv(make_world("ToroOffice"), NAMES)
    world.reset(seed=0)
    copy = pickle.loads(pickle.dumps(world))
    for action in (0, 1, 2, 3):
        assert (world.step(action)[0] == copy.step(action)[0]).all()


def test_task_sampling_needs_multi_discrete_observations():
    class Odd(OfficeWorld):
        observation_space = None

        def __init__(self):
            super().__init__(layout="toro-icarte", mail=None)
            self.observation_space = None

    with pytest.raises(WorldError, match="finite world with MultiDiscrete"):
        TaskSamplingEnv(Odd(), NAMES)


# The optimal rates


def simulated(env, discount, exploration, episodes, seed, names=NAMES):
    """Walk about with the optimal policy: the reward per step of each task, and its error."""
    solved = solve(env, discount=discount)
    model = solved.product
    actions = (len(model.first) - 1) // model.num_pairs
    rng = np.random.default_rng(seed)
    lots = isinstance(env.env, TaskSamplingEnv)
    rates = {}
    for _ in range(episodes):
        here, steps, earned = int(rng.choice(model.num_pairs, p=model.initial)), 0, 0.0
        task = None
        while here >= 0 and steps < env.horizon:
            greedy = rng.random() >= exploration
            action = int(solved.policy[here]) if greedy else int(rng.integers(actions))
            row = here * actions + action
            outcomes = np.arange(model.first[row], model.first[row + 1])
            outcome = int(outcomes[0])
            if len(outcomes) > 1:
                outcome = int(rng.choice(outcomes, p=model.probability[outcomes]))
            earned += float(model.reward[outcome])
            here, steps = int(model.next_pair[outcome]), steps + 1
            if lots and steps == 1:
                state = model.space.decode(int(model.configuration[here])).state
                task = names.index(state.split(":")[0])
        rates.setdefault(task or 0, []).append(earned / (steps - lots))
    return rates


def check_rates(env, discount, exploration, episodes, names=NAMES):
    best = compute_optimal_rates(env, discount, exploration)
    assert len(best) == (len(names) if isinstance(env.env, TaskSamplingEnv) else 1)
    for task, rates in simulated(env, discount, exploration, episodes, 0, names).items():
        error = np.std(rates) / np.sqrt(len(rates))
        assert error < 0.02 * best[task]  # so that a mistake of a tenth cannot pass
        assert abs(np.mean(rates) - best[task]) < 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("exploration", [0.1, 0.3])
def test_the_optimal_rate_is_that_of_a_plain_simulation(exploration):
    env = make_env("ToroOffice", CASES["coffee and mail"], None, ())
    assert len(compute_optimal_rates(env, 0.9, exploration)) == 1
    check_rates(env, 0.9, exploration, 8000)


@pytest.mark.slow
def test_the_optimal_rates_of_sampled_tasks_are_those_of_a_plain_simulation():
    assert len(compute_optimal_rates(four(), 0.9, 0.1)) == 4
    check_rates(four(), 0.9, 0.1, 6000)


def test_the_rates_of_sampled_tasks_are_those_of_its_tasks():
    lot = compute_optimal_rates(four(), 0.9, 0.1)
    for name, rate in zip(NAMES, lot, strict=True):
        (alone,) = compute_optimal_rates(make_env("ToroOffice", name, None, ()), 0.9, 0.1)
        assert rate == pytest.approx(alone, rel=1e-3)


PAYING = """
propositions: [{first}, {last}]
initial: begin
terminal: [done]
accepting: [done]
transitions:
  - {{from: begin, when: {first}, to: half, reward: {half}}}
  - {{from: half, when: {last}, to: done, reward: {whole}}}
"""


@pytest.mark.slow
def test_rates_are_right_whatever_the_machines_pay_and_when():
    # One pays 3 in all, in two parts; the other charges for its first half.
    names = ["generous", "stern"]
    machines = [
        cranium.loads(PAYING.format(first="coffee", last="office", half=1, whole=2)),
        cranium.loads(PAYING.format(first="mail", last="office", half=-0.25, whole=0.75)),
    ]
    world = TaskSamplingEnv(make_world("ToroOffice"), names)
    env = AutomatonAugmentedMDP(world, unite_machines(machines, names), horizon=60)
    check_rates(env, 0.9, 0.1, 6000, names)


class Noting(TaskSamplingEnv):
    """Notes which task every episode had, and what was earned and how long it took."""

    def __init__(self, *told):
        super().__init__(*told)
        self.begun = []

    def reset(self, **how):
        found = super().reset(**how)
        self.begun.append(self.state[1])
        return found


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["ql", "crm", "hrm", "planner"])
@pytest.mark.parametrize("seed", [0, 5])
def test_which_task_an_episode_had_is_known_without_rewards_that_tell_it(learner, seed):
    # Stepped in Python, the world itself says what it drew; the compiled loop draws the same.
    noting = Noting(make_world("ToroOffice"), NAMES)
    env = AutomatonAugmentedMDP(noting, unite_machines(MACHINES, NAMES), horizon=four().horizon)
    told = {"steps": 3_000, "seed": seed, "evaluate_every": 3_000, "log": True}
    evaluated = AutomatonAugmentedMDP(
        TaskSamplingEnv(make_world("ToroOffice"), NAMES),
        unite_machines(MACHINES, NAMES),
        horizon=50,
    )
    live = train(env, learner, path="python", evaluation_env=evaluated, **told)
    log = train(four(), learner, path="compiled", **told).log
    assert len(log) > 10
    tasks = recover_sampled_tasks(four().env, generators(seed)[1], log[:, 0]).tolist()
    assert log.tolist() == live.log.tolist()
    assert tasks == noting.begun[: len(log)]
    assert len(set(tasks)) > 1


def test_tasks_are_the_same_however_many_random_numbers_are_held_at_once(monkeypatch):
    ended = np.cumsum(np.random.default_rng(0).integers(1, 30, size=200)).astype(float)
    whole = recover_sampled_tasks(four().env, 7, ended)
    monkeypatch.setattr("cranium.paper.multi_task.CHUNK", 17)
    assert recover_sampled_tasks(four().env, 7, ended).tolist() == whole.tolist()
    assert recover_sampled_tasks(four().env, 7, np.zeros(0)).tolist() == []


def test_without_exploration_the_rate_is_one_over_the_shortest_way():
    env = make_env("ToroOffice", CASES["coffee and mail"], None, ())
    (rate,) = compute_optimal_rates(env, 0.9, 0.0)
    assert 1 / rate == pytest.approx(solve(env, discount=0.9).expected_length)


# Trials


def published(method, case, *, steps=40_000, every=20_000):
    """The trial of a baseline, and the configuration that it is from."""
    study = RewardMachinesConfig(1, methods=(method,), cases=(case,), budget=steps).study()
    (job,) = study.jobs(Store(Path("nowhere")))
    return replace(job.trial, every=every)


def test_the_share_of_the_optimum_is_near_one_once_the_policy_is_learned():
    found = run_trial(published("CRM", "coffee and mail"), 0)
    places, shares = np.array(found["rates"]).T
    assert (np.diff(places) == 1000).all()
    assert shares[0] < 0.5
    assert np.mean(shares[-10:]) == pytest.approx(1, abs=0.1)
    assert found["reached"] == places[np.argmax(shares >= REACHED)]


def test_shares_are_those_of_the_log_one_by_one():
    env, (learner, settings) = four(), BASELINES["CRM"]
    result = train(
        env, learner, steps=20_000, seed=2, evaluate_every=20_000, log=True, path="compiled",
        **settings,
    )  # fmt: skip
    log, window = result.log, 10
    best = compute_optimal_rates(env, 0.9, 0.1)
    before, samples, shares, expected = 0, 0, [], {}
    drawn = recover_sampled_tasks(env.env, generators(2)[1], log[:, 0])
    for (ended, earned, _), task in zip(log, drawn, strict=True):
        length = ended - before - 1  # without the step that draws the lot
        before = ended
        for place in range(1000, 20_000, 1000):
            if samples <= place < samples + length:
                expected[place] = sum(shares[-4 * window :]) / max(len(shares[-4 * window :]), 1)
        samples += length
        shares.append(earned / length / best[task])
    for place, share in compute_rates(window, 0.1, result, env):
        if place in expected:
            assert share == pytest.approx(expected[place], abs=2e-6)


def test_a_budget_in_which_no_episode_ends_has_no_rates():
    found = run_trial(published("QL", "all four", steps=3, every=1), 0)
    assert found["rates"] == []
    assert found["episodes"] == 0
    assert found["reached"] is None


@pytest.mark.parametrize("learner", ["ql", "cql", "planner"])
def test_what_is_recorded_is_plain_data(learner):
    def plain(value):
        if isinstance(value, dict):
            return all(type(key) is str and plain(each) for key, each in value.items())
        if isinstance(value, list):
            return all(map(plain, value))
        return value is None or type(value) in (bool, int, float, str)

    for until in ("solved", "budget", 5):
        trial = training(
            learner, options={"times": [1, 2]}, steps=2000, tested_on={"times": 3}, until=until
        )
        assert plain(run_trial(trial, 0))
    found = json.loads(json.dumps(run_trial(published("HRM", "all four", steps=5000), 0)))
    assert plain(found)


def test_a_trial_that_was_not_solved_has_no_samples():
    trial = training("ql", steps=100)
    found = run_trial(trial, 0)
    assert (found["samples"], found["taken"]) == (None, 100)


def test_machines_are_measured():
    counted = run_trial(size_trial(limit=None), 0)
    unrolled = run_trial(size_trial(limit=5), 0)
    machine = library.load("anbcdn")
    assert counted == {"states": len(machine.states), "transitions": len(machine.transitions)}
    fewer = run_trial(size_trial(limit=4), 0)
    assert unrolled["states"] > fewer["states"] > counted["states"]


def test_a_trial_of_an_unknown_kind_is_an_error():
    with pytest.raises(NotImplementedError, match="Trial"):
        run_trial(Trial("a", "b", "c"), 0)
