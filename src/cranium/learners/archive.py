"""Reading the arrays of a ``.npz`` file that nobody vouches for.

What a file says of its sizes is checked before anything is allocated: a few bytes can claim to be
an array of terabytes, or unpack to gigabytes. Nothing is unpickled.
"""

from __future__ import annotations

import io
import math
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

__all__ = ["MOST_BYTES", "read_arrays"]

MOST_BYTES = 1 << 31
"""How many bytes all arrays of a file may have together."""
MOST_ARRAYS = 1000
KINDS = "biufU"
ENDING = ".npy"


def read_arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a ``.npz`` file by their names; what is wrong with it is a ``ValueError``.

    Example:
        >>> stream = io.BytesIO()
        >>> np.savez_compressed(stream, q=np.eye(2))
        >>> read_arrays(stream.getvalue())["q"].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        if len(members) > MOST_ARRAYS or size > MOST_BYTES:
            raise ValueError(f"{len(members):,} arrays of {size:,} bytes")
        found = {}
        for member in members:
            with archive.open(member) as stream:
                found[member.filename.removesuffix(ENDING)] = _read(stream, member.file_size)
    return found


def _read(stream: IO[bytes], size: int) -> NDArray[Any]:
    version = npy.read_magic(stream)
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, by_columns, dtype = header(stream)
    wanted = math.prod(shape) * dtype.itemsize
    if dtype.kind not in KINDS or min(shape, default=0) < 0 or wanted != size - stream.tell():
        raise ValueError(f"an array of the shape {shape} and the dtype {dtype} in {size:,} bytes")
    array = np.frombuffer(bytearray(stream.read(wanted)), dtype)
    return array.reshape(shape, order="F" if by_columns else "C")
