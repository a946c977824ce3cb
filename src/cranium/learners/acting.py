"""Act with a policy outside of training: from an observation and ``info`` to an action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from gymnasium import spaces

from cranium.aamdp.encoding import Encoding
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.errors import (
    CraniumError,
    EpisodeEndedError,
    InvalidArgumentError,
    PolicyError,
    WorldError,
    shorten,
)
from cranium.learners.serialisation import encoding_from
from cranium.worlds.observations import conform
from cranium.worlds.protocols import Observation

__all__ = ["Acting", "configuration_of"]

PARTS = {"ground", "machine_state", "counters"}
"""The keys of a product's observation with a ``DictEncoding``."""
ActT_co = TypeVar("ActT_co", covariant=True)


class _CallablePolicy(Protocol[ActT_co]):
    """The parts of a policy that :meth:`Acting.act` uses; its action has the type of a call."""

    @property
    def automaton(self) -> CountingRewardAutomaton: ...

    def __call__(self, observation: Any, configuration: Configuration, /) -> ActT_co: ...

    def _ground_of(self, observation: Observation) -> Observation: ...


class Acting:
    """The part that all policies share: :meth:`act`, and the conversion of observations."""

    automaton: CountingRewardAutomaton
    world: Mapping[str, Any]
    about: Mapping[str, Any]
    product_encoding: Encoding | Mapping[str, Any] | None

    @property
    def observation_space(self) -> spaces.Space[Any] | None:
        """The observation space of the ground environment, if it is known."""
        raise NotImplementedError

    def act(
        self: _CallablePolicy[ActT_co], observation: Observation, info: Mapping[str, Any]
    ) -> ActT_co:
        """Return the greedy action, as the environment numbers it; for use in production.

        Args:
            observation: The ground observation, as an array of any dtype, a list or a tuple; or the
                observation of the product in which the policy was trained.
            info: A mapping with ``machine_state`` and ``counters``: the ``info`` that ``reset`` and
                ``step`` of a product return, or ``status.info`` of a :class:`cranium.Monitor`.

        Raises:
            PolicyError: The observation has another shape or type than those of the environment,
                or the policy does not know it.
            EpisodeEndedError: The machine is in a terminal state.

        Example:
            >>> import cranium, gymnasium
            >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
            >>> policy = cranium.train(env, "planner", steps=2000, until="solved").policy
            >>> observation, info = env.reset(seed=0)
            >>> policy.act(observation, info), policy.act([4, 4, 1], info)
            (1, 1)
        """
        configuration = configuration_of(info, self.automaton)
        return self(self._ground_of(observation), configuration)

    def conformed(self, observation: Observation, *, precisely: bool = True) -> Observation:
        """Convert an observation to the space of the environment; another shape is an error."""
        if self.observation_space is None:
            return observation
        try:
            return conform(observation, self.observation_space, precisely=precisely)
        except WorldError as problem:
            raise PolicyError(problem.message, fix=problem.fix) from None

    def _ground_of(self, observation: Observation) -> Observation:
        """The ground observation, from an observation of the environment or of the product."""
        space = self.observation_space
        if isinstance(observation, Mapping) and PARTS - {"counters"} <= set(observation) <= PARTS:
            own = isinstance(space, spaces.Dict) and set(space.spaces) == set(observation)
            return observation if own else observation["ground"]
        if self.product_encoding is None or not _is_shown(observation, encoding := self._encoding):
            return observation
        if isinstance(space, spaces.Discrete) and isinstance(encoding.space, spaces.Discrete):
            raise PolicyError(
                f"{shorten(observation)} may be an observation of the environment or of the "
                "product, because both are single numbers",
                fix="call policy(ground, configuration), with "
                "ground, configuration = product.encoding.decode(observation)",
            )
        return encoding.decode(observation)[0]

    @property
    def _encoding(self) -> Encoding:
        """The encoding of the product; made when it is needed for the first time."""
        encoding = self.product_encoding
        if isinstance(encoding, Encoding):
            return encoding
        if self.observation_space is None or encoding is None:
            raise PolicyError("the observation space of the environment is not known")
        try:
            made = encoding_from(encoding, self.observation_space, self.automaton)
        except (CraniumError, KeyError, TypeError, ValueError) as problem:
            raise PolicyError(
                f"the encoding of the product cannot be made: {shorten(str(problem))}",
                fix="give the observation of the ground environment",
            ) from None
        object.__setattr__(self, "product_encoding", made)  # in a frozen dataclass, once
        return made


def _is_shown(observation: Observation, encoding: Encoding) -> bool:
    """Whether an observation looks like one of a product with this encoding."""
    try:
        conform(observation, encoding.space)
    except WorldError:
        return False
    return True


def configuration_of(info: object, automaton: CountingRewardAutomaton) -> Configuration:
    """The configuration ⟨u, c⟩ in ``info``; a terminal one is refused.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("anbcn")
        >>> print(configuration_of({"machine_state": "counting", "counters": [2]}, machine))
        ⟨counting, 2⟩
    """
    if not isinstance(info, Mapping) or not {"machine_state", "counters"} <= set(info):
        raise InvalidArgumentError(
            f"info has machine_state and counters, but this is {shorten(info)}",
            fix="give the info of env.reset() or env.step(), or status.info of a cranium.Monitor",
        )
    state, counters = info["machine_state"], info["counters"]
    if info.get("overflow", False):
        raise EpisodeEndedError(
            "a counter passed its limit: the episode is over",
            fix="reset the environment, or the monitor",
        )
    try:
        configuration = automaton.check_configuration((state, counters))
    except CraniumError as problem:
        raise InvalidArgumentError(
            f"info has no configuration of this task: machine_state {shorten(state)}, "
            f"counters {shorten(counters)} ({shorten(str(problem))})",
            fix="give the info of env.reset() or env.step(), or status.info of a cranium.Monitor",
        ) from None
    if automaton.is_terminal(configuration):
        raise EpisodeEndedError(
            f"the machine is in the terminal state {state!r}: the episode is over",
            fix="reset the environment, or the monitor",
        )
    return configuration
