"""Conversions between machines: Theorem 1.1, and unrolling into a reward machine.

Theorem 1.2, from a reward machine to a CRA, is :meth:`cranium.RewardMachine.as_cra`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import NamedTuple

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.outcomes import Outcomes
from cranium.automata.reward import Reward, add_rewards, as_reward_function
from cranium.automata.reward_machine import RewardMachine
from cranium.automata.transition import Configuration, Transition, zero_test
from cranium.errors import ConversionError, shorten

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
    return CountingRewardAutomaton(**{**ccra._definition(), "transitions": transitions})


def unroll(
    machine: CountingRewardAutomaton, counter_limit: int, *, max_states: int = MAX_STATES
) -> RewardMachine:
    """The reward machine over the configurations that are reachable with counters ≤ the limit.

    Silent transitions are folded into the reading ones before them. A step in which a counter
    passes the limit ends in the terminal state ``overflow``, without success; it pays for what
    fired until then. Configurations that end the episode become one state for each terminal state.

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
    if isinstance(counter_limit, bool) or not isinstance(counter_limit, int) or counter_limit < 0:
        raise ConversionError(f"a counter limit is 0 or more, not {shorten(counter_limit)}")
    return _Unrolling(machine, counter_limit, max_states).machine()


class _Arrival(NamedTuple):
    """Where a transition and the silent ones after it lead; None is past the limit."""

    configuration: Configuration | None
    reward: Reward


class _Unrolling:
    def __init__(self, machine: CountingRewardAutomaton, limit: int, max_states: int) -> None:
        self.source = machine
        self.limit = limit
        self.max_states = max_states
        self.outcomes = Outcomes(machine)
        self.names: dict[Configuration, str] = {}
        self.taken = {*machine.terminal}
        self.overflow = self._unused("overflow")
        self.overflows = False

    def machine(self) -> RewardMachine:
        source, start = self.source, self.source.start
        self._check_start()
        queue = deque([start])
        first = self._name(start)
        transitions: list[Transition] = []
        while queue:
            here = queue.popleft()
            name = self.names[here]
            reading, _ = self.outcomes.choices(here.state, zero_test(here.counters))
            for transition in reading:
                after, reward = self._arrive(transition, here)
                if after is None:
                    target = self.overflow
                    self.overflows = True
                elif source.is_terminal(after):
                    target = after.state
                elif after in self.names:
                    target = self.names[after]
                else:
                    queue.append(after)
                    target = self._name(after)
                transitions.append(
                    Transition(
                        source=name,
                        target=target,
                        guard=transition.guard,
                        reward=reward,
                        place=transition.place,
                        number=len(transitions) + 1,
                    )
                )
        return RewardMachine(
            name=f"{source.name or source.initial}, counters up to {self.limit}"
            if source.counters
            else source.name,
            propositions=source.propositions,
            initial=first,
            states=self.names.values(),
            terminal=[*source.terminal, *([self.overflow] if self.overflows else [])],
            accepting=source.accepting,
            otherwise=source.otherwise,
            transitions=transitions,
        )

    def _arrive(self, transition: Transition, here: Configuration) -> _Arrival:
        after = self.source.apply(transition, here)
        fired = [transition]
        if self._over(after):
            return _Arrival(None, transition.reward)
        for silent, following in self.source.silent_run(after):
            fired.append(silent)
            after = following
            if self._over(after):
                return _Arrival(None, add_rewards(t.reward for t in fired))
        if len(fired) == 1:
            return _Arrival(after, transition.reward)
        return _Arrival(after, add_rewards(t.reward for t in fired))

    def _over(self, configuration: Configuration) -> bool:
        return bool(configuration.counters) and max(configuration.counters) > self.limit

    def _check_start(self) -> None:
        zeros = Configuration(self.source.initial, (0,) * self.source.num_counters)
        for _, after in self.source.silent_run(zeros):
            if self._over(after):
                raise ConversionError(
                    f"silent transitions at reset lead to {after}, past the limit {self.limit}",
                    fix="raise the counter limit",
                )

    def _name(self, configuration: Configuration) -> str:
        if len(self.names) >= self.max_states:
            raise ConversionError(
                f"more than {self.max_states:,} configurations are reachable with counters up to "
                f"{self.limit}",
                fix="lower the counter limit, or raise max_states",
            )
        pairs = zip(self.source.counters, configuration.counters, strict=True)
        values = ", ".join(f"{counter}={value}" for counter, value in pairs)
        name = self._unused(f"{configuration.state}[{values}]" if values else configuration.state)
        self.names[configuration] = name
        return name

    def _unused(self, name: str) -> str:
        while name in self.taken:
            name += "'"
        self.taken.add(name)
        return name
