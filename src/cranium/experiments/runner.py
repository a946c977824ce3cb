"""Run an experiment: the trials that have no record yet, and none twice."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cranium.errors import CraniumError, EngineError, InvalidArgumentError, shorten
from cranium.experiments.configs import (
    MOST_BYTES,
    ExperimentConfig,
    config_to_dict,
    make_config,
)
from cranium.experiments.local_engine import Engine
from cranium.experiments.locks import TrialLocks
from cranium.experiments.records import Record, Store
from cranium.experiments.trial import Job
from cranium.io import clear_drafts, read_bytes, write_bytes

__all__ = ["RunCallback", "RunResult", "run", "run_jobs"]

CONFIG = "experiment.json"
POLL = 0.5
"""Seconds between two checks whether another process has finished the trial that we wait for."""


class RunCallback:
    """The hooks that :func:`run` calls. These do nothing: override those that you need."""

    def begin(self, jobs: Sequence[Job], there: int) -> None:
        """Called before ``jobs`` are run; ``there`` is the number of records that exist already."""

    def finished(self, job: Job, record: Record) -> None:
        """Called after a trial has ended and its record was written."""

    def end(self) -> None:
        """Called when all trials have ended, or the run was interrupted."""


@dataclass
class RunResult:
    """The result of :func:`run`.

    Attributes:
        jobs: All jobs of the experiment.
        there: The number of records that existed before.
        ran: The number of trials that were run.
        failed: The trials that failed, in this run or before.
        interrupted: Whether Ctrl-C ended the run.
        seconds: The time that it took.
    """

    jobs: list[Job]
    there: int = 0
    ran: int = 0
    failed: list[tuple[Job, Record]] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0


def _claim(store: Store, config: ExperimentConfig) -> None:
    """Write the config into the folder; refuse a folder with the results of another experiment."""
    path, wanted = store.folder / CONFIG, config_to_dict(config)
    text = json.dumps(wanted, indent=2, sort_keys=True) + "\n"
    content, told = b"", None
    if os.path.lexists(path):  # anything but a regular file is refused
        with suppress(ValueError, RecursionError):  # it may be damaged
            content = read_bytes(path, most=MOST_BYTES, follow_links=False)
            told = json.loads(content)
    if (
        isinstance(told, dict)
        and told != json.loads(text)
        and not _extends_folder(store, told, config)
    ):
        raise InvalidArgumentError(
            f"{store.folder} holds {told.get('experiment', 'an experiment')} with other "
            f"settings ({_difference(told, json.loads(text))})",
            fix="choose another folder (--dir), or run it with the settings that it has",
        )
    if not isinstance(told, dict) and (strange := _find_foreign_results(store, config)):
        raise InvalidArgumentError(
            f"{store.folder} holds results of another run ({strange[0]}.json), and its {CONFIG} "
            "does not say of which",
            fix="choose another folder (--dir)",
        )
    if content != text.encode():
        write_bytes(path, text.encode(), durable=True, follow_links=False)


def _find_foreign_results(store: Store, config: ExperimentConfig) -> list[str]:
    """The names of results in the folder that do not belong to this experiment."""
    there = store.names()
    return sorted(there - {job.name for job in config.jobs(store)}) if there else []


def _extends_folder(store: Store, told: dict[str, Any], config: ExperimentConfig) -> bool:
    """Whether the experiment contains all trials that the folder was made for."""
    if not store.names():
        return True
    settings = dict(told)
    try:
        before = make_config(settings.pop("experiment", None), settings)
        return set(before.jobs(store)) <= set(config.jobs(store))
    except CraniumError:  # of a version that is not ours
        return False


def _difference(told: dict[str, Any], wanted: dict[str, Any]) -> str:
    names = [name for name in (*told, *wanted) if told.get(name) != wanted.get(name)]
    parts = [
        f"{name}: {shorten(told.get(name))}, not {shorten(wanted.get(name))}"
        for name in dict.fromkeys(names)
    ]
    return "; ".join(parts[:5])


def run(
    config: ExperimentConfig,
    folder: Path,
    engine: Engine,
    *,
    retry_failed: bool = False,
    callback: RunCallback | None = None,
) -> RunResult:
    """Run the trials of an experiment that have no record yet, and write each record at once.

    Ctrl-C, or the end of this process, loses only the trials that are running.

    A folder belongs to one experiment. A later run may extend it with more trials or methods.
    Settings that would drop some of its results are refused, so that no run overwrites another.

    Args:
        config: The experiment.
        folder: The folder of the records.
        engine: The engine that runs the trials.
        retry_failed: Whether trials that failed are tried again.
        callback: Hooks that are called while it runs.

    Example:
        >>> import tempfile
        >>> from cranium.experiments import ComplexityConfig, LocalEngine
        >>> folder = Path(tempfile.mkdtemp())
        >>> run(ComplexityConfig(most=2), folder, LocalEngine(1)).ran
        18
        >>> run(ComplexityConfig(most=2), folder, LocalEngine(1)).ran
        0
        >>> run(ComplexityConfig(most=1), folder, LocalEngine(1))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: ... holds complexity with other settings (most: 2, ...
    """
    store = Store(folder)
    store.make()
    _claim(store, config)
    return run_jobs(config, folder, engine, retry_failed=retry_failed, callback=callback)


class Plan(Protocol):
    """What is run: an experiment of the paper, or a study."""

    def jobs(self, store: Store) -> list[Job]:
        """All jobs that are known so far; later ones may depend on the results in the store."""


def run_jobs(
    config: Plan,
    folder: Path,
    engine: Engine,
    *,
    retry_failed: bool = False,
    callback: RunCallback | None = None,
) -> RunResult:
    """Run the jobs that have no record yet, in a folder that belongs to them: see :func:`run`."""
    store, begun = Store(folder), time.perf_counter()
    clear_drafts(folder)
    outcome, callback = RunResult([]), callback or RunCallback()
    try:
        with TrialLocks(folder) as locks:
            _run_missing(config, store, engine, locks, outcome, callback, retry_failed=retry_failed)
        clear_drafts(folder)  # of processes that shared the work and were killed
    except KeyboardInterrupt:
        outcome.interrupted = True
    finally:
        callback.end()
    records = {job: store.find(job) for job in outcome.jobs}
    outcome.failed = [(j, r) for j, r in records.items() if r is not None and not r.done]
    outcome.seconds = time.perf_counter() - begun
    return outcome


def _run_missing(
    config: Plan,
    store: Store,
    engine: Engine,
    locks: TrialLocks,
    outcome: RunResult,
    callback: RunCallback,
    *,
    retry_failed: bool,
) -> None:
    """Run until no record is missing; wait for trials that other processes are running."""
    tried = set[str]()
    while True:
        # Later jobs may depend on results, such as which settings are best.
        outcome.jobs = config.jobs(store)
        records = {job: store.find(job) for job in outcome.jobs}
        missing = {
            job: record
            for job, record in sorted(records.items(), key=lambda each: each[0].seed)
            if record is None or (retry_failed and not record.done and job.name not in tried)
        }  # by seeds, so that all methods come along together
        there = len(records) - len(missing)  # legends may share trials
        outcome.there = there - outcome.ran
        if not missing:
            return
        callback.begin(list(missing), there)
        before = len(tried)
        offered = _take_locks(missing, store, locks, tried)
        with closing(engine.run(offered)) as results:
            for job, record in results:
                store.save(job, record)
                locks.release(job)
                tried.add(job.name)
                outcome.ran += 1
                callback.finished(job, record)
        next(offered, None)  # a job that the engine did not ask for is dropped, too
        dropped = locks.release_all()
        if dropped and len(tried) == before:  # it would happen again
            raise EngineError(
                f"the engine was given {dropped:,} trials, and has no result of any",
                fix="an engine has to yield a record for each job that it takes, or raise an error",
            )
        left = {job: record for job, record in missing.items() if job.name not in tried}
        _wait_for_others(left, store, locks)


def _take_locks(
    missing: dict[Job, Record | None], store: Store, locks: TrialLocks, tried: set[str]
) -> Iterator[Job]:
    """Lock and yield the jobs that no other process is running or has run."""
    for job, before in missing.items():
        if not locks.take(job):
            continue
        if store.find_again(job) == before:
            yield job
        else:  # another process was faster
            tried.add(job.name)
            locks.release(job)


def _wait_for_others(left: dict[Job, Record | None], store: Store, locks: TrialLocks) -> None:
    """Wait until another process has finished one of its jobs, or has stopped running it."""
    while left:
        for job, before in left.items():
            if store.find_again(job) != before:
                return
            if locks.take(job):
                locks.release(job)
                return
        time.sleep(POLL)
