"""Observations of any space: kept safe, and as keys."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

__all__ = ["hashable", "kept"]


def kept(observation: Any) -> Any:
    """What was seen, safe from an environment that writes into what it gave out.

    Example:
        >>> seen = np.zeros(2)
        >>> safe = kept(seen)
        >>> seen[0] = 5
        >>> safe
        array([0., 0.])
    """
    if observation.__class__ is np.ndarray:
        return observation.copy()
    return copy.deepcopy(observation) if isinstance(observation, dict | tuple) else observation


def hashable(observation: Any) -> Hashable:
    """An observation as a key.

    Example:
        >>> hashable({"x": np.int64(3), "y": (1, 2)})
        (('x', 3), ('y', (1, 2)))
    """
    if isinstance(observation, np.ndarray):
        return (observation.shape, observation.tobytes())
    if isinstance(observation, Mapping):
        return tuple((name, hashable(part)) for name, part in sorted(observation.items()))
    if isinstance(observation, tuple | list):
        return tuple(hashable(part) for part in observation)
    key: Hashable = observation.item() if isinstance(observation, np.generic) else observation
    return key
