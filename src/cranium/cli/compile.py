"""The command that turns a language into a machine."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

import typer

import cranium
from cranium import languages
from cranium.cli.output import say, working
from cranium.cli.sources import DrawnInto, First, WrittenTo, check_places, write_machine
from cranium.errors import LanguageError

__all__ = ["register"]

SHOWN = 5
LONG = 15


def compile_(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The task, such as 'A^N B C^N'.")],
    out: WrittenTo = None,
    picture: DrawnInto = None,
    first: First = False,
) -> None:
    """Make the machine of a task that is written as a formal language.

    Prints what it asks for in English, the shortest words that it accepts, and some near misses
    that it rejects. For example: cranium compile "mail^N office^N never decoration" -o task.yaml
    """
    check_places(out, picture)
    language = languages.parse_language(text)
    with working("compiling"):
        machine = languages.compile_language(language, first=first)
        good, bad = _examples(language, machine, first)
    say(f"task      {languages.describe(language)}")
    say(f"class     {languages.language_class(machine)}")
    size = machine.size
    say(f"machine   {size.states} states, {size.terminal} terminal, {size.transitions} transitions")
    say(f"accepts   {_shown(good) or 'no word that is short enough to list'}")
    say(f"rejects   {_shown(bad)}")
    write_machine(machine, out, picture)


Words = list[tuple[str, ...]]


def _examples(
    language: languages.Language, machine: cranium.CountingRewardAutomaton, first: bool
) -> tuple[Words, Words]:
    """The shortest words and some near misses; the machine agrees on what is printed."""
    good = languages.shortest_words(language, most=SHOWN * (10 if first else 1))
    longest = max(map(len, good), default=1)
    bad = languages.near_misses(language, longest, most=SHOWN)
    if language.bindings:  # letters are no labels then
        return good[:SHOWN], bad
    if first:  # what begins with a shorter word is not read to its end
        good = [word for word in good if machine.run(list(word)).accepted]
    for word in (*good, *bad):
        if machine.run(list(word)).accepted != (word in good):
            raise LanguageError(
                f"the machine and the language disagree on {' '.join(word)!r}",
                fix="this is a mistake of ours: please report it",
            )
    return good[:SHOWN], bad


def _shown(words: Words) -> str:
    return "   ".join(_word(word) or "(nothing)" for word in words)


def _word(word: tuple[str, ...]) -> str:
    """The letters; in a long word those that are repeated only once, with their number."""
    if len(word) <= LONG:
        return " ".join(word)
    runs = [(letter, len(list(same))) for letter, same in groupby(word)]
    return " ".join(letter if count == 1 else f"{letter}^{count}" for letter, count in runs)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("compile")(compile_)
