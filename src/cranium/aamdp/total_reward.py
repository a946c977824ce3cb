"""Optimal values with a discount of 1: the total reward.

Without a discount Bellman's equation has many solutions as soon as there is a cycle without cost,
and value iteration can stop at a wrong one. Therefore the end components of the product are found
first (:mod:`cranium.aamdp.end_components`).

- If an episode can gain reward for ever in a component, the total is infinite: that is an error.
- If an episode can stay in a component for ever without loss, the component becomes one state. The
  values of its states differ by a *potential* with h(s) = E[r + h(s′)].
- In every other component staying for ever loses reward. Then Bellman's equation has one solution,
  and value iteration finds it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.end_components import Bools, Graph, Ints
from cranium.errors import WorldError

__all__ = ["TotalReward", "total_reward"]

Floats = NDArray[np.float64]
ROUNDING = 1e-9
"""An average gain or loss per step, as a share of the greatest reward, that counts as zero."""
SPAN = 1e-11
"""The greatest gap between the bounds of the average gain, relative to the greatest reward."""


@dataclass(frozen=True)
class TotalReward:
    """The undiscounted values of a product, and a policy that attains them.

    Attributes:
        value: V* of each state. [P]
        q: Q* of each state and action. [P, A]
        policy: An optimal action for each state. [P]
        sweeps: The number of sweeps.
    """

    value: Floats = field(repr=False)
    q: Floats = field(repr=False)
    policy: Ints = field(repr=False)
    sweeps: int


@dataclass(frozen=True)
class Resting:
    """The components in which an episode can stay for ever without loss.

    Attributes:
        component: The component of each state, -1 for none. [P]
        rows: The rows inside them. [P·A]
        potential: The value of a state if the episode stays in its component for ever. [P]
        at_rest: The states in which it then stays. [P]
    """

    component: Ints
    rows: Bools
    potential: Floats
    at_rest: Bools


def total_reward(
    first: Ints,
    next_pair: Ints,
    probability: Floats,
    reward: Floats,
    actions: int,
    *,
    small: float,
    max_sweeps: int,
) -> TotalReward | None:
    """The greatest expected total reward from each state: see docs/semantics.md.

    Args:
        first: The index of the first outcome of each row. [P·A + 1]
        next_pair: The next state of each outcome, -1 at the end of an episode. [K]
        probability: The probability of each outcome. [K]
        reward: The reward of each outcome. [K]
        actions: A.
        small: The greatest change of a value in the last sweep.
        max_sweeps: After how many sweeps to give up.

    Returns:
        The values, -∞ in states from which every policy may lose reward for ever; None if there
        were too many sweeps.

    Example:
        In the only state the agent can wait or bet. A bet loses 1 and goes on, or wins 2 and ends
        the episode, with probability 0.5 each.

        >>> arrays = np.array([0, 1, 3]), np.array([0, 0, -1]), np.array([1, 0.5, 0.5])
        >>> found = total_reward(*arrays, np.array([0.0, -1, 2]), 2, small=1e-9, max_sweeps=1000)
        >>> round(float(found.value[0]), 6), found.policy.tolist()
        (1.0, [1])
    """
    from cranium.aamdp.total_reward_kernels import collapsed_iteration, q_values

    size = len(first) - 1
    row = np.repeat(np.arange(size), np.diff(first))
    chance = probability > 0
    graph = Graph(row[chance], next_pair[chance], (size // actions, actions))
    paid = np.bincount(row, probability * reward, size).astype(np.float64)
    resting = find_resting(graph, probability[chance], paid, max_sweeps)
    if resting is None:
        return None
    settled, rows, toward = graph.reach(np.ones(size, np.bool_), resting.at_rest)
    value = np.where(settled, resting.potential, -np.inf)
    model = (first, next_pair, probability, reward)
    fixed = (resting.component, resting.potential)
    free = rows & ~resting.rows
    sweeps = 0
    if (paid < 0).any():  # from below: first the values of some policy that ends or rests
        only = np.zeros(size, np.bool_)
        only[toward[settled & (resting.component < 0)]] = True
        sweeps = collapsed_iteration(*model, only, *fixed, value, small, max_sweeps)
    if sweeps >= 0:
        more = collapsed_iteration(*model, free, *fixed, value, small, max_sweeps)
        sweeps = more if more < 0 else sweeps + more
    if sweeps < 0:
        return None
    q = q_values(*model, value, actions)
    best = rows & (q.ravel() >= np.repeat(value - 10 * small, actions)) | resting.rows
    policy = _soonest(graph, model, best, resting, value - resting.potential <= 10 * small)
    return TotalReward(value, q, np.where(settled, policy, np.argmax(q, axis=1)), sweeps)


def _soonest(
    graph: Graph,
    model: tuple[Ints, Ints, Floats, Floats],
    best: Bools,
    resting: Resting,
    rests: Bools,
) -> Ints:
    """Of the optimal actions, those with which the episode is expected to end soonest.

    In states from which no optimal policy ends with probability 1, those with which the episode
    soonest ends or reaches the states in which it then stays.
    """
    from cranium.aamdp.total_reward_kernels import soonest

    nowhere = np.zeros(graph.shape[0], np.bool_)
    ends, ending, to_end = graph.reach(best, nowhere)
    goal = resting.at_rest & rests & ~ends
    stays = resting.rows & graph.staying(resting.at_rest)
    others = best & ~np.repeat(ends, graph.shape[1])
    good, going, to_rest = graph.reach(others | ending, goal)
    usable = (going | ending) & ~np.repeat(goal, graph.shape[1])
    toward = np.where(ends, to_end, to_rest)
    policy = np.where(toward >= 0, toward % graph.shape[1], 0)
    staying = np.argmax(stays.reshape(graph.shape), axis=1)
    policy = np.where(goal, staying, policy).astype(np.int64)
    return soonest(*model[:3], usable, goal | ~good, policy)


def find_resting(
    graph: Graph, probability: Floats, paid: Floats, max_sweeps: int
) -> Resting | None:
    """The components in which an episode can stay for ever without loss; None if not converged.

    Args:
        graph: The transition graph.
        probability: Of the outcomes of the graph. [K]
        paid: The expected reward of each row. [P·A]
        max_sweeps: After how many sweeps to give up.

    Raises:
        WorldError: An episode can gain reward for ever in one of them.
    """
    scale = float(np.abs(paid).max(initial=0.0))
    paid = np.where(np.abs(paid) <= 1e-12 * scale, 0.0, paid)
    component, inside = graph.end_components(np.ones(graph.rows, np.bool_))
    count = int(component.max(initial=-1)) + 1
    of_row = np.where(inside, np.repeat(component, graph.shape[1]), count)
    wins = np.bincount(of_row[inside & (paid > 0)], minlength=count + 1)[:count] > 0
    costs = np.bincount(of_row[inside & (paid < 0)], minlength=count + 1)[:count] > 0
    if (wins & ~costs).any():
        raise _endless()
    mixed = np.append(wins, False)[of_row]  # where both happen
    potential = np.zeros(graph.shape[0])
    free = inside & ~mixed & (paid == 0)
    if mixed.any():
        found = _potential(graph, probability, paid, component, mixed, scale, max_sweeps)
        if found is None:
            return None
        potential, equal = found
        free |= equal
    component, rows = graph.end_components(free)
    at_rest = _settle(graph, component, rows, potential, 1e-8 * scale)
    return Resting(component, rows, np.where(component < 0, 0.0, potential), at_rest)


def _endless() -> WorldError:
    return WorldError(
        "an episode can go on for ever and gain reward: with discount=1 the total reward has no "
        "upper bound",
        fix="use a discount below 1",
    )


def _potential(
    graph: Graph,
    probability: Floats,
    paid: Floats,
    component: Ints,
    rows: Bools,
    scale: float,
    max_sweeps: int,
) -> tuple[Floats, Bools] | None:
    """The values of states relative to others of their component, and the rows without loss.

    This is relative value iteration: the least and the greatest change of a sweep are bounds of the
    greatest average reward in a component. Each update goes only half of the way, which is needed
    for convergence in periodic components.
    """
    used = np.flatnonzero(graph.states_of(rows))
    order = used[np.argsort(component[used], kind="stable")]
    begins = np.flatnonzero(np.diff(component[order], prepend=-2))
    number = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(order))))
    some = rows[graph.row]
    row, after, chance = graph.row[some], graph.after[some], probability[some]
    potential = np.zeros(graph.shape[0])
    for _ in range(max_sweeps):
        ahead = paid + np.bincount(row, chance * potential[after], graph.rows)
        each = np.where(rows, ahead, -np.inf).reshape(graph.shape)
        change = each[order].max(axis=1) - potential[order]
        low, high = np.minimum.reduceat(change, begins), np.maximum.reduceat(change, begins)
        if (low > ROUNDING * scale).any():
            raise _endless()
        losing = high < -ROUNDING * scale
        if (losing | (high - low <= SPAN * scale)).all():
            slack = np.repeat(potential, graph.shape[1]) - ahead
            keeps = np.zeros(graph.shape[0], np.bool_)
            keeps[order] = ~losing[number]
            equal = rows & (slack <= 1e-8 * scale) & np.repeat(keeps, graph.shape[1])
            return potential, equal
        potential[order] += change / 2
        potential[order] -= potential[order[begins]][number]
    return None


def _settle(graph: Graph, component: Ints, rows: Bools, potential: Floats, close: float) -> Bools:
    """The states to stay in, so that the least is lost when the episode is truncated.

    In each component these are the states in which an episode can stay and whose greatest potential
    is as small as possible. The potential is shifted so that this greatest one is 0.
    """
    at_rest = component >= 0
    uneven = np.unique(component[at_rest & (np.abs(potential) > close)])
    potential[at_rest & ~np.isin(component, uneven)] = 0.0
    for number in uneven:
        states = np.flatnonzero(component == number)
        levels = np.unique(potential[states])
        low, high = 0, len(levels) - 1  # the highest is enough, for all of it is an end component
        while low < high:
            middle = (low + high) // 2
            if _can_stay(graph, states, rows, potential <= levels[middle] + close).any():
                high = middle
            else:
                low = middle + 1
        at_rest[states] = _can_stay(graph, states, rows, potential <= levels[low] + close)[states]
        potential[states] -= levels[low]
    return at_rest


def _can_stay(graph: Graph, states: Ints, rows: Bools, among: Bools) -> Bools:
    """Those of these states of a component in which an episode can stay for ever: [P]."""
    inside = np.zeros(graph.shape[0], np.bool_)
    inside[states] = among[states]
    while True:
        again = inside & graph.states_of(rows & graph.staying(inside))
        if (again == inside).all():
            return inside
        inside = again
