"""Compiled functions for planning, and nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cranium.jit import compiled, inner

__all__ = ["follow", "soonest", "value_iteration"]

ANY = -1
"""In place of an action: any, all equally likely."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@compiled
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


@inner
def _ending(first: Ints, next_pair: Ints, q: Floats, small: float) -> NDArray[np.bool_]:
    """From which pairs some optimal way ends."""
    pairs, actions = q.shape
    ends = np.zeros(pairs, np.bool_)
    changed = True
    while changed:
        changed = False
        for row in range(pairs * actions - 1, -1, -1):
            pair, action = divmod(row, actions)
            if ends[pair] or q[pair, action] < q[pair].max() - small:
                continue
            for k in range(first[row], first[row + 1]):
                if next_pair[k] < 0 or ends[next_pair[k]]:
                    ends[pair] = changed = True
    return ends


@compiled
def soonest(
    first: Ints,
    next_pair: Ints,
    probability: Floats,
    q: Floats,  # [P, A]
    small: float,
    horizon: int,
) -> Ints:
    """Of the optimal actions, those with which the episode is expected to end soonest.

    Where it is best never to end: those with which nothing more is to be had soonest.
    """
    pairs, actions = q.shape
    steps = np.zeros(pairs)
    policy = np.zeros(pairs, np.int64)
    ends = _ending(first, next_pair, q, small)
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
            if not ends[pair] and abs(highest) <= small:
                best = 0.0
            change = max(change, abs(best - before[pair]))
            steps[pair] = best
        if change < 1e-9:
            break
    return policy


@compiled
def _follow(
    first: Ints,
    next_pair: Ints,
    probability: Floats,
    reward: Floats,
    success: NDArray[np.bool_],  # [K]
    policy: Ints,  # [P]; ANY for an action that is drawn
    chance: Floats,  # [2, P]; where episodes begin, and zeros; to write on
    queue: Ints,  # [2, P]; the pairs where episodes begin; to write on
    met: int,  # how many these are
    horizon: int,
    discount: float,
    least: float,
) -> tuple[float, float, float, float]:
    pairs = policy.shape[0]
    actions = (first.shape[0] - 1) // pairs
    here = 0
    total, won, length, value, weight = 0.0, 0.0, 0.0, 0.0, 1.0
    for _ in range(horizon):
        if met == 0 or weight < least:
            break
        there, found = 1 - here, 0
        for i in range(met):
            pair = queue[here, i]
            length += chance[here, pair]
            low, high = policy[pair], policy[pair] + 1
            if policy[pair] == ANY:
                low, high = 0, actions
            for action in range(low, high):
                row = pair * actions + action
                for k in range(first[row], first[row + 1]):
                    share = chance[here, pair] * probability[k] / (high - low)
                    if share == 0.0:
                        continue
                    total += share * reward[k]
                    value += weight * share * reward[k]
                    if next_pair[k] < 0:
                        won += share * success[k]
                    else:
                        if chance[there, next_pair[k]] == 0.0:
                            queue[there, found] = next_pair[k]
                            found += 1
                        chance[there, next_pair[k]] += share
            chance[here, pair] = 0.0
        here, met = there, found
        weight *= discount
    return total, won, length, value


def follow(
    first: Ints,
    next_pair: Ints,
    probability: Floats,
    reward: Floats,
    success: NDArray[np.bool_],
    policy: Ints,
    initial: Floats,  # [P]
    horizon: int,
    discount: float,
    least: float,
) -> tuple[float, float, float, float]:
    """The expected return, success, length and discounted return of a policy, up to the horizon.

    It ends earlier where what comes is discounted to less than ``least``. (Arrays are made here,
    because that would take long to compile.)
    """
    chance, queue = np.zeros((2, len(initial))), np.zeros((2, len(initial)), np.int64)
    chance[0], begin = initial, np.flatnonzero(initial)
    queue[0, : len(begin)] = begin
    model, begins = (first, next_pair, probability, reward, success), (chance, queue, len(begin))
    return _follow(*model, policy, *begins, horizon, discount, least)
