"""Running a study from the command line: what ``cranium run`` does with a file of a study."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import typer

from cranium._runtime.interrupt import endings
from cranium.cli.output import INTERRUPTED, NEGATIVE, print_error, print_line
from cranium.cli.results import RESULTS, print_damage_warnings
from cranium.errors import EngineError, InvalidArgumentError, format_count

if TYPE_CHECKING:
    from cranium.experiments import RunResult
    from cranium.studies import Study

__all__ = ["StudyOptions", "is_study", "print_failures", "run_study"]

MAX_FAILURES = 10
"""How many failed trials are printed."""


class StudyOptions(NamedTuple):
    """The options of ``cranium run`` for a study."""

    folder: Path | None = None
    name: str | None = None
    quick: bool = False
    dry_run: bool = False
    engine: Literal["local", "ray"] = "local"
    workers: int | None = None
    address: str | None = None
    trial_memory: str | None = None
    trial_time: str | None = None
    retry_failed: bool = False
    track: tuple[str, ...] = ()


def is_study(file: str) -> bool:
    """Return whether a file is that of a study."""
    return file.endswith((".py", ".toml"))


def run_study(file: str, options: StudyOptions) -> None:
    """Run the study of a file, and write its figure and its page."""
    from cranium.studies import load_study

    if options.address is not None and options.engine != "ray":
        raise InvalidArgumentError("--address is for a Ray cluster", fix="add --engine ray")
    study = load_study(file, options.name)
    if options.quick:
        study = study.quick()
    if options.trial_memory is not None:
        study = replace(study, trial_memory=options.trial_memory)
    if options.trial_time is not None:
        study = replace(study, trial_time=options.trial_time)
    folder = options.folder or RESULTS / study.folder_name
    if options.dry_run:
        _print_plan(study, folder)
        return
    result = _run(study, folder, options)
    print_line(
        f"  {result.ran:,} trials in {result.seconds:.0f} s, {result.there:,} existed already"
    )
    print_failures(result, folder)
    if result.interrupted:
        print_line(f"interrupted; the same command continues: finished trials are in {folder}")
        raise typer.Exit(INTERRUPTED)
    print_line(study.table(folder))
    study.figure(folder / "study.svg", folder)
    study.report(folder / "report.html", folder)
    print_line(f"wrote {folder / 'study.svg'} and {folder / 'report.html'}")
    print_line(f"see the table again: cranium results {shlex.quote(str(folder))}")
    if result.failed:
        raise typer.Exit(NEGATIVE)


def _run(study: Study, folder: Path, options: StudyOptions) -> RunResult:
    from cranium.cli.progress import ExperimentProgress

    title = f"{study.name}, quick run" if study.is_quick else study.name
    print_line(f"{title}: {len(study.trials):,} trials known so far, into {folder}")
    try:
        with endings(), print_damage_warnings():
            return study.run(
                folder,
                options.engine,
                workers=options.workers,
                address=options.address,
                retry_failed=options.retry_failed,
                callback=ExperimentProgress(title, _count_workers(options)),
                track=options.track,
            )
    except EngineError as problem:
        print_error(f"stopped: {problem}")
        print_line(f"finished trials are in {folder}")
        raise typer.Exit(NEGATIVE) from None


def _count_workers(options: StudyOptions) -> int | None:
    """How many trials run at once; None: that depends on the cluster."""
    from cranium.experiments import LocalEngine

    return LocalEngine(options.workers).workers if options.engine == "local" else options.workers


def _print_plan(study: Study, folder: Path) -> None:
    """Print what would be run, and what exists already."""
    from cranium.experiments import Store

    jobs = study.jobs(Store(folder))
    there = sum(Store(folder).find(job) is not None for job in jobs)
    print_line(
        f"{study.name}: {format_count(len(study.problems), 'problem')}, "
        f"{format_count(len(study.learners), 'learner')}, {format_count(study.seeds, 'seed')}, "
        f"{format_count(study.steps, 'sample')} each, into {folder}"
    )
    tuning = sum(job.trial.stage == "tuning" for job in jobs)
    more = f", {tuning:,} of them for tuning; the rest is known when that is done" if tuning else ""
    print_line(f"{format_count(len(jobs), 'trial')}{more}; {there:,} exist already")


def print_failures(result: RunResult, folder: Path) -> None:
    """Print the first of the trials that failed."""
    for job, record in result.failed[:MAX_FAILURES]:
        last = "".join((record.error or "").strip().splitlines()[-1:])
        print_line(f"  failed: {job.trial.method}, {job.trial.case}, seed {job.seed}: {last}")
    more = len(result.failed) - MAX_FAILURES
    if more > 0:
        print_line(f"  and {more:,} more failed; their tracebacks are in {folder}")
