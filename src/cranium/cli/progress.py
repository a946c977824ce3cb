"""The progress of an experiment on standard error: bars in a terminal, lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranium._runtime.terminal import GuardedConsole, visible, visible_text
from cranium.experiments import Record, RunCallback
from cranium.experiments.trial import Job

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["ExperimentProgress"]

SECONDS_BETWEEN_LINES = 10.0


class ExperimentProgress(RunCallback):
    """Shows how many trials of each method are done, and about how long the rest takes.

    Args:
        title: The heading of the bars: the experiment.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.console = GuardedConsole(stderr=True)
        self.bars: Progress | None = None
        self.total_bar: TaskID | None = None
        self.method_bars: dict[str, TaskID] = {}
        self.done = self.total = 0
        self.failed: Counter[str] = Counter()
        self.stage = ""
        self.start_time = self.line_time = 0.0

    def begin(self, jobs: Sequence[Job], there: int) -> None:  # noqa: ARG002
        """Start to count these jobs."""
        self.end()
        self.done, self.total = 0, len(jobs)
        self.stage = "tuning" if jobs[0].trial.stage == "tuning" else "trials"
        self.start_time = self.line_time = time.monotonic()
        if not self.console.is_terminal:
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (TextColumn("{task.description}", markup=False), BarColumn())
        more = (MofNCompleteColumn(), TextColumn("{task.fields[note]}"), Remaining())
        bars = self.bars = Progress(*columns, *more, console=self.console, transient=True)
        bars.start()
        title = f"{self.title}, {self.stage}"
        self.total_bar = bars.add_task(visible(title), total=self.total, note="")
        self.method_bars = {
            method: bars.add_task(visible(f"  {method}"), total=count, note="")
            for method, count in Counter(job.trial.method for job in jobs).items()
        }
        self.failed = Counter()

    def finished(self, job: Job, record: Record) -> None:
        """Count a job that has ended."""
        self.done += 1
        method = job.trial.method
        if self.bars is not None and self.total_bar is not None:
            self.failed[method] += not record.done
            note = f"{self.failed[method]} failed" if self.failed[method] else ""
            self.bars.advance(self.total_bar)
            self.bars.update(self.method_bars[method], advance=1, note=note)
        elif time.monotonic() - self.line_time > SECONDS_BETWEEN_LINES:
            self.line_time = time.monotonic()
            left = (self.line_time - self.start_time) * (self.total - self.done) / self.done
            text = f"  {self.stage}: {self.done:,} of {self.total:,}, about {left:.0f} s left"
            self.console.print(visible_text(text))

    def end(self) -> None:
        """Remove the bars: all jobs are done, or the run was interrupted."""
        if self.bars is not None:
            self.bars.stop()
            self.bars = None
