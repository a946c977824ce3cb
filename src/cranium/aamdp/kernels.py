"""Compiled value iteration, and the exact evaluation of a policy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.jit import compiled

__all__ = [
    "ENDLESS",
    "Followed",
    "follow",
    "value_iteration",
]

ANY = -1
"""In place of an action: one that is drawn uniformly."""
ENDLESS = 1 << 60
"""The horizon that means none."""
STEPS = 10_000
"""The number of steps that are always followed one by one."""
DENSE = 256
"""If a policy visits at most so many pairs after that, the rest is computed by matrix powers."""
MOST_VISITS = 100_000_000
"""Otherwise, the greatest number of visits to pairs: less than a second of work."""
NEGLIGIBLE = 1e-9
"""The greatest error of a length or a return at which following the policy may stop."""
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

    Returns the number of sweeps, or -1 if there were too many.
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


@compiled
def _follow(
    first: Ints,
    next_pair: Ints,
    probability: Floats,
    reward: Floats,
    success: NDArray[np.bool_],  # [K]
    policy: Ints,  # [P]; ANY for an action that is drawn
    chance: Floats,  # [2, P]; where episodes are, and zeros; to write on
    queue: Ints,  # [2, P]; the pairs where episodes are; to write on
    here: int,  # which of the two is now
    met: int,  # how many pairs these are
    horizon: int,
    discount: float,
    least: float,
    weight: float,  # of the next reward
) -> tuple[float, float, float, float, float, int, int]:
    pairs = policy.shape[0]
    actions = (first.shape[0] - 1) // pairs
    total, won, length, value = 0.0, 0.0, 0.0, 0.0
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
    return total, won, length, value, weight, here, met


class Followed(NamedTuple):
    """The expected performance of a policy within a horizon.

    Attributes:
        returns: The expected return.
        success: The probability that an episode ends with success.
        length: The expected number of steps.
        value: The expected discounted return.
        left: The probability that an episode goes on after the steps that were followed.
        is_complete: Whether the whole horizon was followed, as far as it matters.
        steps: The number of steps that were followed.
    """

    returns: float
    success: float
    length: float
    value: float
    left: float
    is_complete: bool
    steps: int


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
    *,
    at_any_cost: bool = False,
) -> Followed:
    """The expected return, success, length and discounted return of a policy, up to the horizon.

    It stops earlier if the discount of the next reward is below ``least``. The first 10,000 steps
    are followed one by one. If the policy then visits few pairs, powers of its transition matrix
    give the rest exactly, for any horizon. Otherwise a limited number of further steps is followed
    (all of them if ``at_any_cost``), and ``is_complete`` says whether these were all.
    """
    # Arrays are made here and not in compiled code, because that would take long to compile.
    chance, queue = np.zeros((2, len(initial))), np.zeros((2, len(initial)), np.int64)
    chance[0], begin = initial, np.flatnonzero(initial)
    queue[0, : len(begin)] = begin
    model = (first, next_pair, probability, reward, success, policy)
    sums, weight, here, met, done, visits = np.zeros(4), 1.0, 0, len(begin), 0, 0
    while True:
        steps = min(horizon - done, STEPS if not done else max(1, MOST_VISITS // (10 * met)))
        span = (steps, discount, least, weight)
        *part, weight, here, met = _follow(*model, chance, queue, here, met, *span)
        if steps == horizon or not (met or done):  # nearly always
            left = float(chance[here].sum()) if met else 0.0
            returns, won, length, value = part
            return Followed(returns, won, length, value, left, True, steps)
        sums += part
        visits += steps * met if done else 0
        done += steps
        left = float(chance[here, queue[here, :met]].sum())
        is_complete = done == horizon or met == 0 or weight < least
        if not is_complete and done == STEPS:
            pairs = _reach(model, queue[here, :met])
            if len(pairs) <= DENSE:
                found = _power(model, pairs, chance[here, pairs], horizon - done, discount)
                sums += (*found[:3], weight * found[3])
                left, is_complete, done = found[4], True, horizon
        if not is_complete:
            most = max(1.0, float(np.abs(reward).max()))
            is_complete = left * (horizon - done) * most < NEGLIGIBLE
        if is_complete or (visits > MOST_VISITS and not at_any_cost):
            returns, won, length, value = sums.tolist()
            return Followed(returns, won, length, value, left, is_complete, done)


def _reach(model: tuple[Ints, Ints, Floats, Floats, NDArray[np.bool_], Ints], begin: Ints) -> Ints:
    """Return the pairs that a policy may visit from these on; only some if there are many."""
    first, next_pair, _, _, _, policy = model
    actions = (len(first) - 1) // len(policy)
    waiting = [int(pair) for pair in begin]
    seen = dict.fromkeys(waiting)
    while waiting and len(seen) <= DENSE:
        pair = waiting.pop()
        low, high = (0, actions) if policy[pair] == ANY else (policy[pair], policy[pair] + 1)
        for after in next_pair[first[pair * actions + low] : first[pair * actions + high]].tolist():
            if after >= 0 and after not in seen:
                seen[after] = None
                waiting.append(after)
    return np.array(list(seen), np.int64)


def _power(
    model: tuple[Ints, Ints, Floats, Floats, NDArray[np.bool_], Ints],
    pairs: Ints,
    chance: Floats,
    horizon: int,
    discount: float,
) -> tuple[float, float, float, float, float]:
    """Compute return, success, length, discounted return and ``left``, by matrix powers."""
    first, next_pair, probability, reward, success, policy = model
    actions = (len(first) - 1) // len(policy)
    number = {pair: i for i, pair in enumerate(pairs.tolist())}
    matrix, gains = np.zeros((len(pairs), len(pairs))), np.zeros((len(pairs), 3))
    gains[:, 2] = 1.0
    for pair, i in number.items():
        low, high = (0, actions) if policy[pair] == ANY else (policy[pair], policy[pair] + 1)
        for k in range(first[pair * actions + low], first[pair * actions + high]):
            share = probability[k] / (high - low)
            gains[i, 0] += share * reward[k]
            if next_pair[k] >= 0:
                matrix[i, number[int(next_pair[k])]] += share
            else:
                gains[i, 1] += share * success[k]
    plain, left = _sum_powers(matrix, gains, horizon)
    discounted, _ = _sum_powers(discount * matrix, gains[:, :1], horizon)
    returns, won, length = (float(number) for number in chance @ plain)
    return returns, won, length, float(chance @ discounted[:, 0]), float(chance @ left)


def _sum_powers(matrix: Floats, gains: Floats, horizon: int) -> tuple[Floats, Floats]:
    """Σ Mᵗ G over t below the horizon, and M to its power, summed over the columns."""
    power, block = matrix, gains  # M to the power 2^i, and the sum of the first 2^i terms
    total, left = np.zeros_like(gains), np.ones(len(matrix))
    while horizon:
        if horizon & 1:
            total, left = block + power @ total, power @ left
        horizon >>= 1
        if horizon:
            block, power = block + power @ block, power @ power
    return total, left
