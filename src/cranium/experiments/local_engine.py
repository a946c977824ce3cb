"""Where trials are run: in processes of this machine, or elsewhere (see cluster.py).

An engine is given jobs, and hands back each record the moment it is there. A trial depends on
nothing but its config and its seed, so that all engines come to the same results.
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
from cranium.experiments.execution import perform
from cranium.experiments.faults import fault_of_machine
from cranium.experiments.pool import WorkerPool
from cranium.experiments.records import Record, surroundings
from cranium.experiments.trial import Job

__all__ = ["Attempts", "Engine", "LocalEngine", "carry_out"]

Results = Generator[tuple[Job, Record], None, None]
TRIES = 3
"""How often a job is tried whose process, or machine, disappeared."""
HOPELESS = 5
"""After how many jobs in a row that were lost each time the others are not tried any more."""


class Engine(Protocol):
    """Runs jobs, until it is closed: at the end of a with block, if there is one."""

    @property
    def workers(self) -> int:
        """How many jobs run at once."""

    def run(self, jobs: Iterable[Job]) -> Results:
        """Run jobs, in any order; what it yields is done.

        A job is taken from ``jobs`` when there is a place to run it, and not before: others may
        be running what is left. One that is lost with its process or machine, or by a fault of
        the machine, has no result. It is run again, up to ``TRIES`` times; then, when all others
        are done, or none of them gets anywhere either, an ``EngineError`` says which were lost.
        """

    def close(self) -> None:
        """Give back what it holds."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Closed:
    """Is closed at the end of a with block."""

    def close(self) -> None:
        """Give back what it holds: nothing, between runs."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def carry_out(job: Job) -> Record:
    """Run one trial; an error of its own becomes a record of it.

    Raises:
        EngineError: What went wrong is the fault of the machine: that is no result.

    Example:
        >>> from cranium.experiments.trial import ComplexityTrial
        >>> record = carry_out(Job(ComplexityTrial("complexity", "CRA", "N = 5", "anbcdn"), 0))
        >>> record.status, record.result["states"]
        ('done', 3)
    """
    wall, cpu = time.perf_counter(), time.process_time()
    result, error = {}, None
    try:
        result = perform(job.trial, job.seed)
    except Exception as problem:
        fault = fault_of_machine(problem)
        if fault is not None:
            raise EngineError(
                f"the machine failed in the middle of a trial ({fault})",
                fix="what is done is kept; the same command goes on",
            ) from problem
        error = traceback.format_exc()
    versions, machine = surroundings()
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
    """Counts how often jobs were lost, and which of them are given up.

    Example:
        >>> from cranium.experiments.trial import ComplexityTrial
        >>> job = Job(ComplexityTrial("complexity", "CRA", "N = 5", "anbcdn"), 0)
        >>> attempts = Attempts()
        >>> [attempts.is_to_be_tried_again(job, "out of memory") for _ in range(TRIES)]
        [True, True, False]
        >>> attempts.end()
        Traceback (most recent call last):
        cranium.errors.EngineError: 1 trial was lost 3 times: CRA, N = 5, seed 0 (out of memory)
          fix: the same command tries again what is missing; if memory is short, with fewer workers
    """

    def __init__(self) -> None:
        self.losses = Counter[Job]()
        self.given_up: dict[Job, str] = {}
        self.in_a_row = 0

    def succeeded(self) -> None:
        """A job came to its end: what is lost, is not lost for a reason that all share."""
        self.in_a_row = 0

    def is_to_be_tried_again(self, job: Job, reason: str) -> bool:
        """Note that a job was lost; whether to try it again.

        Raises:
            EngineError: Job after job is lost, so that no other need be tried.
        """
        self.losses[job] += 1
        if self.losses[job] < TRIES:
            return True
        self.given_up[job] = reason
        self.in_a_row += 1
        if self.in_a_row >= HOPELESS:
            self.end()
        return False

    def end(self) -> None:
        """Raise an ``EngineError`` that says which jobs were lost, if any were."""
        if self.given_up:
            raise given_up(self.given_up)


def given_up(lost: Mapping[Job, str]) -> EngineError:
    """The error that says which jobs were lost, time after time, and why."""
    names = [f"{job.trial.method}, {job.trial.case}, seed {job.seed}" for job in lost]
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    reasons = [" ".join(each.split())[:300] for each in lost.values() if each]
    reason = f" ({reasons[-1]})" if reasons else ""
    were = f"{len(names):,} trials were" if len(names) > 1 else "1 trial was"
    return EngineError(
        f"{were} lost {TRIES} times: {'; '.join(names[:5])}{more}{reason}",
        fix="the same command tries again what is missing; if memory is short, with fewer workers",
    )


class LocalEngine(Closed):
    """Processes on this machine, each pinned to a core, with one thread.

    Args:
        workers: How many; by default one for each core.

    Example:
        >>> from cranium.experiments.trial import ComplexityTrial
        >>> jobs = [Job(ComplexityTrial("complexity", "RM", "N = 2", "anbcdn", limit=2), 0)]
        >>> [record.result["states"] for _, record in LocalEngine(workers=1).run(jobs)]
        [7]
    """

    def __init__(self, workers: int | None = None) -> None:
        self.cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        count = len(self.cores) or os.cpu_count() or 1
        self.workers = count if workers is None else check_count("workers", workers)

    def run(self, jobs: Iterable[Job]) -> Results:
        """Run jobs; a process that disappears is replaced, and its job is run again."""
        waiting, again, attempts = each_once(jobs), deque[Job](), Attempts()
        pool = WorkerPool(self.workers, self.cores, carry_out)
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
                        attempts.succeeded()
                        yield job, record
                    elif kind == "not begun" or attempts.is_to_be_tried_again(job, reason):
                        again.append(job)
        finally:
            pool.stop()
        attempts.end()


def each_once(jobs: Iterable[Job]) -> Generator[Job, None, None]:
    """Those of the jobs that were not there before, one when it is asked for."""
    seen = set[Job]()
    for job in jobs:
        if job not in seen:
            seen.add(job)
            yield job
