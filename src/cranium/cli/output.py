"""How the commands speak: tables and messages, never markup from the user's own text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

__all__ = ["complain", "say", "table_console", "working"]


def say(text: str, style: str = "") -> None:
    """Print a line as it is: no markup, no wrapping, no colours for numbers."""
    Console(soft_wrap=True, highlight=False).print(Text(text, style=style))


def complain(text: str) -> None:
    """Print an error, on standard error."""
    message = Text("error: ", style="bold red").append(text, style="not bold default")
    Console(stderr=True, soft_wrap=True, highlight=False).print(message)


def table_console() -> Console:
    """The console that prints tables."""
    return Console(highlight=False)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something is going on, where somebody is watching."""
    console = Console(stderr=True)
    with console.status(Text(what)):
        yield
