"""The tracker that appends to a CSV file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cranium.errors import FileAccessError, FileFormatError
from cranium.experiments.trackers.protocol import RunDescription, Scalars, Status

__all__ = ["CsvFile"]

COLUMNS = ("group", "run", "samples", "name", "value")


@dataclass(frozen=True, init=False)
class CsvFile:
    """One file for all runs, with a row for each value: group, run, samples, name, value.

    Runs in several processes may append to the same file. Settings and metadata stand before the
    first sample, with names that begin with ``settings/`` and ``metadata/``.

    Attributes:
        path: The file.
    """

    path: Path

    def __init__(self, path: str | os.PathLike[str]) -> None:
        object.__setattr__(self, "path", Path(path).absolute())

    def prepare(self, _group: str, /) -> None:
        """Write the header; refuse a file that holds something else."""
        header = _format([COLUMNS])
        try:
            with self.path.open("ab+") as stream:
                stream.seek(0)
                first = stream.readline(1_000)
                if not first:
                    stream.write(header)
        except OSError as problem:
            raise FileAccessError(
                f"cannot write {self.path}: {problem.strerror or problem}",
                fix="name a file in a folder that exists",
            ) from None
        if first not in (b"", header):
            raise FileFormatError(
                f"{self.path} is not a file of tracked runs", fix="name a new file after csv:"
            )

    def __call__(self) -> _CsvRun:
        """Make the tracker of a run."""
        return _CsvRun(self.path)


class _CsvRun:
    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, run: RunDescription) -> None:
        self.names = (run.group, run.title)
        for kind, told in (("metadata", run.metadata), ("settings", run.settings)):
            self._append([(*self.names, "", f"{kind}/{name}", x) for name, x in told.items()])

    def log(self, samples: int, values: Scalars) -> None:
        self._append([(*self.names, samples, name, value) for name, value in values.items()])

    def end(self, status: Status, summary: Scalars) -> None:
        told = {**summary, "status": status}
        self._append([(*self.names, "", f"result/{name}", x) for name, x in told.items()])

    def _append(self, rows: Sequence[Sequence[object]]) -> None:
        # In one call, so that rows of several processes do not mix.
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(descriptor, _format(rows))
        finally:
            os.close(descriptor)


def _format(rows: Sequence[Sequence[object]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue().encode()
