"""Schemas of results: what is read from a file is validated before it is used.

The checksum shows that a file was not damaged. It does not show that the file has the fields that
are read: records may come from another version, or from a script of the user's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError, create_model

from cranium.errors import shorten
from cranium.experiments.trial import FieldKind, FunctionTrial, find_mismatch

__all__ = ["Count", "Number", "ResultSchema", "Share", "Size", "describe_mismatch", "schema_of"]

Count = Annotated[int, Field(ge=0, le=10**15)]
Size = Annotated[int, Field(ge=1, le=10**15)]
Number = Annotated[float, Field(ge=-1e15, le=1e15)]
Share = Annotated[float, Field(ge=-1e-6, le=1 + 1e-6)]  # computed, so there may be rounding errors
Pair = Annotated[tuple[Annotated[float, Field(ge=0, le=1e15)], Number], Strict(False)]
KINDS: Mapping[FieldKind, Any] = {
    "count": Count | None,
    "size": Size | None,
    "number": Number | None,
    "share": Share | None,
    "text": str | None,
    "flag": bool | None,
    "shares": dict[str, Share],
    "numbers": dict[str, Number],
    "pairs": list[Pair],
    "any": Any,
}
"""The types of fields. Single values may be None: what was looked for did not occur."""


class ResultSchema(BaseModel):
    """The base class of schemas: numbers are finite, and other fields are allowed."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


@lru_cache(maxsize=64)
def schema_of(
    fields: tuple[tuple[str, FieldKind], ...], base: type[ResultSchema] = ResultSchema
) -> type[ResultSchema]:
    """The schema of results with these fields.

    Example:
        >>> describe_mismatch(schema_of((("states", "size"),)), {"states": 0})
        'its states: input should be greater than or equal to 1, not 0'
    """
    # Names of fields are arbitrary text, which the attributes of a model are not.
    told: dict[str, Any] = {
        f"field_{number}": (KINDS[kind], Field(alias=name))
        for number, (name, kind) in enumerate(fields)
    }
    return create_model("Result", __base__=base, **told)


@find_mismatch.register
def _of_function(trial: FunctionTrial, result: Mapping[str, Any]) -> str | None:
    return describe_mismatch(schema_of(tuple(trial.fields.items())), result)


def describe_mismatch(shape: type[ResultSchema], result: Mapping[str, Any]) -> str | None:
    """Describe why a result does not have the fields of a schema; None if it does."""
    try:
        shape.model_validate(result)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(each) for each in first["loc"])
        if first["type"] == "missing":
            return f"it has no {shorten(place)[1:-1]}"
        said = first["msg"][0].lower() + first["msg"][1:]
        return f"its {shorten(place)[1:-1]}: {said}, not {shorten(first['input'])}"
    return None
