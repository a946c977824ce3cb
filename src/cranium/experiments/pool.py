"""A pool of worker processes on this machine. A worker that disappears is replaced.

The pool also ends a trial that goes over its limits of memory and time. It watches from outside,
because compiled code sees neither signals nor other threads.
"""

from __future__ import annotations

import contextlib
import math
import pickle
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Literal, NamedTuple

from cranium._runtime.usage import Usage, end_family, measure_family
from cranium.errors import CraniumError, EngineError, InvalidArgumentError
from cranium.experiments.attempts import Loss
from cranium.experiments.limits import format_memory, format_time
from cranium.experiments.records import Record
from cranium.experiments.trial import Job
from cranium.experiments.worker import block_interrupts, ignore_sigpipe, start_process

__all__ = ["Reply", "WorkerPool"]

KILLED_STARTS, FAILED_STARTS = 12, 3
"""The pool gives up if so many workers in a row are killed, or exit, before they are ready."""
GLANCE = 0.25
"""Seconds between two looks at the memory of the workers, if it is limited."""
KILLERS = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGBUS", "SIGPIPE", "SIGXCPU")
"""Signals that come from elsewhere: from a system without memory, say. SIGBUS is a full disk."""
Function = Callable[[Job], Record]


class Reply(NamedTuple):
    """The reply of a worker to a job.

    Attributes:
        job: The job.
        found: The record; why it was lost; or None, because the worker disappeared before it was
            ready, so that the job was not begun.
    """

    job: Job
    found: Record | Loss | None


@dataclass(eq=False)
class Worker:
    """A process, the connection to it, the core that it is pinned to, and its job."""

    process: SpawnProcess
    connection: Connection
    core: int | None
    ready: bool = False
    job: Job | None = None
    begun: float = field(default=math.inf, init=False)

    def measure(self) -> Usage:
        """What the process uses, with those that it started."""
        assert self.process.pid is not None, "it was started"
        return measure_family(self.process.pid)

    def kill(self) -> None:
        """Kill the process, and those that it started."""
        if self.process.is_alive() and self.process.pid is not None:
            end_family(self.process.pid)

    @property
    def seconds(self) -> float:
        """For how long its job has been running."""
        return max(0.0, time.monotonic() - self.begun)


class WorkerPool:
    """Worker processes, which are started when they are needed.

    Args:
        size: The greatest number of workers.
        cores: The cores that they are pinned to; empty: they are not pinned.
        function: The function that runs a job. It is pickled, so it has to be in a module.
    """

    def __init__(self, size: int, cores: Sequence[int], function: Function) -> None:
        self.size, self.cores, self.function = size, cores, function
        self.workers: list[Worker] = []
        self.failed_starts, self.any_ready = 0, False
        self.hopeless: CraniumError | None = None

    @property
    def has_room(self) -> bool:
        """Whether the pool can take another job."""
        return self.busy < self.size

    @property
    def busy(self) -> int:
        """The number of jobs that are running."""
        return sum(worker.job is not None for worker in self.workers)

    def submit(self, job: Job) -> None:
        """Give a job to an idle worker, or start a worker for it."""
        idle = [worker for worker in self.workers if worker.job is None]
        worker = idle[0] if idle else self._start()
        most = job.trial.limits.memory
        if most is not None and worker.ready and worker.measure().memory > most / 2:
            # What earlier trials left in its memory is not the next one's.
            self._end(worker)
            worker = self._start()
        worker.job = job
        if worker.ready:
            self._send(worker)

    def replies(self) -> list[Reply]:
        """Wait for at least one reply, and return all that have arrived.

        Raises:
            CraniumError: Workers do not even start. All earlier replies have been returned.
        """
        found: list[Reply] = []
        while self.busy and not found:
            if self.hopeless is not None:
                raise self.hopeless
            connections = [worker.connection for worker in self.workers]
            for connection in wait(connections, self._patience()):
                [worker] = [each for each in self.workers if each.connection is connection]
                reply = self._receive(worker)
                if reply is not None:
                    found.append(reply)
            found += self._end_what_is_over()
        return found

    def stop(self) -> None:
        """Kill the workers at once. Only the jobs that are running are lost."""
        for worker in self.workers:
            worker.kill()
        for worker in self.workers:
            worker.process.join()
            worker.connection.close()
        self.workers.clear()

    def _start(self) -> Worker:
        taken = [worker.core for worker in self.workers]
        # The core with the fewest workers: that of the one that is replaced.
        core = min(self.cores, key=taken.count) if self.cores else None
        try:
            # Ctrl-C must not come between the start of a process and its entry in the list.
            with block_interrupts():
                self.workers.append(Worker(*start_process(core), core))
        except OSError as problem:
            raise EngineError(
                f"no process can be started to run trials: {problem.strerror or problem}",
                fix="what is done is kept; the same command goes on, or fewer workers do",
            ) from None
        return self.workers[-1]

    def _send(self, worker: Worker) -> None:
        worker.begun = time.monotonic()
        # If it is gone, the next receive notices: its job is then lost, or was not begun.
        with ignore_sigpipe(), contextlib.suppress(OSError):
            worker.connection.send_bytes(pickle.dumps((self.function, worker.job)))

    def _receive(self, worker: Worker) -> Reply | None:
        try:
            told = worker.connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            return self._remove(worker)
        if not worker.ready:
            worker.ready, self.any_ready, self.failed_starts = True, True, 0
            if worker.job is not None:
                self._send(worker)
            return None
        assert worker.job is not None, "a worker only replies to jobs"
        job, worker.job = worker.job, None
        if isinstance(told, Record):
            return Reply(job, told)
        return Reply(job, Loss("fault", str(told), worker.seconds))

    def _remove(self, worker: Worker) -> Reply | None:
        """Remove a worker that is gone, and return the reply for its job."""
        status = self._end(worker)
        how = _describe_exit(status)
        if not worker.ready:
            self._count_failed_start(status, how)
        if worker.job is None:
            return None
        if not worker.ready:
            return Reply(worker.job, None)
        kind: Literal["crashed", "killed"]
        kind = "killed" if any(name in how for name in KILLERS) else "crashed"
        return Reply(worker.job, Loss(kind, f"its process {how}", worker.seconds))

    def _end(self, worker: Worker) -> int:
        """End a worker and what it started; returns its exit status."""
        worker.kill()
        worker.process.join()
        worker.connection.close()
        self.workers.remove(worker)
        status = worker.process.exitcode
        assert status is not None, "a process that was joined has a status"
        return status

    def _count_failed_start(self, status: int, how: str) -> None:
        if self.hopeless is not None:
            return
        self.failed_starts += 1
        if status > 0 and not self.any_ready and self.failed_starts >= FAILED_STARTS:
            self.hopeless = InvalidArgumentError(
                f"the worker processes could not start: the last one {how}",
                fix='in a script, put what runs them under if __name__ == "__main__":',
            )
        elif self.failed_starts >= (FAILED_STARTS if status > 0 else KILLED_STARTS):
            self.hopeless = EngineError(
                f"{self.failed_starts} processes in a row did not get as far as running a trial: "
                f"the last one {how}",
                fix="what is done is kept, and the same command goes on; see whether memory is "
                "short, or what else ends them",
            )

    # Limits

    def _limited(self) -> list[tuple[Worker, Job]]:
        """The workers whose job has begun."""
        return [(each, each.job) for each in self.workers if each.job is not None and each.ready]

    def _patience(self) -> float | None:
        """For how long to wait for replies before the limits are looked at; None: for ever."""
        times = [math.inf]
        for worker, job in self._limited():
            limits = job.trial.limits
            if limits.memory is not None:
                times.append(GLANCE)
            if limits.seconds is not None:
                times.append(max(0.0, limits.seconds - worker.seconds))
        return None if min(times) == math.inf else min(times)

    def _end_what_is_over(self) -> list[Reply]:
        """End the workers whose job is over its limits, unless it has just ended."""
        found = []
        for worker, job in self._limited():
            limits = job.trial.limits
            late = limits.seconds is not None and worker.seconds >= limits.seconds
            if not late and limits.memory is None:
                continue
            used, seconds = worker.measure(), worker.seconds
            large = limits.memory is not None and used.memory > limits.memory
            if (late or large) and not worker.connection.poll():
                self._end(worker)
                reason = _describe_excess(job, used, seconds, large=large)
                found.append(Reply(job, Loss("over", reason, seconds, used.cpu)))
        return found


def _describe_excess(job: Job, used: Usage, seconds: float, *, large: bool) -> str:
    limits = job.trial.limits
    if large:
        told = f"its limit is {format_memory(limits.memory or 0)} (trial_memory)"
        return f"over its limit: it used {format_memory(used.memory)} of memory, and {told}"
    told = f"its limit is {format_time(limits.seconds or 0)} (trial_time)"
    return f"over its limit: it took {format_time(seconds)}, and {told}"


def _describe_exit(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"
