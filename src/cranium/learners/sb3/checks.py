"""What is refused: settings, and what something outside the product does to its steps."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from cranium.aamdp.encoding import Encoding
from cranium.compiled.tables import reachable
from cranium.errors import InvalidArgumentError, SpaceError, WorldError, shorten
from cranium.learners.config import IMAGINED
from cranium.learners.wrappers import is_due

__all__ = [
    "MACHINE",
    "OUTSIDE",
    "check_end",
    "check_ground",
    "check_normalisation",
    "check_reward",
    "check_set",
    "check_share",
]

MACHINE = ("machine_state", "counters")
"""Which parts of a dictionary show the machine."""
OUTSIDE = "put wrappers that {} inside: cranium.product(wrapped, …)"


def check_reward(reward: float, due: float) -> None:
    """What is imagined must be paid like what is real."""
    if not is_due(reward, due):
        raise WorldError(
            f"a step paid {reward:.9g}, but by the machine it pays {due:.9g}, and what is imagined "
            "would be paid by the machine: a wrapper changed the reward, or a reward function is "
            "another one than the environment's, or pays something else when it is asked again",
            fix="change the machine's rewards, or use VecNormalize(norm_reward=True); let reward "
            "functions depend on nothing but (s, a, s′)",
        )


def check_end(info: dict[str, Any], *, ended: bool, over: bool) -> None:
    """An episode must be over when the product says so, in the way that it says."""
    truncated = info.get("TimeLimit.truncated", False)
    if over and not (ended or truncated):
        raise WorldError(
            "an episode was ended by something outside the product: whether it would have "
            "ended from other configurations cannot be known",
            fix=OUTSIDE.format("end episodes"),
        )
    if not over and (ended or info.get("cut_off")):
        raise WorldError(
            "an episode of the product was over, and something outside it hid that: the next "
            "observation may be one of the next episode",
            fix=OUTSIDE.format("change how episodes end"),
        )
    if ended and truncated:
        raise WorldError(
            "an episode ended, and something outside the product says that it was only cut off",
            fix=OUTSIDE.format("change how episodes end"),
        )


def check_share(imagined: object) -> float:
    """How much is imagined, from 0 to 1."""
    if isinstance(imagined, bool) or not isinstance(imagined, int | float | np.floating):
        raise InvalidArgumentError(f"imagined is a number from 0 to 1, not {shorten(imagined)}")
    if not 0 <= imagined <= 1:
        raise InvalidArgumentError(f"imagined is a number from 0 to 1, not {imagined:g}")
    return float(imagined)


def check_set(chosen: Any, encoding: Encoding) -> Literal["seen", "reachable"]:
    """The set that was asked for; if none was, what is reachable within a limit that was given.

    Another limit is so high that no episode passes it, and most of what is below never happens.
    """
    limit = encoding.counter_limit
    if chosen is None and limit is not None and encoding.can_overflow:
        with suppress(SpaceError):
            reachable(encoding.automaton, limit, max_configurations=IMAGINED)
            return "reachable"
    if chosen not in (None, "seen", "reachable"):
        raise InvalidArgumentError(
            f"configurations are 'seen' or 'reachable', not {shorten(chosen)}",
            fix="imagined=0 for plain replay",
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
