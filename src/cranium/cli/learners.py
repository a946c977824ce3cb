"""``cranium learners``: the learners and their settings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import typer
from rich.table import Table

from cranium._runtime.terminal import visible_text
from cranium.cli.arguments import JsonOption
from cranium.cli.output import print_json, print_line, table_console
from cranium.errors import UnknownNameError
from cranium.learners import LEARNERS, AgentConfig, Learner, Schedule

__all__ = ["list_learners"]

SECTION = re.compile(r"^(?:Args|Attributes):\n", re.MULTILINE)
PARAMETER = re.compile(r" {4}\*{0,2}(\w+)(?: \([^)]*\))?: (.*)")
MARKUP = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`|``([^`]*)``")


class Setting(NamedTuple):
    """A setting of a learner: its name, its default as ``--set`` takes it, and its meaning."""

    name: str
    default: str
    meaning: str


def list_learners(
    name: Annotated[
        str | None,
        typer.Argument(metavar="LEARNER", help="Show the settings of one learner."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the learners, or show the settings of one.

    Use it to choose a learner for `cranium train --learner`, and to find the name, the default and
    the meaning of what `cranium train --set NAME=VALUE` changes. Learners that are registered by
    other packages are listed, too.

    For example:

        cranium learners cql
    """
    if name is not None and name not in LEARNERS:
        raise UnknownNameError.of("learner", name, LEARNERS)
    learners = list(LEARNERS.values()) if name is None else [LEARNERS[name]]
    if as_json:
        print_json([_learner_to_json(learner) for learner in learners], indent=2)
    elif name is None:
        _print_rows(("learner", "summary"), [(each.name, each.summary) for each in learners])
        print_line("see the settings of one: cranium learners cql")
    else:
        (learner,) = learners
        print_line(f"{learner.name}: {learner.summary}", style="bold")
        _print_rows(("setting", "default", "meaning"), list(find_settings(learner)))


def _print_rows(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(visible_text, row))
    table_console().print(table)


def _learner_to_json(learner: Learner) -> dict[str, object]:
    settings = [setting._asdict() for setting in find_settings(learner)]
    return {"name": learner.name, "summary": learner.summary, "settings": settings}


def find_settings(learner: Learner) -> Iterator[Setting]:
    """Yield the settings of a learner, with their meanings from docstrings.

    These are the docstrings of the class of its config and of the base classes; for a learner that
    was registered from outside, those of its agent.
    """
    config = learner.config
    source = config.agent if isinstance(config, AgentConfig) else type(config)
    meanings: dict[str, str] = {}
    documented: list[object] = [source]
    if isinstance(source, type):
        classes = reversed(inspect.getmro(source))
        documented = [each for cls in classes for each in (cls, vars(cls).get("__init__"))]
    for each in documented:
        meanings |= _parse_parameters(getattr(each, "__doc__", None) or "")
    for name, value in learner.settings.items():
        yield Setting(name, _format_value(value), meanings.get(name, ""))


def _parse_parameters(docstring: str) -> dict[str, str]:
    """Read the sections ``Args:`` and ``Attributes:`` of a docstring: names and descriptions."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"^(?:Args|Attributes):\n", inspect.cleandoc(docstring), flags=re.M)[
        1:
    ]:
        for line in section.split("\n\n")[0].splitlines():
            if match := PARAMETER.fullmatch(line):
                found[match[1]] = [match[2]]
            elif found:
                found[next(reversed(found))].append(line.strip())
    return {name: _remove_markup(" ".join(lines)) for name, lines in found.items()}


def _remove_markup(text: str) -> str:
    return MARKUP.sub(lambda match: match[1] or match[2], text)


def _format_value(value: object) -> str:
    """Format a value as ``--set`` takes it."""
    match value:
        case None:
            return "–"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case tuple():
            return ",".join(map(str, value))
        case Schedule(start, end, over, unit):
            suffix = "" if unit == "samples" else f":{unit}"
            return f"{start:g}:{end:g}:{over}{suffix}"
    return str(value)
