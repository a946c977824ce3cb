"""The shape of results: what is read from a file is checked before anything is made of it.

A checksum tells that a file is as it was written, not that it holds what this version reads from
it: records may come from another version, or from somebody's own script.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from cranium.errors import shorten
from cranium.experiments.trial import (
    ComplexityTrial,
    SpecificationTrial,
    TrainingTrial,
    Trial,
)

__all__ = ["what_is_wrong"]

Count = Annotated[int, Field(ge=0, le=10**15)]
Size = Annotated[int, Field(ge=1, le=10**15)]
Number = Annotated[float, Field(ge=-1e15, le=1e15)]
Share = Annotated[float, Field(ge=-1e-6, le=1 + 1e-6)]  # worked out, so that it may be rounded
Samples = Annotated[float, Field(ge=1, le=1e15)]
Point = Annotated[tuple[Samples, Share, Number], Strict(False)]  # in JSON it is a list
Rate = Annotated[tuple[Samples, Number], Strict(False)]


class _Result(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class _Training(_Result):
    samples: Size | None = None
    taken: Count = 0
    episodes: Count = 0
    overflows: Count = 0
    success: dict[str, Share] = {}
    values: list[Number] = []
    optimum: list[Number] | None = None
    curve: list[Point] = []
    streak: Size | None = None
    elsewhere: dict[str, Share] = {}
    rates: list[Rate] = []


class _Complexity(_Result):
    states: Size
    transitions: Size


class _Specification(_Result):
    model: str
    answers: Count
    language: str
    machine: str
    states: Size
    transitions: Count
    equivalent: bool
    proved: bool
    difference: str | None = None


def what_is_wrong(trial: Trial, result: Mapping[str, Any]) -> str | None:
    """Why a result cannot be one of this trial; None if it can.

    Example:
        >>> trial = ComplexityTrial("complexity", "RM", "2 N", "anbcdn", 2)
        >>> what_is_wrong(trial, {"states": 7, "transitions": 17}) is None
        True
        >>> what_is_wrong(trial, {"states": "many", "transitions": 17})
        "its states: input should be a valid integer, not 'many'"
    """
    kinds: dict[type[Trial], type[_Result]] = {
        TrainingTrial: _Training,
        ComplexityTrial: _Complexity,
        SpecificationTrial: _Specification,
    }
    shape = next((kinds[kind] for kind in kinds if isinstance(trial, kind)), _Result)
    for name in _required(trial):
        if name not in result:
            return f"it has no {name}"
    try:
        shape.model_validate(result)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(each) for each in first["loc"])
        said = first["msg"][0].lower() + first["msg"][1:]
        return f"its {shorten(place)[1:-1]}: {said}, not {shorten(first['input'])}"
    return None


def _required(trial: Trial) -> list[str]:
    """What figures and tables read from a training, by how it was told to end."""
    if not isinstance(trial, TrainingTrial):
        return []
    wanted = {
        "samples": True,
        "curve": trial.until is None,
        "streak": isinstance(trial.until, int),
        "elsewhere": trial.tested_on is not None,
        "rates": trial.window is not None,
    }
    return [name for name, needed in wanted.items() if needed]
