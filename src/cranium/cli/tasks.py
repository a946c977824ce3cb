"""The command that turns a language into a machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import cranium
from cranium import languages
from cranium.automata.files import check_ending
from cranium.cli.output import say, working
from cranium.errors import LanguageError

__all__ = ["register"]

SHOWN = 5


def compile_(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The task, such as 'A^N B C^N'.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="OUT", help="The file to write.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--draw", metavar="PICTURE", help="Draw the machine, too.")
    ] = None,
    first: Annotated[
        bool, typer.Option("--first", help="Reward the first completion, if there are several.")
    ] = False,
) -> None:
    """Make the machine of a task that is written as a formal language.

    Prints what it asks for in English, the shortest words that it accepts, and some near misses
    that it rejects. For example: cranium compile "mail^N office^N never decoration" -o task.yaml
    """
    if out is not None:
        check_ending(out)
    language = languages.parse_language(text)
    with working("compiling"):
        machine = languages.compile_language(language, first=first)
        good = languages.shortest_words(language, most=SHOWN)
        longest = max(map(len, good), default=1)
        bad = languages.near_misses(language, longest, most=SHOWN)
    say(f"task      {languages.describe(language)}")
    say(f"class     {languages.language_class(machine)}")
    size = machine.size
    say(f"machine   {size.states} states, {size.terminal} terminal, {size.transitions} transitions")
    if not first and not language.bindings:
        _confirm(machine, good, True)
        _confirm(machine, bad, False)
    say(f"accepts   {_shown(good)}")
    say(f"rejects   {_shown(bad)}")
    if out is not None:
        cranium.save(machine, out)
        say(f"wrote {out}")
    if picture is not None:
        cranium.draw(machine, picture)
        say(f"wrote {picture}")


def _confirm(
    machine: cranium.CountingRewardAutomaton, words: list[tuple[str, ...]], wanted: bool
) -> None:
    """Run the words through the machine: what is printed is what it does."""
    for word in words:
        if machine.run(list(word)).accepted != wanted:
            raise LanguageError(
                f"the machine and the language disagree on {' '.join(word)!r}",
                fix="this is a mistake of ours: please report it",
            )


def _shown(words: list[tuple[str, ...]]) -> str:
    return "   ".join(" ".join(word) or "(nothing)" for word in words) or "nothing"


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("compile")(compile_)
