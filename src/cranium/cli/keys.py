"""The keyboard, a key at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cranium.errors import InvalidArgumentError

__all__ = ["keyboard"]

SEQUENCES = {
    "[A": "up",
    "[B": "down",
    "[C": "right",
    "[D": "left",
    "[H": "home",
    "[F": "end",
    "[1~": "home",
    "[4~": "end",
    "OA": "up",
    "OB": "down",
    "OC": "right",
    "OD": "left",
    "OH": "home",
    "OF": "end",
}
LETTERS = {"w": "up", "s": "down", "d": "right", "a": "left", " ": "space"}
WINDOWS = {"H": "up", "P": "down", "M": "right", "K": "left", "G": "home", "O": "end"}


@contextmanager
def keyboard() -> Iterator[Callable[[], str]]:
    """Keys are read as they are pressed, and not shown; afterwards all is as it was.

    What is given reads a key: its letter, or ``up``, ``down``, ``left``, ``right``, ``home``,
    ``end``, ``space``; the end of the input is ``q``.
    """
    if not sys.stdin.isatty():
        raise InvalidArgumentError(
            "this needs a terminal with a keyboard",
            fix="run it in one; a script steps through an environment in Python",
        )
    if sys.platform == "win32":
        yield _read_windows
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield lambda: _read(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _read(descriptor: int) -> str:
    import select

    first = os.read(descriptor, 1)
    if not first or first == b"\x04":
        return "q"
    if first != b"\x1b":
        letter = first.decode("latin-1")
        return LETTERS.get(letter.lower(), letter.lower())
    sequence = ""
    # An arrow is several characters that come together; Escape is one that comes alone.
    while select.select([descriptor], [], [], 0.05)[0] and len(sequence) < 4:
        sequence += os.read(descriptor, 1).decode("latin-1")
        if sequence in SEQUENCES:
            return SEQUENCES[sequence]
    return "escape"


def _read_windows() -> str:
    import msvcrt

    letter = str(msvcrt.getwch())  # type: ignore[attr-defined]
    if letter in ("\x00", "\xe0"):
        return WINDOWS.get(msvcrt.getwch(), "escape")  # type: ignore[attr-defined]
    if letter == "\x03":
        raise KeyboardInterrupt
    return LETTERS.get(letter.lower(), letter.lower())
