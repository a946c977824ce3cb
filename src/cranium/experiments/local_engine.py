"""The engine that runs trials in worker processes of this machine, and the interface of engines.

An engine takes jobs and yields each record as soon as the trial has ended. A trial depends on its
config and its seed only, so all engines give the same results. ``ray_engine`` has the other one.
"""

from __future__ import annotations

import os
import time
import traceback
from collections import Counter, deque
from collections.abc import Generator, Iterable, Mapping
from typing import Protocol, Self

from cranium.arguments import check_count
from cranium.errors import EngineError
from cranium.experiments.faults import find_machine_fault
from cranium.experiments.pool import WorkerPool
from cranium.experiments.records import Record, collect_versions
from cranium.experiments.trial import Job, run_trial

__all__ = ["Attempts", "Engine", "LocalEngine", "run_job"]

Results = Generator[tuple[Job, Record], None, None]
TRIES = 3
"""How often a job is tried if its process or machine disappears."""
HOPELESS = 5
"""After so many lost jobs in a row the engine gives up."""


class Engine(Protocol):
    """The interface of an engine. It is closed at the end of a ``with`` block."""

    @property
    def workers(self) -> int:
        """How many jobs run at once."""

    def run(self, jobs: Iterable[Job]) -> Results:
        """Run jobs in any order, and yield each with its record.

        A job is taken from ``jobs`` only when a worker is free, because other processes may be
        running the rest. A job that is lost with its process or machine, or by a fault of the
        machine, is run again, up to ``TRIES`` times. If it is still lost when all other jobs are
        done, or if no job succeeds, an ``EngineError`` lists the lost jobs.
        """

    def close(self) -> None:
        """Release the workers."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class ClosesOnExit:
    """A context manager that calls ``close`` at the end of the block."""

    def close(self) -> None:
        """Release the workers. Between runs there are none."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run_job(job: Job) -> Record:
    """Run the trial of a job and return its record.

    An error that the trial raises is recorded, too.

    Raises:
        EngineError: The machine was at fault, so the error says nothing about the trial.

    Example:
        >>> from cranium.experiments.trial import FunctionTrial
        >>> trial = FunctionTrial("sizes", "CRA", "N = 5", function="builtins:dict")
        >>> record = run_job(Job(trial, 7))
        >>> record.status, record.result
        ('done', {'seed': 7})
    """
    wall, cpu = time.perf_counter(), time.process_time()
    result, error = {}, None
    try:
        result = run_trial(job.trial, job.seed)
    except Exception as problem:
        fault = find_machine_fault(problem)
        if fault is not None:
            raise EngineError(
                f"the machine failed during a trial ({fault})",
                fix="what is done is kept; the same command goes on",
            ) from problem
        error = traceback.format_exc()
    versions, machine = collect_versions()
    return Record(
        config=job.trial.data,
        key=job.trial.key,
        seed=job.seed,
        status="done" if error is None else "failed",
        result=result,
        error=error,
        wall=round(time.perf_counter() - wall, 6),
        cpu=round(time.process_time() - cpu, 6),
        versions=versions,
        platform=machine,
    )


class Attempts:
    """Counts how often each job was lost, and decides which are tried again.

    Example:
        >>> from cranium.experiments.trial import FunctionTrial
        >>> job = Job(FunctionTrial("sizes", "CRA", "N = 5", function="builtins:dict"), 0)
        >>> attempts = Attempts()
        >>> [attempts.should_retry(job, "out of memory") for _ in range(TRIES)]
        [True, True, False]
        >>> attempts.raise_if_lost()
        Traceback (most recent call last):
        cranium.errors.EngineError: 1 trial was lost 3 times: CRA, N = 5, seed 0 (out of memory)
          fix: the same command tries again what is missing; if memory is short, with fewer workers
    """

    def __init__(self) -> None:
        self.losses = Counter[Job]()
        self.given_up: dict[Job, str] = {}
        self.in_a_row = 0

    def record_success(self) -> None:
        """Note that a job has ended, so that not every job is lost for the same reason."""
        self.in_a_row = 0

    def should_retry(self, job: Job, reason: str) -> bool:
        """Note that a job was lost, and return whether to try it again.

        Raises:
            EngineError: ``HOPELESS`` jobs in a row were lost.
        """
        self.losses[job] += 1
        if self.losses[job] < TRIES:
            return True
        self.given_up[job] = reason
        self.in_a_row += 1
        if self.in_a_row >= HOPELESS:
            self.raise_if_lost()
        return False

    def raise_if_lost(self) -> None:
        """Raise an ``EngineError`` that lists the lost jobs, if there are any."""
        if self.given_up:
            raise make_lost_error(self.given_up)


def make_lost_error(lost: Mapping[Job, str]) -> EngineError:
    """Make the error that lists the lost jobs and the last reason."""
    names = [f"{job.trial.method}, {job.trial.case}, seed {job.seed}" for job in lost]
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    reasons = [" ".join(each.split())[:300] for each in lost.values() if each]
    reason = f" ({reasons[-1]})" if reasons else ""
    were = f"{len(names):,} trials were" if len(names) > 1 else "1 trial was"
    return EngineError(
        f"{were} lost {TRIES} times: {'; '.join(names[:5])}{more}{reason}",
        fix="the same command tries again what is missing; if memory is short, with fewer workers",
    )


class LocalEngine(ClosesOnExit):
    """Worker processes on this machine, each pinned to a core, with one thread.

    Args:
        workers: How many; by default one for each core.

    Example:
        >>> from cranium.experiments.trial import FunctionTrial
        >>> jobs = [Job(FunctionTrial("sizes", "CRA", "N = 5", function="builtins:dict"), 7)]
        >>> [record.result for _, record in LocalEngine(workers=1).run(jobs)]
        [{'seed': 7}]
    """

    def __init__(self, workers: int | None = None) -> None:
        self.cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        count = len(self.cores) or os.cpu_count() or 1
        self.workers = count if workers is None else check_count("workers", workers)

    def run(self, jobs: Iterable[Job]) -> Results:
        """Run jobs. A worker process that disappears is replaced, and its job is run again."""
        waiting, again, attempts = skip_duplicates(jobs), deque[Job](), Attempts()
        pool = WorkerPool(self.workers, self.cores, run_job)
        try:
            while True:
                while pool.has_room:
                    job = again.popleft() if again else next(waiting, None)
                    if job is None:
                        break
                    pool.submit(job)
                if not pool.busy:
                    break
                for job, kind, record, reason in pool.replies():
                    if record is not None:
                        attempts.record_success()
                        yield job, record
                    elif kind == "not begun" or attempts.should_retry(job, reason):
                        again.append(job)
        finally:
            pool.stop()
        attempts.raise_if_lost()


def skip_duplicates(jobs: Iterable[Job]) -> Generator[Job, None, None]:
    """Yield each job once, and only when the next one is asked for."""
    seen = set[Job]()
    for job in jobs:
        if job not in seen:
            seen.add(job)
            yield job
