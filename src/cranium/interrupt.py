"""Ctrl-C waits until compiled code is done, and other ends that are asked for are like Ctrl-C.

While it compiles, JAX would end the process, and Numba would lose the interruption, or be left half
loaded. While a compiled function of Numba's takes over its arguments, Numba runs Python code for a
random generator, and an exception there crashes the process.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["endings", "held"]

_ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_SIGNALS = [signal.SIGINT, *_ENDINGS]


@contextmanager
def held() -> Iterator[None]:
    """Hold Ctrl-C, SIGTERM and SIGHUP back until the end of the block, and let them happen then.

    Example:
        >>> import os
        >>> try:
        ...     with held():
        ...         os.kill(os.getpid(), signal.SIGINT)
        ...         print("goes on")
        ... except KeyboardInterrupt:
        ...     print("ends")
        goes on
        ends
    """
    # Signals belong to the main thread; and who handles them in another way, or not, may.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.getsignal(each) for each in _SIGNALS}
    handlers = {each: handler for each, handler in before.items() if callable(handler)}
    came: list[Any] = []
    over = False

    def note(number: int, frame: Any) -> None:
        if over:  # it came while the handlers were put back
            handlers[number](number, frame)
        else:
            came.append((number, frame))

    try:
        for each in handlers:
            signal.signal(each, note)
        yield
    finally:
        over = True
        for each, handler in handlers.items():
            signal.signal(each, handler)
        if came:
            number, frame = came[-1]
            handlers[number](number, frame)


@contextmanager
def endings() -> Iterator[None]:
    """Let the end that is asked for (SIGTERM, or a terminal that closes) be like Ctrl-C.

    What is held can then be given back, and what is done is kept.

    Example:
        >>> import os
        >>> try:
        ...     with endings():
        ...         os.kill(os.getpid(), signal.SIGTERM)
        ... except KeyboardInterrupt:
        ...     print("ends")
        ends
    """
    if threading.current_thread() is not threading.main_thread():  # signals belong to that one
        yield
        return

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    # Who ignores one of them, as nohup does, means it.
    handled = [each for each in _ENDINGS if signal.getsignal(each) == signal.SIG_DFL]
    for each in handled:
        signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each in handled:
            signal.signal(each, signal.SIG_DFL)
