"""What is known of wrappers: which change nothing that matters, and which can be made again."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import gymnasium as gym
import numpy as np

from cranium.aamdp.labelling import WorldEvents
from cranium.worlds.finite import FiniteEnv
from cranium.worlds.protocols import LabellingFunction

__all__ = [
    "TRANSPARENT",
    "can_be_made_again",
    "find_plain_world",
    "is_transparent",
    "own_time_limit",
]

MOST = 10_000
"""The greatest number of objects that are searched for the environment."""

TRANSPARENT: set[type[Any]] = {
    gym.wrappers.OrderEnforcing,
    gym.wrappers.PassiveEnvChecker,
    gym.wrappers.RecordEpisodeStatistics,
    gym.wrappers.TimeLimit,
}
"""Wrappers that do not change states, outcomes, rewards or termination: exactly these classes.

A subclass may change them, and so may another class of the same name."""


def is_transparent(wrapper: gym.Env[Any, Any]) -> bool:
    """Whether a wrapper is known not to change states, outcomes, rewards or termination.

    Example:
        >>> is_transparent(gym.make("cranium/Letter-v0"))
        True
    """
    return type(wrapper) in TRANSPARENT


def find_plain_world(
    env: gym.Env[Any, Any], labelling: LabellingFunction
) -> FiniteEnv[Any, Any] | None:
    """Return the ``FiniteEnv`` inside, if its steps follow its model and its events are used."""
    inner = env
    while isinstance(inner, gym.Wrapper):
        if not is_transparent(inner):
            return None
        inner = inner.env
    if not isinstance(inner, FiniteEnv) or not inner.follows_model:
        return None
    return inner if isinstance(labelling, WorldEvents) and labelling.world is inner else None


def own_time_limit(env: gym.Env[Any, Any]) -> int | None:
    """Return the time limit in the attribute ``max_steps`` of an environment, as MiniGrid has it.

    Example:
        >>> own_time_limit(gym.make("FrozenLake-v1")) is None
        True
    """
    most = getattr(env.unwrapped, "max_steps", None)
    return int(most) if isinstance(most, int | np.integer) and most > 0 else None


def can_be_made_again(env: gym.Env[Any, Any], arguments: Mapping[str, Any]) -> bool:
    """Whether a wrapper can be made again with these arguments around another environment.

    It cannot if an argument refers to this environment: a labelling that reads the state of this
    environment would be wrong for the steps of another one. It cannot, either, if an argument
    cannot be copied.

    Example:
        >>> env = gym.make("FrozenLake-v1")
        >>> def far(before, action, after):
        ...     return "far" if after > 10 else ()
        >>> def at_goal(before, action, after):
        ...     return "goal" if env.unwrapped.s == 15 else ()
        >>> [can_be_made_again(env, {"labelling": one}) for one in (far, at_goal)]
        [True, False]
    """
    if any(_holds(one, env) for one in arguments.values()):
        return False
    try:
        copy.deepcopy(dict(arguments))  # as Gymnasium does with specifications
    except Exception:  # whatever it holds: locks, windows, connections
        return False
    return True


def _holds(thing: Any, env: gym.Env[Any, Any]) -> bool:
    """Whether an object is, or a function uses, one of the environments inside this one."""
    inside = {id(one) for one in _layers(env)}
    waiting = [thing]
    seen: set[int] = set()
    while waiting and len(seen) < MOST:
        one = waiting.pop()
        if id(one) in inside:
            return True
        if id(one) not in seen:
            seen.add(id(one))
            waiting.extend(_parts(one))
    return False


def _layers(env: gym.Env[Any, Any]) -> Iterator[gym.Env[Any, Any]]:
    while isinstance(env, gym.Wrapper):
        yield env
        env = env.env
    yield env


def _parts(thing: Any) -> Iterator[Any]:
    """The objects that a function, a method or a callable object refers to; none for others."""
    if isinstance(thing, FunctionType):
        for cell in thing.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # it has no value yet
                continue
        yield from thing.__defaults__ or ()
        yield from (thing.__kwdefaults__ or {}).values()
        known = thing.__globals__
        yield from (known[name] for name in thing.__code__.co_names if name in known)
    elif isinstance(thing, MethodType):
        yield from (thing.__self__, thing.__func__)
    elif isinstance(thing, partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, gym.Wrapper):
        yield thing.env
    elif callable(thing) and not isinstance(thing, type):
        yield from getattr(thing, "__dict__", {}).values()
