"""The observations of a product: ⟨s, u, c⟩ as a dictionary, as a vector, or as one number.

An encoding belongs to one product. It declares the observation space, and decodes what it encodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, repeat, starmap
from typing import Any, Literal, SupportsInt, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.aamdp.features import (
    CELLS,
    MAX_FEATURES,
    MAX_NUMBER,
    Cells,
    ObservationNumbers,
    make_observation_features,
)
from cranium.arguments import check_choice, check_count
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.errors import SpaceError, WorldError
from cranium.tables.configurations import OVERFLOW, is_overflow, reachable_configurations
from cranium.worlds.protocols import Observation

__all__ = ["BoxEncoding", "DictEncoding", "Encoding", "TabularEncoding"]

UNLIMITED = 2**31 - 1
"""The bound of a counter when neither a limit nor a horizon gives one."""


class Encoding(ABC):
    """Turns a ground observation and a configuration into an observation, and back.

    A subclass defines ``_make_space``, ``make_encoder`` and ``decode``.

    Attributes:
        space: The observation space of the product.
        ground: The observation space of the environment.
        automaton: The task.
        counter_limit: The greatest value of a counter, if there is one.
        can_overflow: Whether an episode can pass the limit.
        names: The names of the machine states in the order of their numbers; the overflow is last.

    Example:
        >>> import cranium
        >>> encoding = DictEncoding()
        >>> encoding.bind(spaces.Discrete(4), cranium.library.load("anbcn"), counter_limit=9)
        >>> observation = encoding.encode(3, Configuration("matching", (2,)))
        >>> encoding.decode(observation)
        (3, Configuration(state='matching', counters=(2,)))
    """

    space: spaces.Space[Any]

    def bind(
        self,
        ground: spaces.Space[Any],
        automaton: CountingRewardAutomaton,
        counter_limit: int | None,
        *,
        can_overflow: bool = True,
    ) -> None:
        """Fit the encoding to an environment, a machine and a counter limit.

        ``can_overflow`` is False if no episode can pass the limit; then no counterfactual
        configuration is an overflow either.
        """
        if counter_limit is not None and counter_limit > MAX_NUMBER:
            raise SpaceError(
                "a counter limit above 2^62 cannot be encoded",
                fix="lower the counter limit or the horizon",
            )
        self.can_overflow = can_overflow
        self.ground = ground
        self.automaton = automaton
        self.counter_limit = counter_limit
        names = (*automaton.states, *automaton.terminal)
        self.names = (*names, OVERFLOW.state)
        self._numbers = {name: index for index, name in enumerate(names)}
        self.space = self._make_space()

    def encode(self, ground: Observation, configuration: Configuration) -> Observation:
        """Return the observation of ⟨s, u, c⟩."""
        return self.make_encoder(configuration)(ground)

    @abstractmethod
    def decode(self, observation: Observation) -> tuple[Observation, Configuration]:
        """Return the ground observation and the configuration."""

    @abstractmethod
    def make_encoder(self, configuration: Configuration) -> Callable[[Observation], Observation]:
        """Return the function that encodes ground observations in this configuration.

        What depends on the configuration alone is computed here, once.
        """

    @abstractmethod
    def _make_space(self) -> spaces.Space[Any]: ...

    @property
    def max_counter(self) -> int:
        """The greatest value of a counter in an observation."""
        return UNLIMITED if self.counter_limit is None else self.counter_limit

    def state_number(self, configuration: Configuration) -> int:
        """Return the number of the machine state; the overflow has the last one."""
        if is_overflow(configuration):
            return len(self.names) - 1
        return self._numbers[configuration.state]

    def _counters(self, configuration: Configuration) -> NDArray[np.int64]:
        """Return the counters; those of an overflow are unknown, and encoded as the limit."""
        if is_overflow(configuration):
            return np.full(self.automaton.num_counters, self.max_counter, np.int64)
        return np.array(configuration.counters, dtype=np.int64)

    def _configuration(self, state: int, counters: NDArray[np.int64]) -> Configuration:
        if state == len(self.names) - 1:
            return OVERFLOW
        return Configuration(self.names[state], tuple(int(c) for c in counters))


class DictEncoding(Encoding):
    """A dictionary: ``ground``, ``machine_state`` (a number) and ``counters``.

    If the machine has no counters, there is no ``counters``: many learners cannot read an empty
    array.

    Example:
        >>> import cranium
        >>> from cranium.worlds import LetterEnv
        >>> task = cranium.library.load("anbcdn")
        >>> env = cranium.product(LetterEnv.experiment(1), task, horizon=100)
        >>> observation, _ = env.reset(seed=0)
        >>> observation["machine_state"], observation["counters"], observation["ground"]
        (np.int64(0), array([0]), array([4, 4, 1]))
    """

    def _make_space(self) -> spaces.Dict:
        k = self.automaton.num_counters
        parts = {"ground": self.ground, "machine_state": spaces.Discrete(len(self.names))}
        if k:
            parts["counters"] = spaces.Box(0, self.max_counter, (k,), np.int64)
        return spaces.Dict(parts)

    def encode_configuration(
        self, configuration: Configuration
    ) -> tuple[np.int64, Iterator[NDArray[np.int64]] | None]:
        """Return the number of the machine state, and endless copies of the counters (if any)."""
        counters = self._counters(configuration)
        copies = _copies(counters) if len(counters) else None
        return np.int64(self.state_number(configuration)), copies

    def make_encoder(self, configuration: Configuration) -> Callable[[Observation], Observation]:
        """Return the function that encodes ground observations in this configuration."""
        state, counters = self.encode_configuration(configuration)
        if counters is None:
            return lambda ground: {"ground": ground, "machine_state": state}
        return lambda ground: {
            "ground": ground,
            "machine_state": state,
            "counters": next(counters),
        }

    def decode(self, observation: Observation) -> tuple[Observation, Configuration]:
        """Return the ground observation and the configuration."""
        parts = cast(Mapping[str, Any], observation)
        counters = np.asarray(parts.get("counters", ()))
        return parts["ground"], self._configuration(int(parts["machine_state"]), counters)


class BoxEncoding(Encoding):
    """A vector for networks: the ground observation, the machine state one-hot, counters.

    Args:
        counters: The features of the counters: ``"raw"`` is their values; ``"log"`` is log(1 + c);
            ``"bits"`` is for each counter whether it is zero, whether it is not, and its value
            one-hot up to ``clip``. Greater values are encoded as ``clip``.
        clip: The greatest value that ``"bits"`` tells apart. A machine tests only whether a counter
            is zero; with a small ``clip`` networks generalise to values that they never met.
        cells: The features of the integers of a ground observation, such as the cell of a grid:
            ``"one-hot"`` encodes each by itself; ``"joint"`` all together, with one feature for
            every observation; ``"scaled"`` each as a number from 0 to 1. Floats are not changed,
            and with ``"one-hot"`` the integers of a ``Box`` are not changed either.

    The vector has single precision: integers are exact up to 16 million (``"raw"``, and the ground
    observation) or one million (``"log"``).

    Example:
        >>> import cranium
        >>> from cranium.worlds import LetterEnv
        >>> machine = cranium.library.load("anbcdn")
        >>> env = cranium.product(LetterEnv(), machine, encoding=BoxEncoding("log"), horizon=9)
        >>> env.reset(seed=0)[0].shape
        (21,)
    """

    def __init__(
        self,
        counters: Literal["raw", "log", "bits"] = "bits",
        *,
        clip: int = 2,
        cells: Cells = "one-hot",
    ) -> None:
        check_choice("counters are", counters, ("raw", "log", "bits"))
        check_choice("cells are", cells, CELLS)
        self.counters = counters
        self.clip = check_count("clip", clip)
        self.cells = cells

    def _make_space(self) -> spaces.Box:
        self.features = make_observation_features(self.ground, self.cells)
        flat = self.features.space
        k = self.automaton.num_counters
        width = len(self.names)
        if self.counters == "bits":
            if k * (self.clip + 3) > MAX_FEATURES:
                raise SpaceError(
                    f"one-hot counters up to {self.clip:,} need {k * (self.clip + 3):,} features: "
                    f"at most {MAX_FEATURES:,} are allowed",
                    fix="lower clip",
                )
            low, high = np.zeros(k * (self.clip + 3)), np.ones(k * (self.clip + 3))
        else:
            most = float(self.max_counter) if self.counters == "raw" else np.log1p(self.max_counter)
            low, high = np.zeros(k), np.full(k, most)
        self.width = flat.shape[0]
        return spaces.Box(
            np.concatenate([flat.low, np.zeros(width), low]).astype(np.float32),
            _up(np.concatenate([flat.high, np.ones(width), high])),
            dtype=np.float32,
        )

    def encode_configuration(self, configuration: Configuration) -> NDArray[np.float32]:
        """Return the features of a configuration: the last part of an observation."""
        state = np.zeros(len(self.names))
        state[self.state_number(configuration)] = 1
        values = self._counters(configuration)
        if self.counters == "raw":
            shown = values.astype(float)
        elif self.counters == "log":
            shown = np.log1p(values)
        else:
            digits = np.minimum(values, self.clip)[:, None] == np.arange(self.clip + 1)
            zero = (values == 0)[:, None]
            shown = np.concatenate([zero, ~zero, digits], axis=1).ravel()
        return np.concatenate([state, shown]).astype(np.float32)

    def encode_ground(self, ground: Observation) -> NDArray[np.float32]:
        """Return the features of a ground observation: the first part of an observation."""
        return self.features.encode(ground)

    def make_encoder(self, configuration: Configuration) -> Callable[[Observation], Observation]:
        """Return the function that encodes ground observations in this configuration."""
        part = self.encode_configuration(configuration)
        return lambda ground: np.concatenate([self.encode_ground(ground), part])

    def decode(self, observation: Observation) -> tuple[Observation, Configuration]:
        """Return the ground observation and the configuration."""
        vector = np.asarray(observation)
        ground = self.features.decode(vector[: self.width])
        width = len(self.names)
        state = int(np.argmax(vector[self.width : self.width + width]))
        rest = vector[self.width + width :]
        if self.counters == "raw":
            values = np.rint(rest).astype(np.int64)
        elif self.counters == "log":
            values = np.rint(np.expm1(rest.astype(float))).astype(np.int64)
        else:
            digits = rest.reshape(-1, self.clip + 3)[:, 2:]
            values = np.argmax(digits, axis=1).astype(np.int64)
        return ground, self._configuration(state, values)


class TabularEncoding(Encoding):
    """One integer for ⟨s, u, c⟩, for tables. There must be finitely many ground observations.

    It needs a counter limit (a horizon, or ``counter_limit``).

    Example:
        >>> import cranium
        >>> from cranium.worlds import LetterEnv
        >>> machine = cranium.library.load("anbcdn")
        >>> options = {"horizon": 100, "counter_limit": 2, "encoding": TabularEncoding()}
        >>> env = cranium.product(LetterEnv(), machine, **options)
        >>> observation, _ = env.reset(seed=0)
        >>> env.observation_space, env.encoding.decode(observation)[1]
        (Discrete(864), Configuration(state='counting', counters=(0,)))
    """

    def _make_space(self) -> spaces.Discrete:
        if self.counter_limit is None:
            raise WorldError("a table needs a limit for the counters", fix="give a horizon")
        self.observations = ObservationNumbers(self.ground)
        self.configurations = reachable_configurations(self.automaton, self.counter_limit)
        self.index = {x: number for number, x in enumerate(self.configurations)}
        total = self.observations.total * len(self.configurations)
        if total >= MAX_NUMBER:
            raise SpaceError(
                f"{self.observations} observations with {len(self.configurations):,} "
                "configurations are too many to number",
                fix="use another encoding",
            )
        return spaces.Discrete(total)

    def make_encoder(self, configuration: Configuration) -> Callable[[Observation], Observation]:
        """Return the function that encodes ground observations in this configuration."""
        part, count = self.index[configuration], len(self.configurations)
        return lambda ground: np.int64(self.observations.encode(ground) * count + part)

    def decode(self, observation: Observation) -> tuple[Observation, Configuration]:
        """Return the ground observation and the configuration."""
        index, part = divmod(int(cast(SupportsInt, observation)), len(self.configurations))
        return self.observations.decode(index), self.configurations[part]


def _copies(values: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Return endless copies, as rows of larger arrays: copying one by one takes twice as long."""
    return chain.from_iterable(starmap(values[None].repeat, repeat((64, 0))))


def _up(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Round up to single precision, so that an upper bound stays one."""
    single = values.astype(np.float32)
    return np.where(single < values, np.nextafter(single, np.float32(np.inf)), single)
