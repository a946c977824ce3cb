"""The engine that runs trials in worker processes of this machine, and the interface of engines.

An engine takes jobs and yields each record as soon as the trial has ended. A trial depends on its
config and its seed only, so all engines give the same results. ``ray_engine`` has the other one.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Generator, Iterable
from typing import Protocol, Self

from cranium.arguments import check_count
from cranium.errors import EngineError
from cranium.experiments.attempts import Attempts
from cranium.experiments.faults import find_machine_fault, is_out_of_memory
from cranium.experiments.pool import WorkerPool
from cranium.experiments.records import Record, collect_versions
from cranium.experiments.trial import Job, run_trial

__all__ = ["Engine", "LocalEngine", "run_job"]

Results = Generator[tuple[Job, Record], None, None]


class Engine(Protocol):
    """The interface of an engine. It is closed at the end of a ``with`` block."""

    @property
    def workers(self) -> int:
        """How many jobs run at once."""

    def run(self, jobs: Iterable[Job]) -> Results:
        """Run jobs in any order, and yield each with its record.

        A job is taken from ``jobs`` only when a worker is free, because other processes may be
        running the rest. A job that is lost with its process or machine, or by a fault of the
        machine, is run again, up to ``TRIES`` times. If its process crashes each time, although
        other jobs can be run, it is recorded as failed; so is one that goes over its limits. If it
        is lost by the machine, an ``EngineError`` lists the lost jobs when all others are done, or
        when no job succeeds.
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
        is_over = job.trial.limits.memory is not None and is_out_of_memory(problem)
        if fault is not None and not is_over:
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
        attempts, pool = Attempts(jobs), WorkerPool(self.workers, self.cores, run_job)
        try:
            while True:
                while pool.has_room:
                    job = attempts.take()
                    if job is None:
                        break
                    pool.submit(job)
                if not pool.busy:
                    break
                for job, found in pool.replies():
                    if found is None:
                        attempts.put_back(job)
                    else:
                        yield from attempts.end(job, found)
        finally:
            pool.stop()
        yield from attempts.finish()
