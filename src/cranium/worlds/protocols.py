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
