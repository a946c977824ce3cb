"""``solve(discount=1)`` against every stationary policy there is, in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import assume, event, example, given
from hypothesis import strategies as st
from support.naive_total_reward import best_values, value_of

import cranium
from cranium.aamdp.kernels import follow
from cranium.aamdp.tabular_product import TabularProduct
from cranium.aamdp.total_reward import total_reward
from cranium.errors import WorldError
from cranium.worlds import FiniteEnv, Outcome, TabularWorld

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


@st.composite
def models(draw):
    """Small products with loops: two to four states, two actions, rewards of both signs."""
    size = draw(st.integers(2, 4))
    pays = draw(st.sampled_from([(-1, 1), (0, 0, -1, 1), (0, -2, 1), (-1, 0), (-2, -1, 0, 1, 2)]))
    target = st.sampled_from([*range(size), *range(size), None])
    outcome = st.tuples(st.sampled_from(pays), target)
    chances = st.sampled_from([(Fraction(1),), (HALF, HALF), (QUARTER, 1 - QUARTER)])

    def action():
        return [(p, *draw(outcome)) for p in draw(chances)]

    return [[action(), action()] for _ in range(size)]


def as_arrays(model):
    """first, next_pair, probability and reward."""
    rows = [action for state in model for action in state]
    every = [outcome for row in rows for outcome in row]
    return (
        np.cumsum([0, *map(len, rows)]).astype(np.int64),
        np.array([-1 if after is None else after for _, _, after in every], np.int64),
        np.array([float(p) for p, _, _ in every]),
        np.array([float(r) for _, r, _ in every]),
    )


def bet(stake):
    """Wait for ever at no cost, or bet, which may lead to where everything costs."""
    waits, bets = [(Fraction(1), 0, 0)], [(QUARTER, -1, 1), (1 - QUARTER, stake, None)]
    return [[waits, bets], [[(QUARTER, -1, None), (1 - QUARTER, 0, 1)]] * 2]


@given(models())
@example(bet(1))  # value iteration from 0 kept 0.4375 by waiting; a bet is worth 0.25
@example(
    [[[(Fraction(1), 1, 1)]] * 2, [[(Fraction(1), -1, 0)], [(Fraction(1), Fraction(-1, 2), None)]]]
)
def test_no_policy_keeps_more_and_the_policy_that_is_found_keeps_as_much(model):
    best = best_values(model)
    arrays = as_arrays(model)
    if inf in best:
        event("without a bound")
        with pytest.raises(WorldError, match="go on for ever and gain reward"):
            total_reward(*arrays, 2, small=1e-12, max_sweeps=100_000)
        return
    event("bounded")
    found = total_reward(*arrays, 2, small=1e-12, max_sweeps=100_000)
    assert found.value == pytest.approx([float(v) for v in best], abs=1e-7)
    chosen = [state[a] for state, a in zip(model, found.policy, strict=True)]
    kept = value_of(chosen)
    assert [float(v) for v in kept] == pytest.approx([float(v) for v in best], abs=1e-7)


@pytest.mark.slow
@pytest.mark.real(0.3)  # many models have no greatest value, and are refused
@given(models(), st.integers(0, 20))
def test_what_is_kept_is_there_whenever_the_episode_is_cut_off(model, more):
    best = best_values(model)
    assume(inf not in best and best[0] > -inf)
    arrays = as_arrays(model)
    found = total_reward(*arrays, 2, small=1e-12, max_sweeps=100_000)
    none = np.zeros(len(arrays[1]), np.bool_)
    start = np.eye(len(model))[0]
    earned = follow(*arrays, none, found.policy, start, 3000 + more, 1.0, 0.0)[0]
    assert earned >= float(best[0]) - 1e-6


class Bet(FiniteEnv):
    """The world of :func:`bet`: three places, the last of which is the end."""

    vocabulary = ("lost", "won")
    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.MultiDiscrete([3])

    def initial(self, options):
        return [(1.0, (0, ""))]

    def outcomes(self, state, action):
        place = state[0]
        if place == 0 and action == 0:
            return [Outcome(1.0, (0, ""))]
        if place == 0:
            return [Outcome(0.25, (1, "lost")), Outcome(0.75, (2, "won"), True)]
        return [Outcome(0.25, (2, "lost"), True), Outcome(0.75, (1, ""))]

    def label(self, state, action, after):
        return frozenset({after[1]} if after[1] else ())

    def observe(self, state):
        return np.array([state[0]])


def pays(lost, won):
    return cranium.CountingRewardAutomaton(
        propositions=["lost", "won"],
        initial="u",
        terminal=[],
        transitions=[
            cranium.Transition(source="u", guard="lost & !won", reward=lost),
            cranium.Transition(source="u", guard="won & !lost", reward=won),
        ],
    )


def test_without_a_discount_waiting_for_ever_earns_a_total_reward_of_zero_and_a_good_bet_more():
    env = cranium.product(Bet(), pays(lost=-1, won=1), horizon=200)
    optimum = cranium.solve(env, discount=1)
    assert optimum.start_value == pytest.approx(0.25)
    assert optimum.expected_return == pytest.approx(0.25)
    assert optimum.policy[0] == 1
    never = cranium.solve(cranium.product(Bet(), pays(lost=-1, won=0), horizon=200), discount=1)
    assert (never.start_value, never.policy[0]) == (0, 0)


def test_a_total_without_a_bound_is_an_error_that_says_so():
    table = TabularWorld.of(cranium.worlds.LetterEnv.experiment(1))
    always = cranium.CountingRewardAutomaton(
        propositions=["A"],
        initial="u",
        terminal=[],
        transitions=[cranium.Transition(source="u", guard="true", reward=1)],
    )
    with pytest.raises(WorldError, match="go on for ever and gain reward"):
        cranium.solve(TabularProduct.of(table, always), discount=1)
    costs = cranium.CountingRewardAutomaton(
        propositions=["A"],
        initial="u",
        terminal=[],
        transitions=[cranium.Transition(source="u", guard="true", reward=-1)],
    )
    with pytest.raises(WorldError, match="for ever at a loss"):
        cranium.solve(TabularProduct.of(table, costs), discount=1)


def test_a_way_out_that_costs_much_is_found_at_once_where_staying_costs_little():
    # 0 stays for 0.001, or ends for 1,000: value iteration from 0 needs a million sweeps.
    arrays = np.array([0, 1, 2]), np.array([0, -1]), np.ones(2), np.array([-0.001, -1000.0])
    found = total_reward(*arrays, 2, small=1e-9, max_sweeps=100)
    assert (found.value[0], found.policy[0]) == (-1000, 1)
