"""Compiled functions of the model-based learner, and nothing else.

The automaton is known; only the world has to be learned. What was never tried is taken to be as
good as the machine allows, so the greedy policy goes where something may be found. When a pair of
an observation and an action becomes known, the values that depend on it are worked out anew,
backwards from there: an observation at a time, for all configurations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cranium.learners.kernels import (
    NOT_FINITE,
    REFUSED,
    RUNNING,
    Mind,
    World,
    draw,
    go_on,
    paid,
)

__all__ = ["Model", "run"]

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


class Model(NamedTuple):
    """What was learned of the world, and the values: O observations, A actions, B outcomes each."""

    tried: Ints  # [O·A]; how often a pair was tried
    outcomes: Ints  # [O·A]; how many different outcomes it had
    after: Ints  # [O·A, B]
    row: Ints  # [O·A, B]
    ended: NDArray[np.bool_]  # [O·A, B]
    times: Ints  # [O·A, B]
    extra: Floats  # [O·A, B, 1 + F]
    value: Floats  # [O, X]
    hope: Floats  # [X]; what a configuration may be worth at most
    edge: Ints  # [O]; the last edge into an observation, -1 for none
    edge_from: Ints  # [E]
    edge_next: Ints  # [E]
    queue: Ints  # [O], a ring
    queued: NDArray[np.bool_]  # [O]
    numbers: NDArray[np.int64]  # edges, head and tail of the queue, updates, trials needed
    settings: Floats  # discount, tolerance, trials needed in a random world, updates for a sample


@njit(cache=True, nogil=True)
def action_value(model: Model, mind: Mind, pair: int, x: int) -> float:
    """Q of a pair in a configuration, by what is known."""
    if model.tried[pair] < model.numbers[4]:
        return float(model.hope[x])
    total = 0.0
    for b in range(model.outcomes[pair]):
        row = model.row[pair, b]
        then = mind.next_configuration[row, x]
        if then < 0:
            continue
        gained = paid(mind, row, x, model.extra[pair, b])
        if not (model.ended[pair, b] or mind.terminal[then]):
            gained += model.settings[0] * model.value[model.after[pair, b], then]
        total += gained * model.times[pair, b] / model.tried[pair]
    return total


@njit(cache=True, nogil=True)
def push(model: Model, observation: int) -> None:
    """Let an observation wait until its values are worked out."""
    if not model.queued[observation]:
        model.queued[observation] = True
        model.queue[model.numbers[2] % model.queue.shape[0]] = observation
        model.numbers[2] += 1


@njit(cache=True, nogil=True)
def plan(model: Model, mind: Mind, actions: int) -> None:
    """Work out the values of what waits, and of what depends on it; what is left waits on."""
    for _ in range(int(model.settings[3])):
        if model.numbers[1] == model.numbers[2]:
            break
        observation = model.queue[model.numbers[1] % model.queue.shape[0]]
        model.numbers[1] += 1
        model.queued[observation] = False
        change = 0.0
        for x in range(model.hope.shape[0]):
            if mind.terminal[x]:
                continue
            best = -np.inf
            for action in range(actions):
                best = max(best, action_value(model, mind, observation * actions + action, x))
            change = max(change, abs(best - model.value[observation, x]))
            model.value[observation, x] = best
        model.numbers[3] += model.hope.shape[0]
        if change > model.settings[1]:
            edge = model.edge[observation]
            while edge >= 0:
                push(model, model.edge_from[edge])
                edge = model.edge_next[edge]


@njit(cache=True, nogil=True)
def remember(
    model: Model, pair: int, observation: int, after: int, row: int, ended: bool, extra: Floats
) -> bool:
    """Add an experience to the model; whether what is believed has changed."""
    needed = model.numbers[4]
    model.tried[pair] += 1
    for b in range(model.outcomes[pair]):
        same = model.after[pair, b] == after and model.row[pair, b] == row
        if same and model.ended[pair, b] == ended:
            model.times[pair, b] += 1
            # Of a random pair the shares change with every trial: they are looked at now and then.
            count = model.tried[pair]
            return bool(model.outcomes[pair] > 1 and count >= needed and count & (count - 1) == 0)
    b = model.outcomes[pair]
    if b == model.after.shape[1]:
        return False
    model.outcomes[pair] = b + 1
    model.after[pair, b], model.row[pair, b] = after, row
    model.ended[pair, b], model.times[pair, b] = ended, 1
    model.extra[pair, b] = extra
    if b == 1 and needed < model.settings[2]:
        model.numbers[4] = int(model.settings[2])  # the world is random: one trial is not enough
    edge = model.numbers[0]
    model.edge_from[edge], model.edge_next[edge] = observation, model.edge[after]
    model.edge[after] = edge
    model.numbers[0] += 1
    return bool(model.tried[pair] >= model.numbers[4])


@njit(cache=True, nogil=True)
def greedy(model: Model, mind: Mind, seen: int, x: int, rng: np.random.Generator) -> int:
    """The best action by what is known and hoped for, ties broken at random."""
    actions = mind.q.shape[2]
    best, ties, action = -np.inf, 0, 0
    for other in range(actions):
        value = action_value(model, mind, seen * actions + other, x)
        if value > best + 1e-12:
            best, ties, action = value, 1, other
        elif value >= best - 1e-12:
            ties += 1
            if rng.random() * ties < 1.0:
                action = other
    return action


@njit(cache=True, nogil=True)
def run(
    world: World,
    mind: Mind,
    model: Model,
    steps: int,
    start: int,
    agent: np.random.Generator,
    nature: np.random.Generator,
    ends: Floats,
    accepting: NDArray[np.bool_],
) -> int:
    """Interact, learn the world and plan for so many samples."""
    actions = mind.q.shape[2]
    position = mind.position
    for _ in range(steps):
        state, x = position[0], position[1]
        seen = world.observation[state]
        action = greedy(model, mind, seen, x, agent)
        k = draw(world, state * actions + action, nature)
        row, after = world.row[k], world.next_state[k]
        if mind.next_configuration[row, x] < 0:
            return REFUSED
        extra = world.extra[k]
        pair = seen * actions + action
        needed = model.numbers[4]
        news = remember(
            model, pair, seen, world.observation[after], row, world.terminated[k], extra
        )
        if model.numbers[4] != needed:
            for observation in range(model.edge.shape[0]):
                push(model, observation)
        if news or model.tried[pair] == model.numbers[4]:
            push(model, seen)
        plan(model, mind, actions)
        if not np.isfinite(model.value[seen, x]):
            return NOT_FINITE
        go_on(world, mind, k, start, nature, ends, accepting)
    return RUNNING


@njit(cache=True, nogil=True)
def fill_q(model: Model, mind: Mind) -> None:
    """Write the values of all pairs into Q, for the greedy policy."""
    observations, configurations, actions = mind.q.shape
    for observation in range(observations):
        for x in range(configurations):
            for action in range(actions):
                mind.q[observation, x, action] = action_value(
                    model, mind, observation * actions + action, x
                )
