"""Reward machines in the ``.txt`` format of Toro Icarte et al.

    0                                           the initial state
    [2]                                         the terminal states
    (0,1,'f&!n',ConstantRewardFunction(0))      from, to, a formula, a reward

The original reads such a file with ``eval``; here every line is parsed. Where no formula holds the
original machine ends the episode with reward 0: here that is an explicit state, ``failed``. The
format does not say what success is: terminal states into which every transition pays a positive
constant are taken to be accepting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from cranium.automata.formula_parser import parse_formula
from cranium.automata.reward import Reward, RewardFunction, as_reward, find_reward
from cranium.automata.reward_machine import RewardMachine
from cranium.automata.satisfiability import is_satisfiable
from cranium.automata.transition import Transition, otherwise_guard
from cranium.errors import CraniumError, FileFormatError, FormulaSyntaxError, Place

__all__ = ["read_toro_icarte"]

MAX_LINE = 10_000
_STATE = re.compile(r"\s*(-?\d{1,9})\s*\Z")
_STATES = re.compile(r"\s*\[\s*((?:-?\d{1,9}\s*(?:,\s*-?\d{1,9}\s*)*)?)\]\s*\Z")
_ROW = re.compile(
    r"\s*\(\s*(?P<source>-?\d{1,9})\s*,\s*(?P<target>-?\d{1,9})\s*,"
    r"\s*(?P<quote>['\"])(?P<formula>[^'\"]*)(?P=quote)\s*,"
    r"\s*(?P<function>[A-Za-z_]\w*)\s*\((?P<argument>[^()]*)\)\s*\)\s*\Z"
)


def read_toro_icarte(
    text: str,
    *,
    file: str | None = None,
    rewards: Mapping[str, Callable[[Any, Any, Any], float]] | None = None,
) -> RewardMachine:
    """Read a reward machine; state 0 is called ``u0``.

    Reward functions other than ``ConstantRewardFunction`` are given by name in ``rewards``, those
    with an argument as ``"Name(argument)"``.

    Example:
        >>> machine = read_toro_icarte('''0    # initial state
        ... [2]    # terminal state
        ... (0,0,'!f&!n',ConstantRewardFunction(0))
        ... (0,1,'f&!n',ConstantRewardFunction(0))
        ... (1,1,'!g&!n',ConstantRewardFunction(0))
        ... (1,2,'g&!n',ConstantRewardFunction(1))''')
        >>> machine.states, machine.accepting, machine.otherwise
        (('u0', 'u1'), ('u2',), 'failed')
        >>> machine.run("f g").total_reward, machine.run("f n").configurations[-1].state
        (1.0, 'failed')
    """
    lines = [
        (Place(number, 1, file), line.split("#", 1)[0])
        for number, line in enumerate(text.split("\n"), 1)
        if line.split("#", 1)[0].strip()
    ]
    if len(lines) < 2:
        raise FileFormatError(
            "expected a line with the initial state and one with the terminal states",
            place=Place(1, 1, file),
            fix="write 0, then [2], then lines such as (0,1,'a&!b',ConstantRewardFunction(0))",
        )
    initial = _match(_STATE, *lines[0], "the initial state, a number such as 0")[1]
    listed = _match(_STATES, *lines[1], "the terminal states, a list such as [2]")[1]
    ends = [f"u{number.strip()}" for number in listed.split(",") if number.strip()]
    if f"u{initial}" in ends:
        raise FileFormatError(f"the initial state {initial} is terminal", place=lines[0][0])
    rows = [_read_row(place, line, {} if rewards is None else rewards) for place, line in lines[2:]]
    if any(row.target == "u-1" for row in rows) and "u-1" not in ends:
        ends.append("u-1")  # the original's own name for the end
    # As in the original, what a terminal state would do is ignored.
    gone = set(ends)
    return _machine(f"u{initial}", ends, [row for row in rows if row.source not in gone])


def _match(pattern: re.Pattern[str], place: Place, line: str, wanted: str) -> re.Match[str]:
    found = pattern.match(line) if len(line) <= MAX_LINE else None
    if found is None:
        raise FileFormatError(f"expected {wanted}", place=place)
    return found


def _read_row(
    place: Place, line: str, rewards: Mapping[str, Callable[[Any, Any, Any], float]]
) -> Transition:
    row = _match(_ROW, place, line, "a transition such as (0,1,'a&!b',ConstantRewardFunction(0))")
    try:
        return Transition(
            source=f"u{row['source']}",
            target=f"u{row['target']}",
            guard=parse_formula(row["formula"]),
            reward=_read_reward(row["function"], row["argument"].strip(), rewards),
            place=place,
        )
    except CraniumError as problem:
        column = row.start("formula") if isinstance(problem, FormulaSyntaxError) else 0
        within = problem.place.column if problem.place and column else 1
        problem.place, problem.excerpt = place._replace(column=column + within), None
        raise


def _read_reward(
    function: str, argument: str, rewards: Mapping[str, Callable[[Any, Any, Any], float]]
) -> Reward:
    if function == "ConstantRewardFunction":
        try:
            return as_reward(float(argument))
        except ValueError:
            raise FileFormatError(f"{argument!r} is not a constant reward") from None
    return find_reward(f"{function}({argument})" if argument else function, rewards)


def _machine(initial: str, ends: list[str], transitions: list[Transition]) -> RewardMachine:
    states = sorted(
        {initial, *(s for t in transitions for s in (t.source, t.target))} - set(ends),
        key=lambda state: int(state[1:]),
    )
    names = sorted({name for t in transitions for name in t.guard.propositions})
    leaving: dict[str, list[Transition]] = {state: [] for state in states}
    paid: dict[str, list[Reward]] = {end: [] for end in ends}
    for transition in transitions:
        leaving[transition.source].append(transition)
        if transition.target in paid:  # those of terminal states are ignored
            paid[transition.target].append(transition.reward)
    incomplete = any(is_satisfiable(otherwise_guard(found)) for found in leaving.values())
    return RewardMachine(
        propositions=names,
        initial=initial,
        states=states,
        terminal=[*ends, "failed"] if incomplete else ends,
        accepting=[end for end in ends if paid[end] and all(_is_positive(r) for r in paid[end])],
        otherwise="failed" if incomplete else "stay",
        transitions=transitions,
    )


def _is_positive(reward: Reward) -> bool:
    return not isinstance(reward, RewardFunction) and reward > 0
