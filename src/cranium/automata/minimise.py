"""Minimisation of reward machines: partition refinement over symbolic guards."""

from __future__ import annotations

from collections import deque

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.formula import TRUE, Formula
from cranium.automata.formula_classes import FormulaClasses, any_of
from cranium.automata.reward import Reward, is_zero, reward_key
from cranium.automata.reward_machine import RewardMachine
from cranium.automata.successors import Successors
from cranium.automata.transition import Configuration, Transition
from cranium.errors import ConversionError

__all__ = ["minimise"]

Behaviour = list[tuple[Formula, Reward, str | None]]
"""What a state does: labels, reward, next state (None where the machine stops with an error)."""


def minimise(machine: CountingRewardAutomaton) -> RewardMachine:
    """Return the equivalent reward machine with the fewest states.

    States that cannot be reached are left out, and those that no word can tell apart become one,
    which keeps the name of the one nearest to the start.

    Example:
        >>> import cranium
        >>> unrolled = cranium.unroll(cranium.library.load("anbcdn"), counter_limit=3)
        >>> small = minimise(unrolled)
        >>> unrolled.size.states, small.size.states, bool(cranium.equivalent(unrolled, small))
        (10, 10, True)
    """
    if not machine.is_reward_machine:
        raise ConversionError(
            f"only machines without counters and silent transitions are minimised, this has "
            f"{machine.num_counters} counters and {sum(t.silent for t in machine.transitions)} "
            "silent transitions",
            fix="unroll it first",
        )
    refinement = _Refinement(machine)
    refinement.run()
    return refinement.quotient()


class _Refinement:
    def __init__(self, machine: CountingRewardAutomaton) -> None:
        self.source = machine
        self.classes = FormulaClasses()
        self.behaviour = _reachable(machine)
        self.before: dict[str, set[str]] = {state: set() for state in self.behaviour}
        for state, does in self.behaviour.items():
            for _, _, target in does:
                if target is not None:
                    self.before[target].add(state)
        self.block: dict[str, int] = {}
        self.members: list[set[str]] = [set(), set(), set()]
        for state in self.behaviour:
            ends = state in machine.terminal
            number = (0 if state in machine.accepting else 1) if ends else 2
            self.block[state] = number
            self.members[number].add(state)

    def run(self) -> None:
        """Split blocks until the states of each do the same; only what changed is looked at again.

        The members of a block agreed when it was last looked at, so those that nothing happened to
        still agree, and differ from a state before a moved one, which now leads to a new block.
        """
        dirty = {s for s in self.behaviour if s not in self.source.terminal}
        while dirty:
            parts: dict[int, dict[object, set[str]]] = {}
            for state in dirty:
                signature = self._signature(state)
                parts.setdefault(self.block[state], {}).setdefault(signature, set()).add(state)
            moved: set[str] = set()
            for number, groups in parts.items():
                moved |= self._split(number, list(groups.values()))
            dirty = {s for state in moved for s in self.before[state]}

    def _split(self, number: int, groups: list[set[str]]) -> set[str]:
        """Give all groups but the largest a block of their own; the states that moved.

        The states of the block that were not looked at are a group too, and usually the largest.
        """
        largest = max(groups, key=len)
        if len(self.members[number]) - sum(map(len, groups)) < len(largest):
            rest = self.members[number].difference(*groups)
            groups = [group for group in groups if group is not largest]
            groups += [rest] if rest else []
        for states in groups:
            self.block.update(dict.fromkeys(states, len(self.members)))
            self.members.append(states)
            self.members[number] -= states
        return set().union(*groups)

    def _signature(self, state: str) -> object:
        return frozenset(
            (reward_key(reward), target, self.classes.of(guard))
            for (reward, target), guard in self._group_labels(state).items()
        )

    def _group_labels(self, state: str) -> dict[tuple[Reward, int | None], Formula]:
        """The labels of a state by reward and next block."""
        guards: dict[tuple[object, int | None], list[Formula]] = {}
        rewards: dict[object, Reward] = {}
        for guard, reward, target in self.behaviour[state]:
            key = reward_key(reward)
            rewards.setdefault(key, reward)
            block = None if target is None else self.block[target]
            guards.setdefault((key, block), []).append(guard)
        return {
            (rewards[key], block): any_of(formulas) for (key, block), formulas in guards.items()
        }

    def quotient(self) -> RewardMachine:
        """One state for each block."""
        source = self.source
        chosen: dict[int, str] = {}
        for state in self.behaviour:  # breadth first, so the nearest names its block
            chosen.setdefault(self.block[state], state)
        states = [s for s in chosen.values() if s not in source.terminal]
        terminal = [s for s in source.terminal if s in chosen.values()]
        falls = source.otherwise
        if falls in source.terminal:
            # Where every state is covered, the choice is never asked for.
            falls = chosen[self.block[falls]] if falls in self.block else "stay"
        return RewardMachine(
            name=source.name,
            propositions=source.propositions,
            initial=chosen[self.block[source.initial]],
            states=states,
            terminal=terminal,
            accepting=[s for s in terminal if s in source.accepting],
            otherwise=falls,
            transitions=[t for state in states for t in self._edges(state, chosen, falls)],
        )

    def _edges(self, state: str, chosen: dict[int, str], falls: str) -> list[Transition]:
        edges = []
        for (reward, block), guard in self._group_labels(state).items():
            target = None if block is None else chosen[block]
            missing = state if falls == "stay" else falls if falls != "error" else None
            implied = is_zero(reward) and target == missing
            if target is None or implied:
                continue
            whole = TRUE if self.classes.of(guard) == self.classes.of(TRUE) else guard
            edges.append(Transition(source=state, target=target, guard=whole, reward=reward))
        return edges


def _reachable(machine: CountingRewardAutomaton) -> dict[str, Behaviour]:
    """Return the successors of every reachable state, breadth first."""
    successors = Successors(machine)
    behaviour: dict[str, Behaviour] = {}
    queue = deque([machine.initial])
    seen = {machine.initial}
    while queue:
        state = queue.popleft()
        does: Behaviour = []
        for guard, step, _ in successors.of(Configuration(state)):
            target = None if step is None else step.configuration.state
            does.append((guard, 0.0 if step is None else step.reward, target))
            if target is not None and target not in seen:
                seen.add(target)
                queue.append(target)
        behaviour[state] = does
    return behaviour
