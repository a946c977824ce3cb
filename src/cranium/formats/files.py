"""Machines in files: YAML and JSON in and out, Toro Icarte's ``.txt`` in, HOA out.

A file is data. Nothing in it is ever executed: formulas are parsed, reward functions are named in
the file and given by the caller.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import Any

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.formula import FALSE, TRUE, Formula
from cranium.automata.formula_parser import parse_formula
from cranium.automata.program import SILENT_LIMIT
from cranium.automata.reward import RewardFunction, as_reward, find_reward, reward_key
from cranium.automata.reward_machine import RewardMachine
from cranium.automata.transition import Transition
from cranium.errors import (
    CraniumError,
    FileAccessError,
    FileFormatError,
    Place,
    RewardError,
    TextError,
    UnknownNameError,
)
from cranium.formats.documents import (
    MAX_VALUES,
    Document,
    Lines,
    Path,
    read_json,
    read_yaml,
)
from cranium.formats.hoa import to_hoa
from cranium.formats.schema import AutomatonFile, TransitionEntry, read_tests, validate
from cranium.formats.toro_icarte import read_toro_icarte
from cranium.io import format_path, read_text, write_text

__all__ = ["dumps", "load", "loads", "save"]

Rewards = Mapping[str, Callable[[Any, Any, Any], float]]

MAX_BYTES = 8 * 2**20
_TOO_LARGE = "use a smaller limit: reward machines of this size are better made by unroll()"
_PLAIN = re.compile(r"[A-Za-z_(][\w ()&|!<>=.+-]*\Z", re.ASCII)
_NOT_PLAIN = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
_READERS = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".txt": "toro-icarte"}
_WRITERS = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".hoa": "hoa"}


def load(
    path: str | os.PathLike[str], *, rewards: Rewards | None = None
) -> CountingRewardAutomaton:
    """Read a machine from a file: ``.yaml``, ``.json``, or Toro Icarte's ``.txt``.

    A machine without counters and silent transitions comes back as a ``RewardMachine``.

    Args:
        path: The file.
        rewards: The reward functions that the file names.

    Example:
        >>> import cranium, tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "task.yaml"
        >>> cranium.save(cranium.library.load("anbcn"), path)
        >>> cranium.load(path) == cranium.library.load("anbcn")
        True
    """
    path = FilePath(path)
    form = _form(path, _READERS, "read")
    text = read_text(path, most=MAX_BYTES, fix=_TOO_LARGE)
    return loads(text, form=form, rewards=rewards, file=str(path))


def loads(
    text: str, *, form: str = "yaml", rewards: Rewards | None = None, file: str | None = None
) -> CountingRewardAutomaton:
    """Read a machine from text: ``form`` is ``"yaml"``, ``"json"`` or ``"toro-icarte"``.

    Example:
        >>> machine = loads('''
        ... propositions: [mail, office]
        ... initial: no mail
        ... terminal: [done]
        ... accepting: [done]
        ... transitions:
        ...   - {from: no mail, when: mail, to: mail}
        ...   - {from: mail, when: office, to: done, reward: 1}
        ... ''')
        >>> machine.run("mail office").total_reward
        1.0
    """
    if len(text) > MAX_BYTES:
        raise FileFormatError(
            f"the text has more than {MAX_BYTES // 2**20:,} Mi characters", fix=_TOO_LARGE
        )
    try:
        _check_characters(text, file)
        if form == "toro-icarte":
            return read_toro_icarte(text, file=file, rewards=rewards)
        readers = {"yaml": read_yaml, "json": read_json}
        if form not in readers:
            raise UnknownNameError.of("form of file", form, [*readers, "toro-icarte"])
        document = readers[form](text, file)
        return _build(document, validate(document), {} if rewards is None else rewards)
    except CraniumError as problem:
        if problem.place is not None and problem.excerpt is None:
            lines = Lines(text, file)
            problem.excerpt = lines.error("", lines.offset(problem.place)).excerpt
        raise


def _check_characters(text: str, file: str | None) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        said = "half of a surrogate pair is not a character"
        raise Lines(text, file).error(said, problem.start) from None


def save(machine: CountingRewardAutomaton, path: str | os.PathLike[str]) -> None:
    """Write a machine to a ``.yaml``, ``.json`` or ``.hoa`` file, all or nothing.

    Example:
        >>> import cranium, tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "task.json"
        >>> cranium.save(cranium.library.load("office"), path)
    """
    path = FilePath(path)
    form = check_ending(path)
    text = dumps(machine, form=form)
    much = f"{MAX_BYTES // 2**20} MiB" if len(text.encode()) > MAX_BYTES else None
    if form != "hoa" and _count(_as_data(machine)) > MAX_VALUES:
        much = f"{MAX_VALUES:,} values"
    if much is not None:
        raise FileFormatError(
            f"{path} would have more than {much}, and could not be read again", fix=_TOO_LARGE
        )
    write_text(path, text)


def check_ending(path: str | os.PathLike[str]) -> str:
    """The form in which a file of this name is written, if there is one.

    Example:
        >>> check_ending("task.json")
        'json'
    """
    return _form(FilePath(path), _WRITERS, "write")


def dumps(machine: CountingRewardAutomaton, *, form: str = "yaml") -> str:
    """Convert a machine to text: ``form`` is ``"yaml"``, ``"json"`` or ``"hoa"`` (no counters).

    Example:
        >>> import cranium
        >>> print(dumps(cranium.library.load("mail-delivery")).splitlines()[1])
        propositions: [mail, person, decoration]
    """
    if form == "hoa":
        return to_hoa(machine)
    data = _as_data(machine)
    if form == "json":
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if form != "yaml":
        raise UnknownNameError.of("form of file", form, ["yaml", "json", "hoa"])
    transitions = data.pop("transitions")
    lines = [f"{key}: {_flow(value)}" for key, value in data.items()]
    lines.append("transitions:" if transitions else "transitions: []")
    lines.extend(f"  - {_flow(entry)}" for entry in transitions)
    return "\n".join(lines) + "\n"


def _form(path: FilePath, forms: Mapping[str, str], verb: str) -> str:
    try:
        return forms[path.suffix.lower()]
    except KeyError:
        endings = ", ".join(forms)
        if path.is_dir():
            raise FileAccessError(
                f"cannot {verb} {path}: it is a directory", fix="give a file"
            ) from None
        raise FileAccessError(
            f"cannot {verb} {format_path(path)}: its name does not end in one of {endings}",
            fix="give it the ending of its format",
        ) from None


# From data to a machine


def _build(document: Document, entry: AutomatonFile, rewards: Rewards) -> CountingRewardAutomaton:
    counters = tuple(entry.counters)
    transitions = [
        _transition(document, number, row, counters, rewards)
        for number, row in enumerate(entry.transitions)
    ]
    definition: dict[str, Any] = {
        "name": entry.name,
        "propositions": entry.propositions,
        "initial": entry.initial,
        "states": entry.states or None,
        "terminal": entry.terminal,
        "accepting": entry.accepting,
        "otherwise": entry.otherwise,
        "transitions": transitions,
        "places": {p: at for p, at in document.places.items() if p[:1] != ("transitions",)},
    }
    try:
        plain = entry.silent_limit == SILENT_LIMIT and not any(t.silent for t in transitions)
        if not counters and plain:
            return RewardMachine(**definition)
        return CountingRewardAutomaton(
            **definition, counters=counters, silent_limit=entry.silent_limit
        )
    except CraniumError as problem:
        if problem.path or problem.place is None:
            problem.place = document.place(problem.path)
        raise


def _transition(
    document: Document,
    number: int,
    row: TransitionEntry,
    counters: tuple[str, ...],
    rewards: Rewards,
) -> Transition:
    path: Path = ("transitions", number)
    where = f"transition {number + 1}: "
    part: Path = ("when",)
    try:
        guard = _guard(row.when)
        part = ("if",)
        pattern = read_tests(row.if_, counters, where)
        for counter in row.add:
            part = ("add", counter)
            if counter not in counters:
                raise UnknownNameError.of("counter", counter, counters, where)
        part = ("reward",)
        reward = (
            find_reward(row.reward, rewards)
            if isinstance(row.reward, str)
            else as_reward(row.reward)
        )
        part = ("silent",)
        return Transition(
            source=row.from_,
            target=row.to,
            guard=guard,
            zero_pattern=pattern,
            change=tuple(row.add.get(counter, 0) for counter in counters),
            reward=reward,
            silent=row.silent,
            place=document.places.get(path),
        )
    except CraniumError as problem:
        around = document.place((*path, *part), key=part[0] == "add")
        if isinstance(problem, TextError) and isinstance(row.when, str):
            problem.place = _inside(document, around, row.when, problem)
        raise problem.at(around) from None


def _inside(document: Document, around: Place, text: str, problem: TextError) -> Place:
    """The place of an error in a text, as one in the file, if the text stands there as it is."""
    start = document.lines.offset(around)
    for quote in (0, 1):
        if problem.place and document.lines.text.startswith(text, start + quote):
            problem.excerpt = None  # the line of the file shows it
            offset = start + quote + Lines(text, None).offset(problem.place)
            return document.lines.place(offset)
    return around


def _guard(when: str | bool) -> Formula:
    if isinstance(when, bool):
        return TRUE if when else FALSE
    return parse_formula(when)


# From a machine to data


def _as_data(machine: CountingRewardAutomaton) -> dict[str, Any]:
    _check_reward_names(machine)
    implied = machine.implied_states(machine.initial, machine.terminal, machine.transitions)
    data: dict[str, Any] = {
        "name": machine.name,
        "propositions": list(machine.propositions),
        "counters": list(machine.counters),
        "states": None if machine.states == implied else list(machine.states),
        "initial": machine.initial,
        "terminal": list(machine.terminal),
        "accepting": list(machine.accepting),
        "otherwise": machine.otherwise,
        "silent_limit": None if machine.silent_limit == SILENT_LIMIT else machine.silent_limit,
        "transitions": [_entry(t, machine.counters) for t in machine.transitions],
    }
    required = ("propositions", "initial", "otherwise", "transitions")
    return {key: value for key, value in data.items() if value or key in required}


def _count(data: Any) -> int:
    """How many values there are in plain data, with those that hold others."""
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return 1 + sum(map(_count, inside))


def _check_reward_names(machine: CountingRewardAutomaton) -> None:
    """A file knows reward functions only by name, so two of them cannot share one."""
    known: dict[str, RewardFunction] = {}
    for transition in machine.transitions:
        reward = transition.reward
        if isinstance(reward, RewardFunction):
            other = known.setdefault(reward.name, reward)
            if reward_key(other) != reward_key(reward):
                raise RewardError(
                    f"two reward functions are called {reward.name!r}, and a file could not tell "
                    "them apart",
                    fix="name them: RewardFunction('distance', function)",
                )


def _entry(transition: Transition, counters: tuple[str, ...]) -> dict[str, Any]:
    tests = transition.tests(counters)
    pairs = zip(counters, transition.change, strict=True)
    reward = transition.reward
    if not isinstance(reward, RewardFunction) and reward.is_integer() and abs(reward) < 1e15:
        reward = int(reward)
    entry: dict[str, Any] = {
        "from": transition.source,
        "when": None if transition.guard == TRUE else transition.guard.format(),
        "silent": transition.silent,
        "if": tests[0] if len(tests) == 1 else tests,
        "to": None if transition.target == transition.source else transition.target,
        "add": {counter: step for counter, step in pairs if step},
        "reward": reward.name if isinstance(reward, RewardFunction) else reward,
    }
    return {key: value for key, value in entry.items() if value or key == "from"}


def _flow(value: Any) -> str:
    """A value in YAML's flow style, strings quoted wherever YAML 1.1 or 1.2 could misread them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str):
        plain = _PLAIN.match(value) and value.strip() == value
        safe = plain and value.lower() not in _NOT_PLAIN
        return value if safe else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)
