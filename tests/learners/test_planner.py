"""The model-based learner: exact where nothing is guessed, quick where something is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from support.environments import make_letter_product
from support.random_tasks import lively_machine, lively_world, tasks

import cranium
from cranium.errors import InvalidArgumentError, RunError
from cranium.learners import PlannerConfig, train
from cranium.worlds import FiniteEnv, LetterEnv, Outcome

SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def solved_after(env, learner="planner", steps=4000, every=20, seeds=10, **more):
    """The median number of samples; every seed must solve it."""
    found = [
        train(env, learner, steps=steps, seed=s, evaluate_every=every, until="solved", **more)
        for s in range(seeds)
    ]
    assert all(result.evaluation.solved for result in found)
    return np.median([result.samples_to_solve for result in found])


@pytest.mark.slow
@SLOW
@given(seed=st.integers(0, 10**6), counters=st.integers(0, 2))
def test_without_guesses_a_certain_world_is_solved_optimally(seed, counters):
    rng = np.random.default_rng(seed)
    machine, world = lively_machine(rng, counters), lively_world(rng, random=False)
    env = cranium.product(world, machine, counter_limit=3, horizon=50)
    config = PlannerConfig(generalise=False, discount=0.9, tolerance=1e-9)
    try:
        result = train(env, "planner", steps=3000, seed=seed, config=config, evaluate_every=3000)
    except RunError:
        reject()  # some way leads to an error
    assert result.evaluation.gap.max() < 1e-6


def test_the_planner_values_what_is_known_as_value_iteration_does():
    env = make_letter_product(1)
    result = train(env, "planner", steps=6000, seed=0, generalise=False, discount=0.95)
    optimum = cranium.solve(env, discount=0.95)
    model, policy = optimum.product, result.policy
    rows = [policy.number(model.world.observations[o]) for o in model.world.observation]
    columns = [policy.place(model.space.decode(int(x))) for x in model.configuration]
    chosen = policy.q[np.array(rows)[model.state], columns]
    start = int(np.argmax(model.initial))
    assert chosen[start].max() == pytest.approx(optimum.value[start], abs=1e-6)
    # Hope is never below the truth.
    assert (chosen.max(axis=1) > optimum.value - 1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 3, 5, (1, 5)])
def test_the_planner_needs_a_seventh_of_the_samples_of_the_best_cql(times):
    env = make_letter_product(times)
    few = solved_after(env)
    best = min(
        solved_after(env, "cql", 100_000, 100, seeds=5, shaping=shaping, learning_rate=rate)
        for shaping in (False, True)
        for rate in (0.5, 1.0)
    )
    assert 7 * few < best


@pytest.mark.slow
def test_without_generalisation_the_planner_needs_a_fourth_of_the_samples_of_cql():
    env = make_letter_product(1)
    few = solved_after(env, generalise=False)
    assert 4 * few < solved_after(env, "cql", 100_000, 100)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["mail-and-coffee", "mail-delivery"])
def test_the_office_is_solved_by_all_seeds(task):
    env = gym.make(f"cranium/Office-{task}-v0")
    few = solved_after(env, every=50)
    assert 7 * few < solved_after(env, "cql", 300_000, 5000, seeds=3)


@pytest.mark.slow
@pytest.mark.parametrize("observation", ["cell", "paper"])
@pytest.mark.parametrize("times", [1, 3, (1, 3)])
def test_labels_that_depend_on_something_hidden_are_split_by_configurations(observation, times):
    env = make_letter_product(times, observation=observation)
    solved_after(env, every=50, steps=8000, seeds=5)
    solved_after(env, every=50, steps=8000, seeds=5, generalise=False)


def test_a_random_world_is_learned():
    lake = gym.make("FrozenLake-v1", is_slippery=True)
    goal = cranium.labelling_from_cells({15: "goal"})
    env = cranium.product(lake, cranium.compile_language("goal"), goal)
    result = train(env, "planner", steps=60_000, seed=0, trials=100)
    assert result.evaluation.gap[0] < 0.02


class Teleporter(FiniteEnv):
    """A corridor in which going right from cell 3 leads to the far end, against all experience."""

    vocabulary = ("goal",)
    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.MultiDiscrete([40])

    def initial(self, options):
        return [(1.0, 10)]

    def outcomes(self, state, action):
        if (state, action) == (3, 1):
            return [Outcome(1.0, 39)]
        return [Outcome(1.0, min(max(state + (1 if action else -1), 0), 20))]

    def label(self, state, action, after):
        return frozenset({"goal"} if after == 39 else ())

    def observe(self, state):
        return np.array([state])


def test_a_wrong_generalisation_is_dropped_when_no_plan_works():
    env = cranium.product(Teleporter(), cranium.compile_language("goal"), horizon=60)
    result = train(env, "planner", steps=2000, seed=0)
    assert result.evaluation.solved


def test_generalisation_needs_discrete_observations_and_planning_does_not():
    class Named(LetterEnv):
        def observe(self, state):
            return super().observe(state) / 10

    world = Named.experiment(1)
    world.observation_space = gym.spaces.Box(0, 1, (3,), np.float64)
    env = cranium.product(world, cranium.library.load("anbcdn"), horizon=100)
    result = train(env, "planner", steps=2000, seed=0, evaluate_every=10, until="solved")
    plain = train(make_letter_product(1), "planner", steps=2000, evaluate_every=10, until="solved",
                  generalise=False)  # fmt: skip
    assert result.samples_to_solve == plain.samples_to_solve


@pytest.mark.slow
@SLOW
@given(st.data())
def test_how_often_somebody_looks_changes_nothing(data):
    machine, world = data.draw(tasks(counters=1))
    env = cranium.product(world, machine, counter_limit=2, horizon=9)
    config = PlannerConfig(generalise=data.draw(st.booleans()), discount=0.9)
    try:
        one, other = (
            train(env, "planner", steps=60, seed=2, config=config, evaluate_every=every)
            for every in (1, 60)
        )
    except RunError:
        reject()
    assert np.array_equal(one.q, other.q)
    assert one.successes == other.successes


def test_nonsense_is_refused():
    for wrong in ({"trials": 0}, {"patience": -1}, {"tolerance": 0}, {"discount": 1}):
        with pytest.raises(InvalidArgumentError, match=next(iter(wrong))):
            train(make_letter_product(), "planner", steps=10, **wrong)
    with pytest.raises(InvalidArgumentError, match="the config of planner is a PlannerConfig"):
        train(make_letter_product(), "planner", steps=10, config=cranium.learners.TabularConfig())


@pytest.mark.slow
def test_it_does_the_same_without_the_compiler():
    code = (
        "import cranium, gymnasium;"
        "env = gymnasium.make('cranium/Letter-anbcdn-v0', times=1);"
        "r = cranium.train(env, 'planner', steps=40, seed=3, evaluate_every=40, counter_limit=2);"
        "print(r.q.sum().hex(), r.episodes)"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for off in ("0", "1")
    ]
    assert told[0] == told[1]


class Bandit(gym.Env):
    """One state; an arm pays one of several amounts, by its chances. What was paid is kept."""

    observation_space = gym.spaces.Discrete(1)
    initial_state_distrib = np.ones(1)

    def __init__(self, *arms):
        self.action_space = gym.spaces.Discrete(len(arms))
        self.P = {0: {a: [(p, 0, r, False) for p, r in arm] for a, arm in enumerate(arms)}}
        self.paid = [[] for _ in arms]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        chances, _, amounts, _ = zip(*self.P[0][int(action)], strict=True)
        reward = float(self.np_random.choice(amounts, p=chances))
        self.paid[action].append(reward)
        return 0, reward, False, False, {}


IDLE = cranium.CountingRewardAutomaton(propositions=["A"], initial="u", transitions=[])
NEVER = cranium.labelling("A")(lambda s, a, t: ())


def bandit(*arms):
    return cranium.product(Bandit(*arms), IDLE, NEVER, horizon=20, add_ground_reward=True)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["compiled", "python"])
def test_random_rewards_are_believed_by_their_means(path):
    """One arm pays 0.4, the other 10 with a chance of one in five."""
    env = bandit([(1.0, 0.4)], [(0.2, 10.0), (0.8, 0.0)])
    told = {"highest_reward": 10.0, "discount": 0.9, "evaluate_every": 400}
    found = [train(env, "planner", steps=400, seed=s, path=path, **told) for s in range(30)]
    better = [result.q[0, 0, 1] > result.q[0, 0, 0] for result in found]
    assert sum(better) >= 29, "with 20 trials, 1.2 % see none of the great rewards"
    assert abs(np.mean([result.q[0, 0, 1] for result in found]) - 20) < 1


@pytest.mark.slow
@SLOW
@given(st.data())
def test_what_the_world_pays_is_valued_by_the_mean_of_what_was_seen(data):
    amounts = st.floats(-1, 1, width=16)
    arms = data.draw(
        st.lists(st.lists(amounts, min_size=1, max_size=3, unique=True), min_size=1, max_size=3)
    )
    env, other = (bandit(*([(1 / len(arm), r) for r in arm] for arm in arms)) for _ in range(2))
    trials, discount = data.draw(st.integers(1, 4)), 0.8
    told = {"trials": trials, "discount": discount, "highest_reward": 2.0, "tolerance": 1e-12}
    told |= {"evaluation_env": other, "evaluation_episodes": 1, "evaluate_every": 60}
    result = train(env, "planner", steps=60, seed=1, path="python", **told)
    paid = env.unwrapped.paid
    means = np.array([np.mean(one) for one in paid])
    assert all(len(one) >= trials for one in paid)
    np.testing.assert_allclose(
        result.q[0, 0], means + discount * means.max() / (1 - discount), atol=1e-9
    )


class Buttons(gym.Env):
    """One cell, and a button for each event."""

    observation_space = gym.spaces.Discrete(1)
    action_space = gym.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {}


def test_the_planner_is_optimistic_about_a_reward_function_where_it_was_never_evaluated():
    """What A led to was learned before the machine could pay for it, and is not taken for nothing."""
    pays = cranium.RewardFunction("one", lambda s, a, t: 1.0)
    steps = [
        {"source": "u", "guard": "B", "target": "v"},
        {"source": "v", "guard": "A", "reward": pays},
        {"source": "v", "guard": "C & !A", "reward": 0.1},
        {"source": "u", "guard": "D & !B", "target": "w"},
        {"source": "w", "silent": True, "target": "done", "change": (1,)},  # no limit is known
    ]
    machine = cranium.CountingRewardAutomaton(
        propositions=list("ABCD"),
        counters=["n"],
        initial="u",
        terminal=["done"],
        transitions=[cranium.Transition(**one) for one in steps],
    )
    label = cranium.labelling(*"ABCD")(lambda s, a, t: "ABCD"[int(a)])
    env = cranium.product(Buttons(), machine, label, horizon=10)
    assert env.counter_limit is None
    for seed in range(10):
        told = {"highest_reward": 1.0, "discount": 0.9, "path": "python", "evaluate_every": 200}
        result = train(env, "planner", steps=200, seed=seed, **told)
        row = result.q[0, result.policy.place(cranium.Configuration("v", (0,)))]
        assert np.argmax(row) == 0
        assert row[0] == pytest.approx(10)
