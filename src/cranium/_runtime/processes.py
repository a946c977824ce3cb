"""Which process left something behind, and whether it is still there to finish it."""

from __future__ import annotations

import hashlib
import os
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path

__all__ = ["is_running", "start_time", "this_machine"]


@cache
def this_machine() -> str:
    """What stands for this machine since it was started, and for what numbers processes here.

    Containers on one machine may number their processes each for itself.

    Example:
        >>> len(this_machine()), this_machine() == this_machine()
        (12, True)
    """
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def start_time(process: int) -> str:
    """When a process of this machine was started, in its own words; empty if that is not known.

    A number is given to another process once the first one is gone: this tells them apart.

    Example:
        >>> start_time(os.getpid()) == start_time(os.getpid())
        True
    """
    with suppress(OSError, IndexError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


def is_running(process: int, started: str = "") -> bool:
    """Whether a process of this machine is there; if it is known when it was started, that one.

    Example:
        >>> is_running(os.getpid()), is_running(2**22 + 1), is_running(os.getpid(), "never")
        (True, False, False)
    """
    if os.name == "nt":  # where a signal cannot be used to ask; what is left goes stale by its age
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError, ValueError):
        return False
    except OSError:  # it is somebody else's
        pass
    now = start_time(process)
    if started and now and now != started:
        return False
    with suppress(OSError, IndexError):  # what has ended, and was not waited for, does nothing more
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True
