"""The events of a step: those that a labelling function returns, or that the world reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium as gym

from cranium.errors import LabelError, WorldError, shorten
from cranium.worlds.protocols import Events, LabellingFunction, Observation, World

__all__ = ["as_events", "as_world", "events_after_step"]


def as_events(found: Iterable[str] | str) -> Events:
    """Return events as a set of names. Labelling functions return a name or a collection of them.

    Example:
        >>> as_events("mail"), as_events([])
        (frozenset({'mail'}), frozenset())
    """
    if isinstance(found, str):
        return frozenset({str(found)})
    try:
        names: frozenset[Any] = frozenset({None} if isinstance(found, Mapping) else found)
    except TypeError:
        names = frozenset({None})
    if not all(isinstance(name, str) for name in names):
        raise LabelError(
            f"a labelling returns the names of events, not {shorten(found)}",
            fix="return () when nothing happened, and names such as {'mail'} otherwise",
        )
    return names


def as_world(env: gym.Env[Any, Any]) -> World:
    """Return the world inside an environment, which reports its own events.

    Raises:
        WorldError: It reports none, or does not list them.

    Example:
        >>> as_world(gym.make("cranium/Letter-v0")).vocabulary
        ('A', 'C', 'D', 'B')
    """
    base: object = env.unwrapped
    if isinstance(base, World) and base.events is not None:
        return base
    if getattr(base, "events", None) is None:
        raise WorldError(
            f"{type(base).__name__} names no events of its own",
            fix="give a labelling: a function of (s, a, s′) that returns the names of the events "
            "(in a command: --labels MODULE:FUNCTION or --labels FILE.py:FUNCTION)",
        )
    raise WorldError(
        f"{type(base).__name__} names events, but has no vocabulary of them",
        fix="give a labelling, or list all events in its attribute vocabulary",
    )


def events_after_step(
    env: gym.Env[Any, Any],
    labelling: LabellingFunction | None,
    before: Observation,
    action: object,
    after: Observation,
) -> Events:
    """Return the events of the step that an environment has just made.

    Example:
        >>> from cranium.worlds import LetterEnv
        >>> env = LetterEnv()
        >>> before, _ = env.reset(seed=0)
        >>> events_after_step(env, None, before, 0, env.step(0)[0])
        frozenset()
    """
    if labelling is not None:
        return as_events(labelling(before, action, after))
    return as_events(as_world(env).events)
