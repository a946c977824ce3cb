"""Locks of trials, so that several processes can share the work in one folder.

A lock is a small file beside the records. It contains its owner, and its modification time is
renewed while that process is alive. A lock is stale, and may be taken over, if its owner ran on
this machine and is gone, or if it was not renewed for a while: the other machine is gone, or the
process was suspended. Only the process that writes the records holds locks; workers need none.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from cranium._runtime.processes import is_running, start_time, this_machine
from cranium.errors import CraniumError, FileAccessError
from cranium.experiments.trial import Job
from cranium.io import read_bytes, write_new

__all__ = ["TrialLocks"]

RENEWED = 10.0
"""Seconds between two renewals of a lock."""
STALE = 90.0
"""A lock that we have not seen renewed for so many seconds is stale."""
OLD = 3600.0
"""A lock of another machine that is older is stale at once: clocks do not differ by an hour."""
MOST_BYTES = 1000
GUARD = ".guard"
"""The file that is locked while a stale lock is taken over. It has no other use: a file
that is replaced in the meantime would let a second process in."""
_LOCK = re.compile(r"\.[0-9a-f]+-\d+\.lock")
_Stamp = tuple[int, int]


class TrialLocks:
    """The locks of one run. The end of a ``with`` block releases all of them.

    Args:
        folder: The folder of the records.

    Example:
        >>> import tempfile
        >>> from cranium.experiments.trial import FunctionTrial
        >>> job = Job(FunctionTrial("sizes", "CRA", "N = 5", function="builtins:dict"), 0)
        >>> folder = Path(tempfile.mkdtemp())
        >>> with TrialLocks(folder) as ours:
        ...     with TrialLocks(folder) as theirs:
        ...         ours.take(job), theirs.take(job), ours.release(job), theirs.take(job)
        (True, False, None, True)
        >>> list(folder.iterdir())
        []
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.guard = folder, folder / GUARD
        owner = {
            "machine": this_machine(),
            "process": os.getpid(),
            "started": start_time(os.getpid()),
            "token": secrets.token_hex(8),
        }
        self._owner = json.dumps(owner).encode()
        self._held = set[Path]()
        self._watched: dict[Path, tuple[_Stamp, float]] = {}
        self._over = threading.Event()

    def __enter__(self) -> Self:
        self._clear()
        threading.Thread(target=self._renew, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.release_all()
        self._clear()  # of processes that were killed in the meantime

    def take(self, job: Job) -> bool:
        """Lock a trial; return False if another process is running it."""
        path = self._path(job)
        self._held.add(path)  # before it exists, so that an interruption at any moment releases it
        taken = self._make(path) or (self._is_stale(path) and self._take_over(path))
        if not taken:
            self._held.discard(path)
        return taken

    def release(self, job: Job) -> None:
        """Release a lock."""
        self._release_path(self._path(job))

    def release_all(self) -> int:
        """Release all locks, and return their number."""
        held = list(self._held)
        for path in held:
            self._release_path(path)
        return len(held)

    def _path(self, job: Job) -> Path:
        return self.folder / f".{job.name}.lock"

    def _make(self, path: Path) -> bool:
        try:
            return write_new(path, self._owner)
        except OSError as problem:
            raise self._cannot_lock(problem) from None

    def _cannot_lock(self, problem: OSError) -> FileAccessError:
        return FileAccessError(
            f"cannot lock a trial in {self.folder}: {problem.strerror or problem}",
            fix="choose another place, or make room there; what is done is kept",
        )

    def _release_path(self, path: Path) -> None:
        self._held.discard(path)
        with contextlib.suppress(OSError, CraniumError):
            # Another process may have taken it over.
            if read_bytes(path, most=MOST_BYTES, follow_links=False) == self._owner:
                path.unlink()

    # Locks of other processes

    def _clear(self) -> None:
        """Remove the locks of killed processes."""
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                if _LOCK.fullmatch(path.name) and self._is_stale(path):
                    self._remove_stale(path)
        for path in (self.guard, self.guard.with_suffix(".lock")):
            if os.path.lexists(path):  # its process was killed while it held the guard
                with contextlib.suppress(FileAccessError), self._guarded():
                    pass

    def _is_stale(self, path: Path) -> bool:
        """Whether the owner of a lock is gone."""
        try:
            told = os.lstat(path)
        except OSError:  # it was released at this moment
            return False
        owner = _read_owner(path)
        here = owner.get("machine") == this_machine()
        if here and not _is_alive(owner.get("process"), owner.get("started")):
            return True
        stamp, now = (told.st_ino, told.st_mtime_ns), time.monotonic()
        if self._watched.get(path, (None, 0.0))[0] != stamp:
            self._watched[path] = (stamp, now)
        unchanged = now - self._watched[path][1]
        return unchanged > STALE or (not here and time.time() - told.st_mtime > OLD)

    def _take_over(self, path: Path) -> bool:
        return self._remove_stale(path) and self._make(path)

    def _remove_stale(self, path: Path) -> bool:
        with self._guarded() as alone:
            # Another process may just have done the same: then it is not stale any more.
            if not alone or not self._is_stale(path):
                return False
            try:
                path.unlink(missing_ok=True)
            except OSError as problem:
                raise FileAccessError(
                    f"cannot remove {path}, a lock whose owner is gone: "
                    f"{problem.strerror or problem}",
                    fix="remove it",
                ) from None
            return True

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[bool]:
        """Hold the guard during the block; yields False if another process holds it."""
        with contextlib.ExitStack() as leaving:
            try:
                alone = self._enter(leaving)
            except FileAccessError:
                raise
            except OSError as problem:
                raise self._cannot_lock(problem) from None
            yield alone

    def _enter(self, leaving: contextlib.ExitStack) -> bool:
        """Lock the guard unless another process has; the system unlocks it if that one dies."""
        try:
            import fcntl
        except ImportError:
            return self._enter_without_flock(leaving)
        # On NFS a file that is open for reading only cannot be locked.
        guard = os.open(self.guard, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        leaving.callback(os.close, guard)
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # this file system has no locks
            leaving.callback(_remove, self.guard)
            return self._enter_without_flock(leaving)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(guard), os.lstat(self.guard)):
                # It is removed before it is unlocked, so that others notice the change.
                leaving.callback(_remove, self.guard)
                return True
        return False  # another process held the guard, and has removed it

    def _enter_without_flock(self, leaving: contextlib.ExitStack) -> bool:
        path = self.guard.with_suffix(".lock")
        if self._make(path):
            leaving.callback(_remove, path)
            return True
        if self._is_stale(path):  # its process was killed
            _remove(path)
        return False

    def _renew(self) -> None:
        while not self._over.wait(RENEWED):
            for path in list(self._held):
                with contextlib.suppress(OSError):
                    os.utime(path, follow_symlinks=False)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _is_alive(process: object, started: object) -> bool:
    if not isinstance(process, int) or process <= 0 or not isinstance(started, str):
        return False
    return is_running(process, started)


def _read_owner(path: Path) -> dict[str, Any]:
    """The owner of a lock; empty if the file is damaged."""
    with contextlib.suppress(OSError, CraniumError, ValueError, RecursionError):
        told = json.loads(read_bytes(path, most=MOST_BYTES, follow_links=False))
        return told if isinstance(told, dict) else {}
    return {}
