"""A description of a machine in plain English, generated from the machine itself."""

from __future__ import annotations

from collections.abc import Iterator

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import RewardFunction, format_number
from cranium.automata.transition import Transition

__all__ = ["restate"]


def restate(machine: CountingRewardAutomaton) -> str:
    """Describe, state by state, what a machine does when one event happens at a time.

    Example:
        >>> from cranium.languages import compile_language
        >>> print(restate(compile_language("mail person never vase")))
        It begins in "await mail".
        "await mail": mail leads to "await person"; person or vase fails.
        "await person": person completes the task and pays 1; mail or vase fails.
        Anything else leaves it where it is.
    """
    lines = [f'It begins in "{machine.start.state}".']
    for state in machine.states:
        own = [t for t in machine.transitions if t.source == state]
        clauses = [clause for t in own for clause in _describe_transition(machine, t)]
        lines.append(f'"{state}": {"; ".join(clauses) or "nothing happens"}.')
    rest = {"stay": "leaves it where it is", "error": "is an error"}
    lines.append(f"Anything else {rest.get(machine.otherwise, f'ends in {machine.otherwise!r}')}.")
    return "\n".join(lines)


def _describe_transition(machine: CountingRewardAutomaton, transition: Transition) -> Iterator[str]:
    """Yield a clause for a transition; none if it needs several events at once."""
    subject = _describe_events(machine, transition)
    if subject:
        effect = _describe_effect(machine, transition)
        yield " ".join([subject, effect, *_describe_zero_tests(machine, transition)])


def _describe_events(machine: CountingRewardAutomaton, transition: Transition) -> str:
    if transition.silent:
        return "it then"
    alphabet, guard = machine.alphabet, transition.guard
    names = [p for p in machine.propositions if guard.evaluate(alphabet.label({p}), alphabet)]
    if guard.evaluate(0, alphabet):
        names.append("none of them")
    return " or ".join(names)


def _describe_effect(machine: CountingRewardAutomaton, transition: Transition) -> str:
    effects = []
    target = transition.target
    for name, amount in zip(machine.counters, transition.change, strict=True):
        if amount:
            effects.append(
                f"adds {amount} to {name}" if amount > 0 else f"takes {-amount} from {name}"
            )
    if target in machine.accepting:
        effects.append("completes the task")
    elif target in machine.terminal:
        effects.append("fails")
    elif target != transition.source:
        effects.append(f'leads to "{target}"')
    reward = transition.reward
    if isinstance(reward, RewardFunction):
        effects.append(f"pays {reward.name}")
    elif reward:
        effects.append(f"pays {format_number(reward)}")
    return " and ".join(effects) or "changes nothing"


def _describe_zero_tests(machine: CountingRewardAutomaton, transition: Transition) -> Iterator[str]:
    tests = {"0": "= 0", "1": "> 0"}
    pairs = zip(machine.counters, transition.zero_pattern, strict=True)
    found = [f"{name} {tests[digit]}" for name, digit in pairs if digit in tests]
    if found:
        yield "if " + " and ".join(found)
