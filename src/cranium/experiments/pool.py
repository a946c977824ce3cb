"""Processes on this machine that run jobs; one that disappears is replaced."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Literal, NamedTuple

from cranium.errors import CraniumError, EngineError, InvalidArgumentError
from cranium.experiments.records import Record
from cranium.experiments.trial import Job

__all__ = ["Reply", "WorkerPool"]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
KILLED_STARTS, FAILED_STARTS = 12, 3
"""After how many workers in a row that were killed, or ended, before they were ready we give up."""
Function = Callable[[Job], Record]


class Reply(NamedTuple):
    """What came of handing a job to a worker.

    Attributes:
        job: The job.
        kind: ``"done"``; ``"lost"`` with the worker, or by a fault of the machine; or
            ``"not begun"``, because the worker was gone before it was ready.
        record: The record, if it is done.
        reason: Why it was lost.
    """

    job: Job
    kind: Literal["done", "lost", "not begun"]
    record: Record | None = None
    reason: str = ""


@dataclass(eq=False)
class Worker:
    """A process, the connection to it, the core that it is pinned to, and what it does."""

    process: Any
    connection: Connection
    core: int | None
    ready: bool = False
    job: Job | None = None


class WorkerPool:
    """Up to so many processes, which are started when they are needed.

    Args:
        size: How many.
        cores: Those that they are pinned to; empty if they are not.
        function: What is done with a job. It is sent with each, so it has to be in a module.
    """

    def __init__(self, size: int, cores: Sequence[int], function: Function) -> None:
        self.size, self.cores, self.function = size, cores, function
        self.workers: list[Worker] = []
        self.failed_starts, self.any_ready = 0, False
        self.hopeless: CraniumError | None = None

    @property
    def has_room(self) -> bool:
        """Whether there is a worker for one more job."""
        return self.busy < self.size

    @property
    def busy(self) -> int:
        """How many jobs it has."""
        return sum(worker.job is not None for worker in self.workers)

    def submit(self, job: Job) -> None:
        """Give a job to a worker; where all are busy, one is started for it."""
        idle = [worker for worker in self.workers if worker.job is None]
        worker = idle[0] if idle else self._start()
        worker.job = job
        if worker.ready:
            self._send(worker)

    def replies(self) -> list[Reply]:
        """Wait until something has come of at least one job, and say what.

        Raises:
            CraniumError: Worker after worker does not even start. What others have done until
                then was said before.
        """
        found: list[Reply] = []
        while self.busy and not found:
            if self.hopeless is not None:
                raise self.hopeless
            for connection in wait([worker.connection for worker in self.workers]):
                [worker] = [each for each in self.workers if each.connection is connection]
                reply = self._hear(worker)
                if reply is not None:
                    found.append(reply)
        return found

    def stop(self) -> None:
        """Stop the workers at once: what they are doing is lost, and nothing else."""
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.process.join()
            worker.connection.close()
        self.workers.clear()

    def _start(self) -> Worker:
        context: Any = get_context("spawn")
        taken = [worker.core for worker in self.workers]
        # The core with the fewest workers: that of the one that is replaced.
        core = min(self.cores, key=taken.count) if self.cores else None
        try:
            # Ctrl-C may not come between the start of a process and its being known here.
            with _deaf(), _environment(dict.fromkeys(THREADS, "1")), _broken_pipes():
                ours, theirs = context.Pipe()
                told = (theirs, core, os.getpid())
                process = context.Process(target=_serve, args=told, daemon=True)
                try:
                    process.start()
                except BaseException:
                    ours.close()
                    raise
                finally:
                    theirs.close()
                self.workers.append(Worker(process, ours, core))
        except OSError as problem:
            raise EngineError(
                f"no process can be started to run trials: {problem.strerror or problem}",
                fix="what is done is kept; the same command goes on, or fewer workers do",
            ) from None
        return self.workers[-1]

    def _send(self, worker: Worker) -> None:
        # If it is gone, that is heard next: its job is then lost, or was not begun.
        with _broken_pipes(), contextlib.suppress(OSError):
            worker.connection.send_bytes(pickle.dumps((self.function, worker.job)))

    def _hear(self, worker: Worker) -> Reply | None:
        try:
            told = worker.connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            return self._bury(worker)
        if not worker.ready:
            worker.ready, self.any_ready, self.failed_starts = True, True, 0
            if worker.job is not None:
                self._send(worker)
            return None
        assert worker.job is not None, "a worker speaks when it is spoken to"
        job, worker.job = worker.job, None
        if isinstance(told, Record):
            return Reply(job, "done", told)
        return Reply(job, "lost", reason=str(told))

    def _bury(self, worker: Worker) -> Reply | None:
        """Take leave of a worker that is gone, and say what became of its job."""
        worker.process.kill()
        worker.process.join()
        worker.connection.close()
        self.workers.remove(worker)
        how = _ended(worker.process.exitcode)
        if not worker.ready:
            self._count_failed_start(worker.process.exitcode, how)
        if worker.job is None:
            return None
        kind: Literal["lost", "not begun"] = "lost" if worker.ready else "not begun"
        return Reply(worker.job, kind, reason=f"its process {how}")

    def _count_failed_start(self, status: int, how: str) -> None:
        if self.hopeless is not None:
            return
        self.failed_starts += 1
        if status > 0 and not self.any_ready and self.failed_starts >= FAILED_STARTS:
            self.hopeless = InvalidArgumentError(
                f"the processes that run trials could not start: the last one {how}",
                fix='in a script, put what runs them under if __name__ == "__main__":',
            )
        elif self.failed_starts >= (FAILED_STARTS if status > 0 else KILLED_STARTS):
            self.hopeless = EngineError(
                f"{self.failed_starts} processes in a row did not get as far as running a trial: "
                f"the last one {how}",
                fix="what is done is kept, and the same command goes on; see whether memory is "
                "short, or what else ends them",
            )


def _ended(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"


# In the worker


def _serve(connection: Connection, core: int | None, parent: int) -> None:
    """Run one job after the other, as long as there is somebody to tell."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops us
    if core is not None:
        os.sched_setaffinity(0, {core})
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):  # the parent is gone
        connection.send("ready")
        while True:
            told = connection.recv_bytes()
            connection.send_bytes(_answer(told))


def _answer(told: bytes) -> bytes:
    """The record of a job, or why there is none, for the parent."""
    try:
        function, job = pickle.loads(told)  # noqa: S301 - of our own parent
        return pickle.dumps(function(job))
    except EngineError as problem:
        return pickle.dumps(problem.message)
    except Exception as problem:  # what runs a trial turns its errors into records: it never began
        return pickle.dumps(f"it could not be run there: {type(problem).__name__}: {problem}")


def _follow(parent: int) -> None:
    """End when the parent has been killed: nobody would collect the results."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


# Around the start of a process


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
    from multiprocessing import resource_tracker

    # Python starts this one together with our first process otherwise, and some of its versions
    # then let Ctrl-C in again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables for what is started: libraries count threads when they are loaded."""
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
