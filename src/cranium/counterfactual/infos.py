"""Read the infos of a vector environment as one dictionary for each environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cranium.counterfactual.wrapper_checks import INFO_KEYS
from cranium.worlds.protocols import Observation

__all__ = ["final_observations", "is_reset", "split_infos"]

RECORDED = ("transition", "episode_step", "product_truncated", "fingerprint")
KEYS = (*INFO_KEYS, *RECORDED, "ground_reward", "TimeLimit.truncated")
"""The keys that a replay buffer reads."""


def split_infos(infos: Mapping[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """Return the info of the last step of each environment.

    Args:
        infos: The dictionary of arrays that a ``gymnasium.vector`` environment returns. Where an
            episode ended and the next one began in the same step, it is taken from ``final_info``.
        num_envs: The number of environments.

    Example:
        >>> infos = {"label": np.array(["A", None]), "_label": np.array([True, False])}
        >>> split_infos(infos, 2)
        [{'label': 'A'}, {}]
    """
    last = infos.get("final_info", {})
    has_ended = infos.get("_final_info", np.zeros(num_envs, np.bool_))
    return [_info_of(last if has_ended[i] else infos, i) for i in range(num_envs)]


def _info_of(infos: Mapping[str, Any], i: int) -> dict[str, Any]:
    return {
        key: infos[key][i]
        for key in KEYS
        if key in infos and (f"_{key}" not in infos or infos[f"_{key}"][i])
    }


def is_reset(info: Mapping[str, Any]) -> bool:
    """Whether an environment was reset instead of stepped, as ``AutoresetMode.NEXT_STEP`` does it.

    Example:
        >>> is_reset({"episode_step": 0}), is_reset({"episode_step": 3})
        (True, False)
    """
    return bool(info.get("episode_step") == 0)


def final_observations(infos: Mapping[str, Any]) -> dict[int, Observation]:
    """Return the last observations of the episodes that ended, where another one began at once.

    Example:
        >>> final_observations({"final_obs": [None, 7], "_final_obs": np.array([False, True])})
        {1: 7}
    """
    if "final_obs" not in infos:
        return {}
    found = np.flatnonzero(infos["_final_obs"]).tolist()
    return {i: infos["final_obs"][i] for i in found}
