"""Schemas of results: what is read from a file is validated before it is used.

The checksum shows that a file was not damaged. It does not show that the file has the fields that
this version reads: records may come from another version, or from a script of the user's.
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

__all__ = ["find_mismatch"]

Count = Annotated[int, Field(ge=0, le=10**15)]
Size = Annotated[int, Field(ge=1, le=10**15)]
Number = Annotated[float, Field(ge=-1e15, le=1e15)]
Share = Annotated[float, Field(ge=-1e-6, le=1 + 1e-6)]  # computed, so there may be rounding errors
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


def find_mismatch(trial: Trial, result: Mapping[str, Any]) -> str | None:
    """Describe why a result cannot belong to a trial; None if it can.

    Example:
        >>> trial = ComplexityTrial("complexity", "RM", "2 N", "anbcdn", 2)
        >>> find_mismatch(trial, {"states": 7, "transitions": 17}) is None
        True
        >>> find_mismatch(trial, {"states": "many", "transitions": 17})
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
    """The fields that figures and tables read from a result of this trial."""
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
