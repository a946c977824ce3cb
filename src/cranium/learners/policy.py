"""Tabular policies: action values for observations and configurations."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.encoding import Encoding
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration, zero_test
from cranium.errors import InvalidArgumentError, PolicyError, WorldError, shorten
from cranium.learners.acting import Acting
from cranium.learners.policy_files import load_policy, observations_from, save_policy
from cranium.learners.serialisation import configurations_from, space_from, whole
from cranium.worlds.observations import conform, format_observation, observation_key
from cranium.worlds.protocols import Observation

__all__ = ["Policy", "Unknown"]

Unknown = Literal["error", "random", "nearest"]


@dataclass(frozen=True, eq=False)
class Policy(Acting):
    """The greedy policy of a table: O observations, X configurations, A actions.

    :meth:`act` takes an observation and ``info``. Calling the policy takes the ground observation
    and the configuration. Observations with the same numbers are the same observation, for any
    dtype, and as an array, a list or a tuple.

    Attributes:
        q: The values. [O, X, A]
        observations: The observations of the ground environment. [O]
        configurations: The configurations. [X]
        automaton: The task.
        first_action: What the environment calls action 0.
        unknown: What to do about an observation or a configuration that is not among them:
            ``"error"`` raises :class:`~cranium.errors.PolicyError`, ``"random"`` draws an action,
            ``"nearest"`` takes the configuration of the same machine state with the nearest
            counters, zero where they are zero (there is no nearest observation: that is an error).
        discretise: What is done to an observation first.
        world: The fingerprint of the world in which it was trained, part by part.
        about: How it was made: the learner, its settings, the seed, the samples.
        observation_space: The observation space of the ground environment, if it is known. It is
            not used if the observations of the table are not in it.
        product_encoding: The encoding of the product, if it is not a ``DictEncoding``.

    Example:
        >>> import cranium, gymnasium
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
        >>> policy = cranium.train(env, "planner", steps=2000, until="solved").policy
        >>> observation, info = env.reset(seed=0)
        >>> policy(observation["ground"], Configuration(info["machine_state"], info["counters"]))
        1
    """

    q: NDArray[np.float64] = field(repr=False)
    observations: tuple[Any, ...] = field(repr=False)
    configurations: tuple[Configuration, ...] = field(repr=False)
    automaton: CountingRewardAutomaton
    first_action: int = 0
    unknown: Unknown = "error"
    discretise: Callable[[Any], Any] | None = field(default=None, repr=False)
    world: Mapping[str, Any] = field(default_factory=dict, repr=False)
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)
    observation_space: gym.Space[Any] | None = field(default=None, repr=False)
    product_encoding: Encoding | Mapping[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.unknown not in ("error", "random", "nearest"):
            raise InvalidArgumentError(
                f"unknown is error, random or nearest, not {shorten(self.unknown)}"
            )
        numbers = {observation_key(seen): number for number, seen in enumerate(self.observations)}
        object.__setattr__(self, "_numbers", numbers)
        places = {x: number for number, x in enumerate(self.configurations)}
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_conforms", self._is_conforming())

    _numbers: dict[Any, int] = field(init=False, repr=False)
    _places: dict[Configuration, int] = field(init=False, repr=False)
    _conforms: bool = field(init=False, repr=False)

    def _is_conforming(self) -> bool:
        """Whether the observations are in the space: those of some environments are not."""
        if self.observation_space is None:
            return False
        if self.discretise is not None or not self.observations:
            return True
        try:
            conform(self.observations[0], self.observation_space)
        except WorldError:
            return False
        return True

    def __call__(
        self,
        observation: Any,
        configuration: Configuration,
        rng: np.random.Generator | None = None,
    ) -> int:
        """Return the greedy action, as the environment numbers it; the first of several.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> policy = Policy(np.array([[[0.0, 1.0]]]), (7,), (machine.start,), machine)
            >>> policy(7, machine.start)
            1
        """
        o, x = self.number(observation), self.place(configuration)
        if o is None or x is None:
            rng = rng or np.random.default_rng()
            return int(rng.integers(self.q.shape[2])) + self.first_action
        return int(np.argmax(self.q[o, x])) + self.first_action

    @property
    def num_actions(self) -> int:
        """The number of actions.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> Policy(np.zeros((1, 1, 2)), (7,), (machine.start,), machine).num_actions
            2
        """
        return int(self.q.shape[2])

    @property
    def action_space(self) -> gym.Space[Any]:
        """The action space of the environment.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> Policy(np.zeros((1, 1, 2)), (7,), (machine.start,), machine).action_space
            Discrete(2)
        """
        return gym.spaces.Discrete(self.num_actions, start=self.first_action)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a ``.npz`` file, which :meth:`load` reads.

        Example:
            >>> import cranium, tempfile
            >>> machine = cranium.library.load("anbcn")
            >>> policy = Policy(np.array([[[0.0, 1.0]]]), (7,), (machine.start,), machine)
            >>> path = tempfile.mkdtemp() + "/policy.npz"
            >>> policy.save(path)
            >>> Policy.load(path)(7, machine.start)
            1
        """
        save_policy(self, path)

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        env: gym.Env[Any, Any] | None = None,
        *,
        rewards: Mapping[str, Callable[..., float]] | None = None,
        discretise: Callable[[Any], Any] | None = None,
    ) -> Policy:
        """Read a policy.

        Args:
            path: The file.
            env: If it is given, its task and its world must be those that the policy was made for.
            rewards: The reward functions of the task, if it has any.
            discretise: What is to be done to an observation first, if something was in training.

        Example:
            >>> Policy.load("nowhere.npz")
            Traceback (most recent call last):
            cranium.errors.FileAccessError: cannot read nowhere.npz: No such file or directory
              fix: look at the name of the file
        """

        def build(
            about: dict[str, Any],
            arrays: dict[str, NDArray[Any]],
            automaton: CountingRewardAutomaton,
            shared: dict[str, Any],
        ) -> Any:
            if "kind" not in about:
                return _table_from(about, arrays, automaton, discretise, shared)
            from cranium.learners.deep.policy import network_from

            return network_from(about, arrays, automaton, shared)

        discretises = discretise is not None
        return load_policy(path, env, build, rewards=rewards, discretises=discretises)

    def with_unknown(self, unknown: Unknown) -> Policy:
        """Return the same policy with another rule for unknown observations and configurations.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> policy = Policy(np.array([[[0.0, 1.0]]]), (7,), (machine.start,), machine)
            >>> policy.with_unknown("random")(8, machine.start) in (0, 1)
            True
        """
        return replace(self, unknown=unknown)

    def number(self, observation: Observation) -> int | None:
        """Return the row of an observation; None if a random action is to be taken.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> Policy(np.zeros((2, 1, 2)), (7, 8), (machine.start,), machine).number(8)
            1
        """
        if self.discretise is None and type(observation) is np.ndarray:
            number = self._numbers.get(observation_key(observation))  # nearly always
            if number is not None:
                return number
        number = self._find(observation)
        if number is None and self.unknown != "random":
            raise PolicyError(
                f"the observation {format_observation(observation)} was never met in training",
                fix="check that the environment is the one in which the policy was trained, or "
                "train for longer; if any action will do, use "
                'policy.with_unknown("random")',
            )
        return number

    def _find(self, observation: Observation) -> int | None:
        """The number of an observation, if it is known; one that is not in the space is refused."""
        if self.discretise is not None:
            seen = self.conformed(observation) if self._conforms else observation
            return self._numbers.get(observation_key(self.discretise(seen)))
        try:
            number = self._numbers.get(observation_key(observation))
        except TypeError:  # something in it is no key
            number = None
        for precisely in (True, False) if self._conforms else ():
            if number is None:
                seen = self.conformed(observation, precisely=precisely)
                number = self._numbers.get(observation_key(seen))
        return number

    def place(self, configuration: Configuration) -> int | None:
        """Return the column of a configuration; None if a random action is to be taken.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> policy = Policy(np.zeros((1, 1, 2)), (7,), (machine.start,), machine)
            >>> policy.place(Configuration("counting", (9,)))
            Traceback (most recent call last):
            cranium.errors.PolicyError: the configuration ⟨counting, 9⟩ is beyond what was learned
              fix: train with a greater counter_limit, or use policy.with_unknown("nearest")
        """
        place = self._places.get(configuration)
        if place is not None or self.unknown == "random":
            return place
        if self.unknown == "nearest":
            place = self._nearest(configuration)
        if place is None:
            raise PolicyError(
                f"the configuration {configuration} is beyond what was learned",
                fix='train with a greater counter_limit, or use policy.with_unknown("nearest")',
            )
        return place

    def _nearest(self, configuration: Configuration) -> int | None:
        zeros = zero_test(configuration.counters)
        near = [
            (sum(abs(a - b) for a, b in zip(x.counters, configuration.counters, strict=True)), n)
            for x, n in self._places.items()
            if x.state == configuration.state and zero_test(x.counters) == zeros
        ]
        return min(near)[1] if near else None

    def actions(
        self, observations: Sequence[Any], configurations: Sequence[Configuration], any_action: int
    ) -> NDArray[np.int64]:
        """Return the greedy actions of several observations and configurations, from 0: [O, X].

        ``any_action`` stands where one is to be drawn, and ``any_action - 1`` where asking the
        policy would be an error.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> policy = Policy(np.array([[[0.0, 1.0]]]), (7,), (machine.start,), machine)
            >>> policy.actions([7, 8], [machine.start], -1).tolist()
            [[1], [-2]]
        """
        rows, columns = (
            np.array([self._asked(find, thing, any_action) for thing in things], np.int64)
            for find, things in ((self.number, observations), (self.place, configurations))
        )
        best = np.argmax(self.q, axis=2) if self.q.size else np.zeros(self.q.shape[:2], np.int64)
        found = best[np.maximum(rows, 0)[:, None], np.maximum(columns, 0)]
        missing = np.minimum(rows[:, None], columns)
        return np.where(missing < 0, missing, found)

    @staticmethod
    def _asked(find: Any, thing: Any, any_action: int) -> int:
        try:
            number = find(thing)
        except PolicyError:
            return any_action - 1
        return any_action if number is None else int(number)


def _table_from(
    about: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    automaton: CountingRewardAutomaton,
    discretise: Callable[[Any], Any] | None,
    shared: dict[str, Any],
) -> Policy:
    """Make the policy that a file describes; a wrong description raises ``ValueError``."""
    values = arrays["q"]
    seen = observations_from(about["observations"], arrays)
    known = configurations_from(about["configurations"])
    shape = (len(seen), len(known))
    if values.ndim != 3 or values.shape[:2] != shape or values.dtype != np.float64:
        raise ValueError(f"values of the shape {values.shape} for {shape}")
    if not values.shape[2] or not np.isfinite(values).all():
        raise ValueError("values that are not finite, or no actions")
    space = about.get("space")  # older files have none
    return Policy(
        values,
        seen,
        known,
        automaton,
        whole(about["first_action"]),
        discretise=discretise,
        observation_space=None if space is None else space_from(space),
        **shared,
    )
