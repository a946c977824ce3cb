"""The sampling of an environment's table, and the random generators of an environment."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

__all__ = ["Sampling", "draws", "generators", "reseed"]

MAX_OBJECTS = 100_000
"""The greatest number of objects in which generators are searched for."""
Generator = np.random.Generator | np.random.RandomState | random.Random


@dataclass(frozen=True)
class Sampling:
    """Numbers about a table that was made by trying actions, not from a model.

    It is not a proof: an outcome that never occurred in a try is missing in the table.

    Attributes:
        tries: The least number of tries of each action in each state.
        pairs: The number of pairs of a state and an action.
        random: The number of pairs whose step drew random numbers, with equal outcomes each time.
        random_tries: The number of tries of each of those.
        starts: The number of resets, to estimate the initial states.
        steps: The number of steps of random walks, all of which agreed with the table.
        longest: The number of steps of the longest of these walks.

    Example:
        >>> print(Sampling(3, 40, 0, 0, 100, 1200, 500))
        sampled: 40 pairs of a state and an action were tried 3 times each, and 100 starts drawn; random walks of 1,200 steps in total agreed, the longest of 500; no random numbers were seen
    """  # noqa: E501 - one line of output

    tries: int
    pairs: int
    random: int
    random_tries: int
    starts: int
    steps: int
    longest: int

    @property
    def missed(self) -> float | None:
        """The greatest probability of an outcome that may have been missed: the rule of three.

        An outcome of a pair with a greater probability would have been seen with a confidence of
        95 %. None if no step drew random numbers.

        Example:
            >>> Sampling(3, 40, 10, 50, 100, 1200, 500).missed
            0.06
        """
        return 3 / self.random_tries if self.random else None

    def __str__(self) -> str:
        tried = (
            f"sampled: {self.pairs:,} pairs of a state and an action were tried {self.tries} times "
            f"each, and {self.starts:,} starts drawn; random walks of {self.steps:,} steps in "
            f"total agreed, the longest of {self.longest:,}; "
        )
        if self.missed is None:
            return f"{tried}no random numbers were seen"
        return (
            f"{tried}{self.random:,} of the pairs drew random numbers and were tried "
            f"{self.random_tries} times each: an outcome with a probability below "
            f"{self.missed:.2g} may have been missed"
        )


def generators(env: gym.Env[Any, Any]) -> list[Generator]:
    """Find the random generators in the attributes, the class and the module of an environment.

    Example:
        >>> env = gym.make("CliffWalking-v1")
        >>> _ = env.reset(seed=0)
        >>> env.unwrapped.np_random in generators(env)
        True
    """
    found: list[Generator] = []
    seen: set[int] = set()
    waiting: list[Any] = [env]
    while waiting and len(seen) < MAX_OBJECTS:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, Generator):
            found.append(thing)
        else:
            waiting += [part for part in _parts(thing) if not isinstance(part, _PLAIN)]
    return found


_PLAIN = (str, bytes, int, float, complex, np.generic, type, type(None), type(np))


def _parts(thing: Any) -> Iterable[Any]:
    """The parts of an object."""
    if isinstance(thing, np.ndarray):
        return thing.ravel().tolist() if thing.dtype == object else ()
    if isinstance(thing, Mapping):
        return thing.values()
    if isinstance(thing, list | tuple | set | frozenset):
        return thing
    if callable(thing) and not isinstance(thing, gym.Env | gym.Space):
        return _enclosed(thing)
    return _attributes(thing)


def _attributes(thing: Any) -> Iterator[Any]:
    yield from vars(thing).values() if hasattr(thing, "__dict__") else ()
    if isinstance(thing, gym.Env):  # a generator may also be the class's, or the module's
        for kind in type(thing).__mro__:
            module = getattr(vars(kind).get("step"), "__globals__", {})
            shared = [*vars(kind).values(), *module.values()]
            yield from (one for one in shared if isinstance(one, Generator))
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield getattr(thing, name, None)


def _enclosed(function: Any) -> Iterator[Any]:
    """The variables in a function's closure, and the object of a method."""
    yield getattr(function, "__self__", None)
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue
    if not hasattr(function, "__code__"):
        yield from _attributes(function)


def reseed(generator: Generator, seed: int) -> None:
    """Reseed a generator in place, for everything that shares it.

    Example:
        >>> one, other = np.random.default_rng(0), np.random.default_rng(5)
        >>> reseed(one, 5)
        >>> one.random() == other.random()
        True
    """
    if isinstance(generator, np.random.Generator):
        kind = type(generator.bit_generator)
        generator.bit_generator.state = kind(seed).state
    else:
        generator.seed(seed % 2**32)


def draws(watched: Iterable[Generator]) -> str:
    """The state of these generators and of the modules ``random`` and ``numpy.random``, as text.

    The text changes when one of them draws a number.

    Example:
        >>> own = np.random.default_rng(0)
        >>> before = draws([own])
        >>> draws([own]) == before, own.random() < 1, draws([own]) == before
        (True, True, False)
    """
    states: list[Any] = [_short(random.getstate()[1]), _position_of(np.random)]
    for one in watched:
        if isinstance(one, np.random.Generator):
            states.append(one.bit_generator.state)
        elif isinstance(one, np.random.RandomState):
            states.append(_position_of(one))
        else:
            states.append(_short(one.getstate()[1]))
    return repr(states)


def _position_of(one: Any) -> Any:
    """The position of a NumPy ``RandomState``, and its stored normal number, if there is one."""
    return one.get_state()[2:]


def _short(state: tuple[int, ...]) -> tuple[int, int]:
    """A part of the state of a Mersenne Twister that changes with every number that is drawn."""
    return state[-1], state[0]
