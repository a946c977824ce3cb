"""How ⟨s, u, c⟩ is shown to a learner: as a dictionary, as a vector, or as one number.

An encoding is made for one product; it declares its space, and what it encodes it can decode.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import chain, repeat, starmap
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.aamdp.features import (
    CELLS,
    MAX_FEATURES,
    MAX_NUMBER,
    Cells,
    Numbers,
    make_observation_features,
)
from cranium.arguments import check_choice, check_count
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.errors import SpaceError, WorldError
from cranium.tables.configurations import OVERFLOW, is_overflow, reachable_configurations

__all__ = ["BoxEncoding", "DictEncoding", "Encoding", "TabularEncoding"]

UNLIMITED = 2**31 - 1
"""The bound of a counter when neither a limit nor a horizon gives one."""


class Encoding(ABC):
    """Turns a ground observation and a configuration into an observation, and back.

    Example:
        >>> import cranium
        >>> encoding = DictEncoding()
        >>> encoding.bind(spaces.Discrete(4), cranium.library.load("anbcn"), counter_limit=9)
        >>> shown = encoding.encode(3, Configuration("matching", (2,)))
        >>> encoding.decode(shown)
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
        """Fit it to an environment, a machine and a limit of its counters.

        ``can_overflow`` is False if the limit is one that no episode can pass: then nobody should
        imagine that.
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

    def encode(self, ground: Any, configuration: Configuration) -> Any:
        """The observation of ⟨s, u, c⟩."""
        return self.join(ground, self.encode_configuration(configuration))

    @abstractmethod
    def decode(self, observation: Any) -> tuple[Any, Configuration]:
        """The ground observation and the configuration."""

    @abstractmethod
    def _make_space(self) -> spaces.Space[Any]: ...

    @abstractmethod
    def encode_configuration(self, configuration: Configuration) -> Any:
        """What of an observation depends on the configuration alone."""

    @abstractmethod
    def join(self, ground: Any, part: Any) -> Any:
        """An observation from the ground observation and the machine's part."""

    def make_encoder(self, configuration: Configuration) -> Callable[[Any], Any]:
        """What makes the observation of ⟨s, u, c⟩ from that of s: made once, and called often."""
        part = self.encode_configuration(configuration)
        return lambda ground: self.join(ground, part)

    @property
    def most(self) -> int:
        """The greatest value of a counter that is shown."""
        return UNLIMITED if self.counter_limit is None else self.counter_limit

    def number(self, configuration: Configuration) -> int:
        """The number of the machine state; the overflow has the last one."""
        if is_overflow(configuration):
            return len(self.names) - 1
        return self._numbers[configuration.state]

    def _counters(self, configuration: Configuration) -> NDArray[np.int64]:
        """The counters; those of an overflow are unknown, and shown at the limit."""
        if is_overflow(configuration):
            return np.full(self.automaton.num_counters, self.most, np.int64)
        return np.array(configuration.counters, dtype=np.int64)

    def _configuration(self, state: int, counters: NDArray[np.int64]) -> Configuration:
        if state == len(self.names) - 1:
            return OVERFLOW
        return Configuration(self.names[state], tuple(int(c) for c in counters))


class DictEncoding(Encoding):
    """A dictionary: ``ground``, ``machine_state`` (a number) and ``counters``.

    Where the machine has no counters, there is no ``counters``: many learners cannot read an array
    of nothing.

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
            parts["counters"] = spaces.Box(0, self.most, (k,), np.int64)
        return spaces.Dict(parts)

    def encode_configuration(self, configuration: Configuration) -> Any:
        """What of an observation depends on the configuration alone."""
        counters = self._counters(configuration)
        return np.int64(self.number(configuration)), _copies(counters) if len(counters) else None

    def join(self, ground: Any, part: Any) -> dict[str, Any]:
        """An observation from the ground observation and the machine's part."""
        state, counters = part
        if counters is None:
            return {"ground": ground, "machine_state": state}
        return {"ground": ground, "machine_state": state, "counters": next(counters)}

    def make_encoder(self, configuration: Configuration) -> Callable[[Any], Any]:
        """As ``join`` does it, without looking at the part each time."""
        if type(self).join is not DictEncoding.join:
            return super().make_encoder(configuration)
        state, counters = self.encode_configuration(configuration)
        if counters is None:
            return lambda ground: {"ground": ground, "machine_state": state}
        return lambda ground: {
            "ground": ground,
            "machine_state": state,
            "counters": next(counters),
        }

    def decode(self, observation: Any) -> tuple[Any, Configuration]:
        """The ground observation and the configuration."""
        counters = np.asarray(observation.get("counters", ()))
        return observation["ground"], self._configuration(
            int(observation["machine_state"]), counters
        )


class BoxEncoding(Encoding):
    """A vector for networks: the ground observation, the machine state one-hot, counters.

    Args:
        counters: ``"raw"`` is their values; ``"log"`` is log(1 + c); ``"bits"`` is for each counter
            whether it is zero, whether it is not, and its value one-hot up to ``clip``, where
            greater values are shown as ``clip`` (only then is something lost).
        clip: The greatest value that ``"bits"`` tells apart. A machine tests only whether a counter
            is zero; with a small ``clip`` networks generalise to values that they never met.
        cells: How whole numbers of the ground observation are shown, such as the cells of a grid:
            ``"one-hot"`` is each by itself; ``"joint"`` all together, with a feature for every
            observation; ``"scaled"`` a number from 0 to 1 for each. Fractions are shown as they
            are, and so are whole numbers in a ``Box``, but for ``"joint"`` and ``"scaled"``.

    It is single precision: whole numbers are exact up to 16 million (``"raw"``, and the ground
    observation) or a million (``"log"``).

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
        self.view = make_observation_features(self.ground, self.cells)
        flat = self.view.box
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
            most = float(self.most) if self.counters == "raw" else np.log1p(self.most)
            low, high = np.zeros(k), np.full(k, most)
        self.width = flat.shape[0]
        return spaces.Box(
            np.concatenate([flat.low, np.zeros(width), low]).astype(np.float32),
            _up(np.concatenate([flat.high, np.ones(width), high])),
            dtype=np.float32,
        )

    def encode_configuration(self, configuration: Configuration) -> NDArray[np.float32]:
        """What of an observation depends on the configuration alone."""
        state = np.zeros(len(self.names))
        state[self.number(configuration)] = 1
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

    def join(self, ground: Any, part: NDArray[np.float32]) -> NDArray[np.float32]:
        """An observation from the ground observation and the machine's part."""
        return np.concatenate([self.encode_ground(ground), part])

    def encode_ground(self, ground: Any) -> NDArray[np.float32]:
        """What of an observation depends on the ground observation alone."""
        return self.view.show(ground)

    def decode(self, observation: Any) -> tuple[Any, Configuration]:
        """The ground observation and the configuration."""
        vector = np.asarray(observation)
        ground = self.view.read(vector[: self.width])
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
    """One number for ⟨s, u, c⟩, for tables; the ground observations must be finitely many.

    Needs a limit for the counters (a horizon, or ``counter_limit``).

    Example:
        >>> import cranium
        >>> from cranium.worlds import LetterEnv
        >>> machine = cranium.library.load("anbcdn")
        >>> told = {"horizon": 100, "counter_limit": 2, "encoding": TabularEncoding()}
        >>> env = cranium.product(LetterEnv(), machine, **told)
        >>> observation, _ = env.reset(seed=0)
        >>> env.observation_space, env.encoding.decode(observation)[1]
        (Discrete(864), Configuration(state='counting', counters=(0,)))
    """

    def _make_space(self) -> spaces.Discrete:
        if self.counter_limit is None:
            raise WorldError("a table needs a limit for the counters", fix="give a horizon")
        self.numbers = Numbers(self.ground)
        self.configurations = reachable_configurations(self.automaton, self.counter_limit)
        self.index = {x: number for number, x in enumerate(self.configurations)}
        total = self.numbers.total * len(self.configurations)
        if total >= MAX_NUMBER:
            raise SpaceError(
                f"{self.numbers} observations with {len(self.configurations):,} configurations are "
                "too many to number",
                fix="use another encoding",
            )
        return spaces.Discrete(total)

    def encode_configuration(self, configuration: Configuration) -> int:
        """What of an observation depends on the configuration alone."""
        return self.index[configuration]

    def join(self, ground: Any, part: int) -> np.int64:
        """An observation from the ground observation and the machine's part."""
        return np.int64(self.numbers.number(ground) * len(self.configurations) + part)

    def decode(self, observation: Any) -> tuple[Any, Configuration]:
        """The ground observation and the configuration."""
        index, part = divmod(int(observation), len(self.configurations))
        return self.numbers.observation(index), self.configurations[part]


def _copies(values: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Copies without end, as rows of greater arrays: to copy one by one costs twice as much."""
    return chain.from_iterable(starmap(values[None].repeat, repeat((64, 0))))


def _up(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Single precision that is nowhere below: a bound must hold for what it bounds."""
    single = values.astype(np.float32)
    return np.where(single < values, np.nextafter(single, np.float32(np.inf)), single)
