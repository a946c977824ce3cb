"""Reading the keyboard one key at a time, and restoring the terminal afterwards."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from cranium.errors import InvalidArgumentError

__all__ = [
    "NO_KEY",
    "check_terminal",
    "exit_on_termination",
    "ignore_interrupts",
    "is_terminal",
    "open_keyboard",
]

CURSOR_KEYS = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end"}
NUMBERED_KEYS = {"1~": "home", "7~": "home", "4~": "end", "8~": "end"}
LETTER_KEYS = {"w": "up", "s": "down", "d": "right", "a": "left", " ": "space"}
WINDOWS_KEYS = {"H": "up", "P": "down", "M": "right", "K": "left", "G": "home", "O": "end"}
NO_KEY = ""
"""What is read when no key was pressed in time, or one without a meaning."""
END_OF_INPUT, ESCAPE = "\x04", "\x1b"
SEQUENCE_SECONDS = 0.05
"""How long to wait for the next character of an escape sequence."""
ReadKey = Callable[[], str]


def is_terminal() -> bool:
    """Return whether standard input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def check_terminal() -> None:
    """Raise an error unless standard input and output are a terminal."""
    if not is_terminal():
        raise InvalidArgumentError(
            "this needs a terminal with a keyboard",
            fix="run it in a terminal; in a script, step the environment in Python",
        )


@contextmanager
def open_keyboard(timeout: float = 0.2) -> Iterator[ReadKey]:
    """Read keys without echo, and restore the terminal at the end of the block.

    The function that is yielded waits for a key for ``timeout`` seconds at most. It returns the
    letter, or ``up``, ``down``, ``left``, ``right``, ``home``, ``end``, ``space`` or ``escape``; at
    the end of the input it returns ``q``.
    """
    check_terminal()
    if sys.platform == "win32":
        yield _read_windows_key
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        attributes = termios.tcgetattr(descriptor)
        attributes[6][termios.VSUSP] = b"\x00"  # Ctrl-Z would leave the alternate screen in place
        termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
        yield lambda: _read_key(descriptor, timeout)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _read_key(descriptor: int, timeout: float) -> str:
    first = _read_character(descriptor, timeout)
    if first == END_OF_INPUT:
        return "q"
    if first != ESCAPE:
        return LETTER_KEYS.get(first.lower(), first.lower())
    # A cursor key is an escape sequence of several characters; Escape comes alone.
    kind = _read_character(descriptor, SEQUENCE_SECONDS)
    if kind == "O":
        return CURSOR_KEYS.get(_read_character(descriptor, SEQUENCE_SECONDS), NO_KEY)
    if kind != "[":
        return NO_KEY if kind else "escape"
    sequence = ""
    while character := _read_character(descriptor, SEQUENCE_SECONDS):
        sequence += character
        if "@" <= character <= "~":  # the last character of a sequence
            break
    return CURSOR_KEYS.get(sequence) or NUMBERED_KEYS.get(sequence, NO_KEY)


def _read_character(descriptor: int, timeout: float) -> str:
    import select

    if not select.select([descriptor], [], [], timeout)[0]:
        return NO_KEY
    return os.read(descriptor, 1).decode("latin-1") or END_OF_INPUT


def _read_windows_key() -> str:
    import msvcrt

    letter = str(msvcrt.getwch())  # type: ignore[attr-defined]
    if letter in ("\x00", "\xe0"):
        return WINDOWS_KEYS.get(msvcrt.getwch(), NO_KEY)  # type: ignore[attr-defined]
    if letter == "\x03":
        raise KeyboardInterrupt
    return LETTER_KEYS.get(letter.lower(), letter.lower())


@contextmanager
def exit_on_termination() -> Iterator[None]:
    """Raise SystemExit on SIGHUP (a closed window) and SIGTERM, so that ``finally`` blocks run."""

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
def ignore_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C in the block."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
