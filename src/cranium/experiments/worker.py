"""What a worker process does, and how one is started."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

from cranium._runtime.interrupt import held
from cranium._runtime.usage import end_with_parent
from cranium.errors import EngineError

__all__ = ["THREADS", "block_interrupts", "ignore_sigpipe", "start_process"]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def start_process(core: int | None) -> tuple[SpawnProcess, Connection]:
    """Start a worker process with one thread; returns it, and the connection to it.

    Ctrl-C has to be blocked until the caller has noted the process: see :func:`block_interrupts`.
    """
    context = get_context("spawn")
    with _set_environment(dict.fromkeys(THREADS, "1")), ignore_sigpipe():
        ours, theirs = context.Pipe()
        # The end of a thread that started a process is no sign that the process is not needed.
        follows = threading.current_thread() is threading.main_thread()
        told = (theirs, core, os.getpid(), follows)
        process = context.Process(target=_serve, args=told, daemon=True)
        try:
            process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
    return process, ours


# In the worker


def _serve(connection: Connection, core: int | None, parent: int, follows: bool) -> None:
    """Run one job after the other while the parent is alive."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops us
    if follows:
        end_with_parent()
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
def ignore_sigpipe() -> Iterator[None]:
    """Make a broken pipe an error, where commands let SIGPIPE end the program."""
    here = threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGPIPE")
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN) if here else None
    try:
        yield
    finally:
        if here:
            signal.signal(signal.SIGPIPE, before)


@contextlib.contextmanager
def block_interrupts() -> Iterator[None]:
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
    # Another thread, of a library perhaps, may be given the signal; Python then handles it in this
    # one, and a process whose start is cut in two would print a traceback.
    with held():
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
