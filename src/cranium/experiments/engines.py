"""Where trials are run: in processes of this machine, or on a Ray cluster.

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
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, Protocol

from cranium.errors import InvalidArgumentError, MissingExtraError, check_count, shorten
from cranium.experiments.records import Record, surroundings
from cranium.experiments.trial import Job
from cranium.experiments.work import perform

__all__ = ["Engine", "LocalEngine", "RayEngine", "carry_out"]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
Results = Generator[tuple[Job, Record], None, None]
TRIES = 3
"""How often a job is tried whose process, or machine, disappeared."""


class Engine(Protocol):
    """Runs jobs."""

    @property
    def workers(self) -> int:
        """How many jobs run at once."""

    def run(self, jobs: Sequence[Job]) -> Results:
        """Run jobs, in any order; what it yields is done."""


def carry_out(job: Job) -> Record:
    """Run one trial; an error becomes a record of it.

    Example:
        >>> from cranium.experiments.trial import ComplexityTrial
        >>> record = carry_out(Job(ComplexityTrial("complexity", "CRA", "N = 5", "anbcdn"), 0))
        >>> record.status, record.result["states"]
        ('done', 4)
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


def _lost(job: Job) -> Record:
    """The record of a job whose process disappeared, time after time."""
    versions, machine = surroundings()
    told = f"the process that ran it disappeared, {TRIES} times in a row (out of memory?)"
    return Record(
        job.trial.data, job.trial.key, job.seed, "failed", {}, told, 0, 0, versions, machine
    )


class LocalEngine:
    """Processes on this machine, each pinned to a core, with one thread.

    Args:
        workers: How many; by default one for each core.

    Example:
        >>> from cranium.experiments.trial import ComplexityTrial
        >>> jobs = [Job(ComplexityTrial("complexity", "RM", "N = 2", "anbcdn", limit=2), 0)]
        >>> [record.result["states"] for _, record in LocalEngine(workers=1).run(jobs)]
        [13]
    """

    def __init__(self, workers: int | None = None) -> None:
        self.cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        count = len(self.cores) or os.cpu_count() or 1
        self.workers = count if workers is None else check_count("workers", workers)

    def run(self, jobs: Sequence[Job]) -> Results:
        """Run jobs; one whose process disappears is tried again."""
        left, tries = dict.fromkeys(jobs), dict.fromkeys(jobs, 0)
        while left:
            try:
                for job, record in self._pool(list(left), tries):
                    del left[job]
                    yield job, record
            except BrokenProcessPool:  # one of those that were running broke it
                for job in [job for job in left if tries[job] >= TRIES]:
                    del left[job]
                    yield job, _lost(job)

    def _pool(self, jobs: list[Job], tries: dict[Job, int]) -> Results:
        context = get_context("spawn")
        places: Any = context.Queue()
        for number in range(self.workers):
            places.put(self.cores[number % len(self.cores)] if self.cores else None)
        begin = (places, os.getpid())
        waiting = iter(jobs)
        running: dict[Future[Record], Job] = {}
        # The threads of a worker are counted when its libraries are loaded, so before it starts.
        with _environment(dict.fromkeys(THREADS, "1")):
            pool = ProcessPoolExecutor(self.workers, context, _begin, begin)
            try:
                while True:
                    # No more than can run soon: what waits in a broken pool would count as tried.
                    while len(running) < 2 * self.workers and (job := next(waiting, None)):
                        tries[job] += 1
                        running[pool.submit(carry_out, job)] = job
                    if not running:
                        return
                    for future in wait(running, return_when=FIRST_COMPLETED)[0]:
                        job = running.pop(future)
                        yield job, future.result()
            finally:
                _stop(pool)


def _stop(pool: ProcessPoolExecutor) -> None:
    """Stop the workers at once: what they are doing is lost, and nothing else."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


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


class RayEngine:
    """Tasks of a Ray cluster.

    Args:
        address: Of the cluster, ``"auto"`` for the one that this machine belongs to; left out, one
            is started on this machine.
        workers: How many jobs run at once; by default one for each core of the cluster.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        try:
            import ray
        except ImportError:
            raise MissingExtraError(
                "the engine ray needs Ray, which is not installed",
                fix="pip install 'cranium[ray]', or use the engine local",
            ) from None
        self.ray: Any = ray
        self.limit = None if workers is None else check_count("workers", workers)
        self.owned = not ray.is_initialized()
        if self.owned:
            self._connect(address)

    def _connect(self, address: str | None) -> None:
        started = {"num_cpus": self.limit} if address is None else {"address": address}
        try:
            self.ray.init(log_to_driver=False, include_dashboard=False, **started)
        except (ConnectionError, ValueError) as problem:
            raise InvalidArgumentError(
                f"no Ray cluster answers at {shorten(address)}: {problem}",
                fix="start one with ray start --head, or leave the address out",
            ) from None

    @property
    def workers(self) -> int:
        """As many as the cluster has cores now: machines may come and go."""
        found: dict[str, float] = self.ray.cluster_resources()
        cores = int(found.get("CPU", 1))
        return max(1, cores if self.limit is None else min(cores, self.limit))

    def run(self, jobs: Sequence[Job]) -> Results:
        """Run jobs; what was lost with a machine is run again elsewhere."""
        environment = {"env_vars": dict.fromkeys(THREADS, "1")}
        remote = self.ray.remote(num_cpus=1, max_retries=TRIES, runtime_env=environment)(carry_out)
        waiting = iter(jobs)
        running: dict[Any, Job] = {}
        try:
            while True:
                while len(running) < 2 * self.workers and (job := next(waiting, None)):
                    running[remote.remote(job)] = job
                if not running:
                    return
                for reference in self.ray.wait(list(running))[0]:
                    job = running.pop(reference)
                    yield job, self._collect(job, reference)
        finally:
            for reference in running:
                self.ray.cancel(reference, force=True)

    def _collect(self, job: Job, reference: Any) -> Record:
        try:
            record: Record = self.ray.get(reference)
        except (self.ray.exceptions.WorkerCrashedError, self.ray.exceptions.NodeDiedError):
            return _lost(job)
        return record

    def close(self) -> None:
        """Leave the cluster, or stop it if it was started here."""
        if self.owned:
            self.ray.shutdown()
