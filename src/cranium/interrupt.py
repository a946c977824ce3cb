"""Ctrl-C waits until a compiler is done, and other ends that are asked for are like Ctrl-C.

In the middle of it JAX would end the process, and Numba would lose the interruption, or be left
half loaded.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["endings", "held"]


@contextmanager
def held() -> Iterator[None]:
    """Hold Ctrl-C back until the end of the block, and let it happen then.

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
    before = signal.getsignal(signal.SIGINT)
    # Signals belong to the main thread; and who handles them in another way, or not, may.
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[Any] = []
    signal.signal(signal.SIGINT, lambda *told: came.append(told))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[-1])


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

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    found = [getattr(signal, name) for name in names]
    # Who ignores one of them, as nohup does, means it.
    handled = [each for each in found if signal.getsignal(each) == signal.SIG_DFL]
    for each in handled:
        signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each in handled:
            signal.signal(each, signal.SIG_DFL)
