"""How functions are compiled.

Compiling is most of what a first run waits for, so nothing is compiled that nobody calls: no
function has a wrapper for C, and ``inner`` ones have none for Python either.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar, cast

from cranium._runtime.interrupt import held, holding

with held():
    from numba import njit
    from numba.core import event
    from numba.core.dispatcher import Dispatcher

    from cranium._runtime.code_cache import cache_for

__all__ = ["compiled", "inlined", "inner", "whole_compilations"]

F = TypeVar("F", bound=Callable[..., Any])
_compile: Any = njit  # some of its options are unknown to its types
_options: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def _decorator(**more: Any) -> Callable[[F], F]:
    """A decorator that compiles a function when it is first called, and keeps the code on disk."""
    compile_function = _compile(**_options, **more)

    def decorate(function: F) -> F:
        made = compile_function(function)
        if isinstance(made, Dispatcher):  # not with NUMBA_DISABLE_JIT=1
            setattr(made, "_cache", cache_for(function))  # noqa: B010 - as enable_caching() does
        return cast("F", made)

    return decorate


compiled = _decorator()
"""For what Python calls."""
inner = _decorator(no_cpython_wrapper=True)
"""For what only compiled functions call. A call from Python would end the process."""
inlined = _decorator(no_cpython_wrapper=True, forceinline=True)
"""The same, for what is too small to be called."""


@contextmanager
def whole_compilations() -> Iterator[None]:
    """Let Ctrl-C wait for the end of whatever is compiled, or loaded, in this block.

    Example:
        >>> @njit
        ... def double(x):
        ...     return 2 * x
        >>> with whole_compilations():
        ...     double(4)
        8
    """
    if _holding.installed or threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return
    _holding.installed = True
    try:
        with holding(), event.install_listener("numba:compiler_lock", _holding):
            yield
    finally:
        _holding.installed = False


class _Holding(event.Listener):
    """Holds Ctrl-C back while the compiler is locked."""

    def __init__(self) -> None:
        self.installed, self.stack = False, list[AbstractContextManager[None]]()

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        if threading.current_thread() is threading.main_thread():
            self.stack.append(held())
            self.stack[-1].__enter__()

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        if threading.current_thread() is threading.main_thread():
            self.stack.pop().__exit__(None, None, None)


_holding = _Holding()
