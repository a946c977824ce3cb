"""A pool of worker processes on this machine. A worker that disappears is replaced."""

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
from multiprocessing.context import SpawnProcess
from typing import Literal, NamedTuple

from cranium.errors import CraniumError, EngineError, InvalidArgumentError
from cranium.experiments.records import Record
from cranium.experiments.trial import Job

__all__ = ["Reply", "WorkerPool"]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
KILLED_STARTS, FAILED_STARTS = 12, 3
"""The pool gives up if so many workers in a row are killed, or exit, before they are ready."""
Function = Callable[[Job], Record]


class Reply(NamedTuple):
    """The reply of a worker to a job.

    Attributes:
        job: The job.
        kind: ``"done"``; ``"lost"`` with the worker, or by a fault of the machine; or
            ``"not begun"``, because the worker disappeared before it was ready.
        record: The record, if it is done.
        reason: Why it was lost.
    """

    job: Job
    kind: Literal["done", "lost", "not begun"]
    record: Record | None = None
    reason: str = ""


@dataclass(eq=False)
class Worker:
    """A process, the connection to it, the core that it is pinned to, and its job."""

    process: SpawnProcess
    connection: Connection
    core: int | None
    ready: bool = False
    job: Job | None = None


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
            for connection in wait([worker.connection for worker in self.workers]):
                [worker] = [each for each in self.workers if each.connection is connection]
                reply = self._receive(worker)
                if reply is not None:
                    found.append(reply)
        return found

    def stop(self) -> None:
        """Kill the workers at once. Only the jobs that are running are lost."""
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.process.join()
            worker.connection.close()
        self.workers.clear()

    def _start(self) -> Worker:
        context = get_context("spawn")
        taken = [worker.core for worker in self.workers]
        # The core with the fewest workers: that of the one that is replaced.
        core = min(self.cores, key=taken.count) if self.cores else None
        try:
            # Ctrl-C must not come between the start of a process and its entry in the list.
            with (
                _block_interrupts(),
                _set_environment(dict.fromkeys(THREADS, "1")),
                _ignore_sigpipe(),
            ):
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
        # If it is gone, the next receive notices: its job is then lost, or was not begun.
        with _ignore_sigpipe(), contextlib.suppress(OSError):
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
            return Reply(job, "done", told)
        return Reply(job, "lost", reason=str(told))

    def _remove(self, worker: Worker) -> Reply | None:
        """Remove a worker that is gone, and return the reply for its job."""
        worker.process.kill()
        worker.process.join()
        worker.connection.close()
        self.workers.remove(worker)
        status = worker.process.exitcode
        assert status is not None, "a process that was joined has a status"
        how = _describe_exit(status)
        if not worker.ready:
            self._count_failed_start(status, how)
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


def _describe_exit(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"


# In the worker


def _serve(connection: Connection, core: int | None, parent: int) -> None:
    """Run one job after the other while the parent is alive."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops us
    if core is not None:
        os.sched_setaffinity(0, {core})
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):  # the parent is gone
        connection.send("ready")
        while True:
            told = connection.recv_bytes()
            connection.send_bytes(_answer(told))


def _answer(told: bytes) -> bytes:
    """Run a job; the pickled record, or the reason why there is none."""
    try:
        function, job = pickle.loads(told)  # noqa: S301 - of our own parent
        return pickle.dumps(function(job))
    except EngineError as problem:
        return pickle.dumps(problem.message)
    except Exception as problem:  # errors of trials become records, so this one did not even begin
        return pickle.dumps(f"it could not be run there: {type(problem).__name__}: {problem}")


def _exit_with_parent(parent: int) -> None:
    """Exit when the parent is gone."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


# Around the start of a process


@contextlib.contextmanager
def _ignore_sigpipe() -> Iterator[None]:
    """Make a broken pipe an error, where commands let SIGPIPE end the program."""
    here = threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGPIPE")
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN) if here else None
    try:
        yield
    finally:
        if here:
            signal.signal(signal.SIGPIPE, before)


@contextlib.contextmanager
def _block_interrupts() -> Iterator[None]:
    """Block SIGINT, so that processes started in the block ignore Ctrl-C from their first moment.

    A Ctrl-C during the block is delivered to this process at its end.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    # Otherwise Python starts the tracker together with our first process, and some versions of
    # Python then unblock SIGINT.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _set_environment(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables for processes that are started: they limit the threads."""
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
