"""One lock for each trial that is being run, so that processes that share a folder share the work.

A lock is a small file beside the records. It says which process holds it, and its time is renewed
while that process is alive. A lock is stale, and taken over, if its process was one of this machine
and is gone, or if it was not renewed for a while: its machine is gone, or its process suspended.
Only the process that writes the records holds locks: its workers, here or on a cluster, need none.
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
"""After how many seconds a lock that is held is renewed."""
STALE = 90.0
"""A lock that was not renewed for so many seconds, while we watched, is stale."""
OLD = 3600.0
"""One of another machine that is so old is stale at once: clocks differ, but not by an hour."""
MOST_BYTES = 1000
GUARD = ".guard"
"""The file that is locked for the moment in which a stale lock is taken over. It is nobody else's:
what is replaced in the meantime, as settings are that grow, would let a second process in."""
_LOCK = re.compile(r"\.[0-9a-f]+-\d+\.lock")
_Stamp = tuple[int, int]


class TrialLocks:
    """The locks of one run, which gives them all back at the end of a with block.

    Args:
        folder: Where the records are.

    Example:
        >>> import tempfile
        >>> from cranium.experiments.trial import ComplexityTrial
        >>> job = Job(ComplexityTrial("complexity", "CRA", "", "anbcdn"), 0)
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
        self._clear()  # of those who were killed in the meantime

    def take(self, job: Job) -> bool:
        """Lock a trial, unless another process is running it."""
        path = self._path(job)
        self._held.add(path)  # before it is made: an interruption at any moment finds it
        taken = self._make(path) or (self._is_stale(path) and self._take_over(path))
        if not taken:
            self._held.discard(path)
        return taken

    def release(self, job: Job) -> None:
        """Give a lock back."""
        self._give_back(self._path(job))

    def release_all(self) -> int:
        """Give all locks back; how many there were."""
        held = list(self._held)
        for path in held:
            self._give_back(path)
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

    def _give_back(self, path: Path) -> None:
        self._held.discard(path)
        with contextlib.suppress(OSError, CraniumError):
            # If we were thought to be gone, it is somebody else's now.
            if read_bytes(path, most=MOST_BYTES, follow_links=False) == self._owner:
                path.unlink()

    # What others left

    def _clear(self) -> None:
        """Remove the locks that killed processes left."""
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                if _LOCK.fullmatch(path.name) and self._is_stale(path):
                    self._remove_stale(path)
        for path in (self.guard, self.guard.with_suffix(".lock")):
            if os.path.lexists(path):  # its process was killed in the middle of this
                with contextlib.suppress(FileAccessError), self._guarded():
                    pass

    def _is_stale(self, path: Path) -> bool:
        """Whether nobody is there any more who would give a lock back."""
        try:
            told = os.lstat(path)
        except OSError:  # it was given back at this moment
            return False
        owner = _read_owner(path)
        here = owner.get("machine") == this_machine()
        if here and not _is_there(owner.get("process"), owner.get("started")):
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
                    f"cannot remove {path}, a lock that nobody holds any more: "
                    f"{problem.strerror or problem}",
                    fix="remove it",
                ) from None
            return True

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[bool]:
        """Whether we are the only ones in this block."""
        with contextlib.ExitStack() as leaving:
            try:
                alone = self._enter(leaving)
            except FileAccessError:
                raise
            except OSError as problem:
                raise self._cannot_lock(problem) from None
            yield alone

    def _enter(self, leaving: contextlib.ExitStack) -> bool:
        """Lock the guard, unless another process has: it is unlocked when that one is gone."""
        try:
            import fcntl
        except ImportError:
            return self._enter_without_flock(leaving)
        # On NFS, who may only read locks nothing.
        guard = os.open(self.guard, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        leaving.callback(os.close, guard)
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # this kind of disk has no locks
            leaving.callback(_remove, self.guard)
            return self._enter_without_flock(leaving)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(guard), os.lstat(self.guard)):
                # It is removed before it is unlocked, so that others see that it is another one.
                leaving.callback(_remove, self.guard)
                return True
        return False  # another process was here, and is through

    def _enter_without_flock(self, leaving: contextlib.ExitStack) -> bool:
        path = self.guard.with_suffix(".lock")
        if self._make(path):
            leaving.callback(_remove, path)
            return True
        if self._is_stale(path):  # its process was killed in the middle
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


def _is_there(process: object, started: object) -> bool:
    if not isinstance(process, int) or process <= 0 or not isinstance(started, str):
        return False
    return is_running(process, started)


def _read_owner(path: Path) -> dict[str, Any]:
    """What a lock says of its owner; nothing, if it is not what was written."""
    with contextlib.suppress(OSError, CraniumError, ValueError, RecursionError):
        told = json.loads(read_bytes(path, most=MOST_BYTES, follow_links=False))
        return told if isinstance(told, dict) else {}
    return {}
