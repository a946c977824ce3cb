"""Compiled functions for hierarchical options.

For each sample four random numbers are drawn, needed or not: whether to explore among the options,
which option of several, whether to explore among the actions, which action of several.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.jit import compiled
from cranium.learners.tabular import kernels
from cranium.learners.tabular.kernels import Floats, Ints, Longs, MachineArrays, WorldArrays

__all__ = ["Options", "act", "experience", "learn", "run", "settle"]

OPTION, BEGAN = 0, 1
RATE, EXPLORATION, SUCCESS, FAILURE = range(4)


class Options(NamedTuple):
    """The values of N options, sorted by configuration; O, X, A as in ``LearnerArrays``."""

    low: Floats  # [O, N, A]; values of actions on the way to the option's target
    high: Floats  # [O, N]; values of options where they begin
    tried: NDArray[np.bool_]  # [O, N]; whether the option ever began there
    first: Ints  # [X + 1]; those of x are numbered from first[x] up to first[x + 1]
    source: Ints  # [N]; the configuration in which it can be chosen
    target: Ints  # [N]; the one that it is to reach
    aims: Floats  # [N]; to write on
    settings: Floats  # [4]; learning rate, exploration, reward of success and of failure
    progress: Longs  # [2]; the option that is followed or -1, the observation where it began
    sums: Floats  # [2]; the discounted rewards since then, and the discount of the next


@compiled
def choose(values: Floats, exploration: float, explore: float, pick: float) -> int:
    """Choose one of these values ε-greedily, with two random numbers."""
    if explore < exploration:
        return int(pick * values.shape[0])
    best = values.max()
    wanted = int(pick * (values == best).sum())
    for number in range(values.shape[0]):
        if values[number] == best:
            if wanted == 0:
                return number
            wanted -= 1
    return 0


@compiled
def act(
    options: Options,
    observation: int,
    x: int,
    explore: float,
    which: float,
    vary: float,
    pick: float,
) -> int:
    """Follow the current option, or choose one; without options, take any action."""
    progress, exploration = options.progress, options.settings[EXPLORATION]
    first, last = options.first[x], options.first[x + 1]
    if first == last:
        return int(pick * options.low.shape[2])
    if progress[OPTION] < 0:
        values = options.high[observation, first:last]
        progress[OPTION] = first + choose(values, exploration, explore, which)
        progress[BEGAN] = observation
        options.sums[0], options.sums[1] = 0.0, 1.0
    return choose(options.low[observation, progress[OPTION]], exploration, vary, pick)


@compiled
def learn(
    options: Options,
    machine: MachineArrays,
    observation: int,
    action: int,
    after: int,
    row: int,
    terminated: bool,
    extra: Floats,  # [1 + F]
) -> bool:
    """Update the policies of all options from one transition; returns whether all stays finite.

    Where the machine refuses the label it cannot have happened, and nothing is learned.
    """
    aims, low = options.aims, options.low
    for option in range(options.source.shape[0]):
        x = options.source[option]
        then = machine.next_configuration[row, x]
        if then == x:
            aims[option] = kernels.paid(machine, row, x, extra)
            if not terminated:
                aims[option] += machine.settings[1] * low[after, option].max()
        else:
            reached = then == options.target[option]
            aims[option] = options.settings[SUCCESS if reached else FAILURE]
    finite = True
    for option in range(options.source.shape[0]):
        if machine.next_configuration[row, options.source[option]] >= 0:
            value = low[observation, option, action]
            value += options.settings[RATE] * (aims[option] - value)
            low[observation, option, action] = value
            finite = finite and np.isfinite(value)
    return finite


@compiled
def settle(options: Options, after: int, then: int, terminated: bool) -> bool:
    """Update the value of an option that ends here; returns whether it is finite.

    A configuration without options is worth nothing: one that ends the episode, or is never left.
    """
    option, began = options.progress[OPTION], options.progress[BEGAN]
    first, last = options.first[then], options.first[then + 1]
    worth = options.sums[0]
    if not terminated and first < last:
        worth += options.sums[1] * options.high[after, first:last].max()
    options.high[began, option] += options.settings[RATE] * (worth - options.high[began, option])
    options.tried[began, option] = True
    options.progress[OPTION] = -1
    return bool(np.isfinite(options.high[began, option]))


@compiled
def experience(
    options: Options,
    machine: MachineArrays,
    observation: int,
    action: int,
    after: int,
    row: int,
    terminated: bool,
    over: bool,
    extra: Floats,  # [1 + F]
) -> int:
    """Learn from a transition; returns RUNNING or an error code."""
    x = machine.position[kernels.CONFIGURATION]
    then: int = machine.next_configuration[row, x]
    if then < 0:
        return then
    if not learn(options, machine, observation, action, after, row, terminated, extra):
        return kernels.NOT_FINITE
    if options.progress[OPTION] >= 0:
        options.sums[0] += options.sums[1] * kernels.paid(machine, row, x, extra)
        options.sums[1] *= machine.settings[1]
        if (over or then != x) and not settle(options, after, then, terminated):
            return kernels.NOT_FINITE
    return kernels.RUNNING


@compiled
def run(
    world: WorldArrays,
    machine: MachineArrays,
    options: Options,
    steps: int,
    start: int,
    rng: np.random.Generator,
    nature: np.random.Generator,
    ends: Floats,
    log: Floats,
) -> int:
    """Interact and learn for so many samples; returns RUNNING or an error code."""
    position = machine.position
    for _ in range(steps):
        state, x = position[kernels.STATE], position[kernels.CONFIGURATION]
        seen = world.observation[state]
        explore, which, vary, pick = rng.random(), rng.random(), rng.random(), rng.random()
        action = act(options, seen, x, explore, which, vary, pick)
        pair = state * options.low.shape[2] + action
        first, last = kernels.long(world.first[pair]), kernels.long(world.first[pair + 1])
        k = kernels.draw(world.cumulative, first, last, nature)
        row, after = world.row[k], world.observation[world.next_state[k]]
        then, terminated = machine.next_configuration[row, x], world.terminated[k]
        over = terminated or position[kernels.AGE] + 1 == int(machine.settings[2])
        if then >= 0:
            over = over or machine.ending[then] != kernels.GOES_ON
        status = experience(
            options, machine, seen, action, after, row, terminated, over, world.extra[k]
        )
        if status < 0:
            return status
        kernels.advance(world, machine, k, start, nature, ends, log)
    return kernels.RUNNING
