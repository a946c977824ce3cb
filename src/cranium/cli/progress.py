"""The progress of an experiment on standard error: bars in a terminal, lines elsewhere."""

from __future__ import annotations

import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranium._runtime.terminal import GuardedConsole, visible, visible_text
from cranium.experiments import Record, RunCallback
from cranium.experiments.limits import format_time
from cranium.experiments.trial import Job

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["ExperimentProgress", "TimeLeft"]

SECONDS_BETWEEN_LINES = 10.0


class TimeLeft:
    """Estimates how long the rest of the trials takes, from how long those before it took.

    Trials of one method on one case take about as long as each other. Where none has ended yet,
    those of the same method on other cases stand in for them, and else all that have ended.

    Args:
        workers: How many trials run at once; None: this is measured, too.

    Example:
        >>> from cranium.experiments.trial import FunctionTrial
        >>> job = Job(FunctionTrial("a", "b", "c", function="builtins:dict"), 0)
        >>> left = TimeLeft(workers=1)
        >>> left.begin([job, Job(job.trial, 1)], now=0.0)
        >>> left.seconds(now=1.0) is None
        True
        >>> left.end(job, wall=10.0, now=10.0)
        >>> left.seconds(now=14.0)
        6.0
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers
        self.durations: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        self.waiting: Counter[tuple[str, str]] = Counter()
        self.begun = self.last = self.worked = 0.0

    def begin(self, jobs: Sequence[Job], now: float) -> None:
        """Note which trials are run from now on; earlier durations are kept."""
        self.waiting = Counter((job.trial.method, job.trial.case) for job in jobs)
        self.begun = self.last = now
        self.worked = 0.0

    def end(self, job: Job, wall: float, now: float) -> None:
        """Note that a trial has ended, and how long it took."""
        group = (job.trial.method, job.trial.case)
        self.waiting[group] -= 1
        self.durations[group].append(wall)
        self.worked += wall
        self.last = now

    def seconds(self, now: float) -> float | None:
        """The seconds that are left; None before any trial has ended."""
        if not self.durations:
            return None
        expected = {group: self._expect(*group) for group, count in self.waiting.items() if count}
        work = sum(each * self.waiting[group] for group, each in expected.items())
        measured = self.worked / (self.last - self.begun) if self.last > self.begun else 1.0
        parallel = max(1.0, measured if self.workers is None else self.workers)
        parallel = min(parallel, max(1, self.waiting.total()))
        least = max(expected.values(), default=0.0)  # the longest trial cannot be shared
        return max(0.0, max(work / parallel, least) - (now - self.last))

    def _expect(self, method: str, case: str) -> float:
        """The mean duration of a trial of this method on this case, as far as it is known."""
        found = self.durations.get((method, case))
        if not found:
            found = [wall for (name, _), walls in self.durations.items() if name == method
                     for wall in walls]  # fmt: skip
        return statistics.fmean(found or [w for walls in self.durations.values() for w in walls])


class ExperimentProgress(RunCallback):
    """Shows how many trials of each method are done, and about how long the rest takes.

    Args:
        title: The heading of the bars: the experiment.
        workers: How many trials run at once, if that is known.
    """

    def __init__(self, title: str, workers: int | None = None) -> None:
        self.title = title
        self.console = GuardedConsole(stderr=True)
        self.bars: Progress | None = None
        self.total_bar: TaskID | None = None
        self.method_bars: dict[str, TaskID] = {}
        self.done = self.total = 0
        self.failed: Counter[str] = Counter()
        self.stage = ""
        self.left = TimeLeft(workers)
        self.line_time = 0.0

    def begin(self, jobs: Sequence[Job], there: int) -> None:  # noqa: ARG002
        """Start to count these jobs."""
        self.end()
        self.done, self.total = 0, len(jobs)
        self.stage = "tuning" if jobs[0].trial.stage == "tuning" else "trials"
        self.line_time = time.monotonic()
        self.left.begin(jobs, self.line_time)
        if not self.console.is_terminal:
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn())
        more = (MofNCompleteColumn(), TextColumn("{task.fields[note]}", markup=False))
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
        method, now = job.trial.method, time.monotonic()
        self.left.end(job, record.wall, now)
        if self.bars is not None and self.total_bar is not None:
            self.failed[method] += not record.done
            note = f"{self.failed[method]} failed" if self.failed[method] else ""
            self.bars.update(self.total_bar, advance=1, note=self._describe_time_left(now))
            self.bars.update(self.method_bars[method], advance=1, note=note)
        elif now - self.line_time > SECONDS_BETWEEN_LINES:
            self.line_time = now
            text = (
                f"  {self.stage}: {self.done:,} of {self.total:,}, {self._describe_time_left(now)}"
            )
            self.console.print(visible_text(text))

    def end(self) -> None:
        """Remove the bars: all jobs are done, or the run was interrupted."""
        if self.bars is not None:
            self.bars.stop()
            self.bars = None

    def _describe_time_left(self, now: float) -> str:
        left = self.left.seconds(now)
        return "" if left is None or self.done == self.total else f"about {_rounded(left)} left"


def _rounded(seconds: float) -> str:
    """A duration without false precision.

    Example:
        >>> _rounded(7.3), _rounded(100), _rounded(1234)
        ('7 s', '100 s', '21 min')
    """
    return format_time(max(1, round(seconds)))
