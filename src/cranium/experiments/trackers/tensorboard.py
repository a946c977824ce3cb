"""The tracker that writes event files of TensorBoard."""

from __future__ import annotations

import html
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cranium.errors import FileAccessError, MissingExtraError
from cranium.experiments.trackers.protocol import RunDescription, Scalars, Status
from cranium.io import check_writable

if TYPE_CHECKING:
    from tensorboardX.event_file_writer import EventsWriter
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.proto.summary_pb2 import Summary

__all__ = ["TensorBoardFolder"]

MOST_ATTEMPTS = 10_000


@dataclass(frozen=True, init=False)
class TensorBoardFolder:
    """A folder for TensorBoard: each run has a folder of its own in it, with an event file.

    A run whose folder exists, such as a trial that was repeated, gets the next free one.

    Attributes:
        folder: The folder.
    """

    folder: Path

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        object.__setattr__(self, "folder", Path(folder).absolute())

    def prepare(self, _group: str, /) -> None:
        """Check that tensorboardX is installed, and make the folder."""
        _import_tensorboard()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise FileAccessError(
                f"cannot make the folder {self.folder}: {problem.strerror or problem}",
                fix="name another one after tensorboard:",
            ) from None
        check_writable(self.folder / "events")

    def __call__(self) -> _TensorBoardRun:
        """Make the tracker of a run."""
        return _TensorBoardRun(self.folder)


class _TensorBoardRun:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, run: RunDescription) -> None:
        self.events = _import_tensorboard()
        where = _make_folder(self.folder / run.folder)
        # Not a SummaryWriter: its thread writes later, and what a worker that is killed has logged
        # would be lost.
        self.writer = self.events.EventsWriter(os.fspath(where / "events"))
        for name, told in (("settings", run.settings), ("metadata", run.metadata)):
            rows = "".join(f"|{_cell(key)}|{_cell(value)}|\n" for key, value in told.items())
            self._write(self.events.text(name, f"|name|value|\n|-|-|\n{rows}"), 0)
        self.writer.flush()

    def log(self, samples: int, values: Scalars) -> None:
        for name, value in values.items():
            self._write(self.events.scalar(name, value), samples)
        self.writer.flush()

    def end(self, status: Status, summary: Scalars) -> None:
        step = int(summary.get("samples", 0))
        for name, value in summary.items():
            self._write(self.events.scalar(f"result/{name}", value), step)
        self._write(self.events.text("status", status), step)
        self.writer.close()

    def _write(self, content: Summary, step: int) -> None:
        event = self.events.Event(wall_time=time.time(), step=step, summary=content)
        self.writer.write_event(event)


def _cell(value: object) -> str:
    """A cell of a table in Markdown."""
    return html.escape(str(value)).replace("|", "&#124;").replace("\n", " ")


def _make_folder(wanted: Path) -> Path:
    """Make the folder, or the next free one of this name: runs never share one."""
    for number in range(1, MOST_ATTEMPTS):
        path = wanted if number == 1 else wanted.with_name(f"{wanted.name} ({number})")
        with suppress(FileExistsError):
            path.mkdir(parents=True)
            return path
    raise FileAccessError(f"there are {MOST_ATTEMPTS:,} runs called {wanted}")


class _Events(NamedTuple):
    """The parts of tensorboardX that write event files."""

    EventsWriter: type[EventsWriter]
    Event: type[Event]
    scalar: Callable[[str, float], Summary]
    text: Callable[[str, str], Summary]


def _import_tensorboard() -> _Events:
    try:
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.summary import scalar, text
    except ImportError:
        raise MissingExtraError.of(
            "TensorBoard needs tensorboardX, which is not installed",
            "tensorboard",
            "track into csv:FILE",
        ) from None
    return _Events(EventsWriter, Event, scalar, text)
