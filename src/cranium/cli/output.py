"""How the commands speak: tables and messages, never markup from the user's own text.

Everything that a command prints goes through here, and through :mod:`cranium._runtime.terminal`.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
    "ask_person",
    "complain",
    "confirm",
    "edit_text",
    "errors_as_json",
    "keep",
    "place_as_data",
    "print_json",
    "say",
    "table_console",
    "warn",
    "working",
]

BAD_INPUT = 2
WIDE = 1000


def say(text: str, style: str = "") -> None:
    """Print a line as it is: no markup, no wrapping, no colours for numbers."""
    GuardedConsole().print(visible_text(text, style), soft_wrap=True)


def complain(text: str) -> None:
    """Print an error, on standard error."""
    _remark("error: ", "bold red", text)


def warn(text: str) -> None:
    """Print a warning, on standard error."""
    _remark("warning: ", "bold yellow", text)


def _remark(kind: str, style: str, text: str) -> None:
    message = Text(kind, style=style).append(visible(text), style="not bold default")
    GuardedConsole(stderr=True).print(message, soft_wrap=True)


def print_json(data: Any, indent: int | None = None) -> None:
    """Print data for programs, on standard output."""
    typer.echo(as_json(data, indent))


def ask_person(question: str, default: str | None = None) -> str:
    """What somebody types."""
    said: str = typer.prompt(visible(question), default=default)
    return said


def confirm(question: str) -> bool:
    """Whether somebody says yes."""
    return bool(typer.confirm(visible(question)))


def table_console() -> Console:
    """The console that prints tables; a file or a pipe has no width that would have to be kept."""
    console = GuardedConsole()
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return GuardedConsole(width=WIDE)


def place_as_data(place: Place | None) -> dict[str, Any] | None:
    """A place, for JSON."""
    return None if place is None else place._asdict()


@contextmanager
def errors_as_json(wanted: bool) -> Iterator[None]:
    """With ``--json``, an error is JSON on standard output, too; the exit code stays 2."""
    try:
        yield
    except CraniumError as error:
        if not wanted:
            raise
        told = {
            "type": type(error).__name__,
            "message": error.message,
            "place": place_as_data(error.place),
            "fix": error.fix,
        }
        print_json({"error": told})
        raise typer.Exit(BAD_INPUT) from None


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something is going on, where somebody is watching."""
    with GuardedConsole(stderr=True).status(visible_text(what)):
        yield


def keep(write: Callable[[Path], None], path: Path) -> None:
    """Write what took long to make; if the place has become bad, into another one, and say so."""
    with finishing():
        try:
            write(path)
        except FileAccessError as problem:
            kept = Path(tempfile.mkdtemp(prefix="cranium-")) / path.name
            write(kept)
            problem.fix = f"it was kept as {kept}"
            raise


def edit_text(text: str, ending: str) -> str:
    """What somebody makes of a text in an editor: ``VISUAL``, ``EDITOR``, or vi."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"text{ending}"
        path.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=True)  # noqa: S603
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError, subprocess.CalledProcessError) as problem:
            raise FileAccessError(
                f"the editor {editor!r} cannot be used: {problem}", fix="set EDITOR"
            ) from None
