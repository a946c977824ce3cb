"""Undiscounted values: what the best policy keeps, if nothing is worth less for coming later.

Without a discount Bellman's equation has many solutions as soon as something can be repeated at no
cost, and value iteration can stop at a wrong one. So whatever can be repeated for ever is looked
at first: the end components of the product (:mod:`cranium.aamdp.components`).

- One that gains something in each round makes the total infinite: that is refused.
- One that can be kept up without loss is made into one state: inside it, moving about is worth
  what its *potential* says, h(s) = E[r + h(s′)], and staying is worth 0 beyond that.
- All others lose something in each round. Then Bellman's equation has one solution, and value
  iteration finds it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.components import Bools, Graph, Ints
from cranium.errors import WorldError

__all__ = ["TotalReward", "total_reward"]

Floats = NDArray[np.float64]
ROUNDING = 1e-9
"""What a round may earn or cost, as a share of the greatest reward, and be called nothing."""
SPAN = 1e-11
"""How far the least and the greatest estimate of what a round earns may be apart in the end."""


@dataclass(frozen=True)
class TotalReward:
    """The undiscounted values of a product, and a policy that attains them.

    Attributes:
        value: V* of each state. [P]
        q: Q* of each state and action. [P, A]
        policy: An optimal action for each state. [P]
        sweeps: How many sweeps it took.
    """

    value: Floats = field(repr=False)
    q: Floats = field(repr=False)
    policy: Ints = field(repr=False)
    sweeps: int


@dataclass(frozen=True)
class Resting:
    """Where an episode can be kept going for ever without loss: C components.

    Attributes:
        component: The component of each state, -1 for none. [P]
        rows: The rows inside them. [P·A]
        potential: What a state is worth, if the episode stays in its component for ever. [P]
        at_rest: The states among which it then stays. [P]
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
    """The greatest total reward that a policy can be sure to keep, on average, from each state.

    Args:
        first: Where the outcomes of each row begin. [P·A + 1]
        next_pair: Where an outcome leads, -1 at the end of an episode. [K]
        probability: How likely it is. [K]
        reward: What it pays. [K]
        actions: A.
        small: How much the last sweep may change a value.
        max_sweeps: After how many sweeps to give up.

    Returns:
        The values, -∞ where the total falls for ever whatever is done; None if there were too
        many sweeps.

    Example:
        A state in which one can wait, or bet: lose 1 and go on, or win 2 and end, equally likely.

        >>> arrays = np.array([0, 1, 3]), np.array([0, 0, -1]), np.array([1, 0.5, 0.5])
        >>> found = total_reward(*arrays, np.array([0.0, -1, 2]), 2, small=1e-9, max_sweeps=1000)
        >>> round(float(found.value[0]), 6), found.policy.tolist()
        (1.0, [1])
    """
    from cranium.aamdp.kernels import collapsed_iteration, q_values

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

    Where it cannot be sure to end: those with which it ends, or nothing more is to be had, soonest.
    """
    from cranium.aamdp.kernels import soonest

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
    """The components in which an episode can stay for ever without loss; None if it takes too long.

    Args:
        graph: What can follow what.
        probability: Of the outcomes of the graph. [K]
        paid: What each row pays on average. [P·A]
        max_sweeps: After how many sweeps to give up.

    Raises:
        WorldError: If one of them gains something in each round.
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
        "something can be repeated for ever, and earns more than it costs: without a discount the "
        "total reward has no bound",
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
    """What states are worth compared with others of their component, and the rows without loss.

    That is relative value iteration: the least and the greatest change of a sweep enclose what a
    component earns in each step at best. Every state stays where it is half of the time, so that
    nothing goes in circles.
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
    """Where to stay in each component, so that the least is lost when the episode is cut off.

    That is among states whose greatest potential is least: whoever stops there keeps the most. The
    potential is shifted so that this greatest one is 0.
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
    """Among which of these states of a component one can stay for ever: [P]."""
    inside = np.zeros(graph.shape[0], np.bool_)
    inside[states] = among[states]
    while True:
        again = inside & graph.states_of(rows & graph.staying(inside))
        if (again == inside).all():
            return inside
        inside = again
