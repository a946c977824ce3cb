"""The keyboard, a key at a time, and a terminal that is left as it was found."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from cranium.errors import InvalidArgumentError

__all__ = ["check_terminal", "farewell", "is_terminal", "keyboard", "undisturbed"]

ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end"}
NUMBERED = {"1~": "home", "7~": "home", "4~": "end", "8~": "end"}
LETTERS = {"w": "up", "s": "down", "d": "right", "a": "left", " ": "space"}
WINDOWS = {"H": "up", "P": "down", "M": "right", "K": "left", "G": "home", "O": "end"}
NOTHING = ""
"""A key that means nothing, or none within the time."""
Read = Callable[[], str]


def is_terminal() -> bool:
    """Whether somebody sees what is shown, and can press a key."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def check_terminal() -> None:
    """Refuse to play where nobody sees it, or no key can be pressed."""
    if not is_terminal():
        raise InvalidArgumentError(
            "this needs a terminal with a keyboard",
            fix="run it in one; a script steps through an environment in Python",
        )


@contextmanager
def keyboard(wait: float = 0.2) -> Iterator[Read]:
    """Keys are read as they are pressed, and not shown; afterwards all is as it was.

    What is given waits for a key, a moment at most: its letter, or ``up``, ``down``, ``left``,
    ``right``, ``home``, ``end``, ``space``, ``escape``; the end of the input is ``q``.
    """
    check_terminal()
    if sys.platform == "win32":
        yield _read_windows
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        quiet = termios.tcgetattr(descriptor)
        quiet[6][termios.VSUSP] = b"\x00"  # Ctrl-Z would leave a screen that nobody draws
        termios.tcsetattr(descriptor, termios.TCSANOW, quiet)
        yield lambda: _read(descriptor, wait)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _read(descriptor: int, wait: float) -> str:
    import select

    def more(seconds: float) -> str:
        if not select.select([descriptor], [], [], seconds)[0]:
            return NOTHING
        return os.read(descriptor, 1).decode("latin-1") or "\x04"

    first = more(wait)
    if first == "\x04":
        return "q"
    if first != "\x1b":
        return LETTERS.get(first.lower(), first.lower())
    # An arrow is several characters that come together; Escape is one that comes alone.
    kind = more(0.05)
    if kind == "O":
        return ARROWS.get(more(0.05), NOTHING)
    if kind != "[":
        return NOTHING if kind else "escape"
    sequence = ""
    while part := more(0.05):
        sequence += part
        if "@" <= part <= "~":  # its end, whatever it means
            break
    return ARROWS.get(sequence) or NUMBERED.get(sequence, NOTHING)


def _read_windows() -> str:
    import msvcrt

    letter = str(msvcrt.getwch())  # type: ignore[attr-defined]
    if letter in ("\x00", "\xe0"):
        return WINDOWS.get(msvcrt.getwch(), NOTHING)  # type: ignore[attr-defined]
    if letter == "\x03":
        raise KeyboardInterrupt
    return LETTERS.get(letter.lower(), letter.lower())


@contextmanager
def farewell() -> Iterator[None]:
    """A window that is closed and a polite kill end the program as Ctrl-C does: in good order."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    names = [name for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), end) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Something that no further Ctrl-C interrupts."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
