"""What an evaluation claims: exact to any horizon, or it says what it left out; solved, or not."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from support.environments import make_letter_product

import cranium
from cranium.aamdp import kernels
from cranium.aamdp.planning import tabulate_product
from cranium.errors import HorizonWarning, InvalidArgumentError
from cranium.learners import evaluation, live_evaluation, train, train_seeds
from cranium.worlds import FiniteEnv, LetterEnv, Outcome


class Drift(FiniteEnv):
    """Two places between which one drifts for ever; being in the second is an event."""

    vocabulary = ("A", "end")
    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.MultiDiscrete([3])

    def __init__(self, ends=0.0):
        super().__init__()
        self.ends = ends

    def initial(self, options):
        return [(1.0, 0)]

    def outcomes(self, state, action):
        stay = 0.5 if action else 0.875
        rest = 1 - self.ends
        found = [Outcome(stay * rest, 0), Outcome((1 - stay) * rest, 1)]
        return [*found, Outcome(self.ends, 2)] if self.ends else found

    def label(self, state, action, after):
        return frozenset([[], ["A"], ["end"]][after])

    def observe(self, state):
        return np.array([state])


PAYS = cranium.loads(
    """
    propositions: [A, end]
    initial: u
    terminal: [done]
    accepting: [done]
    transitions: [{from: u, when: A & !end, reward: 1}, {from: u, when: end, to: done}]
    """
)


def drift(ends=0.0, **options):
    return cranium.product(Drift(ends), PAYS, **{"horizon": 100, **options})


def endless(*args, **options):
    with pytest.warns(HorizonWarning, match="no horizon"):
        return cranium.product(*args, **options)


# Horizons


def test_a_product_without_a_horizon_is_warned_of():
    task = cranium.library.load("anbcdn")
    with pytest.warns(HorizonWarning, match=r"horizon=1000") as told:
        cranium.product(LetterEnv.experiment(1), task)
    assert told[0].filename == __file__, "it points at the caller"
    cranium.product(LetterEnv.experiment(1), task, horizon=50)
    limited = gym.wrappers.TimeLimit(LetterEnv.experiment(1), 50)
    inside = cranium.product(limited, task)
    assert inside.horizon == 50
    assert cranium.product(inside, cranium.compile_language("A A")).horizon == 50


def test_an_environment_that_says_when_it_ends_needs_no_horizon():
    class Clock(LetterEnv):
        max_steps = 30

    cranium.product(Clock.experiment(1), cranium.library.load("anbcdn"))


def test_episodes_without_a_horizon_are_truncated_and_the_result_says_where():
    env = endless(LetterEnv.experiment(1), cranium.library.load("anbcdn"))
    told = {"steps": 20, "evaluate_every": 20, "evaluation_episodes": 3, "exploration": 0.0}
    result = train(env, "ql", path="python", **told)
    assert result.evaluation.lengths.tolist() == [live_evaluation.CUT_OFF]
    assert result.evaluation.notes == (
        "3 of 3 episodes were cut off after 1,000 steps, because the product has no horizon "
        "(give cranium.product(…, horizon=…))",
    )
    assert result.evaluation.notes[0] in str(result.evaluation)
    finite = train(env, "ql", path="compiled", **told)
    assert not finite.evaluation.exact
    assert "all episodes were cut off after 10,000 steps" in str(finite.evaluation)


def test_without_a_horizon_the_policy_is_evaluated_ten_times_and_not_a_hundred():
    task = cranium.library.load("anbcdn")
    for env, times in ((endless(LetterEnv.experiment(1), task), 10), (make_letter_product(1), 100)):
        result = train(env, "ql", steps=200, path="python", evaluation_episodes=1)
        assert len(result.curve) == times


def test_what_is_no_policy_is_refused():
    env = make_letter_product(1)
    for wrong in (cranium.solve(env).policy, None, "agent.npz"):
        with pytest.raises(InvalidArgumentError, match="a policy is what"):
            cranium.evaluate(env, wrong)


def test_the_evaluation_of_episodes_that_terminate_is_exact_without_a_horizon():
    env = endless(Drift(0.3), PAYS)
    found = train(env, "ql", steps=50).evaluation
    assert found.exact
    assert found.notes == ()
    assert found.lengths[0] == pytest.approx(1 / 0.3)


@pytest.mark.parametrize("horizon", [9_999, 10_000, 10_001, 30_000, 10**6, 10**9])
def test_horizons_beyond_ten_thousand_steps_are_followed_to_their_end(horizon):
    ends = 1e-5
    found = train(drift(ends, horizon=horizon), "ql", steps=10).evaluation
    alive = (1 - ends) ** horizon
    assert found.exact
    assert found.success[0] == pytest.approx(1 - alive, rel=1e-9)
    assert found.lengths[0] == pytest.approx((1 - alive) / ends, rel=1e-9)
    never = train(drift(horizon=horizon), "ql", steps=10).evaluation
    assert never.exact
    assert never.lengths[0] == pytest.approx(horizon, rel=1e-12)


def test_a_horizon_that_is_too_long_to_follow_is_not_called_exact(monkeypatch):
    monkeypatch.setattr(kernels, "DENSE", 1)
    monkeypatch.setattr(kernels, "MOST_VISITS", 1000)
    found = train(drift(horizon=10**6), "ql", steps=10).evaluation
    assert not found.exact
    assert found.notes[0].startswith("only the first 10,"), found.notes


def stepped(model, policy, horizon, discount):
    """Step by step, with dense vectors: return, success, length, discounted return, what is left."""
    actions = model.world.num_actions
    here, found, weight = model.initial.copy(), np.zeros(4), 1.0
    for _ in range(horizon):
        after = np.zeros_like(here)
        found[2] += here.sum()
        for pair in np.flatnonzero(here):
            chosen = range(actions) if policy[pair] < 0 else [policy[pair]]
            for action in chosen:
                row = pair * actions + action
                for k in range(model.first[row], model.first[row + 1]):
                    share = here[pair] * model.probability[k] / len(chosen)
                    found[0] += share * model.reward[k]
                    found[3] += weight * share * model.reward[k]
                    if model.next_pair[k] < 0:
                        found[1] += share * model.success[k]
                    else:
                        after[model.next_pair[k]] += share
        here, weight = after, weight * discount
    return (*found, here.sum())


@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10**6), horizon=st.integers(1, 60))
def test_matrix_powers_follow_a_policy_as_steps_do(data, seed, horizon):
    from support.random_tasks import lively_machine, lively_world

    rng = np.random.default_rng(seed)
    machine, world = lively_machine(rng, 1), lively_world(rng)
    try:
        model = tabulate_product(cranium.product(world, machine, counter_limit=2, horizon=horizon))
    except cranium.errors.RunError:
        reject()  # some way leads to an error
    policy = rng.integers(-1, 2, model.num_pairs)
    discount = data.draw(st.sampled_from([0.5, 0.99, 1.0]))
    one_by_one, dense = data.draw(st.sampled_from([(1, 10**6), (5, 10**6), (7, 0), (100, 0)]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "STEPS", one_by_one)
        patch.setattr(kernels, "DENSE", dense)
        patch.setattr(kernels, "NEGLIGIBLE", 0.0)
        arrays = (model.first, model.next_pair, model.probability, model.reward, model.success)
        found = kernels.follow(*arrays, policy, model.initial, horizon, discount, 0.0)
    assert found[:5] == pytest.approx(stepped(model, policy, horizon, discount), abs=1e-9)
    assert found.is_complete


# The optimum


@pytest.mark.parametrize("discount", [0.9999, 0.99999])
def test_the_optimum_of_a_task_that_never_ends_is_known_with_a_discount_near_one(discount):
    found = train(drift(), "ql", steps=200, discount=discount).evaluation
    assert found.optimum[0] == pytest.approx(0.5 / (1 - discount), rel=1e-6)
    assert found.values[0] <= found.optimum[0] + 1e-3
    assert found.values[0] > 0.12 / (1 - discount), "the value has no horizon either"


def test_an_optimum_that_is_not_found_costs_no_result(monkeypatch):
    monkeypatch.setattr(evaluation, "CHEAP", 100)
    result = train(drift(), "ql", steps=200, discount=0.9999)
    assert result.samples == 200
    assert result.evaluation.optimum is None
    assert "the optimum is not known: value iteration has not converged" in str(result.evaluation)
    assert result.evaluation.exact, "what the policy does is known"


def test_a_gap_that_cannot_be_measured_is_refused_before_the_first_sample(monkeypatch):
    env = drift()
    monkeypatch.setattr(evaluation, "solve", refuse)
    with pytest.raises(InvalidArgumentError, match=r"no gap to measure: .* not today"):
        train(env, "ql", steps=200, gap=0.1, path="compiled")


def refuse(*args, **options):
    raise cranium.errors.WorldError("not today")


@pytest.mark.parametrize("learner", ["cql", "planner"])
def test_a_counter_limit_below_the_task_leaves_the_optimum_as_it_is(learner):
    result = train(make_letter_product((1, 2)), learner, steps=6000, seed=0, counter_limit=1)
    whole = cranium.solve(make_letter_product(2)).start_value
    assert result.evaluation.optimum[1] == pytest.approx(whole)
    assert result.evaluation.success[1] == 0
    assert max(max(x.counters, default=0) for x in result.policy.configurations) == 1


def test_episodes_beyond_the_learners_counter_limit_count_as_failures():
    counted = cranium.compile_language("A^N B^N")
    env = cranium.product(Pump(), counted, horizon=20)
    result = train(env, "cql", steps=3000, seed=0, counter_limit=1)
    assert result.evaluation.solved, "A B needs no more"
    less = cranium.product(Pump(first=2), counted, horizon=20)
    beyond = train(less, "cql", steps=3000, seed=0, counter_limit=1)
    assert beyond.evaluation.success.tolist() == [0]
    assert beyond.evaluation.lengths.tolist() == [2]
    assert beyond.evaluation.optimum[0] == pytest.approx(0.99**3)
    assert "all episodes passed the counter limit" in str(beyond.evaluation)
    enough = train(less, "cql", steps=3000, seed=0, counter_limit=2)
    assert enough.evaluation.solved
    assert enough.evaluation.notes == ()


class Pump(FiniteEnv):
    """Action 0 reads A, action 1 reads B; the first few steps read A whatever is done."""

    vocabulary = ("A", "B")
    action_space = gym.spaces.Discrete(2)

    def __init__(self, first=0):
        super().__init__()
        self.first = first
        self.observation_space = gym.spaces.MultiDiscrete([first + 1])

    def initial(self, options):
        return [(1.0, self.first)]

    def outcomes(self, state, action):
        return [Outcome(1.0, max(state - 1, 0))]

    def label(self, state, action, after):
        return frozenset(["A" if state or action == 0 else "B"])

    def observe(self, state):
        return np.array([state])


def test_a_task_that_cannot_be_listed_without_the_limit_has_no_optimum(monkeypatch):
    from cranium.learners import preparation

    monkeypatch.setattr(preparation, "MOST_LISTED", 30)
    counted = cranium.compile_language("A^N B^N")
    env = cranium.product(Pump(first=2), counted, horizon=1000)
    result = train(env, "cql", steps=500, seed=0, counter_limit=1)
    assert result.evaluation.success.tolist() == [0]
    assert result.evaluation.optimum is None
    assert "the task without the learner's counter limit cannot be listed" in str(result.evaluation)


# Solved, in an environment that steps in Python


class Luck(gym.Env):
    """One step, which succeeds as often as it is told to, whatever is done."""

    observation_space = gym.spaces.Box(0.0, 1.0)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, chance, seeds=None):
        self.chance = chance
        self.seeds = [] if seeds is None else seeds

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.seeds.append(seed)
        self.lucky = self.np_random.random() < self.chance
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.array([self.lucky], np.float32), 0.0, True, False, {}

    def __deepcopy__(self, memo):
        return Luck(self.chance, self.seeds)  # all copies write on one list


@cranium.labelling("win")
def wins(before, action, after):
    return "win" if after[0] else ()


def luck(chance):
    return cranium.product(Luck(chance), cranium.compile_language("win"), wins, horizon=3)


def play(env, seed=0, **options):
    told = {"steps": 300, "evaluate_every": 3, **options}
    return train(env, "ql", seed=seed, discretise=lambda seen: int(seen[0]), **told)


@pytest.mark.slow
def test_a_world_with_at_most_four_successes_in_five_is_not_called_solved():
    results = [play(luck(0.8), seed, until="solved") for seed in range(40)]
    assert not any(result.evaluation.solved for result in results)
    assert all(result.samples_to_solve is None for result in results)
    assert any((result.curve[:, 1] > 0.9).any() for result in results), "it was lucky at times"


@pytest.mark.slow
def test_a_solved_task_was_confirmed_in_a_hundred_evaluation_episodes():
    result = play(luck(1.0), until="solved")
    assert result.samples_to_solve == 3
    assert result.evaluation.episodes.tolist() == [100]
    assert "1.0000 success in 100 episodes" in str(result.evaluation)
    later = play(luck(1.0), evaluation_episodes=120)
    assert later.evaluation.episodes.tolist() == [120], "more are not needed"


def test_a_confirmation_ends_with_the_first_failure_and_counts():
    for seed in range(30):
        result = play(luck(0.9), seed, steps=3)
        count = int(result.evaluation.episodes[0])
        if count > 10:
            assert result.evaluation.success[0] == pytest.approx((count - 1) / count)
            break
    else:
        pytest.fail("no evaluation began with ten successes")


def test_a_function_that_decides_when_to_stop_sees_confirmed_evaluations():
    seen = []
    play(luck(1.0), steps=9, until=lambda found: seen.append(found.episodes[0]))
    assert seen == [100, 100, 100]
    plain = play(luck(1.0), steps=9)
    assert plain.samples_to_solve == 3
    assert plain.evaluation.episodes.tolist() == [100], "at the end, too"


def test_evaluations_use_fresh_seeds_of_their_own():
    env = luck(0.5)
    play(env, 7, steps=9)
    training = int(np.random.SeedSequence(7).spawn(2)[1].generate_state(1)[0])
    seeds = env.unwrapped.seeds
    assert seeds.count(training) == 1
    assert len(seeds) == 31
    assert len(set(seeds)) == 31
    again = luck(0.5)
    play(again, 7, steps=9)
    assert again.unwrapped.seeds == seeds, "the same root seed gives the same evaluations"
    other = luck(0.5)
    play(other, 8, steps=9)
    assert not set(other.unwrapped.seeds) & set(seeds)


def test_an_evaluation_that_is_asked_for_runs_as_many_episodes_as_it_is_told():
    policy = play(luck(1.0)).policy
    env = luck(1.0)
    found = cranium.evaluate(env, policy, episodes=7, seed=3)
    assert found.episodes.tolist() == [7]
    assert env.unwrapped.seeds == seeds_of(policy, 3)
    assert seeds_of(policy, 3) != seeds_of(policy, 4)


def seeds_of(policy, seed):
    env = luck(1.0)
    cranium.evaluate(env, policy, episodes=7, seed=seed)
    return env.unwrapped.seeds


# Several seeds


@pytest.mark.parametrize(
    ("learner", "path"), [("cql", "python"), ("cql", "compiled"), ("cdqn", "python")]
)
def test_every_evaluation_seed_is_prepared_once(learner, path, monkeypatch):
    from cranium.learners import preparation

    calls = []
    real = preparation.RunBuilder

    def counted(*args):
        calls.append(args)
        return real(*args)

    monkeypatch.setattr(preparation, "RunBuilder", counted)
    told = {"steps": 20, "evaluate_every": 20, "evaluation_episodes": 1, "path": path}
    results = train_seeds(make_letter_product(1), learner, seeds=range(3), **told)
    assert [result.seed for result in results] == [0, 1, 2]
    assert len(calls) == 3
