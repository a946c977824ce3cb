"""Several tasks in one world: which one is to be done is drawn by lot when an episode begins.

The first step draws the lot and leads to a start of the world; its event is the task's number, and
the union of the machines reads it. Experience of one task is then imagined for all others, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import Reward
from cranium.automata.transition import Transition
from cranium.errors import ConversionError, UnknownNameError, WorldError
from cranium.worlds.finite import Events, FiniteWorld, Observation, Outcome, check_options

__all__ = ["TaskLot", "lot_of", "union"]

Floats = NDArray[np.float64]

OLD = -1
TELLING = 1e-9
"""How much more each task pays than the one before, so that a log of returns tells which it was."""


def _event(index: int) -> str:
    return f"task{index + 1}"


class TaskLot(FiniteWorld):
    """A world in which the first step of an episode says which task is to be done.

    Args:
        world: The world itself; what it shows is a vector of numbers.
        names: What the tasks are called.

    Example:
        >>> from cranium.worlds import OfficeWorld
        >>> world = TaskLot(OfficeWorld(layout="toro-icarte", mail=None), ["coffee", "mail"])
        >>> _ = world.reset(seed=0, options={"lot": "mail"})
        >>> _ = world.step(0)
        >>> world.events
        frozenset({'task2'})
    """

    def __init__(self, world: FiniteWorld, names: Sequence[str]) -> None:
        super().__init__()
        if not isinstance(world.observation_space, spaces.MultiDiscrete):
            raise WorldError(f"a lot needs a world that shows numbers, not {world}")
        self.world = world
        self.names = tuple(names)
        self.vocabulary = (*world.vocabulary, *(_event(i) for i in range(len(names))))
        self.action_space = world.action_space
        self.observation_space = spaces.MultiDiscrete(
            [*world.observation_space.nvec, len(self.names) + 2]
        )

    def instances(self) -> Mapping[str, Mapping[str, Any]]:
        """Every task is one."""
        return {name: {"lot": name} for name in self.names}

    def initial(self, options: Mapping[str, Any]) -> Sequence[tuple[float, Any]]:
        """The lots, equally likely; which one it is shows with the first step."""
        check_options(options, ("lot",))
        wanted = self.names if "lot" not in options else (options["lot"],)
        for name in wanted:
            if name not in self.names:
                raise UnknownNameError.of("task", name, self.names)
        return [(1 / len(wanted), (None, self.names.index(name))) for name in wanted]

    def outcomes(self, state: Any, action: int) -> Sequence[Outcome]:
        """First a start of the world, then whatever it does."""
        inner, lot = state
        if inner is not None:
            found = self.world.outcomes(inner, action)
            return [Outcome(o.probability, (o.state, OLD), o.terminated) for o in found]
        return [Outcome(p, (start, lot)) for p, start in self.world.initial({})]

    def label(self, state: Any, action: int, after: Any) -> Events:
        """The task, then the events of the world."""
        if state[0] is None:
            return frozenset({_event(after[1])})
        return self.world.label(state[0], action, after[0])

    def observe(self, state: Any) -> Observation:
        """What the world shows, and the lot while it is new."""
        inner, lot = state
        if inner is None:
            seen = np.zeros(len(self.observation_space.nvec), np.int64)  # type: ignore[attr-defined]
            seen[-1] = len(self.names) + 1
            return seen
        return np.append(self.world.observe(inner), lot + 1)


def lot_of(earned: Floats) -> NDArray[np.int64]:
    """Which task it was, by what it paid; any for those that paid nothing.

    Example:
        >>> lot_of(np.array([1 + 2 * TELLING, 0.0]))
        array([2, 0])
    """
    return np.where(earned > 0, np.rint((earned - 1) / TELLING), 0).astype(np.int64)


def _told_apart(reward: Reward, number: int) -> Reward:
    return reward + number * TELLING if isinstance(reward, float) and reward else reward


def union(
    machines: Sequence[CountingRewardAutomaton], names: Sequence[str]
) -> CountingRewardAutomaton:
    """One machine for several tasks without counters: it reads which one, then follows it.

    Each task pays 1 in the end, as it does by itself, and next to nothing more.

    Example:
        >>> from cranium.automata import library
        >>> machine = union([library.load("toro-coffee"), library.load("toro-mail")], ["a", "b"])
        >>> machine.states
        ('lot', 'a: fetch coffee', 'a: deliver', 'b: fetch mail', 'b: deliver')
    """
    if len(machines) == 1:
        return machines[0]
    for machine in machines:
        if machine.counters or any(t.silent for t in machine.transitions):
            raise ConversionError(f"{machine.name} has counters, or silent transitions")
        if machine.otherwise != "stay":
            raise ConversionError(f"{machine.name} does not stay where it is otherwise")
    events = [_event(index) for index in range(len(machines))]
    transitions = []
    for number, (machine, name, event) in enumerate(zip(machines, names, events, strict=True)):
        others = " & ".join(f"!{other}" for other in events if other != event)
        first = Transition(
            source="lot", guard=f"{event} & {others}", target=f"{name}: {machine.initial}"
        )
        transitions.append(first)
        transitions += [
            Transition(
                source=f"{name}: {t.source}",
                target=f"{name}: {t.target}",
                guard=t.guard,
                reward=_told_apart(t.reward, number),
            )
            for t in machine.transitions
        ]
    pairs = list(zip(machines, names, strict=True))
    known = [p for machine in machines for p in machine.propositions]
    return CountingRewardAutomaton(
        name=", ".join(machine.name for machine in machines),
        propositions=dict.fromkeys([*known, *events]),
        states=["lot", *(f"{name}: {state}" for m, name in pairs for state in m.states)],
        initial="lot",
        terminal=[f"{name}: {state}" for m, name in pairs for state in m.terminal],
        accepting=[f"{name}: {state}" for m, name in pairs for state in m.accepting],
        transitions=transitions,
    )
