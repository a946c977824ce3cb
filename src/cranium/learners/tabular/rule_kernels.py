"""Call an exploration rule that is written in Python, from compiled code.

Compiled code is given the address of a C function that ``ctypes`` makes of the rule, so that one
compiled loop serves every rule.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from cranium._runtime.jit import compiled, inlined
from cranium.errors import InvalidArgumentError, shorten
from cranium.learners.exploration import Exploration
from cranium.learners.tabular.kernels import (
    CALLED,
    EPSILON_GREEDY,
    RULE,
    RULE_FAILED,
    Floats,
    Longs,
    choose,
)

__all__ = ["RuleCall", "call_rule", "choose_action", "choose_otherwise", "draw_action"]

_SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_double, ctypes.c_double
)


class RuleCall:
    """An exploration rule as a C function: values, their number, the rate, a random number.

    Example:
        >>> from cranium.learners import Boltzmann
        >>> call = RuleCall(Boltzmann())
        >>> call_rule(call.address, np.array([0.0, 5.0]), 0.1, 0.5)
        1
    """

    def __init__(self, rule: Exploration) -> None:
        self.rule = rule
        self.error: BaseException | None = None
        self._function = _SIGNATURE(self._choose)  # must live as long as its address is used

    @property
    def address(self) -> int:
        """The address of the C function."""
        found = ctypes.cast(self._function, ctypes.c_void_p).value
        assert found is not None
        return found

    def _choose(self, data: int, count: int, rate: float, pick: float) -> int:
        try:
            values = np.ctypeslib.as_array((ctypes.c_double * count).from_address(data))
            return draw_action(self.rule, values, rate, pick)
        except BaseException as problem:
            self.error = problem
            return RULE_FAILED

    def __getstate__(self) -> dict[str, Any]:
        return {"rule": self.rule}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["rule"])  # type: ignore[misc]


def draw_action(rule: Exploration, values: NDArray[np.float64], rate: float, pick: float) -> int:
    """Draw an action with the probabilities of a rule, given a random number from 0 to 1.

    Example:
        >>> from cranium.learners import EpsilonGreedy
        >>> draw_action(EpsilonGreedy(), np.array([0.0, 1.0]), 0.5, 0.2)
        0
    """
    found = np.asarray(rule.probabilities(values.copy(), rate), np.float64)
    if found.shape != values.shape or not (found >= 0).all() or abs(found.sum() - 1) > 1e-6:
        raise InvalidArgumentError(
            f"{type(rule).__name__}.probabilities returned {shorten(found.tolist())}",
            fix=f"return {len(values)} probabilities, which sum to 1",
        )
    return min(int(np.searchsorted(np.cumsum(found), pick, side="right")), len(found) - 1)


def call_rule(address: int, values: NDArray[np.float64], rate: float, pick: float) -> int:
    """Call the rule at an address; the action, or RULE_FAILED."""
    return int(_SIGNATURE(int(address))(values.ctypes.data, len(values), rate, pick))


@intrinsic
def _call(typing, address, data, count, rate, pick):  # type: ignore[no-untyped-def] # noqa: ARG001
    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def] # noqa: ARG001
        integer, double = ir.IntType(64), ir.DoubleType()
        kind = ir.FunctionType(integer, [integer, integer, double, double])
        function = builder.inttoptr(values[0], kind.as_pointer())
        return builder.call(function, values[1:])

    numbers = (types.int64, types.int64, types.int64, types.float64, types.float64)
    return types.int64(*numbers), generate


@overload(call_rule)
def _(address, values, rate, pick):  # type: ignore[no-untyped-def] # noqa: ARG001
    return lambda address, values, rate, pick: _call(  # type: ignore[call-arg]
        address, values.ctypes.data, values.shape[0], rate, pick
    )


@compiled
def choose_otherwise(
    q: Floats, observation: int, x: int, rule: int, rate: float, pick: float, position: Longs
) -> int:
    """Choose an action by another rule than ε-greedy, with one random number, or RULE_FAILED."""
    if rule == CALLED:
        action: int = call_rule(position[RULE], q[observation, x], rate, pick)
        return action
    values, total = q[observation, x], 0.0
    best = values.max()
    for other in range(values.shape[0]):
        total += np.exp((values[other] - best) / rate)
    wanted = pick * total
    for other in range(values.shape[0] - 1):
        wanted -= np.exp((values[other] - best) / rate)
        if wanted < 0:
            return other
    return int(values.shape[0]) - 1


@inlined
def choose_action(
    q: Floats,
    observation: int,
    x: int,
    rule: int,
    rate: float,
    explore: float,
    pick: float,
    position: Longs,
) -> int:
    """Choose an action by the exploration rule, with two random numbers, or RULE_FAILED."""
    if rule == EPSILON_GREEDY:
        return choose(q, observation, x, rate, explore, pick)
    return choose_otherwise(q, observation, x, rule, rate, pick, position)
