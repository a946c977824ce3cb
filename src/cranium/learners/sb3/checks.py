"""Checks of settings and spaces for Stable-Baselines3."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from cranium.aamdp.encoding import Encoding
from cranium.errors import InvalidArgumentError, SpaceError, WorldError, shorten
from cranium.tables.configurations import reachable_configurations
from cranium.tables.space import MOST_LISTED

__all__ = [
    "MACHINE",
    "OUTSIDE",
    "check_actions",
    "check_ground",
    "check_normalisation",
    "check_set",
]

MACHINE = ("machine_state", "counters")
"""Which parts of a dictionary show the machine."""
OUTSIDE = "put wrappers that {} inside: cranium.product(wrapped, …)"


def check_set(chosen: Any, encoding: Encoding) -> Literal["seen", "reachable"]:
    """The set that was asked for; if none was, what is reachable within a limit that was given.

    Another limit is so high that no episode passes it, and most of what is below never happens.
    """
    limit = encoding.counter_limit
    if chosen is None and limit is not None and encoding.can_overflow:
        with suppress(SpaceError):
            reachable_configurations(encoding.automaton, limit, max_configurations=MOST_LISTED)
            return "reachable"
    if chosen not in (None, "seen", "reachable"):
        raise InvalidArgumentError(
            f"configurations are 'seen' or 'reachable', not {shorten(chosen)}",
            fix="counterfactual_ratio=0 for plain replay",
        )
    if chosen == "reachable" and limit is None:
        raise InvalidArgumentError(
            "without a limit for the counters, endlessly many configurations are reachable",
            fix="give the product a horizon or a counter_limit, or use configurations='seen'",
        )
    return "reachable" if chosen == "reachable" else "seen"


def check_normalisation(env: Any, *, ends_told: bool) -> None:
    """Refuse a ``VecNormalize`` that would change how the machine, or an end, is shown."""
    if not env.norm_obs:
        return
    keys = env.norm_obs_keys  # None for vectors
    touched = [key for key in MACHINE if keys is None or key in keys]
    if touched:
        what = "whole vectors" if keys is None else " and ".join(touched)
        raise InvalidArgumentError(
            f"VecNormalize would normalise {what}: the machine must be shown as it is",
            fix='use encoding=DictEncoding() and VecNormalize(env, norm_obs_keys=["ground"]), '
            "or norm_obs=False",
        )
    if not ends_told:
        raise WorldError(
            "VecNormalize clips and rounds the last observation of an episode, and what it really "
            "was nobody tells, or only in another shape",
            fix="make_vec_env(lambda: counterfactual(make(), automaton, encoding=DictEncoding())"
            "[0], n_envs=4)",
        )


def check_actions(actions: Any) -> None:
    """Refuse discrete actions that do not begin at 0, as SB3 expects."""
    if isinstance(actions, spaces.Discrete) and actions.start:
        raise InvalidArgumentError(
            f"Stable-Baselines3 counts actions from 0, but those of this environment begin at "
            f"{actions.start}",
            fix=f"gymnasium.wrappers.TransformAction(env, lambda a: a + {actions.start}, "
            f"gymnasium.spaces.Discrete({actions.n})) renumbers them; put it inside the product",
        )


def check_ground(ground: Any) -> None:
    """Refuse ground observations that SB3 cannot read as a part of a dictionary."""
    plain = isinstance(ground, spaces.Box | spaces.MultiBinary)
    if isinstance(ground, spaces.Discrete | spaces.MultiDiscrete):
        plain = np.ndim(ground.start) <= 1 and not np.any(ground.start)
    if not plain:
        raise InvalidArgumentError(
            f"Stable-Baselines3 cannot read observations in {ground} as a part of a dictionary",
            fix="cranium.product(env, automaton, encoding=BoxEncoding()) makes vectors of them",
        )
