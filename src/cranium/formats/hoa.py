"""Machines without counters in the Hanoi Omega-Automata format (HOA v1).

The automaton's infinite words are those that reach an accepting state: terminal states loop for
ever, and the accepting ones are visited infinitely often. Rewards are comments.
"""

from __future__ import annotations

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.formula import Constant, Formula, Not, Or, Proposition
from cranium.automata.satisfiability import is_satisfiable
from cranium.automata.transition import otherwise_guard
from cranium.errors import ConversionError

__all__ = ["to_hoa"]


def to_hoa(machine: CountingRewardAutomaton) -> str:
    """Write a machine without counters and silent transitions as HOA.

    Example:
        >>> import cranium
        >>> print(to_hoa(cranium.library.load("mail-delivery")).splitlines()[0])
        HOA: v1
    """
    if not machine.is_reward_machine:
        raise ConversionError(
            f"HOA has no counters and no silent transitions; this machine has "
            f"{machine.num_counters} counters and "
            f"{sum(t.silent for t in machine.transitions)} silent transitions",
            fix="unroll it first: cranium unroll FILE --limit N -o OUT.hoa",
        )
    states = [*machine.states, *machine.terminal]
    number = {state: index for index, state in enumerate(states)}
    complete = "" if machine.otherwise == "error" else " complete"
    aps = "".join(f' "{name}"' for name in machine.propositions)
    lines = [
        "HOA: v1",
        f"name: {_quote(machine.name or 'machine')}",
        'tool: "cranium"',
        f"States: {len(states)}",
        f"Start: {number[machine.initial]}",
        f"AP: {len(machine.propositions)}{aps}",
        "acc-name: Buchi",
        "Acceptance: 1 Inf(0)",
        f"properties: trans-labels explicit-labels state-acc deterministic{complete}",
        "--BODY--",
    ]
    for state in states:
        mark = " {0}" if state in machine.accepting else ""
        lines.append(f"State: {number[state]} {_quote(state)}{mark}")
        lines.extend(_edges(machine, state, number))
    return "\n".join([*lines, "--END--", ""])


def _edges(machine: CountingRewardAutomaton, state: str, number: dict[str, int]) -> list[str]:
    if state in machine.terminal:
        return [f"[t] {number[state]}"]
    index = {name: position for position, name in enumerate(machine.propositions)}
    edges = []
    for transition in machine.outgoing(state):
        comment = f" /* reward {transition.reward} */" if transition.reward != 0 else ""
        comment = comment if comment.count("*/") <= 1 else ""
        edges.append(f"[{_label(transition.guard, index)}] {number[transition.target]}{comment}")
    rest = otherwise_guard(machine.outgoing(state))
    if machine.otherwise != "error" and is_satisfiable(rest):
        target = state if machine.otherwise == "stay" else machine.otherwise
        edges.append(f"[{_label(rest, index)}] {number[target]}")
    return edges


def _label(formula: Formula, index: dict[str, int], inside: bool = False) -> str:
    if isinstance(formula, Constant):
        return "t" if formula.value else "f"
    if isinstance(formula, Proposition):
        return str(index[formula.name])
    if isinstance(formula, Not):
        return "!" + _label(formula.operands[0], index, inside=True)
    sign = " | " if isinstance(formula, Or) else " & "
    text = sign.join(_label(operand, index, inside=True) for operand in formula.operands)
    return f"({text})" if inside else text


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
