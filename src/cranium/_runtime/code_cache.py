"""Compiled code on disk: Numba's cache, with files that are checked before they are run.

Numba keeps an index that maps the types of the arguments to numbered files. Two processes that
compile the same function for different types at the same time can both take the number 1: then the
index leads to machine code for other types, which crashes. A file that was cut off or changed ends
every later run. Here the name of a file comes from the types themselves, and the file holds what it
was compiled from, for which types, and a checksum. A damaged file is deleted, and the function is
compiled again.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

if TYPE_CHECKING:
    from numba.core.compiler import CompileResult
    from numba.core.types import Type

__all__ = ["CodeCache", "cache_for", "stamped_files"]

_MARK = b"\ncranium code 1 "
_STALE = 3600.0
"""A draft that is older than so many seconds was left behind by a process that was killed."""


def cache_for(function: Callable[..., Any]) -> CodeCache | NullCache:
    """The cache of a function; one that keeps nothing, if there is no folder to write to.

    Example:
        >>> from cranium.tables.pay import pay
        >>> type(cache_for(pay)).__name__
        'CodeCache'
    """
    try:
        return CodeCache(function)
    except RuntimeError:  # Numba's way to say that it can write nowhere
        _say_once("no folder can be written for compiled code: set NUMBA_CACHE_DIR to one that can")
        return NullCache()


class CodeCache(FunctionCache):
    """The compiled versions of one function: a file for each combination of argument types."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, _stamp())

    def save_overload(self, sig: Sequence[Type], data: CompileResult) -> None:
        """Keep a version; without room for it, say so and go on."""
        try:
            super().save_overload(sig, data)
        except OSError as problem:
            reason = problem.strerror or problem
            _say_once(f"compiled code cannot be kept in {self._cache_path}: {reason}")


class _Files(IndexDataCacheFile):
    """Files without an index. A key is a signature, the processor, and hashes of the function."""

    def flush(self) -> None:
        """Delete all versions."""
        for path in self._all("*.code"):
            path.unlink(missing_ok=True)

    def save(self, key: Any, data: Any) -> None:
        """Write a version, in one move."""
        for draft in self._all("*.code.tmp.*"):
            with suppress(OSError):  # another process may just have given it its name
                if time.time() - draft.stat().st_mtime > _STALE:
                    draft.unlink()
        content = self._dump((key, data)) + self._source_stamp.encode()
        with self._open_for_write(str(self._path(key))) as file:
            file.write(content + _ending(content))

    def load(self, key: Any) -> Any:
        """Read a version, or None if there is none that fits."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        length = len(_ending(b""))
        content, ending = content[:-length], content[-length:]
        if ending != _ending(content):
            _discard(path)
            return None
        if not content.endswith(self._source_stamp.encode()):
            return None  # what another version of Numba wrote may not even be readable
        # What was checked is what is used: the file may have changed since.
        known, data = pickle.loads(content)  # noqa: S301 - machine code, as Numba keeps it
        return data if known == key else None

    def _path(self, key: Any) -> Path:
        signature, processor, _ = key  # a new version of a function takes the place of the old
        name = hashlib.sha256(repr((signature, processor)).encode()).hexdigest()[:24]
        return self._base.with_name(f"{self._base.name}.{name}.code")

    def _all(self, pattern: str) -> list[Path]:
        # The name of a function has no characters that mean something in a pattern.
        return list(self._base.parent.glob(f"{self._base.name}.{pattern}"))

    @property
    def _base(self) -> Path:
        return Path(self._index_path).with_suffix("")


def _ending(content: bytes) -> bytes:
    return _MARK + hashlib.sha256(content).digest()


@cache
def _stamp() -> str:
    """What everything compiled here was made from, and by what.

    Compiled functions contain those that they call, from other files, too; Numba would notice a
    change in a function's own file only.
    """
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for path in stamped_files():
        digest.update(path.read_bytes())
    return digest.hexdigest()


def stamped_files() -> list[Path]:
    """List the source files of compiled functions: a change in any of them compiles all anew.

    Example:
        >>> "live_kernels.py" in [path.name for path in stamped_files()]
        True
    """
    package = Path(__file__).parent.parent
    return sorted(package.rglob("*kernels.py"))


def _discard(path: Path) -> None:
    """Delete a damaged file; the function is compiled again."""
    try:
        path.unlink(missing_ok=True)
    except OSError as problem:
        _say_once(f"{path} is damaged and cannot be deleted: {problem.strerror or problem}")
    else:
        _say_once(f"compiled code in {path.parent} was damaged: it is compiled again")


@cache
def _say_once(message: str) -> None:
    """Write a line to standard error, the same one only once."""
    from cranium._runtime.terminal import notify

    notify(f"cranium: {message}")
