"""Checks of settings and spaces for Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from cranium.counterfactual.layouts import MACHINE
from cranium.errors import InvalidArgumentError, WorldError

__all__ = ["VecEnv", "VecNormalize", "check_actions", "check_ground", "check_normalisation"]


class VecEnv(Protocol):
    """The part of a ``VecEnv`` that is used here. Stable-Baselines3 may not be installed."""

    @property
    def action_space(self) -> spaces.Space[Any]:
        """The actions of one environment."""

    @property
    def unwrapped(self) -> object:
        """The vector without wrappers."""

    def has_attr(self, attr_name: str) -> bool:
        """Return whether all environments have an attribute."""

    def get_attr(self, attr_name: str) -> list[Any]:
        """Return an attribute of each environment."""

    def env_is_wrapped(self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]]) -> list[bool]:
        """Return whether each environment has a wrapper of this class."""


class VecNormalize(Protocol):
    """The part of a ``VecNormalize`` that is used here."""

    @property
    def norm_obs(self) -> bool:
        """Whether observations are normalised."""

    @property
    def norm_obs_keys(self) -> Sequence[str] | None:
        """Which parts of a dictionary are normalised; None for vectors."""


def check_normalisation(env: VecNormalize, *, ends_known: bool) -> None:
    """Refuse a ``VecNormalize`` that changes the machine's part of observations, or last ones."""
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
    if not ends_known:
        raise WorldError(
            "VecNormalize clips and rounds the last observation of an episode, and the original is "
            "not recorded, or only in another shape",
            fix="make_vec_env(lambda: counterfactual(make(), automaton, encoding=DictEncoding())"
            "[0], n_envs=4)",
        )


def check_actions(actions: spaces.Space[Any]) -> None:
    """Refuse discrete actions that do not begin at 0, as SB3 expects."""
    if isinstance(actions, spaces.Discrete) and actions.start:
        raise InvalidArgumentError(
            f"Stable-Baselines3 counts actions from 0, but those of this environment begin at "
            f"{actions.start}",
            fix=f"gymnasium.wrappers.TransformAction(env, lambda a: a + {actions.start}, "
            f"gymnasium.spaces.Discrete({actions.n})) renumbers them; put it inside the product",
        )


def check_ground(ground: spaces.Space[Any]) -> None:
    """Refuse ground observations that SB3 cannot read as a part of a dictionary."""
    plain = isinstance(ground, spaces.Box | spaces.MultiBinary)
    if isinstance(ground, spaces.Discrete | spaces.MultiDiscrete):
        plain = np.ndim(ground.start) <= 1 and not np.any(ground.start)
    if not plain:
        raise InvalidArgumentError(
            f"Stable-Baselines3 cannot read observations in {ground} as a part of a dictionary",
            fix="cranium.product(env, automaton, encoding=BoxEncoding()) makes vectors of them",
        )
