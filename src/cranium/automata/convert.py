"""Conversions between machines: Theorem 1.1, and unrolling into a reward machine.

Theorem 1.2, from a reward machine to a CRA, is :meth:`cranium.RewardMachine.as_cra`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from cranium.arguments import check_count
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import as_reward_function
from cranium.automata.reward_machine import RewardMachine
from cranium.automata.successors import Successors
from cranium.automata.transition import MAX_STATE, Configuration, Transition, zero_test
from cranium.errors import ConversionError

__all__ = ["as_cra", "unroll"]

MAX_STATES = 1_000_000


def as_cra(ccra: CountingRewardAutomaton) -> CountingRewardAutomaton:
    """Theorem 1.1: for each constant CRA there is an equivalent CRA.

    U, F, Σ, δ and u₀ stay; every constant x becomes the function f_x that returns x for all
    (s, a, s′).

    Example:
        >>> import cranium
        >>> cra = as_cra(cranium.library.load("anbcn"))
        >>> cra.is_constant, cra.run("A B C", experiences=[("s", "a", "s2")] * 3).total_reward
        (False, 1.0)
    """
    transitions = [replace(t, reward=as_reward_function(t.reward)) for t in ccra.transitions]
    cra = ccra.as_cra() if isinstance(ccra, RewardMachine) else ccra
    return cra.replace(transitions=transitions)


def unroll(
    machine: CountingRewardAutomaton, counter_limit: int, *, max_states: int = MAX_STATES
) -> RewardMachine:
    """Unroll a machine into a reward machine over its configurations with counters ≤ the limit.

    Silent transitions are folded into the reading ones before them. A step after which a counter
    is above the limit ends in the terminal state ``overflow``, without success; it pays what the
    step pays. What a counter is between silent transitions does not matter: a limit is about the
    configurations in which the machine comes to rest, as it is in the product. Configurations that
    end the episode become one state for each terminal state.
    A machine that can take a counter below zero has no reward machine: ``CounterUnderflowError``.

    Args:
        machine: The automaton.
        counter_limit: The largest value of a counter.
        max_states: Refuse to build more states than this.

    Example:
        >>> import cranium
        >>> machine = unroll(cranium.library.load("anbcn"), counter_limit=2)
        >>> machine.states
        ('counting[n=0]', 'counting[n=1]', 'counting[n=2]', 'matching[n=1]', 'matching[n=2]')
        >>> machine.terminal, machine.run("A A B C C").total_reward
        (('done', 'failed', 'overflow'), 1.0)
        >>> machine.run("A A A").configurations[-1].state
        'overflow'
    """
    check_count("a counter limit", counter_limit, least=0)
    return _Unrolling(machine, counter_limit, max_states).machine()


class _Unrolling:
    def __init__(self, machine: CountingRewardAutomaton, limit: int, max_states: int) -> None:
        self.source = machine
        self.limit = limit
        self.max_states = max_states
        self.successors = Successors(machine)
        self.names: dict[Configuration, str] = {}
        self.taken = {*machine.terminal}
        self.overflow = self._find_unused_name("overflow") if machine.counters else ""
        self.queue: deque[Configuration] = deque()
        self.transitions: list[Transition] = []

    def machine(self) -> RewardMachine:
        source = self.source
        self._check_start()
        first = self._name(source.start)
        while self.queue:
            self._visit(self.queue.popleft())
        overflows = any(t.target == self.overflow for t in self.transitions)
        title = f"{(source.name or source.initial)[:150]}, counters up to {self.limit}"
        return RewardMachine(
            name=title if source.counters else source.name,
            propositions=source.propositions,
            initial=first,
            states=self.names.values(),
            terminal=[*source.terminal, *([self.overflow] if overflows else [])],
            accepting=source.accepting,
            otherwise=source.otherwise,
            transitions=self.transitions,
        )

    def _visit(self, here: Configuration) -> None:
        reading, _ = self.successors.choices(here.state, zero_test(here.counters))
        for transition in reading:
            after, reward, _ = self.source.fire(transition, here)
            if self._over(after):
                target = self.overflow
            elif self.source.is_terminal(after):
                target = after.state
            else:
                target = self.names.get(after) or self._name(after)
            self.transitions.append(
                Transition(
                    source=self.names[here],
                    target=target,
                    guard=transition.guard,
                    reward=reward,
                    place=transition.place,
                    number=len(self.transitions) + 1,
                )
            )

    def _over(self, configuration: Configuration) -> bool:
        return bool(configuration.counters) and max(configuration.counters) > self.limit

    def _check_start(self) -> None:
        if self._over(self.source.start):
            raise ConversionError(
                f"silent transitions at reset lead to {self.source.start}, past the limit "
                f"{self.limit}",
                fix="raise the counter limit",
            )

    def _name(self, configuration: Configuration) -> str:
        if len(self.names) >= self.max_states:
            raise ConversionError(
                f"more than {self.max_states:,} configurations are reachable with counters up to "
                f"{self.limit}",
                fix="lower the counter limit (or, in Python, raise max_states)",
            )
        pairs = zip(self.source.counters, configuration.counters, strict=True)
        values = ", ".join(f"{counter}={value}" for counter, value in pairs)
        if len(configuration.state) + len(values) > MAX_STATE - 10:  # the names of many counters
            values = f"#{len(self.names)}"
        base = configuration.state[: MAX_STATE - 50] if values else configuration.state
        name = self._find_unused_name(f"{base}[{values}]" if values else base)
        self.names[configuration] = name
        self.queue.append(configuration)
        return name

    def _find_unused_name(self, name: str) -> str:
        while name in self.taken:
            name += "'"
        self.taken.add(name)
        return name
