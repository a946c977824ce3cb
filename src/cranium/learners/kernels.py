"""Compiled functions for tabular learning, and nothing else.

One loop for all of them: Q-learning, CQL and CRM differ in the set of configurations from which an
experience is imagined, shaping in the potential. What a learner holds lies in three buffers, so
that one call for each step of an environment in Python costs little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Mind", "World", "begin", "experience", "learn", "mind_of", "run"]

CURRENT, SEEN, REACHABLE = 0, 1, 2
CONSTANT, LINEAR, VISITS = 0, 1, 2
GOES_ON, FAILED, ACCEPTED, OVERFLOWED = 0, 1, 2, 3
RUNNING, REFUSED, UNKNOWN, NOT_FINITE = 0, -1, -2, -3
STATE, CONFIGURATION, AGE, SAMPLES, MEMBERS, CURSOR, ACTION = range(7)
SIZES = 8
"""Where in ``position`` the sizes of the arrays stand."""

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
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
    """What a learner knows and is told: O observations, X configurations, A actions, L labels."""

    q: Floats  # [O, X, A]
    visits: Ints  # [O, X, A], or [0, X, A] if nothing depends on them
    next_configuration: Ints  # [L, X]
    function: Ints  # [L, X]; which reward function pays, too; -1 for none
    ending: Ints  # [X]; GOES_ON, or how it ends
    members: Ints  # [X]; the configurations that are imagined, the first ones
    counters: Ints  # [X]; which counter values a configuration has
    known: Ints  # [X]; whether these counter values were seen
    reward: Floats  # [L, X]
    potential: Floats  # [X]
    targets: Floats  # [X]; to write on
    extra: Floats  # [1 + F]; what the last experience of a live environment paid besides
    randoms: Floats  # [R]; random numbers for a live environment
    rates: Floats  # [7]; learning rate: kind, first, last, over; exploration: first, last, over
    settings: Floats  # [3]; kind of set, discount, horizon
    position: Longs  # [16]; where the learner is, and the sizes O, X, A, L, 1 + F, R, visits?


@njit(cache=True, nogil=True)
def mind_of(ints: Ints, floats: Floats, position: Longs) -> Mind:
    """The arrays of a learner, as views into its buffers."""
    observations, configurations = position[SIZES], position[SIZES + 1]
    actions, labels = position[SIZES + 2], position[SIZES + 3]
    extras, randoms = position[SIZES + 4], position[SIZES + 5]
    x, table = configurations, labels * configurations
    values = observations * configurations * actions
    counted = position[SIZES + 6] * observations
    a = counted * configurations * actions
    b, f = a + 2 * table, values + table
    return Mind(
        floats[:values].reshape((observations, configurations, actions)),
        ints[:a].reshape((counted, configurations, actions)),
        ints[a : a + table].reshape((labels, configurations)),
        ints[a + table : b].reshape((labels, configurations)),
        ints[b : b + x],
        ints[b + x : b + 2 * x],
        ints[b + 2 * x : b + 3 * x],
        ints[b + 3 * x : b + 4 * x],
        floats[values:f].reshape((labels, configurations)),
        floats[f : f + x],
        floats[f + x : f + 2 * x],
        floats[f + 2 * x : f + 2 * x + extras],
        floats[f + 2 * x + extras : f + 2 * x + extras + randoms],
        floats[f + 2 * x + extras + randoms : f + 2 * x + extras + randoms + 7],
        floats[f + 2 * x + extras + randoms + 7 : f + 2 * x + extras + randoms + 10],
        position,
    )


@njit(cache=True, nogil=True)
def _scheduled(first: float, last: float, over: float, sample: int) -> float:
    return first + (last - first) * min(sample / over, 1.0)


@njit(cache=True, nogil=True)
def choose(mind: Mind, observation: int, x: int, explore: float, pick: float) -> int:
    """ε-greedy with two random numbers: whether to explore, and which action of several."""
    q, rates = mind.q, mind.rates
    actions = q.shape[2]
    if explore < _scheduled(rates[4], rates[5], rates[6], mind.position[SAMPLES]):
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
def _aim(mind: Mind, x: int, after: int, row: int, terminated: bool, extra: Floats) -> float:
    """What Q is drawn to: terminations cut, truncations do not."""
    then = mind.next_configuration[row, x]
    target: float = paid(mind, row, x, extra) - mind.potential[x]
    if not terminated and mind.ending[then] == GOES_ON:
        best = mind.q[after, then, 0]
        for other in range(1, mind.q.shape[2]):
            best = max(best, mind.q[after, then, other])
        target += mind.settings[1] * (best + mind.potential[then])
    return target


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
    """Learn from one experience, imagined from every configuration of the set, all at once.

    Where the machine refuses the label it cannot have happened, and nothing is learned.
    """
    count, allowed = mind.position[MEMBERS], mind.next_configuration[row]
    if after == observation:  # what is written would be read again
        for i in range(count):
            if allowed[mind.members[i]] >= 0:
                mind.targets[i] = _aim(mind, mind.members[i], after, row, terminated, extra)
    kind, rate = int(mind.rates[0]), mind.rates[1]
    if kind == LINEAR:
        rate = _scheduled(mind.rates[1], mind.rates[2], mind.rates[3], mind.position[SAMPLES])
    for i in range(count):
        x = mind.members[i]
        if allowed[x] < 0:
            continue
        if after == observation:
            target = mind.targets[i]
        else:
            target = _aim(mind, x, after, row, terminated, extra)
        if kind == VISITS:
            mind.visits[observation, x, action] += 1
            rate = 1.0 / mind.visits[observation, x, action] ** mind.rates[1]
        mind.q[observation, x, action] += rate * (target - mind.q[observation, x, action])


@njit(cache=True, nogil=True)
def note(mind: Mind, x: int) -> None:
    """Let the set of imagined configurations follow the real one."""
    kind = int(mind.settings[0])
    if kind == CURRENT:
        mind.members[0] = x
        mind.position[MEMBERS] = 1
    elif kind == SEEN and not mind.known[mind.counters[x]]:
        mind.known[mind.counters[x]] = 1
        count = mind.position[MEMBERS]
        for y in range(mind.counters.shape[0]):
            if mind.counters[y] == mind.counters[x] and mind.ending[y] == GOES_ON:
                mind.members[count] = y
                count += 1
        mind.position[MEMBERS] = count


# The whole loop, where the world is arrays


@njit(cache=True, nogil=True)
def begin(world: World, mind: Mind, start: int, rng: np.random.Generator) -> None:
    """Begin an episode."""
    index, drawn = 0, rng.random()
    while index < world.starts.shape[0] - 1 and world.start_cumulative[index] <= drawn:
        index += 1
    mind.position[STATE] = world.starts[index]
    mind.position[CONFIGURATION] = start
    mind.position[AGE] = 0
    note(mind, start)


@njit(cache=True, nogil=True)
def draw(world: World, pair: int, rng: np.random.Generator) -> int:
    """What an action leads to, drawn with one random number."""
    k: int = world.first[pair]
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
    ends: Floats,  # [4], added to: episodes, successes, overflows, returns
) -> bool:
    """Account for a sample with this outcome, and go where it leads, or begin anew."""
    position = mind.position
    row, x = world.row[k], position[CONFIGURATION]
    then = mind.next_configuration[row, x]
    position[AGE] += 1
    position[SAMPLES] += 1
    ends[3] += paid(mind, row, x, world.extra[k])
    over = world.terminated[k] or mind.ending[then] != GOES_ON
    if over or position[AGE] == int(mind.settings[2]):
        ends[0] += 1
        ends[1] += mind.ending[then] == ACCEPTED
        ends[2] += mind.ending[then] == OVERFLOWED
        begin(world, mind, start, nature)
        return True
    position[STATE], position[CONFIGURATION] = world.next_state[k], then
    note(mind, then)
    return False


@njit(cache=True, nogil=True)
def run(
    world: World,
    mind: Mind,
    steps: int,
    start: int,
    agent: np.random.Generator,
    nature: np.random.Generator,
    ends: Floats,
) -> int:
    """Interact and learn for so many samples; what stopped it early, or RUNNING."""
    actions = mind.q.shape[2]
    position = mind.position
    for _ in range(steps):
        state, x = position[STATE], position[CONFIGURATION]
        seen = world.observation[state]
        explore, pick = agent.random(), agent.random()
        action = choose(mind, seen, x, explore, pick)
        k = draw(world, state * actions + action, nature)
        row, after = world.row[k], world.observation[world.next_state[k]]
        if mind.next_configuration[row, x] < 0:
            return REFUSED
        learn(mind, seen, action, after, row, world.terminated[k], world.extra[k])
        if not np.isfinite(mind.q[seen, x, action]):
            return NOT_FINITE
        go_on(world, mind, k, start, nature, ends)
    return RUNNING


# One call for each step, where the environment is in Python


@njit(cache=True, nogil=True)
def _next_action(mind: Mind) -> int:
    position = mind.position
    cursor = position[CURSOR]
    position[CURSOR] = cursor + 2
    seen, x = position[STATE], position[CONFIGURATION]
    action = choose(mind, seen, x, mind.randoms[cursor], mind.randoms[cursor + 1])
    position[ACTION] = action
    return action


@njit(cache=True, nogil=True)
def start(ints: Ints, floats: Floats, position: Longs, observation: int, x: int) -> int:
    """Begin an episode with this observation; the first action."""
    mind = mind_of(ints, floats, position)
    position[STATE], position[CONFIGURATION], position[AGE] = observation, x, 0
    note(mind, x)
    return _next_action(mind)


@njit(cache=True, nogil=True)
def experience(
    ints: Ints, floats: Floats, position: Longs, after: int, row: int, terminated: int, over: int
) -> int:
    """Learn from what the last action led to; the next action, or what stopped it (below zero)."""
    mind = mind_of(ints, floats, position)
    seen, x, action = position[STATE], position[CONFIGURATION], position[ACTION]
    then: int = mind.next_configuration[row, x]
    if then < 0:
        return then
    learn(mind, seen, action, after, row, terminated != 0, mind.extra)
    if not np.isfinite(mind.q[seen, x, action]):
        return NOT_FINITE
    position[AGE] += 1
    position[SAMPLES] += 1
    position[STATE], position[CONFIGURATION] = after, then
    if over:
        return 0
    note(mind, then)
    return _next_action(mind)
