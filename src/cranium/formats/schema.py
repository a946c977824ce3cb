"""The file format of machines, as pydantic models: the structure, and the published JSON Schema."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cranium.automata.program import MAX_COUNTERS, MAX_SILENT_LIMIT, SILENT_LIMIT
from cranium.errors import CounterRuleError, FileFormatError, UnknownNameError, shorten
from cranium.formats.documents import Document, Path

__all__ = ["AutomatonFile", "TransitionEntry", "automaton_schema", "read_tests", "validate"]

_TEST = re.compile(
    r"\s*(?P<counter>[^\W\d]\w*)\s*(?P<sign>>=|<=|==|!=|[><=≥≤≠])\s*(?P<number>[01])\s*\Z"
)
_POSITIVE = [(">", 0), ("!=", 0), ("≠", 0), (">=", 1), ("≥", 1)]
_ZERO = [("==", 0), ("=", 0), ("<=", 0), ("≤", 0), ("<", 1)]
_MEANING = {**dict.fromkeys(_POSITIVE, "1"), **dict.fromkeys(_ZERO, "0")}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)


class TransitionEntry(_Strict):
    """One transition: where from, when, under which zero tests, where to, with which change."""

    from_: Annotated[str, Field(alias="from", description="the state that it leaves")]
    when: Annotated[
        str | bool, Field(description="a formula over the propositions: ! & |, not and or, ¬ ∧ ∨")
    ] = True
    if_: Annotated[
        str | list[str],
        Field(alias="if", description="zero tests on counters, such as n > 0 or [n == 0, m > 0]"),
    ] = []
    to: Annotated[
        str, Field(description="the state that it enters; from, if left out", min_length=1)
    ] = ""
    add: Annotated[dict[str, int], Field(description="what is added to which counter")] = {}
    reward: Annotated[
        float | str, Field(description="a number, or the name of a reward function")
    ] = 0.0
    silent: Annotated[bool, Field(description="whether it reads no label (ε)")] = False


class AutomatonFile(_Strict):
    """A counting reward automaton."""

    name: Annotated[str, Field(description="what the machine is called")] = ""
    propositions: Annotated[list[str], Field(description="the events that a label can hold")]
    counters: Annotated[
        list[str], Field(description="the names of the counters", max_length=MAX_COUNTERS)
    ] = []
    states: Annotated[
        list[str],
        Field(description="the states that do not end the episode, if not all have transitions"),
    ] = []
    initial: Annotated[str, Field(description="the state in which every run begins")]
    terminal: Annotated[list[str], Field(description="the states that end the episode")] = []
    accepting: Annotated[list[str], Field(description="the terminal states that mean success")] = []
    otherwise: Annotated[
        str,
        Field(description="when no transition is enabled: stay, error, or a terminal state"),
    ] = "stay"
    silent_limit: Annotated[
        int,
        Field(
            description="how many silent transitions may follow each other",
            ge=1,
            le=MAX_SILENT_LIMIT,
        ),
    ] = SILENT_LIMIT
    transitions: Annotated[list[TransitionEntry], Field(description="the transitions")]


def automaton_schema() -> dict[str, Any]:
    """Return the JSON Schema of automaton files, YAML or JSON.

    Example:
        >>> sorted(automaton_schema()["required"])
        ['initial', 'propositions', 'transitions']
    """
    schema = AutomatonFile.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def validate(document: Document) -> AutomatonFile:
    """Check the structure of a document; the error shows the first place where it is wrong."""
    if not isinstance(document.data, dict):
        raise document.error(
            "a machine is a mapping with propositions, initial and transitions, "
            f"not {_kind(document.data)}",
            (),
        )
    try:
        return AutomatonFile.model_validate(document.data)
    except ValidationError as problem:
        raise _explain(document, problem) from None


def _explain(document: Document, problem: ValidationError) -> FileFormatError:
    # An unknown key first: it is often a misspelt one, which is then missing, too.
    found = problem.errors(include_url=False)
    error = min(found, key=lambda e: e["type"] != "extra_forbidden")
    path: Path = error["loc"]
    if error["type"] == "missing":
        return document.error(f"the key {path[-1]!r} is missing", path[:-1], "add it")
    if error["type"] == "extra_forbidden":
        model = TransitionEntry if path[0] == "transitions" else AutomatonFile
        known = [f.alias or name for name, f in model.model_fields.items()]
        return document.error(
            f"no such key: {shorten(path[-1])}",
            path,
            UnknownNameError.of("key", path[-1], known).fix,
            key=True,
        )
    return document.error(_complaint(document, error), path, _advice(error))


def _complaint(document: Document, error: Any) -> str:
    real = _real(document.data, error["loc"])
    shown = ".".join(str(part) for part in real) or "a key"
    if real[:1] == ("transitions",) and len(real) > 1:
        rest = ".".join(str(part) for part in real[2:])
        shown = f"transition {int(real[1]) + 1}" + (f", {rest}" if rest else "")
    given = f"not {shorten(error['input'])}"
    if error["input"] is None:
        given = "but there is nothing here"
    return f"{shown}: {error['msg'].lower()}, {given}"


def _advice(error: Any) -> str | None:
    if error["type"] == "string_type" and isinstance(error["input"], int | float):
        return "put it in quotes if it is a name"
    return "leave it out, or fill it in" if error["input"] in (None, "") else None


def _real(data: Any, path: Path) -> Path:
    """The part of pydantic's path that is in the document (it adds the branches of unions)."""
    real: list[str | int] = []
    for part in path:
        inside = isinstance(data, dict) and part in data
        if not inside and not (isinstance(data, list) and isinstance(part, int)):
            break
        data = data[part]
        real.append(part)
    return tuple(real)


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}: {shorten(value)}"


def read_tests(tests: str | list[str], counters: tuple[str, ...], where: str = "") -> str:
    """Convert zero tests such as ``n > 0`` to a zero pattern.

    Example:
        >>> read_tests("n > 0, m == 0", ("n", "m", "k"))
        '10*'
    """
    pattern = dict.fromkeys(counters, "*")
    texts = re.split(r",|&&?|∧|\band\b", tests) if isinstance(tests, str) else tests
    for text in texts:
        match = _TEST.match(text)
        meaning = _MEANING.get((match["sign"], int(match["number"]))) if match else None
        if match is None or meaning is None:
            raise CounterRuleError(
                f"{where}a counter can only be tested for zero, as in 'n > 0' or 'n == 0', "
                f"not by {shorten(text.strip())}",
                fix="count with states, or with a second counter, to compare with other numbers",
            )
        if match["counter"] not in pattern:
            raise UnknownNameError.of("counter", match["counter"], counters, where)
        if pattern[match["counter"]] not in ("*", meaning):
            raise CounterRuleError(
                f"{where}the counter {match['counter']!r} is tested both ways: {tests}"
            )
        pattern[match["counter"]] = meaning
    return "".join(pattern.values())
