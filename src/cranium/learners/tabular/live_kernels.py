"""Compiled functions for environments that step in Python, one call for each step.

To take an array apart costs more than to learn from it, so a call is given three numbers: where the
learner's position lies (and in it, where its buffers do), what was seen, and what happened.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray, types  # type: ignore[attr-defined]
from numba.extending import intrinsic, overload

from cranium._runtime.jit import compiled, inlined
from cranium.learners.tabular.kernels import (
    ACTION,
    AGE,
    BUFFERS,
    CONFIGURATION,
    CURSOR,
    EPISODES,
    MEMBERS,
    NOT_FINITE,
    POSITION,
    SAMPLES,
    STATE,
    LearnerArrays,
    arrays_from_buffers,
    learn,
    rates_at,
    update_arguments,
)
from cranium.learners.tabular.rule_kernels import choose_action
from cranium.learners.tabular.set_kernels import note

__all__ = ["experience", "read", "start"]

OVER, ENDED, ROW = 2, 3, 4
"""What happened is ROW times the row of the label, plus one of these if the episode is over."""


def _array_at(kind: Any, in_python: Any) -> Callable[[int, int], Any]:
    """Make a function that returns an array over memory that somebody else owns."""

    def pointer(typing: Any, address: Any) -> Any:  # noqa: ARG001
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(address), generate  # type: ignore[no-untyped-call]

    def array_at(address: int, size: int) -> Any:
        return np.ctypeslib.as_array((in_python * int(size)).from_address(int(address)))

    as_pointer: Any = intrinsic(pointer)

    @overload(array_at)
    def _(address, size):  # type: ignore[no-untyped-def] # noqa: ARG001
        return lambda address, size: carray(as_pointer(address), (size,))

    return array_at


_ints_at = _array_at(types.int32, ctypes.c_int32)
_longs_at = _array_at(types.int64, ctypes.c_int64)
_floats_at = _array_at(types.float64, ctypes.c_double)


@inlined
def _arrays_at(address: int) -> LearnerArrays:
    position = _longs_at(address, POSITION)
    ints = _ints_at(position[BUFFERS], position[BUFFERS + 2])
    floats = _floats_at(position[BUFFERS + 1], position[BUFFERS + 3])
    return arrays_from_buffers(ints, floats, position)


def read(what: int) -> tuple[int, bool, bool]:
    """Return the row of the label, whether the world terminated, and whether the episode is over.

    Example:
        >>> read(5 * ROW), read(5 * ROW + ENDED)
        ((5, False, False), (5, True, True))
    """
    return what // ROW, what % ROW == ENDED, what % ROW >= OVER


@inlined
def _next_action(arrays: LearnerArrays) -> int:
    position = arrays.position
    cursor = position[CURSOR]
    position[CURSOR] = cursor + 2
    seen, x = position[STATE], position[CONFIGURATION]
    epsilon = rates_at(arrays.rates, position[SAMPLES], position[EPISODES])[2]
    explore, pick, rule = arrays.randoms[cursor], arrays.randoms[cursor + 1], int(arrays.rates[9])
    action = choose_action(arrays.q, seen, x, rule, epsilon, explore, pick, position)
    position[ACTION] = action
    return action


@compiled
def start(address: int, observation: int, x: int) -> int:
    """Start an episode with this observation and return the first action."""
    arrays = _arrays_at(address)
    position = arrays.position
    position[STATE], position[CONFIGURATION], position[AGE] = observation, x, 0
    note(arrays, x)
    return _next_action(arrays)


@compiled
def experience(address: int, after: int, what: int) -> int:
    """Learn from a transition; returns the next action, or a negative status."""
    arrays = _arrays_at(address)
    position, row = arrays.position, what // ROW
    seen, x, action = position[STATE], position[CONFIGURATION], position[ACTION]
    then: int = arrays.next_configuration[row, x]
    if then < 0:
        return then
    rate, power, _ = rates_at(arrays.rates, position[SAMPLES], position[EPISODES])
    extra = arrays.extra.reshape((1, arrays.extra.shape[0]))
    ahead = 0.0 if what % ROW == ENDED else arrays.settings[1]
    count = position[MEMBERS]
    learn(*update_arguments(arrays), extra, count, seen, action, after, row, 0, ahead, rate, power)
    if not np.isfinite(arrays.q[seen, x, action]):
        return NOT_FINITE
    position[AGE] += 1
    position[SAMPLES] += 1
    position[STATE], position[CONFIGURATION] = after, then
    if what % ROW >= OVER:
        position[EPISODES] += 1
        return 0
    note(arrays, then)
    return _next_action(arrays)
