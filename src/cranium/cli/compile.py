"""``cranium compile``: from a formal language to an automaton."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

import typer

import cranium
from cranium import languages
from cranium.cli.arguments import (
    DrawOption,
    FirstOption,
    OutOption,
    check_output_paths,
    write_machine,
)
from cranium.cli.output import print_line, show_status
from cranium.errors import LanguageError

__all__ = ["compile_language"]

MAX_WORDS = 5
"""How many accepted and rejected words are printed."""
MAX_LETTERS = 15
"""A longer word is printed with exponents."""
Words = list[tuple[str, ...]]


def compile_language(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The language, such as 'A^N B C^N'.")],
    out: OutOption = None,
    picture: DrawOption = None,
    first: FirstOption = False,
) -> None:
    """Compile a task that is written as a formal language into an automaton.

    Use it to write a task in one line instead of a file of states and transitions. It prints the
    task in English, the shortest words that the automaton accepts, and some near misses that it
    rejects.

    For example:

        cranium compile "mail^N office^N never decoration" -o task.yaml
    """
    check_output_paths(out, picture)
    language = languages.parse_language(text)
    with show_status("compiling"):
        machine = languages.compile_language(language, first=first)
        accepted, rejected = _find_words(language, machine, first)
    print_line(f"task      {languages.describe(language)}")
    print_line(f"class     {languages.language_class(machine)}")
    size = machine.size
    print_line(
        f"machine   {size.states} states, {size.terminal} terminal, {size.transitions} transitions"
    )
    print_line(f"accepts   {_format_words(accepted) or 'no word that is short enough to list'}")
    print_line(f"rejects   {_format_words(rejected)}")
    write_machine(machine, out, picture)


def _find_words(
    language: languages.Language, machine: cranium.CountingRewardAutomaton, first: bool
) -> tuple[Words, Words]:
    """Return the shortest words of a language and some near misses, checked on the machine."""
    accepted = languages.shortest_words(language, most=MAX_WORDS * (10 if first else 1))
    longest = max(map(len, accepted), default=1)
    rejected = languages.near_misses(language, longest, most=MAX_WORDS)
    if language.bindings:  # a letter then stands for a formula and is not a label
        return accepted[:MAX_WORDS], rejected
    if first:  # a word that extends a shorter one is not read to its end
        accepted = [word for word in accepted if machine.run(list(word)).accepted]
    for word in (*accepted, *rejected):
        if machine.run(list(word)).accepted != (word in accepted):
            raise LanguageError(
                f"the machine and the language disagree on {' '.join(word)!r}",
                fix="this is a bug in Cranium: please report it",
            )
    return accepted[:MAX_WORDS], rejected


def _format_words(words: Words) -> str:
    return "   ".join(_format_word(word) or "(nothing)" for word in words)


def _format_word(word: tuple[str, ...]) -> str:
    """Join the letters. In a long word, write repeated letters with an exponent."""
    if len(word) <= MAX_LETTERS:
        return " ".join(word)
    runs = [(letter, len(list(same))) for letter, same in groupby(word)]
    return " ".join(letter if count == 1 else f"{letter}^{count}" for letter, count in runs)
