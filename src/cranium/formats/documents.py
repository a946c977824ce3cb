"""YAML and JSON as plain data with the position of every value, safe against hostile input.

YAML is read from its event stream: aliases, tags and deep nesting are refused before anything is
built, and plain scalars follow YAML 1.2 (so that a proposition may be called ``on`` or ``no``).
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from cranium.errors import FileFormatError, Path, Place, shorten

__all__ = ["Document", "Lines", "Path", "read_json", "read_yaml"]

MAX_DEPTH = 10
MAX_DIGITS = 300
MAX_VALUES = 400_000
"""A small file can hold many values, each of which takes far more room than there."""
MAX_LINES = 2 * MAX_VALUES
"""Written with a line for each value, what holds others has one more for its end."""
EAGER = 1_000_000  # characters: in a longer text, deep places are looked up only for an error
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_STRING = r'"(?:[^"\\]|\\.)*+"?'
_BRACKETS = re.compile(_STRING + r"|[\[\]{},]", re.DOTALL)
_BAD_NUMBERS = re.compile(
    # Only where a number begins: else every digit of a long one would begin another search.
    _STRING + rf"|-?Infinity|NaN|(?<![0-9])[0-9]{{{MAX_DIGITS + 1},}}",
    re.DOTALL,
)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


class Lines:
    r"""Where the lines of a text begin, so that an offset can be turned into a place.

    Example:
        >>> Lines("one\ntwo", "t.yaml").place(5)
        Place(line=2, column=2, file='t.yaml')
    """

    def __init__(self, text: str, file: str | None) -> None:
        self.text = text
        self.file = file
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, offset: int) -> Place:
        """Return the place of a character."""
        line = bisect.bisect_right(self._starts, offset)
        return Place(line, offset - self._starts[line - 1] + 1, self.file)

    def offset(self, place: Place) -> int:
        """Return the offset of the character at a place."""
        line = min(place.line, len(self._starts))
        return min(len(self.text), self._starts[line - 1] + place.column - 1)

    def error(self, message: str, offset: int, fix: str | None = None) -> FileFormatError:
        """Return an error that shows the line of an offset, with a caret."""
        place = self.place(offset)
        return FileFormatError.pointing(message, self.text, offset, place=place, fix=fix)


@dataclass(slots=True)
class Document:
    """Plain data (dicts, lists, strings, numbers, booleans, None) and where it stands."""

    lines: Lines
    data: object
    places: dict[Path, Place] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)
    complete: bool = True

    def place(self, path: Path, *, key: bool = False) -> Place:
        """Return the place of the value at this path, or of its key, or of the nearest parent."""
        if not self.complete:
            self.places, self.keys = _all_places(self.lines)
            self.complete = True
        if key and path in self.keys:
            return self.keys[path]
        for length in range(len(path), -1, -1):
            if path[:length] in self.places:
                return self.places[path[:length]]
        return Place(1, 1, self.lines.file)

    def error(
        self, message: str, path: Path, fix: str | None = None, *, key: bool = False
    ) -> FileFormatError:
        """Return an error that shows the line of the value at this path."""
        return self.lines.error(message, self.lines.offset(self.place(path, key=key)), fix)


def read_yaml(text: str, file: str | None = None) -> Document:
    r"""Read one YAML document.

    Example:
        >>> document = read_yaml("initial: on\ncounters: [n]")
        >>> document.data
        {'initial': 'on', 'counters': ['n']}
        >>> str(document.place(("counters", 0)))
        'line 2, column 12'
    """
    document = Document(_lines_of(text, file), None, complete=len(text) <= EAGER)
    for path, value, start, key in _walk(document.lines):
        document.data = value  # the last value is the whole
        if document.complete or len(path) <= 2:
            document.places[path] = document.lines.place(start)
            if key is not None:
                document.keys[path] = document.lines.place(key)
    return document


def read_json(text: str, file: str | None = None) -> Document:
    """Read a JSON document; the places come from reading it as YAML, which it is.

    Example:
        >>> read_json('{"initial": "u0"}').data
        {'initial': 'u0'}
    """
    lines = _lines_of(text, file)
    _check_json_size(lines)
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) < len(items):
            repeated.extend(key for key, _ in items)
        return made

    def refuse(what: str) -> NoReturn:
        found = (m for m in _BAD_NUMBERS.finditer(text) if not m[0].startswith('"'))
        offset = next((m.start() for m in found), 0)
        raise lines.error(f"{shorten(what, 30)} is not a number of reasonable size", offset)

    def integer(digits: str) -> int:
        return refuse(digits) if len(digits) > MAX_DIGITS else int(digits)

    try:
        data = json.loads(text, object_pairs_hook=pairs, parse_constant=refuse, parse_int=integer)
    except json.JSONDecodeError as problem:
        raise lines.error(f"this is not JSON: {problem.msg}", problem.pos) from None
    document = Document(lines, data, complete=False)
    if repeated or len(text) <= EAGER:
        document.place(())  # looks up all places, and complains of a key that stands twice
    if repeated:
        raise lines.error(f"a key stands twice among {shorten(repeated)}", 0)
    return document


def _all_places(lines: Lines) -> tuple[dict[Path, Place], dict[Path, Place]]:
    # Tabs can only be white space in JSON, and are an error in YAML; halves of surrogate pairs
    # are characters only together. What replaces them keeps the columns.
    text = _SURROGATE.sub(r"\\u0041", lines.text.replace("\t", " "))
    places: dict[Path, Place] = {}
    keys: dict[Path, Place] = {}
    try:
        for path, _, start, key in _walk(Lines(text, lines.file)):
            places[path] = lines.place(start)
            if key is not None:
                keys[path] = lines.place(key)
    except FileFormatError as problem:
        if "twice" in problem.message:
            raise
    return places, keys


def _lines_of(text: str, file: str | None) -> Lines:
    if text.count("\n") > MAX_LINES:
        raise FileFormatError(f"there are more than {MAX_LINES:,} lines", place=Place(1, 1, file))
    return Lines(text, file)


def _check_json_size(lines: Lines) -> None:
    depth = values = 0
    for token in _BRACKETS.finditer(lines.text):
        bracket = token[0]
        depth += (bracket in "[{") - (bracket in "]}")
        values += bracket == ","
        if depth > MAX_DEPTH:
            raise _too_deep(lines, token.start())
        if values > MAX_VALUES:
            raise _too_many(lines, token.start())


def _too_deep(lines: Lines, offset: int) -> FileFormatError:
    return lines.error(f"nested more than {MAX_DEPTH} deep", offset)


def _too_many(lines: Lines, offset: int) -> FileFormatError:
    return lines.error(f"there are more than {MAX_VALUES:,} values", offset)


def _walk(lines: Lines) -> Iterator[tuple[Path, Any, int, int | None]]:
    """Every value of a YAML text with its path, start and key, inner ones first, the whole last."""
    open_: list[_Open] = []
    values = 0
    for event in _events(lines):
        start = event.start_mark.index
        _refuse_aliases_and_tags(event, lines, start)
        is_key = isinstance(event, yaml.ScalarEvent) and open_ and open_[-1].wants_key
        values += isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and not is_key
        if values > MAX_VALUES:
            raise _too_many(lines, start)
        if isinstance(event, yaml.CollectionStartEvent):
            if len(open_) >= MAX_DEPTH:
                raise _too_deep(lines, start)
            path, key = open_[-1].next_path(lines, start) if open_ else ((), None)
            made: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
            open_.append(_Open(made, path, start, key))
        elif is_key:
            open_[-1].take_key(event.value, lines, start)
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionEndEvent):
            if isinstance(event, yaml.ScalarEvent):
                path, key = open_[-1].next_path(lines, start) if open_ else ((), None)
                value = _scalar(event, lines, start)
            else:
                path, value, start, key = open_.pop().finished
            if open_:
                open_[-1].add(value)
            yield path, value, start, key


def _refuse_aliases_and_tags(event: Any, lines: Lines, start: int) -> None:
    """Refuse aliases, which can make a small file huge, and tags, which can run code."""
    name = str(getattr(event, "anchor", None) or "")[:30]
    if isinstance(event, yaml.AliasEvent):
        raise lines.error(f"aliases (*{name}) are not allowed", start, "write it out")
    if name:
        raise lines.error(f"anchors (&{name}) are not allowed", start, "remove it")
    if getattr(event, "tag", None) not in (None, "!"):
        quote = 'put it in quotes if it is a formula: when: "!A"'
        fix = "remove it" if event.tag.startswith("tag:") else quote
        raise lines.error(f"tags ({shorten(event.tag)}) are not allowed", start, fix)


def _events(lines: Lines) -> Iterator[Any]:
    parsed: Iterator[Any] = yaml.parse(lines.text, Loader=_LOADER)
    try:
        documents = 0
        for event in parsed:
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                start = event.start_mark.index
                raise lines.error("a file holds one machine, but a second document begins", start)
            yield event
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        said = " ".join(str(part) for part in (problem.context, problem.problem) if part)
        raise lines.error(f"this is not YAML: {said}", mark.index if mark else 0) from None
    except yaml.YAMLError as problem:  # characters that YAML does not allow
        said = " ".join(str(problem).split())
        offset = getattr(problem, "position", 0)
        raise lines.error(f"this is not YAML: {said[:200]}", offset or 0) from None


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    made: Any
    path: Path
    start: int
    own_key: int | None
    key: str | None = None
    key_start: int | None = None

    @property
    def finished(self) -> tuple[Path, Any, int, int | None]:
        return self.path, self.made, self.start, self.own_key

    @property
    def wants_key(self) -> bool:
        return isinstance(self.made, dict) and self.key is None

    def next_path(self, lines: Lines, start: int) -> tuple[Path, int | None]:
        if isinstance(self.made, list):
            return (*self.path, len(self.made)), None
        if self.key is None:
            raise lines.error("a key is a name, not a list or a mapping", start)
        return (*self.path, self.key), self.key_start

    def take_key(self, key: str, lines: Lines, start: int) -> None:
        if key in self.made:
            raise lines.error(f"the key {shorten(key)} stands here twice", start, "remove one")
        self.key, self.key_start = key, start

    def add(self, value: Any) -> None:
        if isinstance(self.made, list):
            self.made.append(value)
        else:
            self.made[self.key], self.key = value, None


def _scalar(event: Any, lines: Lines, start: int) -> Any:
    value: str = event.value
    if event.style or event.tag == "!":
        return value
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    if _INTEGER.match(value):
        if len(value) > MAX_DIGITS:
            said = f"an integer has at most {MAX_DIGITS} digits, this has {len(value):,}"
            raise lines.error(said, start)
        return int(value)
    return float(value) if _NUMBER.match(value) else value
