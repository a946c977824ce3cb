"""Symbolic successors: the labels of one configuration, grouped by the step that they lead to.

A label matters only through the guards that it satisfies, so a configuration has as many successors
as enabled transitions, plus one for the labels on which none is. Everything that explores a
machine (checks, unrolling, equivalence) goes through here, and never lists 2^P.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.formula import Formula
from cranium.automata.satisfiability import is_satisfiable
from cranium.automata.trace import Step
from cranium.automata.transition import Configuration, Transition, otherwise_guard, zero_test
from cranium.errors import CounterUnderflowError, NoTransitionError, RunError, SilentLoopError

__all__ = ["Successor", "Successors", "drop_counters"]


class Successor(NamedTuple):
    """A set of labels, as a formula, and the step or the error that they lead to."""

    guard: Formula
    step: Step | None
    error: RunError | None = None


class Successors:
    """Computes the successors of a machine's configurations.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("mail-delivery")
        >>> for successor in Successors(machine).of(machine.start):
        ...     print(successor.guard, "→", successor.step.configuration.state)
        mail & !person & !decoration → carrying
        person | decoration → failed
        !(mail & !person & !decoration | person | decoration) → no mail
    """

    def __init__(self, machine: CountingRewardAutomaton) -> None:
        self.machine = machine
        self._choices: dict[tuple[str, str], tuple[list[Transition], Formula | None]] = {}

    def of(self, configuration: Configuration) -> list[Successor]:
        """Return the successors of a configuration; a terminal one has none."""
        if self.machine.is_terminal(configuration):
            return []
        reading, rest = self.choices(configuration.state, zero_test(configuration.counters))
        found = [self._take(transition, configuration) for transition in reading]
        if rest is not None:
            found.append(self._otherwise(rest, configuration))
        return found

    def choices(self, state: str, zeros: str) -> tuple[list[Transition], Formula | None]:
        """Return the transitions that can fire with this Z(c), and a guard for all other labels."""
        try:
            return self._choices[state, zeros]
        except KeyError:
            _, enabled = self.machine.select(state, zeros)
            rest = otherwise_guard(enabled)
            chosen = (
                [t for t in enabled if is_satisfiable(t.guard)],
                rest if is_satisfiable(rest) else None,
            )
            self._choices[state, zeros] = chosen
            return chosen

    def _take(self, transition: Transition, configuration: Configuration) -> Successor:
        try:
            return Successor(transition.guard, self.machine.fire(transition, configuration))
        except (CounterUnderflowError, SilentLoopError) as error:
            return Successor(transition.guard, None, error)

    def _otherwise(self, rest: Formula, configuration: Configuration) -> Successor:
        otherwise = self.machine.otherwise
        if otherwise == "error":
            return Successor(rest, None, NoTransitionError("no transition is enabled"))
        state = configuration.state if otherwise == "stay" else otherwise
        return Successor(rest, Step(Configuration(state, configuration.counters), 0.0, ()))


def drop_counters(
    machine: CountingRewardAutomaton, dropped: Iterable[str]
) -> CountingRewardAutomaton:
    """Return the machine without some counters, which it never tests.

    Example:
        >>> import cranium
        >>> drop_counters(cranium.library.load("office"), []).num_counters
        2
    """
    gone = set(dropped)
    if not gone:
        return machine
    kept = [i for i, counter in enumerate(machine.counters) if counter not in gone]
    return machine.replace(
        counters=[machine.counters[i] for i in kept],
        transitions=[
            replace(
                t,
                zero_pattern="".join(t.zero_pattern[i] for i in kept),
                change=tuple(t.change[i] for i in kept),
            )
            for t in machine.transitions
        ],
    )
