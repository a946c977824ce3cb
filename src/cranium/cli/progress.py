"""How an experiment goes, on standard error: a bar for each method, or now and then a line."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cranium._runtime.terminal import GuardedConsole, visible, visible_text
from cranium.experiments import Record, Watcher
from cranium.experiments.trial import Job

__all__ = ["ProgressWatcher"]

LINES = 10.0
"""Seconds between two lines, where nobody watches a terminal."""


class ProgressWatcher(Watcher):
    """Shows how many trials of each method are done, and how long the rest takes."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.console = GuardedConsole(stderr=True)
        self.bars: Any = None
        self.tasks: dict[str, Any] = {}
        self.done = self.total = 0
        self.said = 0.0

    def begin(self, jobs: Sequence[Job], there: int) -> None:  # noqa: ARG002
        """So many jobs are to be run."""
        self.end()
        self.done, self.total, self.begun = 0, len(jobs), time.monotonic()
        self.stage = "tuning" if jobs[0].trial.stage == "tuning" else "trials"
        self.said = self.begun
        if not self.console.is_terminal:
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (TextColumn("{task.description}", markup=False), BarColumn())
        more = (MofNCompleteColumn(), TextColumn("{task.fields[note]}"), Remaining())
        self.bars = Progress(*columns, *more, console=self.console, transient=True)
        self.bars.start()
        counts = Counter(job.trial.method for job in jobs)
        title = f"{self.title}, {self.stage}"
        self.tasks = {"": self.bars.add_task(visible(title), total=self.total, note="")}
        for method, count in counts.items():
            self.tasks[method] = self.bars.add_task(visible(f"  {method}"), total=count, note="")
        self.failed: Counter[str] = Counter()

    def finished(self, job: Job, record: Record) -> None:
        """One is done."""
        self.done += 1
        if self.bars is not None:
            self.failed[job.trial.method] += not record.done
            count = self.failed[job.trial.method]
            note = f"{count} failed" if count else ""
            self.bars.advance(self.tasks[""])
            self.bars.update(self.tasks[job.trial.method], advance=1, note=note)
        elif time.monotonic() - self.said > LINES:
            self.said = time.monotonic()
            left = (self.said - self.begun) * (self.total - self.done) / self.done
            told = f"  {self.stage}: {self.done:,} of {self.total:,}, about {left:.0f} s left"
            self.console.print(visible_text(told))

    def end(self) -> None:
        """All are done, or it was interrupted."""
        if self.bars is not None:
            self.bars.stop()
            self.bars = None
