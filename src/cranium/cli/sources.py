"""Where commands get what they work on: files, languages, worlds and tasks."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

import cranium
from cranium.aamdp.registry import find_world, make_env
from cranium.automata.reward import RewardFunction
from cranium.cli.output import say
from cranium.drawing import check_drawing
from cranium.errors import InvalidArgumentError, RewardError, UnknownNameError, shorten
from cranium.formats import library
from cranium.formats.files import check_ending
from cranium.io import check_writable

__all__ = ["Machine", "Options", "Task", "World", "load_machine", "machine_of", "make_env"]

Machine = Annotated[
    str | None,
    typer.Argument(metavar="FILE", help="An automaton file, or library:NAME.", show_default=False),
]
Task = Annotated[
    str | None,
    typer.Option("--language", "-l", metavar="TEXT", help="The task as a language, not a file."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def import_world(name: str) -> str:
    """Import the module of MODULE:ID, which registers an environment, and return the id.

    Only names from the command line are passed here; files cannot import anything.
    """
    module, colon, id_ = name.partition(":")
    if not colon:
        return name
    try:
        importlib.import_module(module)
    except (ImportError, ValueError) as problem:
        raise InvalidArgumentError(
            f"the module {shorten(module)} cannot be imported: {problem}",
            fix="MODULE:ID names a module on Python's path (PYTHONPATH=. for this folder)",
        ) from None
    return id_


World = Annotated[
    str,
    typer.Argument(
        metavar="WORLD",
        help="A world: see cranium worlds; or a Gymnasium id, as ID or MODULE:ID.",
        callback=import_world,
    ),
]
WorldTask = Annotated[
    str | None,
    typer.Argument(
        metavar="TASK",
        help="One of its tasks, an automaton file, or library:NAME.",
        show_default=False,
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="NAME=VALUE",
        help="An option of the world, such as times=3, mail=1..5 or radius=0.1; may be repeated.",
        show_default=False,
    ),
]


DECIMAL = re.compile(r"-?(?:[0-9]++(?:\.[0-9]++)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")
WrittenTo = Annotated[
    Path | None, typer.Option("-o", "--out", metavar="OUT", help="The file to write.")
]
DrawnInto = Annotated[
    Path | None, typer.Option("--draw", metavar="PICTURE", help="Draw the machine, too.")
]
First = Annotated[
    bool, typer.Option("--first", help="Reward the first completion, if there are several.")
]


def check_places(out: Path | None = None, picture: Path | None = None) -> None:
    """Refuse places where no machine, or no drawing, can be written: before the work, not after."""
    if out is not None:
        check_ending(out)
        check_writable(out)
    if picture is not None:
        check_drawing(picture)
        check_writable(picture)


def write_machine(
    machine: cranium.CountingRewardAutomaton, out: Path | None, picture: Path | None
) -> None:
    """Save a machine, and draw it, where that is asked for."""
    if out is not None:
        cranium.save(machine, out)
        say(f"wrote {out}")
    if picture is not None:
        cranium.draw(machine, picture)
        say(f"wrote {picture}")


@cache
def _known_by_name(name: str) -> RewardFunction:
    """One function for each name, so that machines from two files can be compared."""

    def unknown(*_: Any) -> float:
        raise RewardError(f"the reward function {name!r} is only known to Python code")

    return RewardFunction(name, unknown)


class _AnyReward(Mapping[str, Any]):
    """Reward functions for files that name them: a command can show them, but not call them."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)

    def __getitem__(self, name: str) -> RewardFunction:
        return _known_by_name(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def machine_of(file: str | None, language: str | None) -> cranium.CountingRewardAutomaton:
    """The machine of a file, or of a language: one of them must be given."""
    if (file is None) == (language is None):
        raise typer.BadParameter("give a FILE or --language TEXT, one of them")
    return load_machine(str(file)) if language is None else cranium.compile_language(language)


def load_machine(source: str) -> cranium.CountingRewardAutomaton:
    """The machine of a file, or of the library."""
    if source.startswith("library:"):
        return library.load(source.removeprefix("library:"))
    return cranium.load(source, rewards=_AnyReward())


def task_of(world: str, task: str | None, language: str | None) -> cranium.CountingRewardAutomaton:
    """The task for a world: ready-made, from a file, or a language."""
    ready = find_world(world).tasks
    if (task is None) == (language is None):
        raise typer.BadParameter(
            f"give a TASK ({', '.join([*ready, 'or a file'])}) or --language TEXT, one of them"
        )
    if language is not None:
        return cranium.compile_language(language)
    if task in ready:
        return library.load(ready[str(task)])
    if ":" in str(task) or "." in str(task) or "/" in str(task):
        return load_machine(str(task))
    raise UnknownNameError.of(f"task in the world {world}", task, ready)


def parse_options(given: list[str] | None) -> dict[str, Any]:
    """The options of a world: whole numbers, ranges such as 1..5, and names."""
    return {
        name: _value(value) for name, value in parse_pairs(given, "an option of a world", "times=3")
    }


def parse_pairs(given: list[str] | None, what: str, example: str) -> Iterator[tuple[str, str]]:
    """The names and values of NAME=VALUE."""
    for text in given or ():
        name, equals, value = text.partition("=")
        if not (equals and name.isidentifier() and value):
            raise InvalidArgumentError(
                f"{what} is NAME=VALUE, such as {example}, not {shorten(text)}"
            )
        yield name, value


def _value(text: str) -> Any:
    low, dots, high = text.partition("..")
    if dots and low.isdecimal() and high.isdecimal():
        return int(low), int(high)
    if text.isdecimal():
        return int(text)
    if DECIMAL.fullmatch(text):
        return float(text)
    return {"none": None, "true": True, "false": False}.get(text.lower(), text)


def parse_count(text: str) -> int:
    """A number of samples: 500, 100k, 2.5M."""
    factors = {"k": 1_000, "m": 1_000_000}
    plain = text.strip().replace(",", "").replace("_", "")
    factor = factors.get(plain[-1:].lower(), 1)
    try:
        count = float(plain[:-1] if factor > 1 else plain) * factor
    except ValueError:
        count = -1.0
    if not 1 <= count <= 1e12 or count != int(count):
        raise InvalidArgumentError(
            f"a number of samples is 500, 100k or 2.5M, say, not {shorten(text)}"
        )
    return int(count)
