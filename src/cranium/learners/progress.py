"""The progress bar of a training, on standard error."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["ProgressBar"]


class ProgressBar:
    """A line with the samples, their rate, and the success of the learner and its greedy policy."""

    def __init__(self, wanted: bool, what: str, steps: int) -> None:
        self.wanted = wanted
        self.what = what
        self.steps = steps
        self.bar: Any = None

    def __enter__(self) -> Self:
        if self.wanted:
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            from cranium._runtime.terminal import GuardedConsole, visible

            self.bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.completed:,} samples"),
                TextColumn("{task.fields[speed]}"),
                TextColumn("{task.fields[found]}"),
                TimeRemainingColumn(),
                console=GuardedConsole(stderr=True),
                transient=True,
            )
            self.bar.start()
            self.task = self.bar.add_task(visible(self.what), total=self.steps, speed="", found="")
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            with suppress(
                OSError
            ):  # the window may be closed, which loses nothing that was learned
                self.bar.stop()

    def show(
        self,
        done: int,
        exploration: float,
        ends: Sequence[float] | NDArray[np.float64],
        curve: list[tuple[float, ...]],
    ) -> None:
        """Update the line."""
        if self.bar is None:
            return
        speed = self.bar.tasks[self.task].speed
        found = f"ε {exploration:.2f}"
        if ends[0]:
            found += f", {ends[1] / ends[0]:.0%} of the episodes"
        if curve:
            found += f", greedy {curve[-1][1]:.0%}, return {curve[-1][2]:.2f}"
        shown = "" if speed is None else f"{speed:,.0f}/s"
        self.bar.update(self.task, completed=done, speed=shown, found=found)
