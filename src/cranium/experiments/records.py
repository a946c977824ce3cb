"""Records of trials: one JSON file each, written completely or not at all.

A record contains the config of its trial, so that it can be read without the code that made it, and
a checksum, so that a damaged record is found.
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

from cranium._runtime.version import __version__
from cranium.errors import FileAccessError, FileFormatError, RecordError, shorten
from cranium.experiments.trial import Job, find_mismatch
from cranium.io import read_bytes, write_bytes

__all__ = ["DamagedRecordWarning", "Record", "Store"]

FORMAT = 1
MOST_BYTES = 100_000_000
"""The size limit of records. Those of the longest trainings have about ten megabytes."""
PACKAGES = ("numpy", "numba", "gymnasium", "scipy")


class DamagedRecordWarning(UserWarning):
    """A record was damaged: its trial is run again."""


@dataclass(frozen=True)
class Record:
    """The result of a trial, with its config and run metadata.

    Attributes:
        config: The config of the trial, as plain data.
        key: Its hash.
        seed: The seed.
        status: ``"done"``, or ``"failed"`` if it raised an error.
        result: The result, as plain data.
        error: The traceback, if it failed.
        wall: The wall-clock time in seconds.
        cpu: The CPU time in seconds.
        versions: The versions of Python and of the packages that the result depends on.
        platform: The operating system and processor.
        tries: The reasons why earlier attempts at the trial gave no result; usually none.
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
    tries: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        """Whether the trial ended without an error."""
        return self.status == "done"


@cache
def collect_versions() -> tuple[dict[str, str], str]:
    """Collect the versions of the packages that a result depends on, and the platform."""
    # Of Cranium it is the version of the code that runs, whatever pip has installed.
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
        """Create the folder."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise FileAccessError(
                f"cannot make the folder {self.folder}: {problem.strerror or problem}",
                fix="choose another place",
            ) from None

    def path(self, job: Job) -> Path:
        """The path of the record of a job."""
        return self.folder / f"{job.name}.json"

    def save(self, job: Job, record: Record) -> None:
        """Write a record durably: it survives a crash of the machine right after."""
        data = asdict(record)
        if not record.tries:  # as versions without it write
            del data["tries"]
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
                    raise _make_damaged_error(path, "it is the record of another trial")
                wrong = find_mismatch(job.trial, record.result) if record.done else None
                if wrong is not None:
                    raise _make_damaged_error(path, wrong)
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
        """The names of all records in the folder, damaged ones included."""
        return {path.stem for path in self.folder.glob("*-*.json")}

    def __iter__(self) -> Iterator[Record]:
        """Iterate over the undamaged records, ordered by name."""
        for path in sorted(self.folder.glob("*-*.json")):
            try:
                yield read_record(path)
            except RecordError as problem:
                warnings.warn(str(problem), DamagedRecordWarning, stacklevel=2)


def _checksum(data: dict[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_record(path: Path) -> Record:
    """Read a record, and verify its checksum and the types of its fields."""
    if os.path.lexists(path) and (path.is_symlink() or not (path.is_file() or path.is_dir())):
        # It is not what was written here, and the next record replaces it.
        raise _make_damaged_error(path, "it is not a regular file")
    try:
        content = read_bytes(path, most=MOST_BYTES, follow_links=False)
    except FileFormatError as problem:
        raise _make_damaged_error(path, problem.message.removeprefix(f"{path} ")) from None
    try:
        told = json.loads(content)
        form, data = told["format"], told["record"]
        record = Record(**{**data, "tries": tuple(data.get("tries", ()))})
        whole = told["checksum"] == _checksum(data) and _has_valid_types(record)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _make_damaged_error(path, "it is not what was written") from None
    if form != FORMAT:
        raise RecordError(
            f"{path} has format {shorten(form)}, not {FORMAT}",
            fix="read it with the version of Cranium that wrote it",
        )
    if not whole:
        raise _make_damaged_error(path, "it is not what was written")
    return record


def _has_valid_types(record: Record) -> bool:
    """Whether every field of a record has its type."""
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
        and all(isinstance(reason, str) for reason in record.tries)
    )


def _make_damaged_error(path: Path, how: str) -> RecordError:
    return RecordError(
        f"{path} is damaged: {how}",
        fix="run the experiment again; only this trial is repeated",
    )
