"""Replay buffers in files: a ``.npz`` with arrays and a description in JSON; nothing is pickled."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranium.counterfactual.sets import ConfigurationSet, Current, Reachable, Seen
from cranium.errors import FileAccessError, InvalidArgumentError, SpaceError, shorten
from cranium.io import open_regular, write_bytes
from cranium.npz import DAMAGES, MOST_BYTES, ArchiveFormat, read_archive

__all__ = ["DAMAGES", "SavedReplay", "read_replay", "set_data", "set_from", "write_replay"]

ENDING = ".npz"
FORMAT = ArchiveFormat(
    name="cranium replay",
    version=1,
    arrays=r"about|(next_)?observations[0-9]{1,3}|actions|label|real|ground_terminated|paid"
    r"|configuration_states|configuration_counters|members|met",
    noun="a replay buffer",
    source="replay.save(path) makes one",
    renewal="begin with a new buffer",
)
SETS: dict[str, Callable[..., ConfigurationSet]] = {
    "current": Current,
    "reachable": Reachable,
    "seen": Seen,
}


class SavedReplay(NamedTuple):
    """The contents of a file."""

    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def write_replay(path: str | os.PathLike[str], saved: SavedReplay) -> None:
    """Write a description and arrays into a file; all or nothing."""
    where = Path(path)
    if where.suffix != ENDING:
        raise InvalidArgumentError(
            f"a replay buffer is written into a .npz file, not {where.name!r}"
        )
    if not where.parent.is_dir():
        raise FileAccessError(f"cannot write {where}: there is no folder {where.parent}")
    size = sum(array.nbytes for array in saved.arrays.values())
    if size > MOST_BYTES:
        raise SpaceError(
            f"a replay buffer of {size:,} bytes is too large for a file: at most {MOST_BYTES:,}",
            fix="use a smaller buffer_size, or a smaller dtype for the observations",
        )
    stream = io.BytesIO()
    kind = {"format": FORMAT.name, "version": FORMAT.version}
    text = json.dumps({**kind, **saved.about}, ensure_ascii=False)
    contents: dict[str, Any] = {"about": np.array(text), **saved.arrays}
    np.savez_compressed(stream, **contents)
    write_bytes(where, stream.getvalue())


def read_replay(path: str | os.PathLike[str]) -> SavedReplay:
    """Read a file that :func:`write_replay` wrote."""
    where = Path(path)
    with open_regular(where) as file:
        return SavedReplay(*read_archive(file, where, FORMAT))


def set_data(chosen: ConfigurationSet) -> dict[str, Any] | None:
    """One of our own sets of configurations as plain data; None for a user's own.

    Example:
        >>> set_data(Reachable(limit=3))
        {'kind': 'reachable', 'limit': 3, 'sample': None}
    """
    for kind, made in SETS.items():
        if type(chosen) is made:
            return {"kind": kind, "limit": getattr(chosen, "limit", None), "sample": chosen.sample}
    return None


def set_from(data: object) -> ConfigurationSet:
    """The set of configurations that plain data describes.

    Example:
        >>> set_from({"kind": "reachable", "limit": 3, "sample": None})
        Reachable(limit=3, sample=None, seen_only=False)
    """
    if not isinstance(data, dict):
        raise TypeError(f"{shorten(data)} where a set of configurations is expected")
    limits = {} if data["kind"] == "current" else {"limit": _limit(data["limit"])}
    return SETS[data["kind"]](sample=_limit(data["sample"]), **limits)


def _limit(value: object) -> int | None:
    if value is None or (type(value) is int and value >= 0):
        return value
    raise ValueError(f"{shorten(value)} where a whole number is expected")
