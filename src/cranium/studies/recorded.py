"""More fields of the results of a study: functions of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym

from cranium.errors import InvalidArgumentError, shorten
from cranium.experiments.shapes import KINDS
from cranium.experiments.study_trial import Recorded
from cranium.learners import TrainingResult

__all__ = ["RecordValue", "read_recorded"]

RecordValue = Recorded | Callable[[TrainingResult, gym.Env[Any, Any]], Any]
"""A function of the result and the environment, perhaps with what it returns."""


def read_recorded(name: str, value: object) -> Recorded:
    """Read a field that a study records.

    Example:
        >>> read_recorded("overflows", lambda result, env: result.overflows).kind
        'any'
        >>> read_recorded("overflows", 5)
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: the field 'overflows' is computed by 5
          fix: give a function of the result and the environment
    """
    found = value if isinstance(value, Recorded) else Recorded(value)  # type: ignore[arg-type]
    if not callable(found.compute):
        raise InvalidArgumentError(
            f"the field {name!r} is computed by {shorten(value)}",
            fix="give a function of the result and the environment",
        )
    if found.kind not in KINDS:
        raise InvalidArgumentError(
            f"the field {name!r} is of the kind {shorten(found.kind)}",
            fix=f"known: {', '.join(KINDS)}",
        )
    return found
