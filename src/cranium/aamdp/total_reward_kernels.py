"""Compiled functions for planning with a discount of 1: see :mod:`cranium.aamdp.total_reward`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.jit import compiled, inner

__all__ = ["collapsed_iteration", "q_values", "soonest"]

MOST_SWEEPS = 20_000
"""The greatest number of sweeps in :func:`soonest`."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@inner
def _expected_value(
    first: Ints, next_pair: Ints, probability: Floats, reward: Floats, value: Floats, row: int
) -> float:
    """Return the undiscounted value of an action, given the values of the pairs."""
    total = 0.0
    for k in range(first[row], first[row + 1]):
        if probability[k] > 0:  # a value may be infinite
            ahead = value[next_pair[k]] if next_pair[k] >= 0 else 0.0
            total += probability[k] * (reward[k] + ahead)
    return total


@compiled
def collapsed_iteration(
    first: Ints,  # [P·A + 1]
    next_pair: Ints,  # [K], -1 at the end of an episode
    probability: Floats,  # [K]
    reward: Floats,  # [K]
    usable: NDArray[np.bool_],  # [P·A]; which actions may be taken
    component: Ints,  # [P]; -1 for none; its states differ in value by their potentials
    potential: Floats,  # [P]
    value: Floats,  # [P], overwritten; the potential in a component, at least
    small: float,
    max_sweeps: int,
) -> int:
    """Value iteration without a discount, with components in which an episode can stay for ever.

    Returns the number of sweeps, or -1 if there were too many.
    """
    pairs = value.shape[0]
    actions = (first.shape[0] - 1) // pairs
    beyond = np.zeros(pairs)  # of each component: what leaving it adds to staying
    for sweep in range(1, max_sweeps + 1):
        change, leaving = 0.0, np.zeros(pairs)
        for pair in range(pairs - 1, -1, -1):
            best = -np.inf
            for action in range(actions):
                row = pair * actions + action
                if usable[row]:
                    best = max(
                        best, _expected_value(first, next_pair, probability, reward, value, row)
                    )
            if component[pair] >= 0:
                number = component[pair]
                leaving[number] = max(leaving[number], best - potential[pair])
            elif best > -np.inf:
                change = max(change, abs(best - value[pair]))
                value[pair] = best
        for pair in range(pairs):
            if component[pair] >= 0:
                change = max(change, abs(leaving[component[pair]] - beyond[component[pair]]))
                value[pair] = potential[pair] + leaving[component[pair]]
        beyond = leaving
        if change <= small:
            return sweep
    return -1


@compiled
def q_values(
    first: Ints,
    next_pair: Ints,
    probability: Floats,
    reward: Floats,
    value: Floats,  # [P]; may be -inf
    actions: int,
) -> Floats:
    """The undiscounted value of each action: [P, A]."""
    q = np.zeros((value.shape[0], actions))
    for row in range(first.shape[0] - 1):
        found = _expected_value(first, next_pair, probability, reward, value, row)
        q[row // actions, row % actions] = found
    return q


@compiled
def soonest(
    first: Ints,
    next_pair: Ints,
    probability: Floats,
    usable: NDArray[np.bool_],  # [P·A]
    goal: NDArray[np.bool_],  # [P]; where it is as good as over
    policy: Ints,  # [P]; one with which it ends for certain
) -> Ints:
    """Of the usable actions, those with which the episode is expected to end soonest.

    Returns the given policy if that takes too many sweeps.
    """
    pairs = goal.shape[0]
    actions = usable.shape[0] // pairs
    steps = np.zeros(pairs)
    found = policy.copy()
    for _ in range(MOST_SWEEPS):
        change = 0.0
        before = steps.copy()
        for pair in range(pairs):
            if goal[pair]:
                continue
            best = np.inf
            for action in range(actions):
                row = pair * actions + action
                if not usable[row]:
                    continue
                total = 1.0
                for k in range(first[row], first[row + 1]):
                    if next_pair[k] >= 0:
                        total += probability[k] * before[next_pair[k]]
                if total < best - 1e-9:
                    best = total
                    found[pair] = action
            change = max(change, abs(best - before[pair]))
            steps[pair] = best
        if change < 1e-9:
            return found
    return policy
