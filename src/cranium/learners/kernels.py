"""Compiled functions for tabular learning, and nothing else.

One loop for all of them: Q-learning, CQL and CRM differ in the set of configurations from which an
experience is imagined, shaping in the potential.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Mind", "World", "choose", "learn", "run"]

CURRENT, SEEN, REACHABLE = 0, 1, 2
CONSTANT, LINEAR, VISITS = 0, 1, 2
RUNNING, REFUSED, NOT_FINITE = 0, 1, 2

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


class World(NamedTuple):
    """A finite world, for the loop: S states, A actions, K outcomes."""

    first: Ints  # [S·A + 1]
    next_state: Ints  # [K]
    cumulative: Floats  # [K]; of the probabilities of a pair
    row: Ints  # [K]; the label, as a row of the tables
    terminated: NDArray[np.bool_]  # [K]
    extra: Floats  # [K, 1 + F]; what the world itself pays, and each reward function
    starts: Ints  # [I]
    start_cumulative: Floats  # [I]
    observation: Ints  # [S]


class Mind(NamedTuple):
    """What a learner knows and is told: O observations, X configurations, A actions."""

    q: Floats  # [O, X, A]
    visits: Ints  # [O, X, A], or [0, 0, 0] if nothing depends on them
    next_configuration: Ints  # [L, X]
    reward: Floats  # [L, X]
    function: Ints  # [L, X]; which reward function pays, too; -1 for none
    terminal: NDArray[np.bool_]  # [X]
    potential: Floats  # [X]
    members: Ints  # [X]; the configurations that are imagined, the first ones
    counters: Ints  # [X]; which counter values a configuration has
    known: NDArray[np.bool_]  # [C]; the counter values that were seen
    position: NDArray[np.int64]  # state, configuration, steps of the episode, samples, members
    rates: Floats  # learning rate: kind, first, last, over; exploration: first, last, over
    settings: Floats  # kind of set, discount, horizon


@njit(cache=True, nogil=True)
def _scheduled(first: float, last: float, over: float, sample: int) -> float:
    return first + (last - first) * min(sample / over, 1.0)


@njit(cache=True, nogil=True)
def choose(
    q: Floats, observation: int, x: int, exploration: float, rng: np.random.Generator
) -> int:
    """ε-greedy, ties broken at random: always two random numbers."""
    actions = q.shape[2]
    explore, pick = rng.random(), rng.random()
    if explore < exploration:
        return int(pick * actions)
    best, ties = -np.inf, 0
    for action in range(actions):
        value = q[observation, x, action]
        if value > best:
            best, ties = value, 1
        elif value == best:
            ties += 1
    wanted = int(pick * ties)
    for action in range(actions):
        if q[observation, x, action] == best:
            if wanted == 0:
                return action
            wanted -= 1
    return 0


@njit(cache=True, nogil=True)
def paid(mind: Mind, row: int, x: int, extra: Floats) -> float:
    """The reward of reading a label in a configuration."""
    reward: float = mind.reward[row, x] + extra[0]
    if mind.function[row, x] >= 0:
        reward += extra[1 + mind.function[row, x]]
    return reward


@njit(cache=True, nogil=True)
def learn(
    mind: Mind,
    observation: int,
    action: int,
    after: int,
    row: int,
    terminated: bool,
    extra: Floats,  # [1 + F]
) -> None:
    """Learn from one experience, imagined from every configuration of the set."""
    q, potential = mind.q, mind.potential
    actions = q.shape[2]
    discount = mind.settings[1]
    kind = int(mind.rates[0])
    rate = mind.rates[1]
    if kind == LINEAR:
        rate = _scheduled(mind.rates[1], mind.rates[2], mind.rates[3], mind.position[3])
    for i in range(mind.position[4]):
        x = mind.members[i]
        then = mind.next_configuration[row, x]
        if then < 0:
            continue  # the machine refuses it: it cannot have happened
        target = paid(mind, row, x, extra)
        over = terminated or mind.terminal[then]
        target -= potential[x]
        if not over:
            best = q[after, then, 0]
            for other in range(1, actions):
                best = max(best, q[after, then, other])
            target += discount * (best + potential[then])
        if kind == VISITS:
            mind.visits[observation, x, action] += 1
            rate = 1.0 / mind.visits[observation, x, action] ** mind.rates[1]
        q[observation, x, action] += rate * (target - q[observation, x, action])


@njit(cache=True, nogil=True)
def note(mind: Mind, x: int) -> None:
    """Let the set of imagined configurations follow the real one."""
    kind = int(mind.settings[0])
    if kind == CURRENT:
        mind.members[0] = x
        mind.position[4] = 1
    elif kind == SEEN and not mind.known[mind.counters[x]]:
        mind.known[mind.counters[x]] = True
        count = mind.position[4]
        for y in range(mind.counters.shape[0]):
            if mind.counters[y] == mind.counters[x] and not mind.terminal[y]:
                mind.members[count] = y
                count += 1
        mind.position[4] = count


@njit(cache=True, nogil=True)
def begin(world: World, mind: Mind, start: int, rng: np.random.Generator) -> None:
    """Begin an episode."""
    index = 0
    if world.starts.shape[0] > 1:
        found = np.searchsorted(world.start_cumulative, rng.random(), side="right")
        index = min(int(found), world.starts.shape[0] - 1)
    mind.position[0] = world.starts[index]
    mind.position[1] = start
    mind.position[2] = 0
    note(mind, start)


@njit(cache=True, nogil=True)
def draw(world: World, pair: int, rng: np.random.Generator) -> int:
    """What an action leads to: an outcome, drawn where there are several."""
    k: int = world.first[pair]
    if world.first[pair + 1] - k > 1:
        drawn = rng.random()
        while k < world.first[pair + 1] - 1 and world.cumulative[k] <= drawn:
            k += 1
    return k


@njit(cache=True, nogil=True)
def go_on(
    world: World,
    mind: Mind,
    k: int,
    start: int,
    nature: np.random.Generator,
    ends: Floats,  # [3], added to: episodes, successes (by ``accepting``), returns
    accepting: NDArray[np.bool_],  # [X]
) -> None:
    """Account for a sample with this outcome, and go where it leads, or begin anew."""
    position = mind.position
    row, x = world.row[k], position[1]
    then = mind.next_configuration[row, x]
    position[2] += 1
    position[3] += 1
    ends[2] += paid(mind, row, x, world.extra[k])
    if world.terminated[k] or mind.terminal[then] or position[2] == int(mind.settings[2]):
        ends[0] += 1
        ends[1] += accepting[then]
        begin(world, mind, start, nature)
    else:
        position[0], position[1] = world.next_state[k], then
        note(mind, then)


@njit(cache=True, nogil=True)
def run(
    world: World,
    mind: Mind,
    steps: int,
    start: int,
    agent: np.random.Generator,
    nature: np.random.Generator,
    ends: Floats,
    accepting: NDArray[np.bool_],
) -> int:
    """Interact and learn for so many samples; what stopped it early, or RUNNING."""
    actions = mind.q.shape[2]
    position = mind.position
    for _ in range(steps):
        state, x = position[0], position[1]
        exploration = _scheduled(mind.rates[4], mind.rates[5], mind.rates[6], position[3])
        action = choose(mind.q, world.observation[state], x, exploration, agent)
        k = draw(world, state * actions + action, nature)
        row, after = world.row[k], world.next_state[k]
        if mind.next_configuration[row, x] < 0:
            return REFUSED
        seen = world.observation[state]
        ended, extra = world.terminated[k], world.extra[k]
        learn(mind, seen, action, world.observation[after], row, ended, extra)
        if not np.isfinite(mind.q[seen, x, action]):
            return NOT_FINITE
        go_on(world, mind, k, start, nature, ends, accepting)
    return RUNNING
