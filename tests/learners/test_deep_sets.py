"""Sets of configurations, exploration rules and optimisers of a user's own, with networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import gymnasium as gym
import jax
import numpy as np
import pytest
from support.random_tasks import RandomWorld

import cranium
from cranium.counterfactual import Current, Reachable, Seen
from cranium.errors import InvalidArgumentError, UnknownNameError
from cranium.learners import Boltzmann, DeepConfig, EpsilonGreedy, Optimism, Schedule, train
from cranium.learners.deep import live
from cranium.learners.deep.counterfactual import counterfactual_batch
from cranium.learners.deep.optimiser import adam, init_adam
from cranium.learners.tabular.kernels import GOES_ON

SMALL = {"hidden": (16, 16), "batch": 8, "replay": 500, "warmup": 50, "evaluate_every": 1000}


@dataclass(frozen=True)
class Near:
    """Configurations in which no counter differs by more than 1 from the real one."""

    sample: int | None = None
    seen_only: bool = False

    def candidates(self, configurations, real):
        own = configurations.counters[real][:, None]
        return (abs(configurations.counters - own) <= 1).all(axis=-1)


@dataclass(frozen=True)
class Everything:
    """All configurations, or a sample of them."""

    sample: int | None = None
    seen_only: bool = False

    def candidates(self, configurations, real):
        return np.ones((len(real), len(configurations.counters)), bool)


def letter(times=(1, 3)):
    return gym.make("cranium/Letter-anbcdn-v0", times=times)


def belongs(chosen, real, other):
    """The oracle: whether a configuration is a candidate, by the words of the set."""
    if isinstance(chosen, Near):
        return all(abs(a - b) <= 1 for a, b in zip(real.counters, other.counters, strict=True))
    return True


@pytest.fixture
def batches(monkeypatch):
    """Every batch of a run in Python: real configurations, sources, weights, seen counters."""
    found, original = [], live._update

    def update(learner, machine, real, seen, rates, samples, u, *rest, method):
        batch = counterfactual_batch(real, lambda x: x, seen, machine, method.sampling, u)
        source = np.broadcast_to(batch.source, batch.weight.shape)
        is_seen = np.asarray(seen)[np.asarray(machine.counters)]
        found.append((real.configuration, source, np.asarray(batch.weight), is_seen, machine))
        return original(learner, machine, real, seen, rates, samples, u, *rest, method=method)

    monkeypatch.setattr(live, "_update", update)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "chosen", [Near(), Near(seen_only=True), Everything(sample=8), Near(sample=2)]
)
def test_a_batch_has_the_real_configuration_and_candidates_of_the_set(chosen, batches, runs):
    told = {**SMALL, "path": "python", "evaluation_episodes": 1}
    train(letter(), "cdqn", steps=120, configurations=chosen, seed=3, **told)
    space = runs[-1].agent.tables.space
    drawn = {}
    for real, source, weight, is_seen, machine in batches:
        ending = np.asarray(machine.ending)
        for x, row, counts in zip(real.tolist(), source, weight, strict=True):
            listed = [int(y) for y, w in zip(row, counts, strict=True) if w]
            wanted = {
                y
                for y in range(len(space))
                if y != x
                and ending[y] == GOES_ON
                and belongs(chosen, space.decode(x), space.decode(y))
                and (is_seen[y] or not chosen.seen_only)
            }
            assert x in listed
            others = [y for y in listed if y != x]
            assert set(others) <= wanted
            if chosen.sample is None or chosen.sample >= len(wanted):
                assert sorted(others) == sorted(wanted), "all of them, and each once"
            else:
                assert len(others) == chosen.sample
                drawn.setdefault(x, []).extend(others)
    assert len(batches) > 60
    if chosen.sample == 8:
        common = max(drawn.values(), key=len)
        counts = np.bincount(common)[np.unique(common)]
        assert len(counts) == len(set(common)) > 8
        assert counts.max() < 3 * counts.mean(), "about equally often"


@pytest.fixture
def runs(monkeypatch):
    """Every run in Python."""
    found, original = [], live.LiveDeepRun.__init__

    def init(self, *args, **kwargs):
        found.append(self)
        original(self, *args, **kwargs)

    monkeypatch.setattr(live.LiveDeepRun, "__init__", init)
    return found


def weights(result):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(result.policy.network)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "chosen", "name"),
    [
        ("cdqn", Everything(), "reachable"),
        ("cdqn", Reachable(), "reachable"),
        ("cdqn", Seen(), "seen"),
        ("cdqn", Current(), "current"),
        ("ctd3", Everything(), "reachable"),
    ],
)
def test_a_set_learns_in_the_compiled_loop_what_its_name_learns(learner, chosen, name):
    env = letter((1, 2)) if learner == "cdqn" else gym.make("cranium/Point-visit-v0")
    count = None if name == "current" else 10_000
    told = {**SMALL, "steps": 150, "seed": 1, "evaluation_episodes": 1}
    ours = train(env, learner, configurations=chosen, **told)
    other = train(env, learner, configurations=name, num_counterfactuals=count, **told)
    assert ours.path == other.path == "jax"
    for one, two in zip(weights(ours), weights(other), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-4)


@pytest.mark.slow
def test_a_set_that_leaves_something_out_learns_something_else():
    told = {**SMALL, "steps": 150, "seed": 1}
    one, other = (train(letter(), "cdqn", configurations=s, **told) for s in (Near(), Everything()))
    assert any(
        not np.allclose(a, b, atol=1e-4) for a, b in zip(weights(one), weights(other), strict=True)
    )


@pytest.mark.slow
def test_a_set_follows_configurations_that_are_added_in_training():
    machine = cranium.compile_language("A^N B^N")
    labelling = cranium.labelling_from_cells({1: "A", 5: "B"})
    env = cranium.product(gym.make("FrozenLake-v1", is_slippery=True), machine, labelling)
    told = {**SMALL, "path": "python", "evaluation_episodes": 1}
    result = train(env, "cdqn", steps=120, configurations=Near(sample=2), **told)
    assert result.samples == 120


def test_what_a_set_returns_is_checked():
    class Strange(Near):
        def candidates(self, configurations, real):
            return np.zeros(3)

    with pytest.raises(InvalidArgumentError, match=r"Strange.candidates returned float64 \(3,\)"):
        train(letter(), "cdqn", steps=10, configurations=Strange(), **SMALL)
    with pytest.raises(InvalidArgumentError, match="says itself how many"):
        DeepConfig(configurations=Near(), num_counterfactuals=3)


# Exploration


@dataclass(frozen=True)
class OnlyLast:
    """Always the last action, or the first with probability ``rate``."""

    rate: float = 0.0

    def probabilities(self, values, rate):
        first = 0 * values + (np.arange(values.shape[-1]) == 0)
        return rate * first + (1 - rate) * first[::-1]


def one_step():
    """An episode is one step; the first of two actions succeeds."""
    table = [[(1, 0, frozenset({"A"} if action == 0 else ()), False)] for action in (0, 1)]
    world = RandomWorld(1, table, ("A",))
    return cranium.product(world, cranium.compile_language("A"), horizon=1)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["auto", "python"])
def test_actions_are_drawn_from_the_probabilities_of_a_rule(path):
    told = {**SMALL, "warmup": 10_000, "path": path, "evaluation_episodes": 1, "log": True}
    result = train(one_step(), "cdqn", steps=600, exploration=OnlyLast(0.25), **told)
    assert len(result.log) == 600
    assert abs(result.log[:, 2].mean() - 0.25) < 0.06, "the first action succeeds, the last fails"


@pytest.mark.slow
@pytest.mark.parametrize("path", ["auto", "python"])
def test_epsilon_greedy_as_an_object_is_the_number(path):
    told = {**SMALL, "steps": 120, "seed": 2, "path": path, "evaluation_episodes": 1}
    one = train(letter(), "cdqn", exploration=0.3, **told)
    other = train(letter(), "cdqn", exploration=EpsilonGreedy(0.3), **told)
    for a, b in zip(weights(one), weights(other), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.slow
def test_the_rules_of_the_package_are_followed():
    told = {**SMALL, "steps": 400, "log": True}
    shares = [
        train(one_step(), "cdqn", exploration=rule, **told).log[200:, 2].mean()
        for rule in (Boltzmann(Schedule(1e6, 1e6, over=10)), Boltzmann(1e-3), Optimism())
    ]
    assert abs(shares[0] - 0.5) < 0.1, "a high temperature explores uniformly"
    assert min(shares[1:]) == 1.0, "the others choose the action that succeeds"


def test_rules_that_cannot_be_followed_are_refused():
    @dataclass(frozen=True)
    class Median(OnlyLast):
        def probabilities(self, values, rate):
            return values >= np.median(values)

    with pytest.raises(InvalidArgumentError, match=r"Median.probabilities cannot be compiled"):
        train(letter(), "cdqn", steps=10, exploration=Median(), **SMALL)
    told = {**SMALL, "path": "python"}
    with pytest.raises(InvalidArgumentError, match=r"Median.probabilities returned \["):
        train(letter(), "cdqn", steps=10, exploration=Median(), **told)
    env = gym.make("cranium/Point-visit-v0")
    with pytest.raises(UnknownNameError, match="no such setting of ctd3: 'exploration'") as found:
        train(env, "ctd3", steps=10, exploration=Boltzmann(0.1), **SMALL)
    assert "noise" in str(found.value)


# Optimisers


class OurAdam(NamedTuple):
    """Adam as an optimiser from outside: it returns updates."""

    rate: float

    def init(self, params):
        return init_adam(params)

    def update(self, gradient, state, params):
        stepped, state = adam(params, gradient, state, self.rate)
        return jax.tree.map(lambda new, old: new - old, stepped, params), state


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["cdqn", "ctd3"])
def test_an_optimiser_from_outside_takes_the_steps(learner):
    env = letter((1, 2)) if learner == "cdqn" else gym.make("cranium/Point-visit-v0")
    told = {**SMALL, "steps": 80, "seed": 1, "evaluation_episodes": 1}
    ours = train(env, learner, learning_rate=1e-3, **told)
    other = train(env, learner, optimiser=OurAdam(1e-3), **told)
    still = train(env, learner, optimiser=OurAdam(0.0), **told)
    for one, two in zip(weights(ours), weights(other), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-4)
    assert any(
        not np.allclose(a, b, atol=1e-4) for a, b in zip(weights(ours), weights(still), strict=True)
    )
    assert other.config.as_dict()["optimiser"] == "OurAdam"
    assert "optimiser" not in ours.config.as_dict()
    with pytest.raises(InvalidArgumentError, match="optimiser is an object with `init`"):
        train(env, learner, optimiser="adam", **told)
