r"""Where everything is printed: text from files, names and models gives no orders to a terminal.

A terminal takes control characters for orders: to change colours, the title and the clipboard, to
move the cursor over what stands there already. Marks for the direction of writing let a name look
like another one. Both are shown as they would be written in Python: ``\x1b``, ``\u202e``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

__all__ = ["GuardedConsole", "as_json", "notify", "visible", "visible_text"]

HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f"  # control characters, but not the tab and the end of a line
    "\x80-\x9f"  # control characters of eight bits
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # the direction of writing
    "\u2028\u2029"  # ends of lines that are none elsewhere
    "\ufff9-\ufffb\U000e0000-\U000e007f"  # notes and tags that are not shown
    "\ud800-\udfff"  # bytes in file names that are no characters
    "]"
)


def visible(text: str) -> str:
    r"""A text in which nothing is an order to a terminal.

    Example:
        >>> print(visible("a\x1b[2Jb\u202e"))
        a\x1b[2Jb\u202e
    """
    return HIDDEN.sub(lambda found: repr(found[0])[1:-1], text)


def as_json(data: object, indent: int | None = None) -> str:
    r"""Data as JSON that can be read again, and is no order to a terminal.

    Example:
        >>> print(as_json({"é": "a\x7fb"}))
        {"é": "a\u007fb"}
    """
    text = json.dumps(data, ensure_ascii=False, indent=indent)
    return HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def notify(text: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(visible(text) + "\n")


def visible_text(text: str, style: str = "") -> Text:
    """A text for a table or a screen, as wide as it is when it is printed; no markup is read."""
    return Text(visible(text), style=style)


class GuardedConsole(Console):
    r"""A console that only gives its own orders to the terminal, none that stand in a text.

    Example:
        >>> GuardedConsole().print("a\x1b[2Jb")
        a\x1b[2Jb
    """

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        super().__init__(stderr=stderr, width=width, highlight=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The parts of what is printed; those that are text are made visible."""
        for segment in super().render(renderable, options):
            if segment.control or not HIDDEN.search(segment.text):
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)
