"""Warnings about machines that are valid, but probably not what was meant.

Construction already refuses what is wrong in every case (:mod:`cranium.automata.rules`). These
are findings: each has a severity, says where, and what to do. With counters reachability is
undecidable in general, so a finding says "not found within the bound" where it is not proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cranium.arguments import check_count
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.satisfiability import find_label, is_satisfiable
from cranium.automata.search import Abstraction, SearchResult, abstract, explore
from cranium.automata.successors import drop_counters
from cranium.automata.transition import zero_test
from cranium.errors import NoTransitionError, Place

__all__ = ["Finding", "check"]

Severity = Literal["error", "warning", "info"]
_ORDER: list[Severity] = ["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to look at.

    Attributes:
        severity: ``"error"`` (the machine cannot do its task, or will stop with an error),
            ``"warning"`` (probably not meant) or ``"info"``.
        code: A short, stable name of the rule.
        message: What was found.
        fix: What to do about it.
        place: Where in the file, if the machine came from one.

    Example:
        >>> print(Finding("warning", "untested-counter", "'n' is never tested", "test it"))
        warning: 'n' is never tested [untested-counter]
          fix: test it
    """

    severity: Severity
    code: str
    message: str
    fix: str
    place: Place | None = None

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.severity}: {self.message} [{self.code}]\n  fix: {self.fix}"


def check(machine: CountingRewardAutomaton, *, bound: int = 1000) -> tuple[Finding, ...]:
    """Find parts of a machine that are valid but probably not meant, the worst first.

    Args:
        machine: The machine.
        bound: How many configurations to explore where counters make reachability undecidable.

    Example:
        >>> import cranium
        >>> cranium.check(cranium.library.load("anbcn"))
        ()
        >>> machine = cranium.RewardMachine(
        ...     propositions=["A", "B"], initial="u", terminal=["end"], accepting=["end"],
        ...     transitions=[cranium.Transition(source="u", guard="A")],
        ... )
        >>> [finding.code for finding in cranium.check(machine)]
        ['no-success', 'unreachable-state', 'dead-end', 'unused-proposition']
    """
    check_count("the bound", bound)
    reduced = drop_counters(machine, _never_tested(machine))
    facts = _Facts(machine, explore(reduced, bound), abstract(reduced), bound, _near(machine))
    rules = (_troubles, _success, _states, _dead_ends, _transitions, _counters, _propositions)
    found = [finding for rule in rules for finding in rule(facts)]
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))


@dataclass(frozen=True, slots=True)
class _Facts:
    machine: CountingRewardAutomaton
    found: SearchResult
    may: Abstraction | None
    bound: int
    near: dict[str, Place | None]

    def is_unreached(self, state: str) -> bool:
        return state not in self.found.passed

    def is_proved_unreachable(self, state: str) -> bool:
        return self.found.complete or (self.may is not None and state not in self.may.states)

    @property
    def within(self) -> str:
        return (
            f"not found within {self.bound:,} configurations, "
            "which does not prove that there is none"
        )


def _never_tested(machine: CountingRewardAutomaton) -> list[str]:
    return [
        counter
        for index, counter in enumerate(machine.counters)
        if all(t.zero_pattern[index] == "*" for t in machine.transitions)
    ]


def _troubles(facts: _Facts) -> Iterator[Finding]:
    """Runs that end in an error."""
    for where, guard, error in facts.found.troubles.values():
        word = facts.found.word_to(where, guard)
        if isinstance(error, NoTransitionError):
            zeros = zero_test(where.counters)
            label = facts.machine.alphabet.format(
                facts.machine.alphabet.label(find_label(guard) or ())
            )
            yield Finding(
                "warning",
                "uncovered-label",
                f"in {where.state!r}"
                + (f" with zero pattern [{zeros}]" if zeros else "")
                + f" no transition is enabled on {label}, and otherwise is 'error' (word: {word})",
                f"cover {guard}, or say otherwise: stay",
                facts.near.get(where.state),
            )
        else:
            yield Finding(
                "error",
                "runtime-error",
                f"the word {word} ends in an error: {error.message}",
                error.fix or "change the transition",
                error.place,
            )


def _success(facts: _Facts) -> Iterator[Finding]:
    """No way to an accepting state."""
    machine = facts.machine
    if not machine.accepting:
        severity: Severity = "warning" if machine.terminal else "info"
        yield Finding(
            severity,
            "no-accepting-state",
            "no terminal state is accepting, so success is never reported",
            "name the terminal states that mean success: accepting: [...]",
            machine.place_of("accepting") or machine.place_of("terminal"),
        )
    elif all(map(facts.is_unreached, machine.accepting)):
        names = ", ".join(map(repr, machine.accepting))
        if all(map(facts.is_proved_unreachable, machine.accepting)):
            yield Finding(
                "error",
                "no-success",
                f"no word leads to success ({names})",
                "look at the guards and zero tests on the way to it",
                machine.place_of("accepting"),
            )
        else:
            yield Finding(
                "warning",
                "success-not-found",
                f"a word that leads to success ({names}) was {facts.within}",
                "raise the bound, or look at the zero tests on the way to it",
                machine.place_of("accepting"),
            )


def _states(facts: _Facts) -> Iterator[Finding]:
    """States that no run reaches."""
    for state in filter(facts.is_unreached, (*facts.machine.states, *facts.machine.terminal)):
        if facts.is_proved_unreachable(state):
            yield Finding(
                "warning",
                "unreachable-state",
                f"the state {state!r} cannot be reached",
                "remove it, or add a transition that enters it",
                facts.near.get(state),
            )
        else:
            yield Finding(
                "info",
                "state-not-found",
                f"a way to the state {state!r} was {facts.within}",
                "raise the bound, or look at the zero tests on the way to it",
                facts.near.get(state),
            )


def _dead_ends(facts: _Facts) -> Iterator[Finding]:
    """States from which no terminal state can be reached."""
    machine, found = facts.machine, facts.found
    if not machine.terminal:
        return
    live = {configuration.state for configuration in found.reaching(machine.terminal)}
    may = facts.may.states_reaching(machine.terminal) if facts.may else None
    settled = {configuration.state for configuration in found.edges}
    for state in machine.states:
        if state in live or state not in settled:
            continue
        if found.complete or (may is not None and state not in may):
            yield Finding(
                "warning",
                "dead-end",
                f"no terminal state can be reached from {state!r}",
                "add a transition, or make the state terminal",
                facts.near.get(state),
            )
        else:
            yield Finding(
                "info",
                "end-not-found",
                f"a way from {state!r} to a terminal state was {facts.within}",
                "raise the bound, or look at the zero tests on the way",
                facts.near.get(state),
            )


def _transitions(facts: _Facts) -> Iterator[Finding]:
    """Transitions that never fire, though their state is reached."""
    for transition in facts.machine.transitions:
        if transition.number in facts.found.fired or facts.is_unreached(transition.source):
            continue
        excluded = facts.may is not None and transition.number not in facts.may.fired
        if not transition.silent and not is_satisfiable(transition.guard):
            why = f"no label satisfies its guard {transition.guard}"
        elif facts.found.complete or excluded:
            why = "its zero tests never fit when its state is reached"
        else:
            continue
        yield Finding(
            "warning",
            "never-fires",
            f"{transition.where} can never fire: {why}",
            "remove it, or correct it",
            transition.place,
        )


def _counters(facts: _Facts) -> Iterator[Finding]:
    """Counters that decide nothing."""
    untested = _never_tested(facts.machine)
    for index, counter in enumerate(facts.machine.counters):
        changed = any(t.change[index] for t in facts.machine.transitions)
        if counter in untested:
            yield Finding(
                "warning",
                "untested-counter",
                f"the counter {counter!r} is never tested, so it decides nothing",
                "test it, or remove it",
                facts.machine.place_of("counters", index),
            )
        if not changed:
            yield Finding(
                "warning",
                "unchanged-counter",
                f"the counter {counter!r} is never changed, so it is always zero",
                "change it, or remove it",
                facts.machine.place_of("counters", index),
            )


def _propositions(facts: _Facts) -> Iterator[Finding]:
    used = {name for t in facts.machine.transitions for name in t.guard.propositions}
    for index, name in enumerate(facts.machine.propositions):
        if name not in used:
            yield Finding(
                "info",
                "unused-proposition",
                f"the proposition {name!r} occurs in no guard",
                "remove it, or use it",
                facts.machine.place_of("propositions", index),
            )


def _near(machine: CountingRewardAutomaton) -> dict[str, Place | None]:
    """Where each state is declared, or the first transition that leaves or enters it."""
    near: dict[str, Place | None] = {}
    for key, names in (("states", machine.states), ("terminal", machine.terminal)):
        for index, name in enumerate(names):
            if place := machine.place_of(key, index):
                near[name] = place
    for transition in machine.transitions:
        near.setdefault(transition.source, transition.place)
        near.setdefault(transition.target, transition.place)
    return near
