"""Where trials are run: in processes of this machine, or elsewhere (see cluster.py).

An engine is given jobs, and hands back each record the moment it is there. A trial depends on
nothing but its config and its seed, so that all engines come to the same results.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import traceback
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, Protocol, Self

from cranium.errors import EngineError, InvalidArgumentError, check_count
from cranium.experiments.records import Record, surroundings
from cranium.experiments.trial import Job
from cranium.experiments.work import perform

__all__ = ["Engine", "LocalEngine", "carry_out"]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
Results = Generator[tuple[Job, Record], None, None]
TRIES = 3
"""How often a job is tried whose process, or machine, disappeared."""
PATIENCE = 5.0
"""How many seconds others have to answer."""
QUIET = "ignore:resource_tracker:UserWarning"
"""If we are killed, Python's own helper clears away what we held; it need not say so."""


class Engine(Protocol):
    """Runs jobs, until it is closed: at the end of a with block, if there is one."""

    @property
    def workers(self) -> int:
        """How many jobs run at once."""

    def run(self, jobs: Sequence[Job]) -> Results:
        """Run jobs, in any order; what it yields is done.

        A job that is lost with its process or machine has no result. It is run again, up to
        ``TRIES`` times; then, when all others are done, an ``EngineError`` says which were lost.
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
    """Run one trial; an error becomes a record of it.

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
    except Exception:
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


def given_up(lost: Mapping[Job, str]) -> EngineError:
    """The error that says which jobs were lost, time after time, and why."""
    names = [f"{job.trial.method}, {job.trial.case}, seed {job.seed}" for job in lost]
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    reasons = [" ".join(each.split())[:300] for each in lost.values() if each]
    reason = f" ({reasons[0]})" if reasons else ""
    return EngineError(
        f"{len(names):,} trial{'s' * (len(names) > 1)} disappeared with the process that ran it, "
        f"{TRIES} times in a row: {'; '.join(names[:5])}{more}{reason}",
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

    def run(self, jobs: Sequence[Job]) -> Results:
        """Run jobs; one whose process disappears is tried again."""
        left, tries = dict.fromkeys(jobs), dict.fromkeys(jobs, 0)
        lost: dict[Job, str] = {}
        starts = 0
        while left:
            # One of those that were running broke the pool: one at a time, it shows which.
            suspects = [job for job in left if tries[job]]
            workers = 1 if suspects else self.workers
            try:
                for job, record in self._pool(suspects or list(left), tries, workers):
                    del left[job]
                    starts = 0
                    yield job, record
            except _NotStartedError:
                starts += 1
                if starts == TRIES:
                    raise InvalidArgumentError(
                        "the processes that run trials could not start",
                        fix='in a script, put what runs them under if __name__ == "__main__":',
                    ) from None
            except BrokenProcessPool:
                for job in [job for job in left if tries[job] >= TRIES]:
                    del left[job]
                    lost[job] = ""
        if lost:
            raise given_up(lost)

    def _pool(self, jobs: list[Job], tries: dict[Job, int], workers: int) -> Results:
        context = get_context("spawn")
        waiting = iter(jobs)
        running: dict[Future[Record], Job] = {}
        quiet = ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), QUIET)))
        # The threads of a worker are counted when its libraries are loaded, so before it starts.
        told = {**dict.fromkeys(THREADS, "1"), "PYTHONWARNINGS": quiet}
        with _environment(told), _broken_pipes():
            places: Any = context.Queue()
            for number in range(workers):
                places.put(self.cores[number % len(self.cores)] if self.cores else None)
            pool = ProcessPoolExecutor(workers, context, _begin, (places, os.getpid()))
            try:
                _check(pool)
                while True:
                    # No more than can run soon: what waits in a broken pool would count as tried.
                    most = 1 if workers == 1 else 2 * workers
                    while len(running) < most and (job := next(waiting, None)):
                        tries[job] += 1
                        with _deaf():
                            running[pool.submit(carry_out, job)] = job
                    if not running:
                        return
                    for future in wait(running, return_when=FIRST_COMPLETED)[0]:
                        job = running.pop(future)
                        yield job, future.result()
            finally:
                _stop(pool)


class _NotStartedError(Exception):
    """No worker came up."""


def _check(pool: ProcessPoolExecutor) -> None:
    """Without this, a script that starts itself again would look like trials that are lost."""
    try:
        with _deaf():
            future = pool.submit(os.getpid)
        future.result()
    except BrokenProcessPool:
        raise _NotStartedError from None


def _stop(pool: ProcessPoolExecutor) -> None:
    """Stop the workers at once: what they are doing is lost, and nothing else."""
    processes = list((pool._processes or {}).values())
    inner: Any = pool  # its parts have no public names
    queue, manager = inner._call_queue, inner._executor_manager_thread
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()
    for process in processes:
        process.join()
    # Before Python 3.12 a thread may wait for ever to hand a job to somebody who is gone.
    with contextlib.suppress(OSError, AttributeError):
        queue._reader.close()
    if manager is not None:
        manager.join(PATIENCE)


def _begin(places: Any, parent: int) -> None:
    """What a worker does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops us
    place = places.get()
    if place is not None:
        os.sched_setaffinity(0, {place})
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: int) -> None:
    """End when the parent has been killed: nobody would collect the results."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


@contextlib.contextmanager
def _broken_pipes() -> Iterator[None]:
    """Let a pipe to a process that is gone be an error, where a command lets it end the program."""
    here = threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGPIPE")
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN) if here else None
    try:
        yield
    finally:
        if here:
            signal.signal(signal.SIGPIPE, before)


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C, which is for their parent, not even at their start.

    What comes in the meantime is heard here at the end of the block.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
