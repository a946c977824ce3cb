"""The tracker that writes event files of TensorBoard."""

from __future__ import annotations

import html
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cranium.errors import FileAccessError, MissingExtraError
from cranium.experiments.trackers.protocol import RunDescription, Scalars, Status
from cranium.io import check_writable

if TYPE_CHECKING:
    from tensorboardX import SummaryWriter

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
        _import_writer()
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
        where = _make_folder(self.folder / run.folder)
        self.writer = _import_writer()(logdir=os.fspath(where))
        for name, told in (("settings", run.settings), ("metadata", run.metadata)):
            rows = "".join(f"|{_cell(key)}|{_cell(value)}|\n" for key, value in told.items())
            if rows:
                self.writer.add_text(name, f"|name|value|\n|-|-|\n{rows}", 0)
        self.writer.flush()

    def log(self, samples: int, values: Scalars) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, samples)
        self.writer.flush()  # so that the curves of a run that goes on can be seen

    def end(self, status: Status, summary: Scalars) -> None:
        step = int(summary.get("samples", 0))
        for name, value in summary.items():
            self.writer.add_scalar(f"result/{name}", value, step)
        self.writer.add_text("status", status, step)
        self.writer.close()


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


def _import_writer() -> type[SummaryWriter]:
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise MissingExtraError.of(
            "TensorBoard needs tensorboardX, which is not installed",
            "tensorboard",
            "track into csv:FILE",
        ) from None
    return SummaryWriter
