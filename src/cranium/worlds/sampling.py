"""What can be known of an environment by trying it out, and where its random numbers come from."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

__all__ = ["Sampling", "draws", "generators", "reseed"]

MAX_OBJECTS = 100_000
"""In how many objects of an environment a generator is looked for."""
Generator = np.random.Generator | np.random.RandomState | random.Random


@dataclass(frozen=True)
class Sampling:
    """What a table rests on that was made by trying an environment out, not from a model.

    Nothing of this is a proof: whatever never happened while it was tried out is missing.

    Attributes:
        tries: How often each action was tried in each state, at least.
        pairs: How many pairs of a state and an action there were.
        random: In how many of them the environment drew random numbers, although nothing changed.
        random_tries: How often each of those was tried.
        starts: How often the environment was reset, to learn where episodes begin.
        steps: How many steps of random walks agreed with the table in the end.
        longest: How many steps the longest of these walks had.

    Example:
        >>> print(Sampling(3, 40, 0, 0, 100, 1200, 500))
        tried out: 40 pairs of a state and an action 3 times each, 100 starts; random walks of 1,200 steps agreed, the longest of 500; no random numbers were seen to be drawn
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
        """How likely an outcome may be, and still have been missed: the rule of three.

        None if no random numbers were seen to be drawn. An outcome of a pair that is more likely
        than this would have been seen with a confidence of 95 %.

        Example:
            >>> Sampling(3, 40, 10, 50, 100, 1200, 500).missed
            0.06
        """
        return 3 / self.random_tries if self.random else None

    def __str__(self) -> str:
        told = (
            f"tried out: {self.pairs:,} pairs of a state and an action {self.tries} times each, "
            f"{self.starts:,} starts; random walks of {self.steps:,} steps agreed, the longest of "
            f"{self.longest:,}; "
        )
        if self.missed is None:
            return f"{told}no random numbers were seen to be drawn"
        return (
            f"{told}random numbers are drawn in {self.random:,} of the pairs, which were tried "
            f"{self.random_tries} times each: an outcome with a chance below {self.missed:.2g} may "
            "have been missed"
        )


def generators(env: gym.Env[Any, Any]) -> list[Generator]:
    """The random generators that an environment holds, wherever it keeps them.

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
    """What an object holds."""
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
    """What a function has closed over, or is a method of."""
    yield getattr(function, "__self__", None)
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue
    if not hasattr(function, "__code__"):
        yield from _attributes(function)


def reseed(generator: Generator, seed: int) -> None:
    """Let a generator draw other numbers; whoever else holds it notices.

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
    """Where generators are, those of the modules ``random`` and ``numpy.random`` included.

    It is another text as soon as one of them has drawn a number.

    Example:
        >>> own = np.random.default_rng(0)
        >>> before = draws([own])
        >>> draws([own]) == before, own.random() < 1, draws([own]) == before
        (True, True, False)
    """
    states: list[Any] = [_short(random.getstate()[1]), _used(np.random)]
    for one in watched:
        if isinstance(one, np.random.Generator):
            states.append(one.bit_generator.state)
        elif isinstance(one, np.random.RandomState):
            states.append(_used(one))
        else:
            states.append(_short(one.getstate()[1]))
    return repr(states)


def _used(one: Any) -> Any:
    """The same for NumPy's old generators, and the next normal number if it has drawn two."""
    return one.get_state()[2:]


def _short(state: tuple[int, ...]) -> tuple[int, int]:
    """Enough of a Mersenne Twister: how much of the block is used, and which block it is."""
    return state[-1], state[0]
