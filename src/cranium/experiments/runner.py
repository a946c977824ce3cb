"""Run the trials of a study that have no record yet, and none twice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from cranium.errors import EngineError
from cranium.experiments.local_engine import Engine
from cranium.experiments.locks import TrialLocks
from cranium.experiments.records import Record, Store
from cranium.experiments.trial import Job
from cranium.io import clear_drafts

__all__ = ["RunCallback", "RunResult", "run_jobs"]

POLL = 0.5
"""Seconds between two checks whether another process has finished the trial that we wait for."""


class RunCallback:
    """The hooks that a run calls. These do nothing: override those that you need."""

    def begin(self, jobs: Sequence[Job], there: int) -> None:
        """Called before ``jobs`` are run; ``there`` is the number of records that exist already."""

    def finished(self, job: Job, record: Record) -> None:
        """Called after a trial has ended and its record was written."""

    def end(self) -> None:
        """Called when all trials have ended, or the run was interrupted."""


@dataclass
class RunResult:
    """The result of a run.

    Attributes:
        jobs: All jobs of the study.
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


class Plan(Protocol):
    """What is run: a study."""

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
    """Run the jobs that have no record yet, and write each record at once.

    Ctrl-C, or the end of this process, loses only the trials that are running.

    Args:
        config: What is run.
        folder: The folder of the records, which belongs to it.
        engine: The engine that runs the trials.
        retry_failed: Whether trials that failed are tried again.
        callback: Hooks that are called while it runs.
    """
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
            for job, found in results:
                record = _with_earlier_failure(found, missing[job])
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


def _with_earlier_failure(record: Record, before: Record | None) -> Record:
    """Keep the reason of a failure that is tried again in the new record."""
    if before is None:
        return record
    last = (before.error or "").strip().splitlines()[-1:]
    return replace(record, tries=(*before.tries, *last, *record.tries))


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
