"""Configurations under a counter limit: the overflow, and all that can be reached.

A configuration with a counter above the limit is the *overflow* configuration. It is terminal,
without success, and belongs to no machine.
"""

from __future__ import annotations

from collections import deque

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.successors import Successors
from cranium.automata.transition import Configuration
from cranium.errors import InvalidArgumentError, SpaceError

__all__ = [
    "MAX_CONFIGURATIONS",
    "OVERFLOW",
    "apply_limit",
    "check_start",
    "is_overflow",
    "largest_increment",
    "reachable_configurations",
    "too_many_configurations",
]

MAX_CONFIGURATIONS = 300_000
OVERFLOW = Configuration("overflow", (-1,))
"""The overflow configuration. No machine has it, because a counter is never below zero. Use
:func:`is_overflow` to recognise it."""


def is_overflow(configuration: Configuration) -> bool:
    """Whether a configuration is the overflow, to which a counter above its limit leads.

    Example:
        >>> is_overflow(apply_limit(Configuration("u", (3,)), counter_limit=2))
        True
    """
    return configuration == OVERFLOW


def apply_limit(configuration: Configuration, counter_limit: int | None) -> Configuration:
    """Return the configuration, or the overflow if one of its counters is above the limit.

    Example:
        >>> here = Configuration("u", (3,))
        >>> print(apply_limit(here, 3), apply_limit(here, 2))
        ⟨u, 3⟩ ⟨overflow, -1⟩
    """
    if counter_limit is not None and any(c > counter_limit for c in configuration.counters):
        return OVERFLOW
    return configuration


def largest_increment(automaton: CountingRewardAutomaton) -> int:
    """Return the most that one transition adds to a counter.

    Example:
        >>> import cranium
        >>> largest_increment(cranium.library.load("office"))
        1
    """
    return max((max(t.change, default=0) for t in automaton.transitions), default=0)


def check_start(automaton: CountingRewardAutomaton, counter_limit: int | None) -> None:
    """Raise an error if the machine starts with a counter above the limit.

    Example:
        >>> import cranium
        >>> check_start(cranium.library.load("anbcn"), 0)
    """
    if is_overflow(apply_limit(automaton.start, counter_limit)):
        raise InvalidArgumentError(
            f"the machine begins in {automaton.start}, above the counter limit of {counter_limit}",
            fix=f"the limit must be at least {max(automaton.start.counters)}",
        )


def reachable_configurations(
    automaton: CountingRewardAutomaton,
    counter_limit: int,
    *,
    max_configurations: int = MAX_CONFIGURATIONS,
) -> list[Configuration]:
    """List all configurations that the machine can reach with counters up to the limit.

    They come in breadth-first order, from the start, over all labels. The overflow is among them if
    a counter can pass the limit.

    Args:
        automaton: The machine.
        counter_limit: The largest value of a counter.
        max_configurations: Raise ``SpaceError`` if there are more.

    Example:
        >>> import cranium
        >>> print(*reachable_configurations(cranium.library.load("anbcn"), 1))
        ⟨counting, 0⟩ ⟨counting, 1⟩ ⟨failed, 0⟩ ⟨overflow, -1⟩ ⟨matching, 1⟩ ⟨failed, 1⟩ ⟨done, 0⟩
    """
    check_start(automaton, counter_limit)
    successors = Successors(automaton)
    found = {automaton.start: None}
    queue = deque(found)
    while queue:
        for successor in successors.of(queue.popleft()):
            if successor.step is None:
                continue
            after = apply_limit(successor.step.configuration, counter_limit)
            if after not in found:
                if len(found) >= max_configurations:
                    raise too_many_configurations(automaton, counter_limit, max_configurations)
                found[after] = None
                if not is_overflow(after):
                    queue.append(after)
    return list(found)


def too_many_configurations(
    automaton: CountingRewardAutomaton, counter_limit: int | None, limit: int
) -> SpaceError:
    """The error for a machine with more configurations than allowed, with an estimate.

    Example:
        >>> import cranium
        >>> print(too_many_configurations(cranium.library.load("anbcn"), 9, 5).message)
        the machine has more than 5 configurations with counters up to 9; there may be 20, about
        0 MiB of tables for each label
    """
    up_to = "" if counter_limit is None else f" with counters up to {counter_limit:,}"
    estimate = ""
    if counter_limit is not None:
        count = len(automaton.states) * (counter_limit + 1) ** automaton.num_counters
        size = count * 16 / 2**20
        estimate = f"; there may be {count:,}, about {size:,.0f} MiB of tables for each label"
    return SpaceError(
        f"the machine has more than {limit:,} configurations{up_to}{estimate}",
        fix="lower the counter limit or the horizon, or number them as they are met "
        "(a ConfigurationSpace without complete())",
    )
