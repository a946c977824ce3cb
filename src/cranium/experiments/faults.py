"""Tell the errors of a trial from the faults of the machine that ran it.

A trial is a function of its config and its seed: an error of its own occurs every time, and is its
result. A fault of the machine (no memory, no disk, no network, an extra that is not installed
there, a damaged cache of compiled functions) says nothing about the trial.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Iterator

from cranium.errors import MissingExtraError, ModelError

__all__ = ["find_machine_fault", "is_out_of_memory"]

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
"""Any error raised in these files comes from the cache of compiled functions."""
DEVICES = ("RESOURCE_EXHAUSTED", "UNAVAILABLE")
"""The beginning of XLA's messages if a device has no memory left, or is gone."""
THREADS = "can't start new thread"
"""Python's message if the limit of processes is reached."""


def find_machine_fault(problem: BaseException) -> str | None:
    """Describe the fault of the machine that caused an error; None if the trial caused it.

    Example:
        >>> find_machine_fault(OSError(28, "No space left on device"))
        'OSError: [Errno 28] No space left on device'
        >>> find_machine_fault(ZeroDivisionError("division by zero"))
    """
    for each in _chain(problem):
        if isinstance(each, KINDS) or _is_device_error(each) or _is_cache_error(each):
            return " ".join("".join(traceback.format_exception_only(each)).split())
    return None


def is_out_of_memory(problem: BaseException) -> bool:
    """Whether an error says that there is no memory left, which a trial with a limit answers for.

    Example:
        >>> is_out_of_memory(MemoryError()), is_out_of_memory(OSError(28, "No space left"))
        (True, False)
    """
    return any(
        isinstance(each, MemoryError) or (_is_device_error(each) and DEVICES[0] in str(each))
        for each in _chain(problem)
    )


def _chain(problem: BaseException) -> Iterator[BaseException]:
    """An error and its causes."""
    found: BaseException | None = problem
    for _ in range(20):
        if found is None:
            return
        yield found
        found = found.__cause__


def _is_cache_error(problem: BaseException) -> bool:
    frames = traceback.walk_tb(problem.__traceback__)
    names = (frame.f_code.co_filename.replace("\\", "/") for frame, _ in frames)
    return any(name.endswith(CACHES) for name in names)


def _is_device_error(problem: BaseException) -> bool:
    """Whether a device has no memory left, or the system cannot start a thread."""
    if type(problem).__name__ in {"XlaRuntimeError", "JaxRuntimeError"}:
        return str(problem).startswith(DEVICES)
    return type(problem) is RuntimeError and str(problem).startswith(THREADS)
