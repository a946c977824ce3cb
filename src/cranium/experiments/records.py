"""Results on the disk: one file for each trial, written whole or not at all.

A record carries its config, so that it can be read without the code that made it, and a checksum,
so that a damaged one is found.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from cranium import __version__
from cranium.errors import FileAccessError, FileFormatError, RecordError, shorten
from cranium.experiments.shapes import what_is_wrong
from cranium.experiments.trial import Job
from cranium.io import read_bytes, write_bytes

__all__ = ["DamagedRecordWarning", "Record", "Store"]

FORMAT = 1
MOST_BYTES = 100_000_000
"""The largest record that is read: those of the longest trainings have some ten megabytes."""
PACKAGES = ("numpy", "numba", "gymnasium", "scipy")


class DamagedRecordWarning(UserWarning):
    """A record was damaged: its trial is run again."""


@dataclass(frozen=True)
class Record:
    """What came of a trial.

    Attributes:
        config: The config of the trial, as plain data.
        key: Its hash.
        seed: The seed.
        status: ``"done"``, or ``"failed"`` if it raised an error.
        result: What was found.
        error: The traceback, if it failed.
        wall: How many seconds it took.
        cpu: How many of CPU time.
        versions: Of the packages that it was made with.
        platform: The kind of machine.
    """

    config: dict[str, Any]
    key: str
    seed: int
    status: Literal["done", "failed"]
    result: dict[str, Any]
    error: str | None
    wall: float
    cpu: float
    versions: dict[str, str]
    platform: str

    @property
    def done(self) -> bool:
        """Whether there is a result."""
        return self.status == "done"


@cache
def surroundings() -> tuple[dict[str, str], str]:
    """The versions of what a result depends on, and the kind of machine."""
    # Ours is that of the code which runs, whatever else pip has installed.
    versions = {"cranium": __version__, **{name: metadata.version(name) for name in PACKAGES}}
    with suppress(metadata.PackageNotFoundError):  # networks depend on it, tables do not
        versions["jax"] = metadata.version("jax")
    return {"python": platform.python_version(), **versions}, platform.platform()


class Store:
    """The records of one experiment, in a folder.

    Example:
        >>> import tempfile
        >>> store = Store(Path(tempfile.mkdtemp()))
        >>> list(store)
        []
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, Record] = {}

    def make(self) -> None:
        """Make the folder."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise FileAccessError(
                f"cannot make the folder {self.folder}: {problem.strerror or problem}",
                fix="choose another place",
            ) from None

    def path(self, job: Job) -> Path:
        """Where the record of a trial lies."""
        return self.folder / f"{job.name}.json"

    def save(self, job: Job, record: Record) -> None:
        """Write a record, so that it is there whole even if the machine stops now."""
        data = asdict(record)
        text = json.dumps({"format": FORMAT, "checksum": _checksum(data), "record": data}, indent=1)
        write_bytes(self.path(job), text.encode(), durable=True, follow_links=False)
        self._known[job.name] = record

    def find(self, job: Job) -> Record | None:
        """The record of a trial; a damaged one is reported, and counts as missing."""
        if job.name not in self._known:
            path = self.path(job)
            if not os.path.lexists(path):
                return None
            try:
                record = read_record(path)
                if (record.key, record.seed) != (job.trial.key, job.seed):
                    raise _damaged(path, "it is the record of another trial")
                wrong = what_is_wrong(job.trial, record.result) if record.done else None
                if wrong is not None:
                    raise _damaged(path, wrong)
            except RecordError as problem:
                warnings.warn(str(problem), DamagedRecordWarning, stacklevel=2)
                return None
            self._known[job.name] = record
        return self._known[job.name]

    def find_again(self, job: Job) -> Record | None:
        """The record of a trial as it is now: another process may have written one."""
        self._known.pop(job.name, None)
        return self.find(job)

    def names(self) -> set[str]:
        """Of the records that are there, whole or not."""
        return {path.stem for path in self.folder.glob("*-*.json")}

    def __iter__(self) -> Iterator[Record]:
        """All records that are whole, in the order of their names."""
        for path in sorted(self.folder.glob("*-*.json")):
            try:
                yield read_record(path)
            except RecordError as problem:
                warnings.warn(str(problem), DamagedRecordWarning, stacklevel=2)


def _checksum(data: dict[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_record(path: Path) -> Record:
    """Read a record, and check that it is as it was written."""
    if os.path.lexists(path) and (path.is_symlink() or not (path.is_file() or path.is_dir())):
        # Whoever put it there: it is not what was written, and the next record replaces it.
        raise _damaged(path, "it is not a regular file")
    try:
        content = read_bytes(path, most=MOST_BYTES, follow_links=False)
    except FileFormatError as problem:
        raise _damaged(path, problem.message.removeprefix(f"{path} ")) from None
    try:
        told = json.loads(content)
        form, data = told["format"], told["record"]
        record = Record(**data)
        whole = told["checksum"] == _checksum(data) and _has_shape(record)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _damaged(path, "it is not what was written") from None
    if form != FORMAT:
        raise RecordError(
            f"{path} has format {shorten(form)}, not {FORMAT}",
            fix="read it with the version of Cranium that wrote it",
        )
    if not whole:
        raise _damaged(path, "it is not what was written")
    return record


def _has_shape(record: Record) -> bool:
    """Whether every field of a record is of its type."""
    return (
        isinstance(record.config, dict)
        and isinstance(record.key, str)
        and type(record.seed) is int
        and record.status in ("done", "failed")
        and isinstance(record.result, dict)
        and isinstance(record.error, str | None)
        and all(type(each) in (int, float) for each in (record.wall, record.cpu))
        and 0 <= record.wall < math.inf
        and 0 <= record.cpu < math.inf
        and isinstance(record.versions, dict)
        and all(isinstance(version, str) for version in record.versions.values())
        and isinstance(record.platform, str)
    )


def _damaged(path: Path, how: str) -> RecordError:
    return RecordError(
        f"{path} is damaged: {how}",
        fix="run the experiment again; only this trial is repeated",
    )
