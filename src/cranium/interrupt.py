"""Ctrl-C waits until a compiler is done.

In the middle of it JAX would end the process, and Numba would lose the interruption, or be left
half loaded.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["held"]


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
