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
    find_mismatch,
)

__all__ = ["Count", "Number", "ResultSchema", "Share", "Size", "describe_mismatch"]

Count = Annotated[int, Field(ge=0, le=10**15)]
Size = Annotated[int, Field(ge=1, le=10**15)]
Number = Annotated[float, Field(ge=-1e15, le=1e15)]
Share = Annotated[float, Field(ge=-1e-6, le=1 + 1e-6)]  # computed, so there may be rounding errors
Samples = Annotated[float, Field(ge=1, le=1e15)]
Point = Annotated[tuple[Samples, Share, Number], Strict(False)]  # in JSON it is a list
Rate = Annotated[tuple[Samples, Number], Strict(False)]


class ResultSchema(BaseModel):
    """The base class of schemas: numbers are finite, and other fields are allowed."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class _Training(ResultSchema):
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


class _Complexity(ResultSchema):
    states: Size
    transitions: Size


class _Specification(ResultSchema):
    model: str
    answers: Count
    language: str
    machine: str
    states: Size
    transitions: Count
    equivalent: bool
    proved: bool
    difference: str | None = None


@find_mismatch.register
def _of_training(trial: TrainingTrial, result: Mapping[str, Any]) -> str | None:
    for name in _required(trial):
        if name not in result:
            return f"it has no {name}"
    return describe_mismatch(_Training, result)


@find_mismatch.register
def _of_complexity(_trial: ComplexityTrial, result: Mapping[str, Any]) -> str | None:
    return describe_mismatch(_Complexity, result)


@find_mismatch.register
def _of_specification(_trial: SpecificationTrial, result: Mapping[str, Any]) -> str | None:
    return describe_mismatch(_Specification, result)


def describe_mismatch(shape: type[ResultSchema], result: Mapping[str, Any]) -> str | None:
    """Describe why a result does not have the fields of a schema; None if it does."""
    try:
        shape.model_validate(result)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(each) for each in first["loc"])
        said = first["msg"][0].lower() + first["msg"][1:]
        return f"its {shorten(place)[1:-1]}: {said}, not {shorten(first['input'])}"
    return None


def _required(trial: TrainingTrial) -> list[str]:
    """The fields that figures and tables read from a result of this trial."""
    wanted = {
        "samples": True,
        "curve": trial.until is None,
        "streak": isinstance(trial.until, int),
        "elsewhere": trial.tested_on is not None,
        "rates": trial.window is not None,
    }
    return [name for name, needed in wanted.items() if needed]
