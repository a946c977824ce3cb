"""Ctrl-C while the command is still being imported ends it at once, with one line.

There is nothing to keep yet, and nobody who could catch it: an exception would be raised in the
middle of somebody else's imports.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from itertools import pairwise
from typing import Any

__all__ = ["INTERRUPTED", "begin_command", "guard_start"]

INTERRUPTED = 130
"""The exit code of what was interrupted, as in shells: 128 and the number of the signal."""
COMMAND = "cranium"


def guard_start() -> None:
    """Let Ctrl-C end the command with one line from now on, until :func:`begin_command`.

    It does nothing in a program that only imports the package: there, Ctrl-C is not ours.

    Example:
        >>> guard_start()
        >>> signal.getsignal(signal.SIGINT) is _end
        False
    """
    ours = threading.current_thread() is threading.main_thread() and _is_command()
    if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def begin_command() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, if :func:`guard_start` has changed that."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    """Whether this process was started as ``cranium …`` or ``python -m cranium …``.

    A worker process has the ``sys.argv`` of whoever started it, but was started in another way.
    """
    script, given = sys.argv[0] if sys.argv else "", sys.orig_argv
    if script == "-m":  # so Python calls it until it has found the module
        return ("-m", COMMAND) in pairwise(given)
    name = os.path.basename(script).lower()  # noqa: PTH119 - pathlib would take a while to import
    return script in given and name.removesuffix(".exe").removesuffix("-script.py") == COMMAND


def _end(*_: Any) -> None:
    # Not by an exception: it would be raised in the middle of somebody's imports.
    os.write(2, b"error: interrupted\n")
    os._exit(INTERRUPTED)
