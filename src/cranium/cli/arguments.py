"""The arguments and options that several commands share, and how their values are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

import cranium
from cranium.aamdp.catalogue import WorldEntry
from cranium.automata.reward import RewardFunction
from cranium.cli.output import print_line
from cranium.drawing import check_drawing
from cranium.errors import InvalidArgumentError, RewardError, UnknownNameError, shorten
from cranium.formats import library
from cranium.formats.files import check_ending
from cranium.io import check_writable

__all__ = [
    "TRACK_HELP",
    "DrawOption",
    "FirstOption",
    "HorizonOption",
    "JsonOption",
    "LabelsOption",
    "LanguageOption",
    "MachineArgument",
    "OptionValue",
    "OutOption",
    "TaskArgument",
    "TaskOption",
    "WorldArgument",
    "WorldOption",
    "WorldOptions",
    "check_output_paths",
    "load_machine",
    "load_machine_or_language",
    "load_task",
    "parse_count",
    "parse_pairs",
    "parse_world_options",
    "write_machine",
]

MachineArgument = Annotated[
    str | None,
    typer.Argument(metavar="FILE", help="An automaton file, or library:NAME.", show_default=False),
]
LanguageOption = Annotated[
    str | None,
    typer.Option("--language", "-l", metavar="TEXT", help="A formal language instead of a file."),
]
TRACK_HELP = (
    "Track each run with tensorboard:DIR, wandb:PROJECT, mlflow:DIR, csv:FILE, or a tracker of "
    "your own, as MODULE:NAME or FILE.py:NAME. Repeatable."
)
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


WorldArgument = Annotated[
    str,
    typer.Argument(
        metavar="WORLD",
        help="A world of `cranium worlds`, a Gymnasium id, or an environment of your own, as "
        "MODULE:NAME or FILE.py:NAME. The module is imported.",
    ),
]
WorldOption = Annotated[
    str | None,
    typer.Option(
        "--world",
        metavar="WORLD",
        help="The environment that the file names, as a Gymnasium id, MODULE:NAME or FILE.py:NAME. "
        "Only code that is named here is imported.",
        show_default=False,
    ),
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="MODULE:FUNCTION",
        help="The labelling (s, a, s′) → events, as MODULE:FUNCTION or FILE.py:FUNCTION, for an "
        "environment that reports no events of its own.",
        show_default=False,
    ),
]
TaskOption = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="FILE|LANGUAGE",
        help="The task: an automaton file, library:NAME, or a formal language.",
        show_default=False,
    ),
]
HorizonOption = Annotated[
    int | None,
    typer.Option(
        "--horizon",
        min=1,
        metavar="STEPS",
        help="Truncate episodes after this many steps.",
        show_default="that of the world",
    ),
]
TaskArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TASK",
        help="A task of the world, an automaton file, or library:NAME.",
        show_default=False,
    ),
]
WorldOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="NAME=VALUE",
        help="Set an option of the world, such as times=3, mail=1..5 or radius=0.1. Repeatable.",
        show_default=False,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="OUT", help="Write the automaton to this file."),
]
DrawOption = Annotated[
    Path | None,
    typer.Option("--draw", metavar="PICTURE", help="Draw the automaton to this file."),
]
FirstOption = Annotated[
    bool,
    typer.Option("--first", help="Reward the first completion if a complete task could continue."),
]

OptionValue = int | float | str | bool | tuple[int, int] | None
"""The value of an option of a world."""
MAX_VALUE = 500
"""The greatest length of a value in NAME=VALUE."""
DECIMAL = re.compile(r"-?(?:[0-9]++(?:\.[0-9]++)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")


def check_output_paths(out: Path | None = None, picture: Path | None = None) -> None:
    """Refuse paths that cannot be written, before any work is done.

    Args:
        out: A file for an automaton.
        picture: A file for a drawing of it.
    """
    if out is not None:
        check_ending(out)
        check_writable(out)
    if picture is not None:
        check_drawing(picture)
        check_writable(picture)


def write_machine(
    machine: cranium.CountingRewardAutomaton, out: Path | None, picture: Path | None
) -> None:
    """Save a machine and draw it, if the paths are given."""
    if out is not None:
        cranium.save(machine, out)
        print_line(f"wrote {out}")
    if picture is not None:
        cranium.draw(machine, picture)
        print_line(f"wrote {picture}")


@cache
def _named_reward(name: str) -> RewardFunction:
    """Return the same reward function for the same name, so that two files can be compared."""

    def refuse(*_: object) -> float:
        raise RewardError(f"the reward function {name!r} is only known to Python code")

    return RewardFunction(name, refuse)


class _NamedRewards(Mapping[str, RewardFunction]):
    """Stand-ins for the reward functions that a file names: they can be shown, but not called."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)

    def __getitem__(self, name: str) -> RewardFunction:
        return _named_reward(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def load_machine_or_language(
    file: str | None, language: str | None
) -> cranium.CountingRewardAutomaton:
    """Load FILE, or compile the text of ``--language``. Exactly one of them must be given."""
    if (file is None) == (language is None):
        raise typer.BadParameter("give either a FILE or --language TEXT")
    return load_machine(str(file)) if language is None else cranium.compile_language(language)


def load_machine(source: str) -> cranium.CountingRewardAutomaton:
    """Load a machine from a file, or from the library (``library:NAME``)."""
    if source.startswith("library:"):
        return library.load(source.removeprefix("library:"))
    return cranium.load(source, rewards=_NamedRewards())


def load_task(
    world: WorldEntry, task: str | None, language: str | None, source: str | None = None
) -> cranium.CountingRewardAutomaton | None:
    """Load the task of a world: TASK, ``--language`` or ``--task``; at most one may be given.

    None if none is given and the world is not ours: it may be a product, which has a task.
    """
    given = [one for one in (task, language, source) if one is not None]
    if len(given) > 1 or (not given and world.is_ours):
        tasks = ", ".join([*world.tasks, "or a file"])
        raise typer.BadParameter(f"give either a TASK ({tasks}), --task or --language TEXT")
    if language is not None:
        return cranium.compile_language(language)
    if source is not None:
        return _load_file_or_language(world, source)
    if task is None:
        return None
    if task in world.tasks:
        return library.load(world.tasks[task])
    if ":" in task or "." in task or "/" in task:
        return load_machine(task)
    error = UnknownNameError.of(f"task in the world {world.name}", task, world.tasks)
    error.fix = f"{error.fix}; a language is given with --task"
    raise error


def _load_file_or_language(world: WorldEntry, source: str) -> cranium.CountingRewardAutomaton:
    """Load the value of ``--task``: a ready-made task, a machine, or a language."""
    if source in world.tasks:
        return library.load(world.tasks[source])
    # No language contains a dot, a slash or a colon, so these are the names of files.
    if any(character in source.partition("#")[0] for character in "./:"):
        return load_machine(source)
    return cranium.compile_language(source)


def parse_world_options(given: list[str] | None) -> dict[str, OptionValue]:
    """Read the options of a world (``--with``): numbers, ranges such as 1..5, and names."""
    pairs = parse_pairs(given, "an option of a world", "times=3")
    return {name: _parse_value(value) for name, value in pairs}


def parse_pairs(given: list[str] | None, kind: str, example: str) -> Iterator[tuple[str, str]]:
    """Split each NAME=VALUE into a name and a value."""
    for text in given or ():
        name, equals, value = text.partition("=")
        if not (equals and name.isidentifier() and value):
            raise InvalidArgumentError(
                f"{kind} is NAME=VALUE, such as {example}, not {shorten(text)}"
            )
        if len(value) > MAX_VALUE:  # Python reads no numbers of thousands of digits
            raise InvalidArgumentError(
                f"{kind} has a value of at most {MAX_VALUE} characters, not {len(value):,}"
            )
        yield name, value


def _parse_value(text: str) -> OptionValue:
    low, dots, high = text.partition("..")
    if dots and low.isdecimal() and high.isdecimal():
        return int(low), int(high)
    if text.isdecimal():
        return int(text)
    if DECIMAL.fullmatch(text):
        return float(text)
    return {"none": None, "true": True, "false": False}.get(text.lower(), text)


def parse_count(text: str) -> int:
    """Read a number of samples, such as 500, 100k or 2.5M."""
    factors = {"k": 1_000, "m": 1_000_000}
    plain = text.strip().replace(",", "").replace("_", "")
    factor = factors.get(plain[-1:].lower(), 1)
    try:
        count = float(plain[:-1] if factor > 1 else plain) * factor
    except ValueError:
        count = -1.0
    if not 1 <= count <= 1e12 or count != int(count):
        raise InvalidArgumentError(
            f"a number of samples is written like 500, 100k or 2.5M, not {shorten(text)}"
        )
    return int(count)
