"""How a replay buffer stores observations, and replaces the machine's part of them.

There is one layout for vectors (``BoxEncoding``) and one for dictionaries (``DictEncoding``).
Stored observations are arrays whose first axis is the slot of a transition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding, DictEncoding, Encoding
from cranium.automata.transition import Configuration
from cranium.counterfactual.groups import Ints
from cranium.counterfactual.transitions import OUTSIDE
from cranium.errors import InvalidArgumentError, WorldError
from cranium.worlds.protocols import Observation

__all__ = ["MACHINE", "Layout", "layout_of"]

MACHINE = ("machine_state", "counters")
"""The keys of a dictionary that show the machine."""
INSIDE = OUTSIDE.format("change observations")
ArrayDict = dict[str, NDArray[Any]]
Arrays = NDArray[Any] | ArrayDict
"""Observations as one array, or as one for each key."""
ArraysT = TypeVar("ArraysT", NDArray[Any], ArrayDict)
"""The one of the two that a layout stores."""
Slots = slice | list[int]


class Layout(Protocol[ArraysT]):
    """Stores observations of one kind."""

    has_ground_shape: bool  # whether the ground has the shape that the environment gave it

    def allocate(self, slots: int) -> ArraysT:
        """Make room for so many observations."""

    def fits(self, observations: object, count: int) -> bool:
        """Whether these are so many observations of this kind."""

    def write(self, stored: ArraysT, slots: Slots, observations: ArraysT) -> None:
        """Store observations."""

    def pick(self, observations: ArraysT, rows: Sequence[int]) -> ArraysT:
        """Some of several observations."""

    def replace(self, observations: ArraysT, others: Mapping[int, Observation]) -> ArraysT:
        """A copy of several observations, with some of them replaced."""

    def stack(self, observation: Observation) -> ArraysT:
        """Several observations, of which there is one."""

    def machine_bytes(self, observations: ArraysT, i: int) -> bytes:
        """The machine's part of an observation, as it is found in ``KnownConfigurations.shown``."""

    def decode(self, observations: ArraysT, i: int) -> Configuration:
        """The configuration that an observation shows."""

    def shows(self, observations: ArraysT, i: int, observation: ArraysT) -> bool:
        """Whether the ground part of an observation is that of another one."""

    def read(
        self,
        stored: ArraysT,
        slots: Ints,
        features: list[NDArray[Any]],
        numbers: NDArray[np.integer[Any]],
    ) -> ArraysT:
        """Read stored observations, and let them show other configurations."""


def layout_of(encoding: Encoding, space: spaces.Space[Any]) -> Layout[Any]:
    """Return the layout for a product's encoding and the space of the observations.

    Whether it stores one array or one for each key is known only when the encoding is.

    Example:
        >>> import cranium
        >>> task = cranium.library.load("anbcdn")
        >>> env = cranium.product(cranium.worlds.LetterEnv(), task, horizon=9)
        >>> sorted(layout_of(env.encoding, env.observation_space).allocate(5))
        ['counters', 'ground', 'machine_state']
    """
    if isinstance(encoding, BoxEncoding):
        return VectorLayout(encoding, space)
    if isinstance(encoding, DictEncoding):
        return DictLayout(encoding, space)
    raise InvalidArgumentError(
        f"replay buffers take a BoxEncoding or a DictEncoding, not a {type(encoding).__name__}",
        fix="cranium.product(env, automaton, encoding=BoxEncoding())",
    )


class VectorLayout:
    """Vectors: the features of the ground come first, then those of the machine."""

    has_ground_shape = True

    def __init__(self, encoding: BoxEncoding, space: spaces.Space[Any]) -> None:
        if not isinstance(space, spaces.Box):
            raise WorldError(
                f"observations of a BoxEncoding are vectors, not in {space}",
                fix=INSIDE,
            )
        if space.shape != encoding.space.shape:
            raise WorldError(
                f"observations have the shape {space.shape}, but those of the product "
                f"{encoding.space.shape}",
                fix=INSIDE,
            )
        self._encoding, self._space = encoding, space
        self._width, self._features = encoding.width, space.shape[0]

    def allocate(self, slots: int) -> NDArray[Any]:
        """Make room for so many observations."""
        return np.zeros((slots, *self._space.shape), self._space.dtype)

    def fits(self, observations: object, count: int) -> bool:
        """Whether these are so many observations of this kind."""
        return getattr(observations, "shape", ()) == (count, self._features)

    def write(self, stored: NDArray[Any], slots: Slots, observations: NDArray[Any]) -> None:
        """Store observations."""
        stored[slots] = observations

    def pick(self, observations: NDArray[Any], rows: Sequence[int]) -> NDArray[Any]:
        """Some of several observations."""
        return np.asarray(observations)[list(rows)]

    def replace(
        self, observations: NDArray[Any], others: Mapping[int, Observation]
    ) -> NDArray[Any]:
        """A copy of several observations, with some of them replaced."""
        found = np.array(observations)
        for i, other in others.items():
            found[i] = other
        return found

    def stack(self, observation: Observation) -> NDArray[Any]:
        """Several observations, of which there is one."""
        return np.asarray(observation)[None]

    def machine_bytes(self, observations: NDArray[Any], i: int) -> bytes:
        """The machine's part of an observation."""
        return np.asarray(observations[i][self._width :], np.float32).tobytes()

    def decode(self, observations: NDArray[Any], i: int) -> Configuration:
        """The configuration that an observation shows."""
        return self._encoding.decode(observations[i])[1]

    def shows(self, observations: NDArray[Any], i: int, observation: NDArray[Any]) -> bool:
        """Whether an observation is equal to another one."""
        return np.array_equal(observations[i], observation, equal_nan=True)

    def read(
        self,
        stored: NDArray[Any],
        slots: Ints,
        features: list[NDArray[Any]],
        numbers: NDArray[np.integer[Any]],
    ) -> NDArray[Any]:
        """Read stored observations, and let them show other configurations."""
        found = stored.take(slots, axis=0)
        found[:, self._width :] = features[0].take(numbers, axis=0)
        return found


class DictLayout:
    """Dictionaries with the keys ``ground``, ``machine_state`` and ``counters``."""

    def __init__(self, encoding: DictEncoding, space: spaces.Space[Any]) -> None:
        if not isinstance(space, spaces.Dict):
            raise WorldError(
                f"observations of a DictEncoding are dictionaries, not in {space}", fix=INSIDE
            )
        shown: Any = encoding.space
        self._keys = tuple(key for key in MACHINE if key in shown.spaces)
        for key in self._keys:
            if space.spaces.get(key) != shown[key]:
                raise WorldError(
                    f"observations have {key!r} in {space.spaces.get(key)}, but those of the "
                    f"product in {shown[key]}",
                    fix=INSIDE,
                )
        for key, part in space.spaces.items():
            if part.shape is None:
                raise InvalidArgumentError(
                    f"a replay buffer keeps arrays, and observations have {key!r} in {part}",
                    fix="cranium.product(env, automaton, encoding=BoxEncoding()) makes vectors",
                )
        self._encoding, self._space = encoding, space
        # SB3 puts the colours of an image first.
        ground = space.spaces.get("ground")
        self.has_ground_shape = ground is not None and ground.shape == encoding.ground.shape

    def allocate(self, slots: int) -> ArrayDict:
        """Make room for so many observations."""
        return {
            key: np.zeros((slots, *(part.shape or ())), part.dtype)
            for key, part in self._space.spaces.items()
        }

    def fits(self, observations: object, count: int) -> bool:
        """Whether these are so many observations of this kind."""
        # SB3 makes arrays of length one out of numbers.
        return isinstance(observations, dict) and all(
            key in observations
            and np.size(observations[key]) == count * int(np.prod(part.shape or ()))
            for key, part in self._space.spaces.items()
        )

    def write(self, stored: ArrayDict, slots: Slots, observations: ArrayDict) -> None:
        """Store observations."""
        for key, part in stored.items():
            part[slots] = np.reshape(observations[key], part[slots].shape)

    def pick(self, observations: ArrayDict, rows: Sequence[int]) -> ArrayDict:
        """Some of several observations."""
        return {key: np.asarray(part)[list(rows)] for key, part in observations.items()}

    def replace(self, observations: ArrayDict, others: Mapping[int, Observation]) -> ArrayDict:
        """A copy of several observations, with some of them replaced."""
        found = {key: np.array(part) for key, part in observations.items()}
        for i, other in others.items():
            assert isinstance(other, Mapping), "the environment returns dictionaries"
            for key, part in found.items():
                part[i] = np.reshape(other[key], part[i].shape)
        return found

    def stack(self, observation: Observation) -> ArrayDict:
        """Several observations, of which there is one."""
        if not isinstance(observation, dict):
            return {}  # refused later, with a message
        return {key: np.asarray(part)[None] for key, part in observation.items()}

    def machine_bytes(self, observations: ArrayDict, i: int) -> bytes:
        """The machine's part of an observation."""
        return b"".join(
            [np.asarray(observations[key][i], np.int64).tobytes() for key in self._keys]
        )

    def decode(self, observations: ArrayDict, i: int) -> Configuration:
        """The configuration that an observation shows."""
        one = {key: part[i] for key, part in observations.items()}
        one["machine_state"] = np.ravel(one["machine_state"])[0]
        return self._encoding.decode(one)[1]

    def shows(self, observations: ArrayDict, i: int, observation: ArrayDict) -> bool:
        """Whether the ground part of an observation is that of another one."""
        ground = np.ravel(observations["ground"][i])  # in the precision of its space
        shown = np.ravel(observation["ground"]).astype(ground.dtype)
        return np.array_equal(ground, shown, equal_nan=True)

    def read(
        self,
        stored: ArrayDict,
        slots: Ints,
        features: list[NDArray[Any]],
        numbers: NDArray[np.integer[Any]],
    ) -> ArrayDict:
        """Read stored observations, and let them show other configurations."""
        shown = dict(zip(self._keys, features, strict=True))
        return {
            key: shown[key].take(numbers, axis=0).reshape(-1, *part.shape[1:])
            if key in shown
            else part.take(slots, axis=0)
            for key, part in stored.items()
        }
