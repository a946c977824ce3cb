"""A cost for every step: the same task, with a negative reward for each label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import isfinite
from numbers import Real
from typing import NamedTuple

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.formula import TRUE, And, Formula, Not
from cranium.automata.formula_classes import any_of
from cranium.automata.program import MAX_LEAVING
from cranium.automata.satisfiability import find_label, is_satisfiable
from cranium.automata.transition import Transition, matches
from cranium.errors import ConversionError, InvalidArgumentError, shorten

__all__ = ["add_step_cost"]

MAX_CASES = 2_000
"""How many cases of labels and zero tests are looked at in one state; people's machines have a
handful, and every pair of the transitions that come of them is compared when a machine is made."""

FEWER = "test fewer counters in this state, or write the price into its transitions"


def add_step_cost(machine: CountingRewardAutomaton, cost: float) -> CountingRewardAutomaton:
    """Return a machine that pays so much less for every label that it reads.

    Labels on which nothing happened get transitions of their own, because those cost, too. Their
    zero patterns tell apart only what the state's own transitions do, so there are few of them,
    however many counters the machine has. Where there would be many, ``ConversionError`` is raised.

    Example:
        >>> import cranium
        >>> machine = add_step_cost(cranium.compile_language("A B"), 0.25)
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
    return machine.replace(transitions=[*paying, *idle])


def _idle(machine: CountingRewardAutomaton, state: str, reward: float) -> Iterator[Transition]:
    """Yield transitions for the labels that a state has none for."""
    if machine.otherwise == "error":
        return
    target = state if machine.otherwise == "stay" else machine.otherwise
    own, rests = machine.outgoing(state), dict[str, list[Formula]]()
    for pattern, guard in _find_uncovered(own, machine.num_counters, state):
        rests.setdefault(pattern, []).append(guard)
    if len(own) + len(rests) > MAX_LEAVING:
        raise ConversionError(
            f"{len(own):,} transitions leave {state!r}, and a price for what it does not react to "
            f"takes {len(rests):,} more: {MAX_LEAVING:,} are allowed",
            fix=FEWER,
        )
    for pattern, guards in rests.items():
        yield Transition(
            source=state, target=target, guard=any_of(guards), zero_pattern=pattern, reward=reward
        )


class _Case(NamedTuple):
    """A set of labels and zero patterns, and the transitions that may still fire there."""

    held: tuple[Formula, ...]
    missed: tuple[Formula, ...]
    pattern: str
    left: list[Transition]

    def is_decided(self, transition: Transition) -> bool:
        """Whether the pattern decides all zero tests of the transition."""
        pairs = zip(transition.zero_pattern, self.pattern, strict=True)
        return all(test in ("*", known) for test, known in pairs)

    def holds(self, transition: Transition) -> bool:
        return transition.guard == TRUE or transition.guard in self.held


def _find_uncovered(
    transitions: Iterable[Transition], num_counters: int, state: str
) -> Iterator[tuple[str, Formula]]:
    """Yield disjoint zero patterns and guards for which none of the transitions is enabled.

    Cases are split by a guard or by the test of one counter, and only where a transition that may
    still fire asks for it. Silent transitions, whose guard is always true, come first: where one is
    enabled, no label is read.
    """
    usable = [t for t in transitions if is_satisfiable(t.guard)]
    usable.sort(key=lambda t: not t.silent)
    cases = [_Case((), (), "*" * num_counters, usable)]
    looked_at = 0
    while cases:
        case = cases.pop()
        looked_at += 1
        if looked_at > MAX_CASES:
            raise ConversionError(
                f"what {state!r} does not react to falls into more than {MAX_CASES:,} cases of "
                "labels and zero tests: a price for each would be too many transitions",
                fix=FEWER,
            )
        if any(case.holds(t) and case.is_decided(t) for t in case.left):
            continue  # this one fires
        fires = [t for t in case.left if case.is_decided(t)]
        missed = (*case.missed, *dict.fromkeys(t.guard for t in fires))
        left = [t for t in case.left if not case.is_decided(t)]
        case = _Case(case.held, missed, case.pattern, left)
        if not left:
            guard = _guard_of(case)
            if guard is not None:
                yield case.pattern, guard
        else:
            cases.extend(_split(case))


def _split(case: _Case) -> Iterator[_Case]:
    """Split a case by the guard of the first transition left, or by a counter that it tests."""
    held, missed, pattern, left = case
    first = left[0]
    if not case.holds(first):
        with_it = [t for t in left if find_label(first.guard, t.guard) is not None]
        yield _Case((*held, first.guard), missed, pattern, with_it)
        without = [t for t in left if t.guard != first.guard]
        yield _Case(held, (*missed, first.guard), pattern, without)
        return
    pairs = zip(first.zero_pattern, pattern, strict=True)
    index = next(i for i, (test, known) in enumerate(pairs) if test != "*" and known == "*")
    for digit in "01":
        narrow = pattern[:index] + digit + pattern[index + 1 :]
        fitting = [t for t in left if matches(t.zero_pattern, narrow)]
        yield _Case(held, missed, narrow, fitting)


def _guard_of(case: _Case) -> Formula | None:
    """Return a short guard for the labels of a case; None if there are none."""
    held = [guard for guard in case.held if guard != TRUE]
    missed = [guard for guard in case.missed if not held or find_label(*held, guard) is not None]
    parts = [*held, *([Not(any_of(missed))] if missed else [])]
    guard = TRUE if not parts else parts[0] if len(parts) == 1 else And(*parts)
    return guard if is_satisfiable(guard) else None
