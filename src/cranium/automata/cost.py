"""A price for every step: the same task, and time costs something."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import isfinite
from numbers import Real

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.formula import Formula
from cranium.automata.outcomes import Outcomes
from cranium.automata.transition import Transition
from cranium.errors import ConversionError, InvalidArgumentError, shorten

__all__ = ["with_step_cost"]


def with_step_cost(machine: CountingRewardAutomaton, cost: float) -> CountingRewardAutomaton:
    """The machine that pays so much less for every label that it reads.

    Labels on which nothing happened get transitions of their own, because those cost, too.

    Example:
        >>> import cranium
        >>> machine = with_step_cost(cranium.compile_language("A B"), 0.25)
        >>> machine.run(["A", (), "B"]).total_reward
        0.25
    """
    if isinstance(cost, bool) or not isinstance(cost, Real) or not isfinite(cost) or cost < 0:
        raise InvalidArgumentError(f"what a step costs is 0 or more, not {shorten(cost)}")
    if not machine.is_constant:
        raise ConversionError(
            f"{machine.name or 'the machine'} has reward functions, which a cost is not taken from",
            fix="take the cost off inside the functions",
        )
    if not cost:
        return machine
    paying = [
        t if t.silent else replace(t, reward=float(t.reward) - cost) for t in machine.transitions
    ]
    idle = [t for state in machine.states for t in _idle(machine, state, -float(cost))]
    return CountingRewardAutomaton(**{**machine._definition(), "transitions": [*paying, *idle]})


def _idle(machine: CountingRewardAutomaton, state: str, reward: float) -> Iterator[Transition]:
    """Transitions for the labels that a state has none for."""
    if machine.otherwise == "error":
        return
    outcomes = Outcomes(machine)
    rests: dict[str, Formula] = {}
    for digits in product("01", repeat=machine.num_counters):
        zeros = "".join(digits)
        silent, _ = machine.select(state, zeros)
        rest = None if silent else outcomes.choices(state, zeros)[1]
        if rest is not None:
            rests[zeros] = rest
    if len(rests) == 2**machine.num_counters and len(set(rests.values())) == 1:
        rests = {"*" * machine.num_counters: next(iter(rests.values()))}
    target = state if machine.otherwise == "stay" else machine.otherwise
    for zeros, rest in rests.items():
        yield Transition(source=state, target=target, guard=rest, zero_pattern=zeros, reward=reward)
