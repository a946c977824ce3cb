"""Decide whether a wrapper can be made again around another environment, from its arguments."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import gymnasium as gym

__all__ = ["can_be_made_again"]

MOST = 10_000
"""The greatest number of objects that are searched for the environment."""


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
