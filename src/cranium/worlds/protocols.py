"""The interfaces of worlds: what an environment offers so that tasks can be defined in it.

A class follows a protocol by having its members; it does not have to inherit from anything here.

- :class:`World`: a labelled environment. It reports the events of every step.
- :class:`FiniteWorld`: a world with a model, which lists its states, transitions and starts.
- :class:`HasInstances`: a world that comes in several instances, such as "two items of mail".

:class:`~cranium.worlds.FiniteEnv` turns a model into a Gymnasium environment.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import gymnasium as gym

from cranium.errors import LabelError, WorldError, shorten

__all__ = [
    "Events",
    "FiniteWorld",
    "HasInstances",
    "Instances",
    "LabellingFunction",
    "Observation",
    "Outcome",
    "ResetOptions",
    "RewardCallable",
    "StateKey",
    "World",
    "as_events",
    "as_world",
    "events_after_step",
    "instances_of",
]

Events = frozenset[str]
"""The names of the events of one step: a label, by names."""
Observation = object
"""An element of an observation space. Which type that is depends on the environment."""
ResetOptions = Mapping[str, Any]
"""The ``options`` of ``gymnasium.Env.reset``."""
Instances = Mapping[str, ResetOptions]
"""The name of each instance, and the options of ``reset`` that select it."""
LabellingFunction = Callable[[Any, Any, Any], Iterable[str] | str]
"""L(s, a, s′): the names of the events of a transition, given what was observed."""
RewardCallable = Callable[[Any, Any, Any], float]
"""A reward function of (s, a, s′), which are an observation, an action and an observation."""
StateKey = Callable[[gym.Env[Any, Any], Any], Hashable]
"""A function of an environment and its observation that identifies the state of the environment."""
StateT = TypeVar("StateT", bound=Hashable)


class Outcome(NamedTuple):
    """One possible outcome of an action: its probability, the next state, and the termination.

    Example:
        >>> Outcome(0.5, (3, 4))
        Outcome(probability=0.5, state=(3, 4), terminated=False)
    """

    probability: float
    state: Hashable
    terminated: bool = False


@runtime_checkable
class World(Protocol):
    """A labelled environment: a ``gymnasium.Env`` that reports the events of every step.

    A product uses these events if it is given no labelling function.

    Attributes:
        events: The events of the last step; empty after ``reset``.
        vocabulary: The names of all events that can happen, which are the propositions of tasks.

    Example:
        >>> from cranium.worlds import WaterWorld
        >>> isinstance(WaterWorld(), World), isinstance(gym.make("FrozenLake-v1").unwrapped, World)
        (True, False)
    """

    @property
    def events(self) -> Events:
        """The events of the last step; empty after ``reset``."""
        ...

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The names of all events that can happen."""
        ...


@runtime_checkable
class FiniteWorld(World, Protocol[StateT]):
    """A world with a model: its states, its transitions and their probabilities can be listed.

    Such a world is made into arrays (:meth:`cranium.worlds.TabularWorld.of`), in which learners run
    compiled and :func:`cranium.solve` is exact. The arrays are compared with the steps of the
    environment first. The world itself gives no rewards: they are those of the task.

    Attributes:
        state: The current state. States are hashable.
        action_space: The actions, a ``gymnasium.spaces.Discrete``.

    Example:
        >>> from cranium.worlds import LetterEnv, PointWorld
        >>> isinstance(LetterEnv(), FiniteWorld), isinstance(PointWorld(), FiniteWorld)
        (True, False)
    """

    @property
    def state(self) -> StateT:
        """The current state of the environment."""
        ...

    @property
    def action_space(self) -> gym.Space[Any]:
        """The actions, a ``gymnasium.spaces.Discrete``."""
        ...

    def initial(self, options: ResetOptions) -> Sequence[tuple[float, StateT]]:
        """Return the states in which an episode can start, each with its probability."""
        ...

    def outcomes(self, state: StateT, action: int) -> Sequence[Outcome]:
        """Return the outcomes of an action in a state."""
        ...

    def label(self, state: StateT, action: int, after: StateT) -> Iterable[str] | str:
        """Return the events of a transition, L(s, a, s′)."""
        ...

    def observe(self, state: StateT) -> Observation:
        """Return the observation of a state."""
        ...


@runtime_checkable
class HasInstances(Protocol):
    """A world that comes in several instances, each of which a policy is evaluated in.

    Example:
        >>> from cranium.worlds import LetterEnv, WaterWorld
        >>> isinstance(LetterEnv(), HasInstances), isinstance(WaterWorld(), HasInstances)
        (True, False)
    """

    def instances(self) -> Instances:
        """Return the instances; none if every start is one."""
        ...


def instances_of(world: object) -> Instances:
    """Return the instances that a world lists; none if it lists none.

    Example:
        >>> from cranium.worlds import LetterEnv
        >>> instances_of(LetterEnv.experiment((1, 2)))
        {'A once': {'times': {'A': 1}}, 'A 2 times': {'times': {'A': 2}}}
    """
    return world.instances() if isinstance(world, HasInstances) else {}


def as_events(found: Iterable[str] | str) -> Events:
    """Return events as a set of names. Labelling functions return a name or a collection of them.

    Example:
        >>> as_events("mail"), as_events([])
        (frozenset({'mail'}), frozenset())
    """
    if isinstance(found, str):
        return frozenset({str(found)})
    try:
        names: frozenset[Any] = frozenset({None} if isinstance(found, Mapping) else found)
    except TypeError:
        names = frozenset({None})
    if not all(isinstance(name, str) for name in names):
        raise LabelError(
            f"a labelling returns the names of events, not {shorten(found)}",
            fix="return () when nothing happened, and names such as {'mail'} otherwise",
        )
    return names


def as_world(env: gym.Env[Any, Any]) -> World:
    """Return the world inside an environment, which reports its own events.

    Raises:
        WorldError: It reports none, or does not list them.

    Example:
        >>> as_world(gym.make("cranium/Letter-v0")).vocabulary
        ('A', 'C', 'D', 'B')
    """
    base: object = env.unwrapped
    if isinstance(base, World) and base.events is not None:
        return base
    if getattr(base, "events", None) is None:
        raise WorldError(
            f"{type(base).__name__} names no events of its own",
            fix="give a labelling: a function of (s, a, s′) that returns the names of the events "
            "(in a command: --labels MODULE:FUNCTION or --labels FILE.py:FUNCTION)",
        )
    raise WorldError(
        f"{type(base).__name__} names events, but has no vocabulary of them",
        fix="give a labelling, or list all events in its attribute vocabulary",
    )


def events_after_step(
    env: gym.Env[Any, Any],
    labelling: LabellingFunction | None,
    before: Observation,
    action: object,
    after: Observation,
) -> Events:
    """Return the events of the step that an environment has just made.

    Example:
        >>> from cranium.worlds import LetterEnv
        >>> env = LetterEnv()
        >>> before, _ = env.reset(seed=0)
        >>> events_after_step(env, None, before, 0, env.step(0)[0])
        frozenset()
    """
    if labelling is not None:
        return as_events(labelling(before, action, after))
    return as_events(as_world(env).events)
