"""Multi-task problems: every episode samples one of several tasks in the same world.

The first step of an episode leads to a start of the world, and its event is the number of the task.
The union of the machines reads this event. Every transition is then relabelled for all other tasks,
too.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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
from cranium.worlds.finite import FiniteEnv
from cranium.worlds.protocols import Events, Instances, Outcome, ResetOptions, as_events

__all__ = ["TaskSamplingEnv", "find_task", "recover_sampled_tasks", "unite_machines"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SampledState = tuple[Hashable, int]
"""The state of the world, None before the first step, and the number of the task."""

TASK_KNOWN = -1
"""In place of the number of the task, after the first step."""
NO_TASK_YET = "no task yet"
"""The state of the union before the task is read."""
CHUNK = 1 << 20
"""The number of random numbers that are held at once."""


def _name_task_event(index: int) -> str:
    return f"task{index + 1}"


class TaskSamplingEnv(FiniteEnv[SampledState, Ints]):
    """A world in which the first step of every episode samples a task.

    Args:
        world: The world of the tasks. Its observation space is ``MultiDiscrete``.
        names: The names of the tasks.

    Example:
        >>> from cranium.worlds import OfficeWorld
        >>> office = OfficeWorld(layout="toro-icarte", mail=None)
        >>> world = TaskSamplingEnv(office, ["coffee", "mail"])
        >>> _ = world.reset(seed=0, options={"task": "mail"})
        >>> _ = world.step(0)
        >>> world.events
        frozenset({'task2'})
    """

    def __init__(self, world: gym.Env[Any, Any], names: Sequence[str]) -> None:
        super().__init__()
        seen = world.observation_space
        if not isinstance(seen, spaces.MultiDiscrete) or not isinstance(world, FiniteEnv):
            raise WorldError(
                f"task sampling needs a finite world with MultiDiscrete observations, not {world}"
            )
        self.world = world
        self.names = tuple(names)
        self.vocabulary = (*world.vocabulary, *(_name_task_event(i) for i in range(len(names))))
        self.action_space = world.action_space
        self.observation_space = spaces.MultiDiscrete([*seen.nvec, len(self.names) + 2])

    def instances(self) -> Instances:
        """Every task is an instance."""
        return {name: {"task": name} for name in self.names}

    def initial(self, options: ResetOptions) -> Sequence[tuple[float, SampledState]]:
        """The tasks with equal probabilities; the first step shows which one it is."""
        check_options(options, ("task",))
        wanted = self.names if "task" not in options else (options["task"],)
        for name in wanted:
            if name not in self.names:
                raise UnknownNameError.of("task", name, self.names)
        return [(1 / len(wanted), (None, self.names.index(name))) for name in wanted]

    def outcomes(self, state: SampledState, action: int) -> Sequence[Outcome]:
        """The starts of the world in the first step, then the outcomes of the world."""
        inner, task = state
        if inner is not None:
            found = self.world.outcomes(inner, action)
            return [Outcome(o.probability, (o.state, TASK_KNOWN), o.terminated) for o in found]
        return [Outcome(p, (start, task)) for p, start in self.world.initial({})]

    def label(self, state: SampledState, action: int, after: SampledState) -> Events:
        """The number of the task in the first step, then the events of the world."""
        if state[0] is None:
            return frozenset({_name_task_event(after[1])})
        return as_events(self.world.label(state[0], action, after[0]))

    def observe(self, state: SampledState) -> Ints:
        """The observation of the world, and the task directly after it was sampled."""
        inner, task = state
        if inner is None:
            seen = np.zeros(len(self.observation_space.nvec), np.int64)  # type: ignore[attr-defined]
            seen[-1] = len(self.names) + 1
            return seen
        return np.append(self.world.observe(inner), task + 1)


def recover_sampled_tasks(world: TaskSamplingEnv, seed: int, ended: Floats) -> Ints:
    """Recover which task each episode had, in a world that was seeded once.

    A finite world draws one random number when an episode begins and one for every step, whatever
    the action (see :class:`~cranium.worlds.FiniteEnv`), and compiled loops draw the same. The tasks
    therefore follow from the seed and from when the episodes ended.

    Args:
        world: The world.
        seed: The seed of its first reset.
        ended: The number of samples taken when each episode ended. [E]

    Example:
        >>> from cranium.worlds import OfficeWorld
        >>> office = OfficeWorld(layout="toro-icarte", mail=None)
        >>> world = TaskSamplingEnv(office, ["coffee", "mail"])
        >>> recover_sampled_tasks(world, 3, np.array([20.0, 31.0, 50.0]))
        array([0, 1, 1])
    """
    begun = np.concatenate([[0], ended[:-1]]).astype(np.int64)[: len(ended)]
    places = begun + np.arange(
        len(ended)
    )  # one for each step before, and one for each earlier start
    bounds = np.cumsum([chance for chance, _ in world.initial({})][:-1])
    rng, found = seeding.np_random(seed)[0], np.zeros(len(ended), np.int64)
    for first in range(0, int(places[-1]) + 1 if len(places) else 0, CHUNK):
        numbers = rng.random(CHUNK)
        here = (places >= first) & (places < first + CHUNK)
        found[here] = np.searchsorted(bounds, numbers[places[here] - first], side="right")
    return found


def find_task(state: str, names: Sequence[str]) -> int:
    """Find the task to which a state of the united machine belongs; 0 before it is known.

    Example:
        >>> find_task("b: deliver", ["a", "b"]), find_task("no task yet", ["a", "b"])
        (1, 0)
    """
    return next((i for i, name in enumerate(names) if state.startswith(f"{name}: ")), 0)


def unite_machines(
    machines: Sequence[CountingRewardAutomaton], names: Sequence[str]
) -> CountingRewardAutomaton:
    """Unite machines without counters: the first label says which of them is followed.

    Rewards are those of the single machines.

    Example:
        >>> from cranium.formats import library
        >>> machines = [library.load("toro-coffee"), library.load("toro-mail")]
        >>> machine = unite_machines(machines, ["a", "b"])
        >>> machine.states
        ('no task yet', 'a: fetch coffee', 'a: deliver', 'b: fetch mail', 'b: deliver')
    """
    if len(machines) == 1:
        return machines[0]
    for machine in machines:
        if machine.counters or any(t.silent for t in machine.transitions):
            raise ConversionError(
                f"{machine.name} has counters or silent transitions, and cannot be united"
            )
        if machine.otherwise != "stay":
            raise ConversionError(
                f"{machine.name} does not stay where no transition is enabled, and cannot be united"
            )
    events = [_name_task_event(index) for index in range(len(machines))]
    transitions = []
    for machine, name, event in zip(machines, names, events, strict=True):
        others = " & ".join(f"!{other}" for other in events if other != event)
        first = Transition(
            source=NO_TASK_YET, guard=f"{event} & {others}", target=f"{name}: {machine.initial}"
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
        states=[NO_TASK_YET, *(f"{name}: {state}" for m, name in pairs for state in m.states)],
        initial=NO_TASK_YET,
        terminal=[f"{name}: {state}" for m, name in pairs for state in m.terminal],
        accepting=[f"{name}: {state}" for m, name in pairs for state in m.accepting],
        transitions=transitions,
    )
