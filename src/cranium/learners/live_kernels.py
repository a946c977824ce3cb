"""Compiled functions for environments that step in Python, one call for each step."""

from __future__ import annotations

import numpy as np

from cranium.learners.kernels import (
    ACTION,
    AGE,
    CONFIGURATION,
    CURSOR,
    MEMBERS,
    NOT_FINITE,
    SAMPLES,
    STATE,
    Floats,
    Ints,
    Longs,
    Mind,
    arrays_of,
    choose,
    compiled,
    inlined,
    learn,
    mind_of,
    note,
    rates_at,
)

__all__ = ["experience", "start"]


@inlined
def _next_action(mind: Mind) -> int:
    position = mind.position
    cursor = position[CURSOR]
    position[CURSOR] = cursor + 2
    seen, x = position[STATE], position[CONFIGURATION]
    epsilon = rates_at(mind.rates, position[SAMPLES])[2]
    action = choose(mind.q, seen, x, epsilon, mind.randoms[cursor], mind.randoms[cursor + 1])
    position[ACTION] = action
    return action


@compiled
def start(ints: Ints, floats: Floats, position: Longs, observation: int, x: int) -> int:
    """Begin an episode with this observation; the first action."""
    mind = mind_of(ints, floats, position)
    position[STATE], position[CONFIGURATION], position[AGE] = observation, x, 0
    note(mind, x)
    return _next_action(mind)


@compiled
def experience(
    ints: Ints, floats: Floats, position: Longs, after: int, row: int, terminated: int, over: int
) -> int:
    """Learn from what the last action led to; the next action, or what stopped it (below zero)."""
    mind = mind_of(ints, floats, position)
    seen, x, action = position[STATE], position[CONFIGURATION], position[ACTION]
    then: int = mind.next_configuration[row, x]
    if then < 0:
        return then
    rate, power, _ = rates_at(mind.rates, position[SAMPLES])
    extra = mind.extra.reshape((1, mind.extra.shape[0]))
    ahead = 0.0 if terminated else mind.settings[1]
    count = position[MEMBERS]
    learn(*arrays_of(mind), extra, count, seen, action, after, row, 0, ahead, rate, power)
    if not np.isfinite(mind.q[seen, x, action]):
        return NOT_FINITE
    position[AGE] += 1
    position[SAMPLES] += 1
    position[STATE], position[CONFIGURATION] = after, then
    if over:
        return 0
    note(mind, then)
    return _next_action(mind)
