"""Ctrl-C waits until compiled code is done, and other ends that are asked for are like Ctrl-C.

While it compiles, JAX would end the process, and Numba would lose the interruption, or be left half
loaded. While a compiled function of Numba's takes over its arguments, Numba runs Python code for a
random generator, and an exception there crashes the process.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

__all__ = ["endings", "finishing", "held", "holding"]

_ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_SIGNALS = [signal.SIGINT, *_ENDINGS]


class _Waiting:
    """What is held back: how many blocks hold it, what came meanwhile, and who is to be told."""

    def __init__(self) -> None:
        self.depth = 0
        self.came: list[tuple[int, Any]] = []
        self.handlers: dict[int, Callable[[int, Any], Any]] = {}

    def note(self, number: int, frame: Any) -> None:
        """Handle a signal, now or later."""
        if self.depth:
            self.came.append((number, frame))
        else:
            self._handle(number, frame)

    def deliver(self) -> None:
        """Handle the last signal that came."""
        if self.came:
            number, frame = self.came[-1]
            self.came.clear()
            self._handle(number, frame)

    def _handle(self, number: int, frame: Any) -> None:
        # Another signal may have ended the block while the handlers were put back.
        self.handlers.get(number, signal.default_int_handler)(number, frame)


_waiting = _Waiting()


@contextmanager
def holding() -> Iterator[None]:
    """Prepare for :func:`held`, which is quick in this block: nothing is held back yet.

    Example:
        >>> with holding():
        ...     for _ in range(3):
        ...         with held():
        ...             pass
    """
    # Signals belong to the main thread.
    if _waiting.handlers or threading.current_thread() is not threading.main_thread():
        yield
        return
    # Who ignores a signal, or leaves it to the system, may.
    before = {each: signal.getsignal(each) for each in _SIGNALS}
    _waiting.handlers = {each: known for each, known in before.items() if callable(known)}
    try:
        for each in _waiting.handlers:
            signal.signal(each, _waiting.note)
        yield
    finally:
        try:
            for each, handler in _waiting.handlers.items():
                if signal.getsignal(each) == _waiting.note:  # and not somebody else's by now
                    signal.signal(each, handler)
        finally:
            _waiting.handlers = {}


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
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with nullcontext() if _waiting.handlers else holding():
        if not _waiting.depth:  # a second signal may have come before the first was handled
            _waiting.came.clear()
        _waiting.depth += 1
        try:
            yield
        finally:
            _waiting.depth -= 1
            if not _waiting.depth:
                _waiting.deliver()


@contextmanager
def finishing() -> Iterator[None]:
    """Let no signal interrupt the block: it saves something, and the end comes without being asked.

    A window that is closed sends more than one signal, and impatient people press Ctrl-C twice.
    An error in the block is raised all the same: what could not be saved is not silently lost.

    Example:
        >>> import os
        >>> with finishing():
        ...     os.kill(os.getpid(), signal.SIGINT)
        ...     print("is saved")
        is saved
    """
    failure: BaseException | None = None
    with suppress(KeyboardInterrupt), held():
        try:
            yield
        except BaseException as problem:  # the interruption at the end of held() would replace it
            failure = problem
    if failure is not None:
        raise failure


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
    try:
        for each in handled:
            signal.signal(each, interrupt)
        yield
    finally:
        for each in handled:
            signal.signal(each, signal.SIG_DFL)
