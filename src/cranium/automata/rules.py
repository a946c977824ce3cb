"""The rules that every machine obeys from construction on.

Each function is one rule; each message shows a witness. What can only be reported (unreachable
states and the like) is in :mod:`cranium.automata.check`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations, islice
from typing import TYPE_CHECKING

from cranium.automata.alphabet import check_unique
from cranium.automata.formula import Formula
from cranium.automata.program import CounterProgram
from cranium.automata.reward import is_zero
from cranium.automata.transition import Configuration, Transition, matches
from cranium.errors import (
    CounterRuleError,
    CounterUnderflowError,
    InvalidNameError,
    NondeterminismError,
    RewardError,
    SilentLoopError,
    StaticSilentLoopError,
    TerminalStateError,
    UnknownNameError,
)

if TYPE_CHECKING:
    from cranium.automata.automaton import CountingRewardAutomaton

__all__ = [
    "check_decrements",
    "check_determinism",
    "check_names",
    "check_reset",
    "check_silent_loops",
]

Overlap = Callable[[Formula, Formula], str | None]
"""Two guards → a label that satisfies both, ready for a message, or None."""

MAX_CYCLES = 10_000
MAX_PAIRS = 1_000_000


def check_decrements(program: CounterProgram) -> None:
    """Check that transitions only decrement counters that their zero pattern excludes from zero."""
    for transition in program.transitions:
        entries = zip(program.counters, transition.zero_pattern, transition.change, strict=True)
        for counter, test, step in entries:
            if step < 0 and test != "1":
                may = "is" if test == "0" else "may be"
                raise CounterRuleError(
                    f"{transition.where} takes {-step} from the counter {counter!r}, "
                    f"which {may} zero",
                    place=transition.place,
                    fix=f"test the counter: if {counter} > 0",
                    path=transition.path("add"),
                )


def check_determinism(program: CounterProgram, overlap: Overlap) -> None:
    """Check that no two transitions of one state can be enabled together."""
    proved: set[tuple[tuple[Formula, str, bool], ...]] = set()
    for state in program.states:
        transitions = program.outgoing(state)
        shape = tuple((t.guard, t.zero_pattern, t.silent) for t in transitions)
        if shape in proved:
            continue
        for one, other in combinations(transitions, 2):
            _check_apart(program, one, other, overlap)
        proved.add(shape)


def _check_apart(
    program: CounterProgram, one: Transition, other: Transition, overlap: Overlap
) -> None:
    if not matches(one.zero_pattern, other.zero_pattern):
        return
    if one.silent or other.silent:
        reading = other if one.silent else one
        witness = "no label" if reading.silent else overlap(reading.guard, reading.guard)
        rule = "a silent transition leaves no choice, so nothing else may be enabled with it"
    else:
        witness = overlap(one.guard, other.guard)
        rule = "at most one transition may be enabled"
    if witness is None:
        return
    both = zip(one.zero_pattern, other.zero_pattern, strict=True)
    zeros = "".join(a if a != "*" else b for a, b in both).replace("*", "0")
    named = ", ".join(
        f"{counter} {'> 0' if zero == '1' else '== 0'}"
        for counter, zero in zip(program.counters, zeros, strict=True)
    )
    raise NondeterminismError(
        f"{one.where} and {other.where} are both enabled on {witness}"
        + (f" with zero pattern [{zeros}] ({named})" if named else "")
        + f": {rule}",
        place=other.place,
        path=other.path("when"),
        fix="make the guards or the zero tests exclude each other",
    )


def check_silent_loops(program: CounterProgram) -> None:
    """Check that no cycle of silent transitions can run for ever.

    A simple cycle with net change d repeats for ever from some configuration exactly if no counter
    loses in it (d ≥ 0) and those that it tests for zero come back to the same value (d = 0).
    Longer, interleaved loops are left to the run, which raises ``SilentLoopError``.
    """
    silent = [t for t in program.transitions if t.silent]
    for cycle in islice(_silent_cycles(silent), MAX_CYCLES):
        start = _endless_from(cycle, program.num_counters)
        if start is not None:
            numbers = ", ".join(str(t.number) for t in cycle)
            raise StaticSilentLoopError(
                f"the silent transitions {numbers} repeat for ever from "
                f"{Configuration(cycle[0].source, start)}",
                place=cycle[0].place,
                path=cycle[0].path("silent"),
                fix="let the loop take from a counter that it tests, or remove silent",
            )


def _silent_cycles(silent: list[Transition]) -> Iterable[list[Transition]]:
    leaving: dict[str, list[int]] = {}
    for j, other in enumerate(silent):
        leaving.setdefault(other.source, []).append(j)
    pairs = ((i, j) for i, one in enumerate(silent) for j in leaving.get(one.target, ()))
    follows = [(i, j) for i, j in islice(pairs, MAX_PAIRS) if _can_follow(silent[i], silent[j])]
    if not follows:
        return
    import networkx

    for cycle in networkx.simple_cycles(networkx.DiGraph(follows)):
        yield [silent[i] for i in cycle]


def _can_follow(one: Transition, other: Transition) -> bool:
    """Whether the zero tests allow ``other`` right after ``one``."""
    entries = zip(one.zero_pattern, one.change, other.zero_pattern, strict=True)
    for test, step, following in entries:
        after_is_zero = test == "0" and step == 0
        after_is_positive = step > 0 or (test == "1" and step == 0)
        if (after_is_zero and following == "1") or (after_is_positive and following == "0"):
            return False
    return True


def _endless_from(cycle: list[Transition], num_counters: int) -> tuple[int, ...] | None:
    """Find counter values from which a cycle repeats for ever, or None if it always ends."""
    start: list[int] = []
    for index in range(num_counters):
        value = _endless_value([(t.zero_pattern[index], t.change[index]) for t in cycle])
        if value is None:
            return None
        start.append(value)
    return tuple(start)


def _endless_value(steps: list[tuple[str, int]]) -> int | None:
    """Find a start value of one counter that passes all tests in every round, or None."""
    total, least = 0, 0
    must_be: set[int] = set()
    for test, step in steps:
        if test == "0":
            must_be.add(-total)
        least = max(least, (1 if test == "1" else 0) - total)
        total += step
        least = max(least, -total)
    if total < 0 or (must_be and (total > 0 or len(must_be) > 1)):
        return None
    value = must_be.pop() if must_be else least
    return value if value >= least else None


def check_names(machine: CountingRewardAutomaton) -> None:
    """Terminal and accepting states, ``otherwise`` and propositions are declared and make sense."""
    ends, names = set(machine.terminal), set(machine.propositions)
    for state in ("stay", "error"):
        if state in ends or state in machine.states:
            raise InvalidNameError(
                f"a state cannot be called {state!r}: 'otherwise' means something else by it",
                path=("terminal" if state in ends else "states",),
            )
    check_unique("accepting state", machine.accepting, key="accepting")
    for state in machine.accepting:
        if state not in ends:
            unknown = UnknownNameError.of("terminal state for 'accepting'", state, machine.terminal)
            raise unknown.at(path=("accepting",))
    if machine.otherwise not in ("stay", "error", *machine.terminal):
        known = ("stay", "error", *machine.terminal)
        unknown = UnknownNameError.of("choice for 'otherwise'", machine.otherwise, known)
        raise unknown.at(path=("otherwise",))
    for transition in machine.transitions:
        if transition.source in ends:
            raise TerminalStateError(
                f"{transition.where} leaves a terminal state: terminal states end the episode",
                place=transition.place,
                fix=f"remove the transition, or {transition.source!r} from terminal",
                path=transition.path("from"),
            )
        for name in sorted(transition.guard.propositions - names):
            where = f"{transition.where}: "
            unknown = UnknownNameError.of("proposition", name, machine.propositions, where)
            raise unknown.at(transition.place, transition.path("when"))


def check_reset(machine: CountingRewardAutomaton) -> Configuration:
    """Check that no reward is paid and nothing ends at reset; return the start configuration."""
    try:
        start, fired = machine.settle(Configuration(machine.initial, (0,) * machine.num_counters))
    except SilentLoopError as loop:
        raise StaticSilentLoopError(
            f"at reset, {loop.message}", place=loop.place, path=loop.path, fix=loop.fix
        ) from None
    except CounterUnderflowError as low:
        raise CounterRuleError(
            f"at reset, {low.message}", place=low.place, path=low.path, fix=low.fix
        ) from None
    for transition in fired:
        if not is_zero(transition.reward):
            raise RewardError(
                f"{transition.where} would pay {transition.reward} at reset, before any action",
                place=transition.place,
                fix="pay it on a transition that reads a label",
                path=transition.path("reward"),
            )
    if machine.is_terminal(start):
        raise TerminalStateError(
            f"silent transitions lead to the terminal state {start.state!r} at reset, "
            "so the episode ends before it begins",
            place=fired[-1].place,
            path=fired[-1].path("to"),
            fix="let the task begin in another state, or read a label before it ends",
        )
    return start
