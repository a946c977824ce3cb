"""What a process and the processes that it started use, and how they are ended together."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Usage", "can_measure", "end_family", "end_with_parent", "measure_family"]

PR_SET_PDEATHSIG = 1
"""The request to Linux to send this process a signal when the one that started it ends."""


class Usage(NamedTuple):
    """What processes use.

    Attributes:
        memory: The resident memory in bytes.
        cpu: The CPU time in seconds.
    """

    memory: int
    cpu: float


class _Process(NamedTuple):
    number: int
    parent: int
    usage: Usage


def can_measure() -> bool:
    """Whether this system tells what a process uses.

    Example:
        >>> isinstance(can_measure(), bool)
        True
    """
    return os.getpid() in _measure_family(os.getpid())


def measure_family(process: int) -> Usage:
    """Measure a process and all that it started, together; zero if it is gone.

    Memory that several of them share is counted for each of them, unless Linux knows better.

    Example:
        >>> used = measure_family(os.getpid())
        >>> used.memory > 1_000_000, used.cpu > 0
        (True, True)
    """
    found = _measure_family(process)
    memory = sum(each.memory for each in found.values())
    if len(found) > 1:
        memory = min(memory, sum(_shared_fairly(each, found[each].memory) for each in found))
    return Usage(memory, sum(each.cpu for each in found.values()))


def end_family(process: int) -> None:
    """Kill a process and all that it started, whatever they are doing."""
    for number in [process, *_measure_family(process)]:
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)


def end_with_parent() -> None:
    """Have Linux kill this process when the thread that started it ends.

    Compiled code that never returns to Python cannot see by itself that it is not needed any more.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _measure_family(process: int) -> dict[int, Usage]:
    """The processes that came of one, and that one, with what each uses."""
    known = {each.number: each for each in _list_processes()}
    found, new = set[int](), {process} & set(known)
    while new:
        found |= new
        new = {each.number for each in known.values() if each.parent in new} - found
    return {number: known[number].usage for number in found}


def _list_processes() -> Iterator[_Process]:
    if Path("/proc/self/stat").exists():
        yield from _from_proc()
    elif os.name == "posix":
        yield from _from_ps()


def _from_proc() -> Iterator[_Process]:
    page, tick = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
    for path in Path("/proc").glob("[0-9]*/stat"):
        # A process may end while it is read.
        with contextlib.suppress(OSError, ValueError, IndexError):
            told = path.read_text(errors="replace").rpartition(")")[2].split()
            cpu = (int(told[11]) + int(told[12])) / tick
            usage = Usage(int(told[21]) * page, cpu)
            yield _Process(int(path.parent.name), int(told[1]), usage)


def _from_ps() -> Iterator[_Process]:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = ["ps", "-axo", "pid=,ppid=,rss=,time="]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        for line in done.stdout.splitlines():
            number, parent, memory, spent = line.split()
            usage = Usage(int(memory) * 1024, _seconds(spent))
            yield _Process(int(number), int(parent), usage)


def _seconds(spent: str) -> float:
    """Read a duration as ``ps`` prints it: [[days-]hours:]minutes:seconds.

    Example:
        >>> _seconds("1-02:03:04"), _seconds("0:01.50")
        (93784.0, 1.5)
    """
    days, _, rest = spent.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = 60 * total + float(part)
    return 86_400 * int(days or 0) + total


def _shared_fairly(process: int, resident: int) -> int:
    """The memory of a process, in which shared pages count once over all that share them."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return resident
