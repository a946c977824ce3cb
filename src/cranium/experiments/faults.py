"""Which errors are those of a trial, and which are those of the machine that ran it.

A trial is a function of its config and its seed: an error of its own comes every time, and is what
came of it. An error of the machine (no memory, no disk, no network, a part that is not installed
there, a damaged cache of compiled functions) says nothing about the trial.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Iterator

from cranium.errors import MissingExtraError, ModelError

__all__ = ["fault_of_machine"]

KINDS = (
    OSError,
    MemoryError,
    EOFError,
    ImportError,
    SystemError,
    pickle.UnpicklingError,
    MissingExtraError,
    ModelError,
)
CACHES = ("numba/core/caching.py", "cranium/_runtime/code_cache.py")
"""Errors of any kind that come from reading or writing what was compiled before."""
DEVICES = ("RESOURCE_EXHAUSTED", "UNAVAILABLE")
"""What XLA says of a device that has no memory left, or is gone."""
THREADS = "can't start new thread"
"""What Python says where the limit of processes is reached."""


def fault_of_machine(problem: BaseException) -> str | None:
    """What was wrong with the machine, if an error is its fault; None if it is the trial's own.

    Example:
        >>> fault_of_machine(OSError(28, "No space left on device"))
        'OSError: [Errno 28] No space left on device'
        >>> fault_of_machine(ZeroDivisionError("division by zero"))
    """
    for each in _chain(problem):
        if isinstance(each, KINDS) or _is_of_system(each) or _is_of_cache(each):
            return " ".join("".join(traceback.format_exception_only(each)).split())
    return None


def _chain(problem: BaseException) -> Iterator[BaseException]:
    """An error and those that it was raised from."""
    found: BaseException | None = problem
    for _ in range(20):
        if found is None:
            return
        yield found
        found = found.__cause__


def _is_of_cache(problem: BaseException) -> bool:
    frames = traceback.walk_tb(problem.__traceback__)
    names = (frame.f_code.co_filename.replace("\\", "/") for frame, _ in frames)
    return any(name.endswith(CACHES) for name in names)


def _is_of_system(problem: BaseException) -> bool:
    """Whether a device has no memory left, or the system no room for a thread."""
    if type(problem).__name__ in {"XlaRuntimeError", "JaxRuntimeError"}:
        return str(problem).startswith(DEVICES)
    return type(problem) is RuntimeError and str(problem).startswith(THREADS)
