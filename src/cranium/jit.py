"""How functions are compiled.

Compiling is most of what a first run waits for, so nothing is compiled that nobody calls: no
function has a wrapper for C, and ``inner`` ones have none for Python either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

__all__ = ["compiled", "inlined", "inner"]

F = TypeVar("F", bound=Callable[..., Any])
_compile: Any = njit  # some of its options are unknown to its types
_options: Any = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


compiled: Callable[[F], F] = _compile(**_options)
"""For what Python calls."""
inner: Callable[[F], F] = _compile(**_options, no_cpython_wrapper=True)
"""For what only compiled functions call. A call from Python would end the process."""
inlined: Callable[[F], F] = _compile(**_options, no_cpython_wrapper=True, forceinline=True)
"""The same, for what is too small to be called."""
