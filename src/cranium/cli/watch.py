"""``cranium results --watch``: the results of studies while other processes run them."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cranium._runtime.interrupt import endings
from cranium._runtime.terminal import GuardedConsole, visible_text
from cranium.cli.result_tables import make_table
from cranium.errors import InvalidArgumentError, RecordError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cranium.experiments import Store
    from cranium.experiments.results import StudyResults

__all__ = ["StudyWatch", "describe_seconds", "watch_results"]

INTERVAL = 1.0
"""Seconds between two looks at the folder."""
RECENT = 50
"""From how many of the latest records the time that is left is estimated."""


class StudyWatch:
    """The results of one study, read again and again; only new records are read.

    Args:
        folder: The folder of its records.
    """

    def __init__(self, folder: Path) -> None:
        from cranium.experiments import Store

        self.folder = folder
        self.store: Store = Store(folder)
        self.damaged: list[str] = []

    def read(self) -> StudyResults:
        """Read the records that have arrived since."""
        from cranium.experiments.results import read_study

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = read_study(self.folder, self.store)
        self.damaged = list(dict.fromkeys(str(each.message) for each in caught))
        return found

    def seconds_left(self, missing: int) -> float | None:
        """About how long the missing trials will take; None if too few records say so.

        That is as long as the latest ones took to arrive, and longer if no more arrive.
        """
        times = []
        for name in self.store.names():
            with suppress(OSError):  # it is being replaced
                times.append((self.folder / f"{name}.json").stat().st_mtime)
        recent = sorted(times)[-RECENT:]
        if len(recent) < 2:
            return None
        arrived, passed = len(recent) - 1, recent[-1] - recent[0]
        silent = time.time() - recent[-1]
        return missing * max(passed / arrived, (passed + silent) / (arrived + 1))


def describe_seconds(seconds: float) -> str:
    """Describe a duration for readers.

    Example:
        >>> describe_seconds(7.4), describe_seconds(200), describe_seconds(9_000)
        ('7 s', '3 min', '2 h 30 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60:,} h {minutes % 60} min"


def watch_results(folder: Path) -> bool:
    """Show the tables of a folder while records arrive, until all are there, or Ctrl-C.

    Returns whether there are any results.
    """
    from rich.live import Live

    console = GuardedConsole()
    if not console.is_terminal:
        raise InvalidArgumentError("--watch needs a terminal", fix="leave it out")
    watches: dict[Path, StudyWatch] = {}
    with (
        suppress(KeyboardInterrupt),
        endings(),
        Live(console=console, auto_refresh=False, transient=True) as live,
    ):
        while True:
            for path in _find_folders(folder):
                watches.setdefault(path, StudyWatch(path))
            results = [(each, each.read()) for each in watches.values()]
            live.update(_render(folder, results, console.width), refresh=True)
            if results and not any(_is_unfinished(study) for _, study in results):
                break
            time.sleep(INTERVAL)
    return bool(watches)


def _find_folders(folder: Path) -> list[Path]:
    from cranium.experiments.results import find_studies

    try:
        return find_studies(folder)
    except RecordError:  # there are none yet
        return []


def _is_unfinished(study: StudyResults) -> bool:
    return study.missing > 0 or _is_tuning(study)


def _is_tuning(study: StudyResults) -> bool:
    """Whether a tuned method has no final trials yet: they are known when its settings are."""
    stages: dict[tuple[str, str], set[str]] = {}
    for row in study.config.rows:
        stages.setdefault((row.method, row.case), set()).add(row.stage)
    return any("tuning" in each and "final" not in each for each in stages.values())


def _render(
    folder: Path, results: Sequence[tuple[StudyWatch, StudyResults]], width: int
) -> RenderableType:
    from rich.console import Group

    if not results:
        return _line(f"no results in {os.fspath(folder)} yet; Ctrl-C ends", "dim")
    parts: list[RenderableType] = []
    for watch, study in results:
        parts += [_render_progress(watch, study, width), make_table(study)]
        for record in study.failed[:3]:
            last = "".join((record.error or "").strip().splitlines()[-1:])
            names = f"{record.config.get('method')}, {record.config.get('case')}"
            parts.append(_line(f"failed: {names}, seed {record.seed}: {last}", "red"))
        parts += [_line(text, "yellow") for text in watch.damaged[:3]]
    return Group(*parts, _line("Ctrl-C ends; the study goes on", "dim"))


def _render_progress(watch: StudyWatch, study: StudyResults, width: int) -> RenderableType:
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    done = study.trials - study.missing
    told = f"{study.config.heading}: {done:,} of {study.trials:,} trials"
    if study.failed:
        told += f", {len(study.failed):,} failed"
    if _is_tuning(study):
        told += ", and more when the settings are tuned"
    left = watch.seconds_left(study.missing) if study.missing else None
    if left is not None:
        told += f", about {describe_seconds(left)} left"
    bar = ProgressBar(total=max(study.trials, 1), completed=done, width=min(width, 60))
    grid = Table.grid()
    for part in (_line(told, "bold"), bar):
        grid.add_row(part)
    return grid


def _line(text: str, style: str = "") -> RenderableType:
    line = visible_text(text, style)
    line.no_wrap, line.overflow = True, "ellipsis"
    return line
