"""Compiled functions for planning, and nothing else."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["follow", "soonest", "value_iteration"]

ANY = -1
"""In place of an action: any, all equally likely."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def value_iteration(
    first: Ints,  # [P·A + 1]
    next_pair: Ints,  # [K], -1 at the end of an episode
    probability: Floats,  # [K]
    reward: Floats,  # [K]
    q: Floats,  # [P, A], overwritten
    discount: float,
    small: float,
    max_sweeps: int,
) -> int:
    """Sweep backwards over the pairs until no value changes by more than ``small``.

    Returns how many sweeps it took, or -1 if there were too many.
    """
    pairs, actions = q.shape
    value = np.zeros(pairs)
    for sweep in range(1, max_sweeps + 1):
        change = 0.0
        for pair in range(pairs - 1, -1, -1):
            best = -np.inf
            for action in range(actions):
                row = pair * actions + action
                total = 0.0
                for k in range(first[row], first[row + 1]):
                    after = next_pair[k]
                    ahead = value[after] if after >= 0 else 0.0
                    total += probability[k] * (reward[k] + discount * ahead)
                q[pair, action] = total
                best = max(best, total)
            change = max(change, abs(best - value[pair]))
            value[pair] = best
        if change <= small:
            return sweep
    return -1


@njit(cache=True, nogil=True)
def soonest(
    first: Ints,
    next_pair: Ints,
    probability: Floats,
    q: Floats,  # [P, A]
    small: float,
    horizon: int,
) -> Ints:
    """Of the optimal actions, those with which the episode is expected to end soonest."""
    pairs, actions = q.shape
    steps = np.zeros(pairs)
    policy = np.zeros(pairs, np.int64)
    for _ in range(horizon):
        change = 0.0
        before = steps.copy()
        for pair in range(pairs):
            highest = q[pair].max()
            best = np.inf
            for action in range(actions):
                if q[pair, action] < highest - small:
                    continue
                row = pair * actions + action
                total = 1.0
                for k in range(first[row], first[row + 1]):
                    if next_pair[k] >= 0:
                        total += probability[k] * before[next_pair[k]]
                if total < best - 1e-9:
                    best = total
                    policy[pair] = action
            change = max(change, abs(best - before[pair]))
            steps[pair] = best
        if change < 1e-9:
            break
    return policy


@njit(cache=True, nogil=True)
def follow(
    first: Ints,
    next_pair: Ints,
    probability: Floats,
    reward: Floats,
    success: NDArray[np.bool_],  # [K]
    policy: Ints,  # [P]; ANY for an action that is drawn
    initial: Floats,  # [P]
    horizon: int,
    discount: float,
    least: float,
) -> tuple[float, float, float, float]:
    """The expected return, success, length and discounted return of a policy, up to the horizon.

    It ends earlier where what comes is discounted to less than ``least``.
    """
    pairs = policy.shape[0]
    actions = (first.shape[0] - 1) // pairs
    chance, after = initial.copy(), np.zeros(pairs)
    here, there = np.flatnonzero(initial), np.zeros(pairs, np.int64)
    total, won, length, value, weight = 0.0, 0.0, 0.0, 0.0, 1.0
    for _ in range(horizon):
        if here.shape[0] == 0 or weight < least:
            break
        found = 0
        for pair in here:
            length += chance[pair]
            low, high = policy[pair], policy[pair] + 1
            if policy[pair] == ANY:
                low, high = 0, actions
            for action in range(low, high):
                row = pair * actions + action
                for k in range(first[row], first[row + 1]):
                    share = chance[pair] * probability[k] / (high - low)
                    if share == 0.0:
                        continue
                    total += share * reward[k]
                    value += weight * share * reward[k]
                    if next_pair[k] < 0:
                        won += share * success[k]
                    else:
                        if after[next_pair[k]] == 0.0:
                            there[found] = next_pair[k]
                            found += 1
                        after[next_pair[k]] += share
            chance[pair] = 0.0
        chance, after = after, chance
        here = there[:found].copy()
        weight *= discount
    return total, won, length, value
