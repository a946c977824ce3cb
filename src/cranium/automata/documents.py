"""YAML and JSON as plain data, with the place of every value, safe against hostile input.

YAML is read from its event stream: aliases, tags and deep nesting are refused before anything is
built, and plain scalars follow YAML 1.2 (so that a proposition may be called ``on`` or ``no``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from cranium.errors import FileFormatError, Place, shorten

__all__ = ["Document", "read_json", "read_yaml"]

Path = tuple[str | int, ...]

MAX_DEPTH = 10
MAX_DIGITS = 300
EAGER_PLACES = 1_000_000  # characters: in a longer text, places are looked up only for an error
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(slots=True)
class Document:
    """Plain data (dicts, lists, strings, numbers, booleans, None) and where it stands."""

    text: str
    file: str | None
    data: Any
    places: dict[Path, Place] = field(default_factory=dict)

    def place(self, path: Path) -> Place | None:
        """Where the value at this path stands, or the nearest thing around it."""
        if not self.places:
            self.places = _places(self.text, self.file)
        for length in range(len(path), -1, -1):
            if path[:length] in self.places:
                return self.places[path[:length]]
        return None

    def error(self, message: str, path: Path, fix: str | None = None) -> FileFormatError:
        """An error that shows the line of the value at this path."""
        return point(self.text, message, self.place(path) or Place(1, 1, self.file), fix)


def point(text: str, message: str, place: Place, fix: str | None = None) -> FileFormatError:
    """An error that shows a line of a file, with a caret."""
    offset = sum(len(line) for line in text.splitlines(keepends=True)[: place.line - 1])
    offset = min(len(text), offset + place.column - 1)
    return FileFormatError.pointing(message, text, offset, place=place, fix=fix)


def read_yaml(text: str, file: str | None = None) -> Document:
    r"""Read one YAML document.

    Example:
        >>> document = read_yaml("initial: on\ncounters: [n]")
        >>> document.data
        {'initial': 'on', 'counters': ['n']}
        >>> str(document.place(("counters", 0)))
        'line 2, column 12'
    """
    places: dict[Path, Place] = {}
    data = None
    for path, data, mark in _walk(text, file):  # noqa: B007 - the last value is the whole
        if len(text) <= EAGER_PLACES:
            places[path] = Place(mark.line + 1, mark.column + 1, file)
    return Document(text, file, data, places)


def read_json(text: str, file: str | None = None) -> Document:
    """Read a JSON document; the places come from reading it as YAML, which it is.

    Example:
        >>> read_json('{"initial": "u0"}').data
        {'initial': 'u0'}
    """
    _check_json_depth(text, file)
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) < len(items):
            repeated.extend(key for key, _ in items)
        return made

    def refuse(constant: str) -> NoReturn:
        raise FileFormatError(f"{constant} is not a JSON number", place=Place(1, 1, file))

    try:
        data = json.loads(text, object_pairs_hook=pairs, parse_constant=refuse, parse_int=_integer)
    except FileFormatError:
        raise
    except json.JSONDecodeError as problem:
        place = Place(problem.lineno, problem.colno, file)
        raise point(text, f"this is not JSON: {problem.msg}", place) from None
    except ValueError as problem:
        raise FileFormatError(str(problem), place=Place(1, 1, file)) from None
    places = _places(text, file) if repeated or len(text) <= EAGER_PLACES else {}
    if repeated:  # and _places could not say where
        raise FileFormatError(
            f"a key stands twice among {shorten(repeated)}", place=Place(1, 1, file)
        )
    return Document(text, file, data, places)


def _places(text: str, file: str | None) -> dict[Path, Place]:
    # Tabs can only be white space in JSON, and are an error in YAML: a space keeps the columns.
    try:
        walked = _walk(text.replace("\t", " "), file)
        return {path: Place(m.line + 1, m.column + 1, file) for path, _, m in walked}
    except FileFormatError as problem:
        if "twice" in problem.message:
            raise
        return {(): Place(1, 1, file)}


def _check_json_depth(text: str, file: str | None) -> None:
    depth = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text):
        bracket = token[0]
        depth += (bracket in "[{") - (bracket in "]}")
        if depth > MAX_DEPTH:
            line = text.count("\n", 0, token.start()) + 1
            raise _too_deep(Place(line, 1, file))


def _too_deep(place: Place) -> FileFormatError:
    return FileFormatError(f"nested more than {MAX_DEPTH} deep", place=place)


def _walk(text: str, file: str | None) -> Iterator[tuple[Path, Any, Any]]:
    """Every value of a YAML text with its path and mark, inner ones first, the whole last."""
    open_: list[_Open] = []
    for event in _events(text, file):
        mark = event.start_mark
        place = Place(mark.line + 1, mark.column + 1, file)
        _refuse_cleverness(event, text, place)
        if isinstance(event, yaml.CollectionStartEvent):
            if len(open_) >= MAX_DEPTH:
                raise _too_deep(place)
            path = open_[-1].next_path(text, place) if open_ else ()
            made: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
            open_.append(_Open(made, path, mark))
        elif isinstance(event, yaml.ScalarEvent) and open_ and open_[-1].wants_key:
            open_[-1].take_key(event.value, text, place)
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionEndEvent):
            if isinstance(event, yaml.ScalarEvent):
                path = open_[-1].next_path(text, place) if open_ else ()
                value = _scalar(event, text, place)
            else:
                path, value, mark = open_.pop().finished
            if open_:
                open_[-1].add(value)
            yield path, value, mark


def _refuse_cleverness(event: Any, text: str, place: Place) -> None:
    """Aliases can make a small file huge, and tags can make it do things: neither is needed."""
    name = str(getattr(event, "anchor", None) or "")[:30]
    if isinstance(event, yaml.AliasEvent):
        raise point(text, f"aliases (*{name}) are not allowed", place, "write it out")
    if name:
        raise point(text, f"anchors (&{name}) are not allowed", place, "remove it")
    if getattr(event, "tag", None) not in (None, "!"):
        raise point(text, f"tags ({shorten(event.tag)}) are not allowed", place, "remove it")


def _events(text: str, file: str | None) -> Iterator[Any]:
    try:
        documents = 0
        for event in yaml.parse(text, Loader=_LOADER):
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                place = Place(event.start_mark.line + 1, 1, file)
                raise point(text, "a file holds one machine, but a second document begins", place)
            yield event
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        place = Place(mark.line + 1, mark.column + 1, file) if mark else Place(1, 1, file)
        said = " ".join(str(part) for part in (problem.context, problem.problem) if part)
        raise point(text, f"this is not YAML: {said}", place) from None
    except yaml.YAMLError as problem:  # characters that YAML does not allow
        said = " ".join(str(problem).split())
        raise FileFormatError(f"this is not YAML: {said[:200]}", place=Place(1, 1, file)) from None


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    made: Any
    path: Path
    mark: Any
    key: str | None = None

    @property
    def finished(self) -> tuple[Path, Any, Any]:
        return self.path, self.made, self.mark

    @property
    def wants_key(self) -> bool:
        return isinstance(self.made, dict) and self.key is None

    def next_path(self, text: str, place: Place) -> Path:
        if isinstance(self.made, list):
            return (*self.path, len(self.made))
        if self.key is None:
            raise point(text, "a key is a name, not a list or a mapping", place)
        return (*self.path, self.key)

    def take_key(self, key: str, text: str, place: Place) -> None:
        if key in self.made:
            raise point(text, f"the key {shorten(key)} stands here twice", place, "remove one")
        self.key = key

    def add(self, value: Any) -> None:
        if isinstance(self.made, list):
            self.made.append(value)
        else:
            self.made[self.key], self.key = value, None


def _scalar(event: Any, text: str, place: Place) -> Any:
    value: str = event.value
    if event.style or event.tag == "!":
        return value
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    if _INTEGER.match(value):
        try:
            return _integer(value)
        except ValueError as problem:
            raise point(text, str(problem), place) from None
    return float(value) if _NUMBER.match(value) else value


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"an integer has at most {MAX_DIGITS} digits, this has {len(text):,}")
    return int(text)
