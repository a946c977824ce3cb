"""Compiled functions for tabular learning, and the arrays that they share.

Q-learning, CQL and CRM differ only in the set of configurations for which a transition is
relabelled; shaping adds a potential. The arrays of a learner lie in three buffers, so that one call
for each step of an environment in Python costs little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.jit import compiled, inlined

__all__ = ["LearnerArrays", "MachineArrays", "WorldArrays", "arrays_from_buffers", "learn"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
long: Callable[[Any], int] = np.int64  # type: ignore[assignment]
"""For arguments: with 32 bits, or as a bare constant, a function would be compiled once more."""


def in_python(function: FunctionT) -> FunctionT:
    """Return a compiled function as Python code, for what is done once: compiling takes longer."""
    plain: FunctionT = getattr(function, "py_func", function)
    return plain


CURRENT, SEEN, REACHABLE, CHOSEN = 0, 1, 2, 3
"""Kinds of sets of configurations. CHOSEN ones are gathered anew in every configuration."""
EPSILON_GREEDY, BOLTZMANN, CALLED = 0, 1, 2
"""Exploration rules. One that is CALLED is a Python function, at an address in ``position``."""
CONSTANT, LINEAR, VISITS = 0, 1, 2
GOES_ON, FAILED, ACCEPTED, OVERFLOWED = 0, 1, 2, 3
RUNNING, REFUSED, UNKNOWN, NOT_FINITE, RULE_FAILED = 0, -1, -2, -3, -4
STATE, CONFIGURATION, AGE, SAMPLES, MEMBERS, CURSOR, ACTION, EPISODES, RULE, DRAWN = range(10)
"""Where the learner is. Episodes are counted there in live environments, by loops in ``ends``."""
SIZES, BUFFERS, POSITION = 10, 18, 22
"""Where in ``position`` the sizes of the arrays stand, and where and how long the buffers are."""
RATES, SETTINGS = 10, 5
"""How many numbers ``rates`` and ``settings`` are."""

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


class WorldArrays(NamedTuple):
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


class LearnerArrays(NamedTuple):
    """The arrays of a learner: O observations, X configurations, A actions, L labels."""

    q: Floats  # [O, X, A]
    visits: Ints  # [O, X, A], or [0, X, A] if nothing depends on them
    next_configuration: Ints  # [L, X]
    function: Ints  # [L, X]; which reward function pays, too; -1 for none
    ending: Ints  # [X]; GOES_ON, or how it ends
    members: Ints  # [X]; the counterfactual configurations, the first ones
    counters: Ints  # [X]; which counter values a configuration has
    known: Ints  # [X]; whether these counter values were seen
    candidates: Ints  # [X, X], or [1, X] if they do not depend on the real configuration, or [0, X]
    reward: Floats  # [L, X]
    potential: Floats  # [X]
    targets: Floats  # [X]; to write on
    extra: Floats  # [1 + F]; what the last experience of a live environment paid besides
    randoms: Floats  # [R]; random numbers for a live environment
    rates: Floats  # [10]; learning rate: kind, first, last, over; exploration: first, last, over;
    # whether the learning rate, whether exploration counts episodes instead of samples; the rule
    settings: Floats  # [5]; kind of set, discount, horizon, sample of the set, whether seen only
    position: Longs  # [22]; where the learner is, sizes (O, X, A, L, 1 + F, R, visits?,
    # rows of candidates), buffers


class MachineArrays(NamedTuple):
    """The arrays of the machine alone. Fewer arrays are compiled sooner."""

    next_configuration: Ints  # [L, X]
    function: Ints  # [L, X]
    ending: Ints  # [X]
    reward: Floats  # [L, X]
    settings: Floats  # [5]
    position: Longs  # [22]


@inlined
def arrays_from_buffers(ints: Ints, floats: Floats, position: Longs) -> LearnerArrays:
    """Return the arrays of a learner, as views into its buffers."""
    observations, configurations = position[SIZES], position[SIZES + 1]
    actions, labels = position[SIZES + 2], position[SIZES + 3]
    extras, randoms = position[SIZES + 4], position[SIZES + 5]
    x, table = configurations, labels * configurations
    values = observations * configurations * actions
    counted = position[SIZES + 6] * observations
    a = counted * configurations * actions
    b, f = a + 2 * table, values + table
    sets = position[SIZES + 7]
    g = f + 2 * x + extras + randoms
    return LearnerArrays(
        floats[:values].reshape((observations, configurations, actions)),
        ints[:a].reshape((counted, configurations, actions)),
        ints[a : a + table].reshape((labels, configurations)),
        ints[a + table : b].reshape((labels, configurations)),
        ints[b : b + x],
        ints[b + x : b + 2 * x],
        ints[b + 2 * x : b + 3 * x],
        ints[b + 3 * x : b + 4 * x],
        ints[b + 4 * x : b + (4 + sets) * x].reshape((sets, configurations)),
        floats[values:f].reshape((labels, configurations)),
        floats[f : f + x],
        floats[f + x : f + 2 * x],
        floats[f + 2 * x : f + 2 * x + extras],
        floats[g - randoms : g],
        floats[g : g + RATES],
        floats[g + RATES : g + RATES + SETTINGS],
        position,
    )


@inlined
def _scheduled(first: float, last: float, over: float, count: int) -> float:
    return first + (last - first) * min(count / over, 1.0)


@inlined
def choose(q: Floats, observation: int, x: int, epsilon: float, explore: float, pick: float) -> int:
    """Choose an action ε-greedily: one random number decides to explore, one the action."""
    actions = q.shape[2]
    if explore < epsilon:
        return int(pick * actions)
    best, ties = q[observation, x, 0], 1
    for action in range(1, actions):
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


@inlined
def paid(machine: MachineArrays | LearnerArrays, row: int, x: int, extra: Floats) -> float:
    """Return the reward of a transition: :func:`cranium.tables.pay`, compiled."""
    reward: float = machine.reward[row, x] + extra[0]
    if machine.function[row, x] >= 0:
        reward += extra[1 + machine.function[row, x]]
    return reward


@inlined
def update_arguments(
    arrays: LearnerArrays,
) -> tuple[Floats, Ints, Ints, Ints, Ints, Ints, Floats, Floats, Floats]:
    """The first arguments of :func:`learn`."""
    return (
        arrays.q,
        arrays.visits,
        arrays.next_configuration,
        arrays.function,
        arrays.ending,
        arrays.members,
        arrays.reward,
        arrays.potential,
        arrays.targets,
    )


@inlined
def learn(
    q: Floats,
    visits: Ints,
    next_configuration: Ints,
    function: Ints,
    ending: Ints,
    members: Ints,
    reward: Floats,
    potential: Floats,
    targets: Floats,
    extra: Floats,  # [·, 1 + F]
    count: int,
    observation: int,
    action: int,
    after: int,
    row: int,
    k: int,  # which row of extra
    discount: float,  # 0 where the world ended
    rate: float,
    power: float,  # of the visits, below zero if they do not matter
) -> None:
    """Update Q from one transition, relabelled with every configuration of the set at once.

    Where the machine refuses the label it cannot have happened, and nothing is learned. The arrays
    are arguments of their own: a tuple of them would be counted, array by array, in every call.
    """
    for i in range(count):
        x = np.uintp(members[i])  # no sign: it cannot count from the end
        then = next_configuration[row, x]
        if then < 0:
            continue
        target = reward[row, x] + extra[k, 0]
        if function[row, x] >= 0:
            target += extra[k, 1 + function[row, x]]
        target -= potential[x]
        if discount > 0 and ending[then] == GOES_ON:
            best = q[after, then, 0]
            for other in range(1, q.shape[2]):
                value = q[after, then, other]
                best = value if value > best else best
            target += discount * (best + potential[then])
        targets[i] = target
    for i in range(count):
        x = np.uintp(members[i])  # no sign: it cannot count from the end
        if next_configuration[row, x] >= 0:
            if power >= 0:
                visits[observation, x, action] += 1
                rate = 1.0 / visits[observation, x, action] ** power
            q[observation, x, action] += rate * (targets[i] - q[observation, x, action])


@inlined
def draw(cumulative: Floats, first: int, last: int, rng: np.random.Generator) -> int:
    """Draw one of several outcomes by their cumulative probabilities, with one random number."""
    k, drawn = first, rng.random()
    while k < last - 1 and cumulative[k] <= drawn:
        k += 1
    return k


@inlined
def log_episode(log: Floats, episodes: int, sample: int, earned: float, success: bool) -> None:
    """Write an episode to the ring of the log, after so many others."""
    row = episodes % log.shape[0]
    log[row, 0], log[row, 1], log[row, 2] = sample, earned, success


@compiled
def advance(
    world: WorldArrays,
    machine: MachineArrays,
    k: int,
    start: int,
    nature: np.random.Generator,
    ends: Floats,  # [4]: episodes, successes, overflows; what the running episode has paid so far
    log: Floats,  # [M, 3]; samples, return and success of the last M episodes, in a ring
) -> None:
    """Advance to the next state, or to the start of the next episode, and count the sample.

    The set of counterfactual configurations stays as it is.
    """
    position = machine.position
    row, x = world.row[k], position[CONFIGURATION]
    then = machine.next_configuration[row, x]
    position[AGE] += 1
    position[SAMPLES] += 1
    ends[3] += paid(machine, row, x, world.extra[k])
    over = world.terminated[k] or machine.ending[then] != GOES_ON
    if over or position[AGE] == int(machine.settings[2]):
        success = machine.ending[then] == ACCEPTED
        log_episode(log, int(ends[0]), position[SAMPLES], ends[3], success)
        ends[0] += 1
        ends[1] += success
        ends[2] += machine.ending[then] == OVERFLOWED
        ends[3] = 0.0
        index = draw(world.start_cumulative, long(0), world.starts.shape[0], nature)
        position[STATE], position[CONFIGURATION], position[AGE] = world.starts[index], start, 0
    else:
        position[STATE], position[CONFIGURATION] = world.next_state[k], then


@inlined
def rates_at(rates: Floats, sample: int, episodes: int) -> tuple[float, float, float]:
    """Return the learning rate, the power of the visits (negative without), and ε."""
    rate, power = rates[1], -1.0
    if rates[0] == LINEAR:
        rate = _scheduled(rates[1], rates[2], rates[3], episodes if rates[7] else sample)
    elif rates[0] == VISITS:
        power = rates[1]
    count = episodes if rates[8] else sample
    return rate, power, _scheduled(rates[4], rates[5], rates[6], count)
