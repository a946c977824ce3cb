"""What can happen next: the labels of one configuration, grouped by what they lead to.

A label matters only through the guards that it satisfies, so a configuration has as many outcomes
as enabled transitions, plus one for the labels on which none is. Everything that explores a
machine (checks, unrolling, equivalence) goes through here, and never lists 2^P.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.formula import Formula
from cranium.automata.reward_machine import remaining
from cranium.automata.satisfiability import is_satisfiable
from cranium.automata.trace import Step
from cranium.automata.transition import Configuration, Transition, zero_test
from cranium.errors import CounterUnderflowError, NoTransitionError, RunError, SilentLoopError

__all__ = ["Outcome", "Outcomes", "without_counters"]


class Outcome(NamedTuple):
    """A set of labels, as a formula, and what reading one of them does."""

    guard: Formula
    step: Step | None
    error: RunError | None = None


class Outcomes:
    """The outcomes of a machine's configurations.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("mail-delivery")
        >>> for outcome in Outcomes(machine).of(machine.start):
        ...     print(outcome.guard, "→", outcome.step.configuration.state)
        mail & !person & !decoration → carrying
        person | decoration → failed
        !(mail & !person & !decoration | person | decoration) → no mail
    """

    def __init__(self, machine: CountingRewardAutomaton) -> None:
        self.machine = machine
        self._choices: dict[tuple[str, str], tuple[list[Transition], Formula | None]] = {}

    def of(self, configuration: Configuration) -> list[Outcome]:
        """What can happen in a configuration; nothing can in a terminal one."""
        if self.machine.is_terminal(configuration):
            return []
        reading, rest = self.choices(configuration.state, zero_test(configuration.counters))
        found = [self._take(transition, configuration) for transition in reading]
        if rest is not None:
            found.append(self._otherwise(rest, configuration))
        return found

    def choices(self, state: str, zeros: str) -> tuple[list[Transition], Formula | None]:
        """The transitions that can fire with this zero pattern, and the labels that are left."""
        try:
            return self._choices[state, zeros]
        except KeyError:
            _, enabled = self.machine.select(state, zeros)
            rest = remaining(enabled)
            chosen = (
                [t for t in enabled if is_satisfiable(t.guard)],
                rest if is_satisfiable(rest) else None,
            )
            self._choices[state, zeros] = chosen
            return chosen

    def _take(self, transition: Transition, configuration: Configuration) -> Outcome:
        try:
            return Outcome(transition.guard, self.machine.fire(transition, configuration))
        except (CounterUnderflowError, SilentLoopError) as error:
            return Outcome(transition.guard, None, error)

    def _otherwise(self, rest: Formula, configuration: Configuration) -> Outcome:
        otherwise = self.machine.otherwise
        if otherwise == "error":
            return Outcome(rest, None, NoTransitionError("no transition is enabled"))
        state = configuration.state if otherwise == "stay" else otherwise
        return Outcome(rest, Step(Configuration(state, configuration.counters), 0.0, ()))


def without_counters(
    machine: CountingRewardAutomaton, dropped: Iterable[str]
) -> CountingRewardAutomaton:
    """The same machine without counters that it never tests, which therefore do not matter.

    Example:
        >>> import cranium
        >>> without_counters(cranium.library.load("office"), []).num_counters
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
