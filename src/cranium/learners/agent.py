"""The interface of agents that a user adds: they act, observe transitions and give a policy.

The learners of this package run compiled where they can. An agent of a user's own is stepped in
Python, with the same checks, evaluations and results.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import gymnasium as gym
import numpy as np
from gymnasium.core import ActType, ObsType
from numpy.typing import NDArray

from cranium.aamdp.planning import find_product
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.automata.transition import Configuration
from cranium.counterfactual.relabel import Relabelled, relabel
from cranium.counterfactual.sets import (
    AnyConfigurationSet,
    ConfigurationArrays,
    configuration_set,
)
from cranium.tables.space import MOST_LISTED, ConfigurationSpace, open_space

__all__ = ["Agent", "AgentFactory", "AgentPolicy", "Problem", "ResumableAgent", "Sample"]

ObsT_contra = TypeVar("ObsT_contra", contravariant=True)
ActT_co = TypeVar("ActT_co", covariant=True)


class Sample(NamedTuple, Generic[ObsType, ActType]):
    """One step of the environment and of the machine, as an agent observes it.

    Configurations and labels are numbers of ``problem.space``. The types of ground observations and
    actions are parameters, as those of ``gymnasium.Env`` are: ``Sample[NDArray[np.int64], int]``.

    Example:
        >>> Sample._fields[:4]
        ('observation', 'configuration', 'action', 'reward')
    """

    observation: ObsType  # of the ground environment
    configuration: int
    action: ActType
    reward: float  # of the product
    next_observation: ObsType
    next_configuration: int
    label: int
    terminated: bool  # by the machine or by the environment
    truncated: bool
    ground_terminated: bool  # by the environment itself
    extra: NDArray[np.float64]  # [1 + F]; the ground reward if it is added, each reward function


@runtime_checkable
class AgentPolicy(Protocol[ObsT_contra, ActT_co]):
    """The interface of a policy: called with the ground observation and the configuration.

    Example:
        >>> isinstance(lambda observation, configuration, rng=None: 0, AgentPolicy)
        True
    """

    def __call__(
        self,
        observation: ObsT_contra,
        configuration: Configuration,
        rng: np.random.Generator | None = None,
    ) -> ActT_co:
        """Return the action."""


@runtime_checkable
class Agent(Protocol[ObsType, ActType]):
    """The interface of an agent. Any object with these four methods will do.

    ``cranium.train`` takes such an object, its class, or the name under which the class was
    registered (:func:`cranium.learners.register`). A class is called with a :class:`Problem` and
    the settings of the user. An agent may have an attribute ``discount``, which evaluations use.

    Example:
        >>> isinstance("cql", Agent)
        False
    """

    def act(self, observation: ObsType, configuration: int) -> ActType:
        """Return the next action of the training episode, exploring as the agent sees fit."""

    def observe(self, sample: Sample[ObsType, ActType]) -> None:
        """Learn from a sample. It is called once after every step."""

    def policy(self) -> AgentPolicy[ObsType, ActType]:
        """Return what was learned, such as a :class:`cranium.learners.Policy`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to a file."""


@runtime_checkable
class ResumableAgent(Protocol):
    """Two methods more of an agent whose training can be resumed from a checkpoint.

    Example:
        >>> class Counting:
        ...     def __init__(self):
        ...         self.visits = np.zeros(3)
        ...
        ...     def state(self):
        ...         return {"visits": self.visits}
        ...
        ...     def restore(self, state):
        ...         self.visits = state["visits"]
        >>> isinstance(Counting(), ResumableAgent)
        True
    """

    def state(self) -> Mapping[str, NDArray[Any]]:
        """Return everything that the agent has learned, as named arrays of numbers.

        The random generator of its :class:`Problem` is saved without being asked for.
        """

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what ``state`` returned. The arrays come from a file: check their shapes."""


@dataclass
class Problem:
    """The task that an agent is to learn, and the tools to relabel its samples.

    Attributes:
        product: The environment with the machine.
        space: The configurations as numbers, and the machine's steps as tables. It grows while
            labels and configurations are met.
        rng: The random numbers of the agent; the same seed gives the same numbers.
        seen: The counter values of configurations in which the agent has acted.

    Example:
        >>> import cranium
        >>> env = gym.make("cranium/Letter-anbcdn-v0")
        >>> problem = Problem.of(env, seed=0)
        >>> problem.action_space, len(problem.space) > 100
        (Discrete(4), True)
    """

    product: AutomatonAugmentedMDP
    space: ConfigurationSpace
    rng: np.random.Generator
    seen: set[tuple[int, ...]] = field(default_factory=set, repr=False)
    _arrays: ConfigurationArrays | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        env: gym.Env[Any, Any],
        *,
        seed: int | np.random.Generator = 0,
        counter_limit: int | None = None,
    ) -> Problem:
        """Make the problem of a product, to construct an agent with before training."""
        product = find_product(env)
        given = counter_limit is not None
        limit = counter_limit if given else product.counter_limit
        space = open_space(product.automaton, limit, None if given else MOST_LISTED)
        return cls(product, space, np.random.default_rng(seed))

    @property
    def observation_space(self) -> gym.Space[Any]:
        """The observations of the ground environment."""
        return self.product.env.observation_space

    @property
    def action_space(self) -> gym.Space[Any]:
        """The actions."""
        return self.product.env.action_space

    def note(self, configuration: int) -> None:
        """Note that the agent acts in a configuration: its counter values are seen from now on."""
        self.seen.add(self.space.decode(configuration).counters)

    def members(
        self, configuration: int, configurations: AnyConfigurationSet = "reachable"
    ) -> NDArray[np.int64]:
        """List the configurations for which a transition is relabelled, the real one first.

        Example:
            >>> import cranium
            >>> problem = Problem.of(gym.make("cranium/Letter-anbcdn-v0"), counter_limit=2)
            >>> [str(problem.space.decode(x)) for x in problem.members(0, "current")]
            ['⟨counting, 0⟩']
        """
        chosen, space = configuration_set(configurations), self.space
        if self._arrays is None or len(self._arrays.machine_state) != len(space):
            self._arrays = ConfigurationArrays.of(space.configurations)
        real = np.array([configuration])
        found = chosen.candidates(self._arrays, real)[0] & ~space.tables.terminal
        if chosen.seen_only:
            found &= [each.counters in self.seen for each in space.configurations]
        found[configuration] = False
        others = np.flatnonzero(found)
        if chosen.sample is not None and chosen.sample < len(others):
            others = self.rng.choice(others, chosen.sample, replace=False)
        return np.concatenate([[configuration], others])

    def relabel(
        self, sample: Sample[Any, Any], configurations: AnyConfigurationSet = "reachable"
    ) -> Relabelled:
        """Relabel a sample with every configuration of a set: counterfactual experience.

        Returns:
            The K counterfactual transitions, the real one first: arrays of the shape [K].
        """
        sources = self.members(sample.configuration, configurations)
        following = self.space.tables.next_configuration[sample.label, sources]
        for x in sources[following < 0].tolist():
            self.space.look(sample.label, x)  # fills the table where it is not known yet
        found = relabel(
            self.space.tables,
            sources[None],
            np.array([sample.label]),
            np.array([sample.ground_terminated]),
            sample.extra[None],
        )
        return Relabelled(*(array[0] for array in found))


AgentFactory = Callable[..., Agent[Any, Any]]
"""A class or function that makes an agent, called with a :class:`Problem` and settings."""
