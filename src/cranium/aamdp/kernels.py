"""Compiled functions for planning, and nothing else."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["follow", "soonest", "value_iteration"]

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
    policy: Ints,  # [P]
    initial: Floats,  # [P]
    horizon: int,
) -> tuple[float, float, float]:
    """The expected return, success and length of a policy, up to the horizon."""
    pairs = policy.shape[0]
    actions = (first.shape[0] - 1) // pairs
    here = initial.copy()
    total, won, length = 0.0, 0.0, 0.0
    for _ in range(horizon):
        after = np.zeros(pairs)
        left = 0.0
        for pair in range(pairs):
            chance = here[pair]
            if chance == 0.0:
                continue
            length += chance
            row = pair * actions + policy[pair]
            for k in range(first[row], first[row + 1]):
                share = chance * probability[k]
                total += share * reward[k]
                if next_pair[k] >= 0:
                    after[next_pair[k]] += share
                    left += share
                elif success[k]:
                    won += share
        here = after
        if left == 0.0:
            break
    return total, won, length
