"""Several tasks in one world: which one is to be done is drawn by lot when an episode begins.

The first step draws the lot and leads to a start of the world; its event is the task's number, and
the union of the machines reads it. Experience of one task is then imagined for all others, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Transition
from cranium.errors import ConversionError, UnknownNameError, WorldError
from cranium.worlds.arguments import check_options
from cranium.worlds.events import as_events
from cranium.worlds.finite import FiniteEnv
from cranium.worlds.protocols import Events, Instances, Outcome, ResetOptions

__all__ = ["TaskLot", "drawn_tasks", "task_of", "union"]

Floats = NDArray[np.float64]

Ints = NDArray[np.int64]

OLD = -1
DRAWN = "lot"
"""The state of the union in which no task is known yet."""
CHUNK = 1 << 20
"""How many random numbers are held at once."""


def _event(index: int) -> str:
    return f"task{index + 1}"


class TaskLot(FiniteEnv[Any, Ints]):
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

    def __init__(self, world: gym.Env[Any, Any], names: Sequence[str]) -> None:
        super().__init__()
        seen = world.observation_space
        if not isinstance(seen, spaces.MultiDiscrete) or not isinstance(world, FiniteEnv):
            raise WorldError(f"a lot needs a world that shows numbers, not {world}")
        self.world = world
        self.names = tuple(names)
        self.vocabulary = (*world.vocabulary, *(_event(i) for i in range(len(names))))
        self.action_space = world.action_space
        self.observation_space = spaces.MultiDiscrete([*seen.nvec, len(self.names) + 2])

    def instances(self) -> Instances:
        """Every task is one."""
        return {name: {"lot": name} for name in self.names}

    def initial(self, options: ResetOptions) -> Sequence[tuple[float, Any]]:
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
        return as_events(self.world.label(state[0], action, after[0]))

    def observe(self, state: Any) -> Ints:
        """What the world shows, and the lot while it is new."""
        inner, lot = state
        if inner is None:
            seen = np.zeros(len(self.observation_space.nvec), np.int64)  # type: ignore[attr-defined]
            seen[-1] = len(self.names) + 1
            return seen
        return np.append(self.world.observe(inner), lot + 1)


def drawn_tasks(lot: TaskLot, seed: int, ended: Floats) -> Ints:
    """Which task each episode had, for a world that was reset with this seed and never again.

    A finite world draws one random number when an episode begins and one for every step, whatever
    is done (see :class:`~cranium.worlds.FiniteEnv`), and compiled loops draw the same. So it is
    known from when the episodes ended, and rewards need not tell it.

    Args:
        lot: The world.
        seed: What it was reset with.
        ended: How many samples had been taken when each episode ended. [E]

    Example:
        >>> from cranium.worlds import OfficeWorld
        >>> lot = TaskLot(OfficeWorld(layout="toro-icarte", mail=None), ["coffee", "mail"])
        >>> drawn_tasks(lot, 3, np.array([20.0, 31.0, 50.0]))
        array([0, 1, 1])
    """
    begun = np.concatenate([[0], ended[:-1]]).astype(np.int64)[: len(ended)]
    places = begun + np.arange(len(ended))  # as many steps, and as many other beginnings
    bounds = np.cumsum([chance for chance, _ in lot.initial({})][:-1])
    rng, found = seeding.np_random(seed)[0], np.zeros(len(ended), np.int64)
    for first in range(0, int(places[-1]) + 1 if len(places) else 0, CHUNK):
        numbers = rng.random(CHUNK)
        here = (places >= first) & (places < first + CHUNK)
        found[here] = np.searchsorted(bounds, numbers[places[here] - first], side="right")
    return found


def task_of(state: str, names: Sequence[str]) -> int:
    """Which task a state of the union belongs to; 0 before it is known.

    Example:
        >>> task_of("b: deliver", ["a", "b"]), task_of("lot", ["a", "b"])
        (1, 0)
    """
    return next((i for i, name in enumerate(names) if state.startswith(f"{name}: ")), 0)


def union(
    machines: Sequence[CountingRewardAutomaton], names: Sequence[str]
) -> CountingRewardAutomaton:
    """One machine for several tasks without counters: it reads which one, then follows it.

    Each task pays what it pays by itself.

    Example:
        >>> from cranium.formats import library
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
    for machine, name, event in zip(machines, names, events, strict=True):
        others = " & ".join(f"!{other}" for other in events if other != event)
        first = Transition(
            source=DRAWN, guard=f"{event} & {others}", target=f"{name}: {machine.initial}"
        )
        transitions.append(first)
        transitions += [
            Transition(
                source=f"{name}: {t.source}",
                target=f"{name}: {t.target}",
                guard=t.guard,
                reward=t.reward,
            )
            for t in machine.transitions
        ]
    pairs = list(zip(machines, names, strict=True))
    known = [p for machine in machines for p in machine.propositions]
    return CountingRewardAutomaton(
        name=", ".join(machine.name for machine in machines),
        propositions=dict.fromkeys([*known, *events]),
        states=[DRAWN, *(f"{name}: {state}" for m, name in pairs for state in m.states)],
        initial=DRAWN,
        terminal=[f"{name}: {state}" for m, name in pairs for state in m.terminal],
        accepting=[f"{name}: {state}" for m, name in pairs for state in m.accepting],
        transitions=transitions,
    )
