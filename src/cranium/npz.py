"""Read the arrays of a ``.npz`` file from an untrusted source.

Everything that a file says of its names, dtypes, shapes and sizes is checked before any array is
made: a few bytes can claim to be an array of terabytes, and a few megabytes unpack to gigabytes.
Nothing is unpickled.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zipfile
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from cranium.errors import FileFormatError, shorten

__all__ = [
    "DAMAGES",
    "MOST_BYTES",
    "MOST_ROWS",
    "MOST_TEXT",
    "ArchiveFormat",
    "read_archive",
    "read_arrays",
]

MOST_BYTES = 1 << 30
"""How many bytes all arrays of a file may have together."""
MOST_TEXT = 1 << 25
"""How many characters a text may have: parsed, it takes about thirty times the tables."""
MOST_ROWS = 2_000_000
"""How many rows an array may have, if each of them becomes an object of its own."""
DAMAGES = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)
"""The errors that reading a damaged description can raise."""
DESCRIPTION = "about"
"""The name of the array with the description."""
MOST_ARRAYS = 1000
MOST_DIRECTORY = 1 << 17
"""How many bytes the list of the arrays may have: it is read before anything can be checked."""
MOST_HEADER = 10_000
"""How many bytes may say what an array is; NumPy's own limit, which it only looks at later."""
KINDS = "biufU"
ENDING = ".npy"
PIECE = 1 << 20
_END = b"PK\x05\x06"
_END_SIZE = 22
_LARGE_END = b"PK\x06\x07"
_LARGE_END_SIZE = 20


class _Header(NamedTuple):
    """What the head of an array says, and how many bytes it takes."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    size: int

    @property
    def num_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class ArchiveFormat(NamedTuple):
    """One kind of ``.npz`` file with a description in JSON, and its words in messages.

    Attributes:
        name: The ``format`` in the description.
        version: The ``version`` in the description.
        arrays: A regular expression for the names of the arrays.
        noun: What such a file holds, such as "a policy".
        source: How such a file is made, for who gives another one.
        renewal: What to do instead of reading a file of another version.
        most_bytes: How many bytes all arrays of a file may have together.
    """

    name: str
    version: int
    arrays: str
    noun: str
    source: str
    renewal: str
    most_bytes: int = MOST_BYTES


def read_archive(
    file: IO[bytes], path: Path, form: ArchiveFormat
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the description and the arrays of a file, and check its format and version.

    Args:
        file: The file, open for reading.
        path: Where it is, for messages.
        form: The kind of file that is expected.

    Raises:
        FileFormatError: It is another kind of file, or of another version.

    Example:
        >>> form = ArchiveFormat("numbers", 1, "about|q", "a table", "save one", "save it again")
        >>> stream = io.BytesIO()
        >>> np.savez(stream, about=np.array('{"format": "numbers", "version": 2}'))
        >>> read_archive(stream, Path("table.npz"), form)
        Traceback (most recent call last):
        cranium.errors.FileFormatError: table.npz has version 2 of the format, and this Cranium
        reads version 1
          fix: use the Cranium that wrote it, or save it again
    """
    try:
        arrays = read_arrays(file, form.arrays, form.most_bytes)
        about = json.loads(str(arrays.pop(DESCRIPTION)))
    except Exception:  # a damaged archive makes its readers raise all kinds of errors
        raise FileFormatError(f"{path} is not {form.noun} of ours", fix=form.source) from None
    if not isinstance(about, dict) or about.get("format") != form.name:
        raise FileFormatError(f"{path} is not {form.noun} of ours")
    if about.get("version") != form.version:
        raise FileFormatError(
            f"{path} has version {shorten(about.get('version'))} of the format, and this Cranium "
            f"reads version {form.version}",
            fix=f"use the Cranium that wrote it, or {form.renewal}",
        )
    return about, arrays


def read_arrays(
    file: IO[bytes], names: str = r"\w+", most_bytes: int | None = None
) -> dict[str, NDArray[Any]]:
    """The arrays of a ``.npz`` file by their names; what is wrong with it is a ``ValueError``.

    Args:
        file: The file, open for reading.
        names: A regular expression for the names that are expected.
        most_bytes: How many bytes the arrays may have together; by default ``MOST_BYTES``.

    Example:
        >>> stream = io.BytesIO()
        >>> np.savez_compressed(stream, q=np.eye(2))
        >>> read_arrays(stream, "q|about")["q"].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    _check_directory(file)
    with zipfile.ZipFile(file) as archive:
        members = {member.filename.removesuffix(ENDING): member for member in archive.infolist()}
        if len(members) != len(archive.infolist()) or len(members) > MOST_ARRAYS:
            raise ValueError(f"{len(archive.infolist()):,} arrays, or one twice")
        headers = {}
        for name, member in members.items():
            if not re.fullmatch(names, name):
                raise ValueError(f"an array that is called {name[:60]!r}")
            headers[name] = _read_and_check_header(archive, member)
        size = sum(header.num_bytes for header in headers.values())
        most = MOST_BYTES if most_bytes is None else most_bytes
        if size > most:
            raise ValueError(f"{size:,} bytes of arrays: {most:,} are allowed")
        return {name: _read(archive, members[name], header) for name, header in headers.items()}


def _check_directory(file: IO[bytes]) -> None:
    """Refuse an archive whose list of members is not a short one, as NumPy writes it."""
    file.seek(-_END_SIZE - _LARGE_END_SIZE, io.SEEK_END)  # a file that is shorter is no archive
    before, end = file.read(_LARGE_END_SIZE), file.read(_END_SIZE)
    if not end.startswith(_END):
        raise ValueError("no archive as NumPy writes it")
    if before.startswith(_LARGE_END):
        raise ValueError("an archive of more than 4 GB")
    (size,) = struct.unpack_from("<L", end, 12)
    if size > MOST_DIRECTORY:
        raise ValueError(f"{size:,} bytes of names of arrays")


def _read_and_check_header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Header:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("an array that is packed in an uncommon way")  # some take gigabytes
    with archive.open(member) as stream:
        header = _read_header(stream)
    shape, dtype = header.shape, header.dtype
    whole = all(type(length) is int and length >= 0 for length in shape)
    if not whole or dtype.kind not in KINDS or dtype.itemsize > 4 * MOST_TEXT:
        raise ValueError(f"an array of the shape {str(shape)[:60]} and the dtype {str(dtype)[:60]}")
    if header.num_bytes != member.file_size - header.size:
        raise ValueError(f"{header.num_bytes:,} bytes in {member.file_size - header.size:,}")
    return header


def _read_header(stream: IO[bytes]) -> _Header:
    version = npy.read_magic(stream)
    width = 2 if version == (1, 0) else 4
    told = stream.read(width)
    length = int.from_bytes(told, "little")
    if length > MOST_HEADER:
        raise ValueError(f"{length:,} bytes that say what an array is")
    text = io.BytesIO(told + stream.read(length))
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, by_columns, dtype = read(text)
    return _Header(shape, by_columns, dtype, npy.MAGIC_LEN + width + length)


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo, header: _Header) -> NDArray[Any]:
    """Read an array piece by piece into its own tables, so that it is never held twice."""
    content = np.empty(header.num_bytes, np.uint8)
    with archive.open(member) as stream:
        _read_header(stream)
        for start in range(0, len(content), PIECE):
            length = min(PIECE, len(content) - start)
            piece = stream.read(length)
            if len(piece) < length:  # the rest would be whatever was in memory before
                raise ValueError(f"an array that ends after {start + len(piece):,} bytes")
            content[start : start + length] = np.frombuffer(piece, np.uint8)
        stream.read(1)  # nothing, but at its end the checksum is compared
    return content.view(header.dtype).reshape(header.shape, order="F" if header.by_columns else "C")
