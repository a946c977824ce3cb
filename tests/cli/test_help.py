"""cranium --help and cranium COMMAND --help: a summary, when to use it, and a valid example."""

from __future__ import annotations

import re
import shlex

import pytest
import typer
from click import Context
from typer.testing import CliRunner

import cranium
from cranium.cli import app

PROGRAM = typer.main.get_command(app)


def commands(group=PROGRAM, path=()):
    """All commands with the words that call them, those of ``cranium llm`` among them."""
    for name, command in group.commands.items():
        words = (*path, name)
        if hasattr(command, "commands"):
            yield from commands(command, words)
        else:
            yield words, command


COMMANDS = dict(commands())


def examples(command):
    """The lines of a help text that are commands."""
    return re.findall(r"^    +(cranium .*)$", command.help, re.MULTILINE)


def shown(*arguments):
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "100"})
    assert result.exit_code == 0, result.output
    return result.output


def test_help_lists_every_command_with_its_first_sentence():
    listed = shown("--help")
    assert 'cranium run library:anbcn "A A B C C"' in listed
    for words in COMMANDS:
        assert words[0] in listed
    assert shown("--version") == f"cranium {cranium.__version__}\n"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_says_what_a_command_does_when_to_use_it_and_shows_an_example(words):
    summary, use, *_ = COMMANDS[words].help.split("\n\n")
    assert re.fullmatch(r"[A-Z][^.]*(\.\w+[^.]*)*[.?]", summary), "one sentence"
    assert use.startswith("Use it ")
    assert examples(COMMANDS[words])
    assert examples(COMMANDS[words])[0] in shown(*words, "--help")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_and_argument_has_a_help_text(words):
    for parameter in COMMANDS[words].params:
        assert parameter.help, parameter.name


@pytest.mark.parametrize(
    ("words", "line"),
    [(words, line) for words, command in COMMANDS.items() for line in examples(command)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_examples_in_help_texts_are_valid_command_lines(words, line):
    line, _, _ = line.partition(" > ")
    arguments = shlex.split(line)[1:]
    assert tuple(arguments[: len(words)]) == words
    command = COMMANDS[words]
    # Parses the arguments and runs nothing; unknown options and values are errors.
    command.make_context(words[-1], arguments[len(words) :], parent=Context(PROGRAM))
