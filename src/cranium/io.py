"""Reading and writing files: what is read is a regular file, what is written is there whole."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from cranium._runtime.processes import is_running, this_machine
from cranium.errors import CraniumError, FileAccessError, FileFormatError, Place, shorten

__all__ = [
    "cache_folder",
    "check_writable",
    "clear_drafts",
    "format_path",
    "open_regular",
    "read_bytes",
    "read_text",
    "write_bytes",
    "write_new",
    "write_stream",
    "write_text",
]

ABANDONED = 3600.0
"""After so many seconds nobody is writing a draft any more, wherever they were."""
TRIED = bytes(1 << 16)
"""What is written to see whether there is room: an empty file can be made on a full disk."""
_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK}
_NAMED = 40  # characters of the file's name, so that that of the draft is not too long
_DRAFT = re.compile(
    r"\.(?P<name>.+)\.(?P<machine>\w{12})-(?P<process>\d+)-\w{16}\.draft", re.DOTALL
)


def read_text(path: Path, *, most: int, fix: str | None = None, follow_links: bool = True) -> str:
    """Read the text of a file that somebody has written: not endless, and UTF-8.

    Args:
        path: The file.
        most: How many bytes it may have. A larger one is refused before it is read.
        fix: What to do about a larger one.
        follow_links: As for :func:`read_bytes`.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "long.yaml"
        >>> _ = path.write_text("name: " + "x" * 5000)
        >>> len(read_text(path, most=10_000))
        5006
        >>> read_text(path, most=4096)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        cranium.errors.FileFormatError: ...long.yaml has more than 4 KiB
    """
    raw = read_bytes(path, most=most, fix=fix, follow_links=follow_links)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        column = problem.start - (raw.rfind(b"\n", 0, problem.start) + 1) + 1
        raise FileFormatError(
            f"this is not UTF-8: byte {raw[problem.start]:#04x}",
            place=Place(line, column, str(path)),
            fix="save it as UTF-8",
        ) from None


def read_bytes(
    path: Path, *, most: int, fix: str | None = None, follow_links: bool = True
) -> bytes:
    """Read a regular file of limited size: a pipe, a device or an endless file is refused at once.

    Args:
        path: The file.
        most: How many bytes it may have. A larger one is refused before it is read.
        fix: What to do about a larger one.
        follow_links: Whether the name may be that of a symbolic link to the file. Links in the
            names of the folders above it are always followed.

    Example:
        >>> read_bytes(Path(os.devnull), most=100)
        Traceback (most recent call last):
        cranium.errors.FileAccessError: cannot read /dev/null: it is not a regular file
          fix: give a file
    """
    with open_regular(path, follow_links=follow_links) as stream:
        try:
            size = os.fstat(stream.fileno()).st_size
            large = size > most
            raw = b"" if large else stream.read(size + 1)
            if len(raw) > size:  # it is growing
                raw += stream.read(most + 1 - len(raw))
        except OSError as problem:
            raise _unreadable(path, problem) from None
    if large or len(raw) > most:
        units = ((2**20, "MiB"), (2**10, "KiB"), (1, "bytes"))
        limit = next(f"{most // unit:,} {name}" for unit, name in units if most % unit == 0)
        raise FileFormatError(f"{format_path(path)} has more than {limit}", fix=fix)
    return raw


def open_regular(path: Path, *, follow_links: bool = True) -> BinaryIO:
    """Open a regular file for reading; anything else is refused, and opening it never waits.

    Args:
        path: The file.
        follow_links: As for :func:`read_bytes`.

    Example:
        >>> open_regular(Path(os.devnull))
        Traceback (most recent call last):
        cranium.errors.FileAccessError: cannot read /dev/null: it is not a regular file
          fix: give a file
    """
    try:
        _check_regular(path, path.stat(follow_symlinks=follow_links))
        # It may have become something else by now, and then opening it may not wait, either.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        flags |= 0 if follow_links else getattr(os, "O_NOFOLLOW", 0)
        stream = os.fdopen(os.open(path, flags), "rb")
        try:
            _check_regular(path, os.fstat(stream.fileno()))
        except BaseException:
            stream.close()
            raise
    except CraniumError:
        raise
    except (OSError, ValueError) as problem:
        if getattr(problem, "errno", None) == errno.ELOOP and not follow_links:
            raise _wrong_kind_error(path, "a symbolic link") from None
        raise _unreadable(path, problem) from None
    return stream


def _unreadable(path: Path, problem: Exception) -> FileAccessError:
    said = getattr(problem, "strerror", None) or problem
    return FileAccessError(
        f"cannot read {format_path(path)}: {said}", fix="look at the name of the file"
    )


def _check_regular(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise _wrong_kind_error(path, "a directory")
    if stat.S_ISLNK(found.st_mode):
        raise _wrong_kind_error(path, "a symbolic link")
    if not stat.S_ISREG(found.st_mode):
        raise _wrong_kind_error(path, "not a regular file")


def _wrong_kind_error(path: Path, kind: str) -> FileAccessError:
    fix = "give the file that it points at" if kind == "a symbolic link" else "give a file"
    return FileAccessError(f"cannot read {format_path(path)}: it is {kind}", fix=fix)


def write_text(path: Path, text: str) -> None:
    """Write a text as :func:`write_bytes` does."""
    write_bytes(path, text.encode())


def write_bytes(
    path: Path, content: bytes, *, durable: bool = False, follow_links: bool = True
) -> None:
    """Write a file all or nothing, as :func:`write_stream` does."""

    def write(stream: BinaryIO) -> None:
        stream.write(content)

    write_stream(path, write, durable=durable, follow_links=follow_links)


def write_stream(
    path: Path,
    write: Callable[[BinaryIO], object],
    *,
    durable: bool = False,
    follow_links: bool = True,
) -> None:
    """Write a file all or nothing, so that an interrupted write leaves the old one.

    Drafts that killed processes left of the same file are removed.

    Args:
        path: The file.
        write: Writes the content into the stream that it is given.
        durable: Whether it is on the disk before it gets its name, and its name is before we go on.
        follow_links: Whether a symbolic link, a pipe or a device of this name is written through,
            as suits a name that a user gave. Otherwise it is replaced by a regular file, and what
            a link points at stays as it is.
    """
    try:
        if follow_links:
            path = path.resolve()  # a link stays a link
            if path.exists() and not path.is_file():
                with path.open("wb") as stream:  # a pipe or a device is not replaced
                    write(stream)
                return
        draft = _draft(path)
        try:
            with draft.open("xb") as stream:
                write(stream)
                if durable:
                    stream.flush()
                    os.fsync(stream.fileno())
            if path.is_file() and not path.is_symlink():
                draft.chmod(stat.S_IMODE(path.stat().st_mode))
            draft.replace(path)
            if durable:
                _keep_names(path.parent)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as problem:
        said = getattr(problem, "strerror", None) or problem
        raise FileAccessError(
            f"cannot write {format_path(path)}: {said}", fix="choose another place"
        ) from None
    if follow_links:  # a folder of results, with thousands of files, is cleared once for each run
        clear_drafts(path.parent, path.name)


def write_new(path: Path, content: bytes) -> bool:
    """Write a small file that nobody has written yet, and have it there whole or not at all.

    Of all processes that do this at the same time, one is told that it was the first, on a disk of
    this machine and on one that is shared with others.

    Returns:
        Whether the file was not there.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "mine"
        >>> write_new(path, b"one"), write_new(path, b"two"), path.read_bytes()
        (True, False, b'one')
    """
    draft = _draft(path)
    try:
        with draft.open("xb") as stream:
            stream.write(content)
        os.link(draft, path)  # unlike a rename, it replaces nothing
    except FileExistsError:
        return False
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
        return _write_in_place(path, content)
    finally:
        draft.unlink(missing_ok=True)
    return True


def _write_in_place(path: Path, content: bytes) -> bool:
    """As :func:`write_new`, on a disk without links; who is killed in this moment leaves half."""
    try:
        stream = path.open("xb")
    except FileExistsError:
        return False
    try:
        with stream:
            stream.write(content)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return True


def _keep_names(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can tell."""
    with suppress(OSError):  # Windows opens no folders, and some disks do not do this
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _draft(path: Path) -> Path:
    """Named before it is made: an interruption at any moment finds what to clear away."""
    owner = f"{this_machine()}-{os.getpid()}-{secrets.token_hex(8)}"
    return path.parent / f".{path.name[:_NAMED]}.{owner}.draft"


def check_writable(path: Path) -> None:
    """Refuse a place where :func:`write_bytes` would fail, before there is work to be lost.

    A small file is written beside it and removed. Whether there is room for what comes later,
    nobody can know.

    Example:
        >>> check_writable(Path("no such folder") / "agent.npz")
        Traceback (most recent call last):
        cranium.errors.FileAccessError: cannot write no such folder/agent.npz:
        No such file or directory
          fix: choose another place
    """
    try:
        place = path.resolve()
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a directory")
        if place.exists() and not place.is_file():
            return  # a pipe or a device: to write is the only way to know
        draft = _draft(place)
        try:
            with draft.open("xb") as stream:
                stream.write(TRIED)
                stream.flush()
                os.fsync(stream.fileno())
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, ValueError) as problem:
        said = getattr(problem, "strerror", None) or problem
        raise FileAccessError(
            f"cannot write {format_path(path)}: {said}", fix="choose another place"
        ) from None


def clear_drafts(folder: Path, name: str | None = None) -> int:
    """Remove the drafts that killed processes left in a folder; how many there were.

    A draft is left by a process of this machine that is gone, or by anybody an hour ago.

    Args:
        folder: Where to look.
        name: Of which file; by default all.

    Example:
        >>> import tempfile
        >>> clear_drafts(Path(tempfile.mkdtemp()))
        0
    """
    removed = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _DRAFT.fullmatch(entry.name)
            if found is None or (name is not None and found["name"] != name[:_NAMED]):
                continue
            with suppress(OSError):
                here = found["machine"] == this_machine()
                old = time.time() - entry.stat(follow_symlinks=False).st_mtime > ABANDONED
                if old or (here and not is_running(int(found["process"]))):
                    Path(entry.path).unlink()
                    removed += 1
    return removed


def format_path(path: Path) -> str:
    """A path as a message shows it: control characters and endless names spelled out."""
    text = str(path)
    return text if text.isprintable() and len(text) <= 200 else shorten(text, 200)


def cache_folder() -> Path:
    """Return the folder for cached files of this user: in ``XDG_CACHE_HOME``, or ``~/.cache``.

    Example:
        >>> cache_folder().name
        'cranium'
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cranium"
