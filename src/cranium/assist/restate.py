"""A machine in plain English, made from the machine itself and not from what a model said."""

from __future__ import annotations

from collections.abc import Iterator

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import RewardFunction, format_number
from cranium.automata.transition import Transition

__all__ = ["restate"]


def restate(machine: CountingRewardAutomaton) -> str:
    """Say, state by state, what a machine does when one event happens at a time.

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
        clauses = [clause for t in own for clause in _clause(machine, t)]
        lines.append(f'"{state}": {"; ".join(clauses) or "nothing happens"}.')
    rest = {"stay": "leaves it where it is", "error": "is an error"}
    lines.append(f"Anything else {rest.get(machine.otherwise, f'ends in {machine.otherwise!r}')}.")
    return "\n".join(lines)


def _clause(machine: CountingRewardAutomaton, transition: Transition) -> Iterator[str]:
    """What one transition does; nothing, if it takes several events at once."""
    who = _events(machine, transition)
    if who:
        yield " ".join([who, *_does(machine, transition), *_if(machine, transition)])


def _events(machine: CountingRewardAutomaton, transition: Transition) -> str:
    if transition.silent:
        return "it then"
    alphabet, guard = machine.alphabet, transition.guard
    names = [p for p in machine.propositions if guard.evaluate(alphabet.label({p}), alphabet)]
    if guard.evaluate(0, alphabet):
        names.append("none of them")
    return " or ".join(names)


def _does(machine: CountingRewardAutomaton, transition: Transition) -> Iterator[str]:
    done = []
    target = transition.target
    for name, amount in zip(machine.counters, transition.change, strict=True):
        if amount:
            done.append(
                f"adds {amount} to {name}" if amount > 0 else f"takes {-amount} from {name}"
            )
    if target in machine.accepting:
        done.append("completes the task")
    elif target in machine.terminal:
        done.append("fails")
    elif target != transition.source:
        done.append(f'leads to "{target}"')
    reward = transition.reward
    if isinstance(reward, RewardFunction):
        done.append(f"pays {reward.name}")
    elif reward:
        done.append(f"pays {format_number(reward)}")
    yield " and ".join(done) or "changes nothing"


def _if(machine: CountingRewardAutomaton, transition: Transition) -> Iterator[str]:
    tests = {"0": "= 0", "1": "> 0"}
    pairs = zip(machine.counters, transition.zero_pattern, strict=True)
    found = [f"{name} {tests[digit]}" for name, digit in pairs if digit in tests]
    if found:
        yield "if " + " and ".join(found)
