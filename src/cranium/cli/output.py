"""What the commands print: lines, tables, JSON, errors and questions.

Everything that a command prints goes through this module, and through
:mod:`cranium._runtime.terminal`, which escapes control characters. Text from files and names is
never read as markup.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from cranium._runtime.interrupt import finishing
from cranium._runtime.startup import INTERRUPTED
from cranium._runtime.terminal import GuardedConsole, as_json, visible, visible_text
from cranium.errors import CraniumError, FileAccessError, Place

__all__ = [
    "BAD_INPUT",
    "INTERRUPTED",
    "NEGATIVE",
    "ask_user",
    "confirm",
    "edit_text",
    "place_to_json",
    "print_error",
    "print_json",
    "print_line",
    "print_warning",
    "report_errors_as_json",
    "show_status",
    "table_console",
    "write_or_rescue",
]

NEGATIVE = 1
"""The exit code of a command that worked, with a negative result: findings, a rejected word."""
BAD_INPUT = 2
"""The exit code for bad usage or a bad file."""
PIPE_WIDTH = 1000


def print_line(text: str, style: str = "") -> None:
    """Print a line as it is: without markup, wrapping, or highlighted numbers."""
    GuardedConsole().print(visible_text(text, style), soft_wrap=True)


def print_error(text: str) -> None:
    """Print an error message to standard error."""
    _print_message("error: ", "bold red", text)


def print_warning(text: str) -> None:
    """Print a warning to standard error."""
    _print_message("warning: ", "bold yellow", text)


def _print_message(kind: str, style: str, text: str) -> None:
    message = Text(kind, style=style).append(visible(text), style="not bold default")
    GuardedConsole(stderr=True).print(message, soft_wrap=True)


def print_json(data: object, indent: int | None = None) -> None:
    """Print data as JSON to standard output."""
    typer.echo(as_json(data, indent))


def ask_user(question: str, default: str | None = None) -> str:
    """Ask the user a question and return the answer."""
    answer: str = typer.prompt(visible(question), default=default)
    return answer


def confirm(question: str) -> bool:
    """Ask the user a question and return whether the answer is yes."""
    return bool(typer.confirm(visible(question)))


def table_console() -> Console:
    """Return a console for tables. Tables are not wrapped in a file or a pipe."""
    console = GuardedConsole()
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return GuardedConsole(width=PIPE_WIDTH)


def place_to_json(place: Place | None) -> dict[str, object] | None:
    """Return the file, line and column of a place, for JSON."""
    return None if place is None else place._asdict()


@contextmanager
def report_errors_as_json(enabled: bool) -> Iterator[None]:
    """Print errors as JSON to standard output if enabled (``--json``). The exit code stays 2."""
    try:
        yield
    except CraniumError as error:
        if not enabled:
            raise
        description = {
            "type": type(error).__name__,
            "message": error.message,
            "place": place_to_json(error.place),
            "fix": error.fix,
        }
        print_json({"error": description})
        raise typer.Exit(BAD_INPUT) from None


@contextmanager
def show_status(activity: str) -> Iterator[None]:
    """Show a spinner while the block runs, if standard error is a terminal."""
    with GuardedConsole(stderr=True).status(visible_text(activity)):
        yield


def write_or_rescue(write: Callable[[Path], None], path: Path) -> None:
    """Write a file that was expensive to compute.

    If the path has become unwritable, write a temporary file instead and raise an error that names
    it.
    """
    with finishing():
        try:
            write(path)
        except FileAccessError as error:
            rescued = Path(tempfile.mkdtemp(prefix="cranium-")) / path.name
            write(rescued)
            error.fix = f"it was saved as {rescued}"
            raise


def edit_text(text: str, suffix: str) -> str:
    """Open a text in the user's editor (``VISUAL``, ``EDITOR`` or vi) and return the result."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"text{suffix}"
        path.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=True)  # noqa: S603
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError, subprocess.CalledProcessError) as problem:
            raise FileAccessError(
                f"the editor {editor!r} cannot be used: {problem}", fix="set EDITOR"
            ) from None
