"""Where trials are run: on a Ray cluster."""

from __future__ import annotations

import importlib
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from cranium.arguments import check_count
from cranium.errors import (
    CraniumError,
    EngineError,
    InvalidArgumentError,
    MissingExtraError,
    shorten,
)
from cranium.experiments.local_engine import TRIES, Attempts, Closed, Results, carry_out, each_once
from cranium.experiments.pool import THREADS
from cranium.experiments.records import Record
from cranium.experiments.trial import Job

__all__ = ["RayEngine"]

PATIENCE = 5.0
"""How many seconds others have to answer."""
JOINING = 60.0
"""How many seconds a cluster has to let us join it."""
STARVING = 60.0
"""How many seconds a cluster may have no core left, until machines come back."""
POLL = 5.0
LOOPBACK = "127.0.0.1"
AUTHENTICATION = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
QUIETLY = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
PROBE = (
    "import sys, ray;"
    "ray.init(sys.argv[1], include_dashboard=False, log_to_driver=False, logging_level='ERROR');"
    "ray.shutdown()"
)
"""Joins a cluster and leaves it: in a process of its own, because Ray may wait for ever."""


class _GoneError(Exception):
    """The part of the cluster that this process is connected to is gone."""


class RayEngine(Closed):
    """Tasks of a Ray cluster, each with one thread.

    If this process is connected to a cluster already, that one is used, and left as it is. A
    cluster that is started here listens on the loopback interface only, and lets nobody in who does
    not know a token that is made for it, unless ``RAY_AUTH_MODE`` says otherwise.

    Args:
        address: Of the cluster, ``"auto"`` for the one that this machine belongs to; left out, one
            is started on this machine.
        workers: How many jobs run at once; by default one for each core of the cluster.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        try:
            import ray
        except ImportError:
            raise MissingExtraError.of(
                "the engine ray needs Ray, which is not installed", "ray", "use the engine local"
            ) from None
        self.ray: Any = ray
        self.address = "local" if address is None else address
        self.limit = None if workers is None else check_count("workers", workers)
        self.owned = not ray.is_initialized()
        self.starts_own = self.owned and self.address == "local"
        self.token = PrivateToken()
        if self.owned:
            self._join()
        else:
            self._stay(address)

    def _join(self) -> None:
        if self.starts_own:  # it has no more cores than that
            self.token.set()
            with _on_loopback():
                self._connect("local", num_cpus=self.limit, _node_ip_address=LOOPBACK)
            self._check_loopback()
        else:
            self._find(self.address)
            self._probe(self.address)
            self._connect(self.address)

    def _check_loopback(self) -> None:
        """Refuse to go on with a cluster that others can reach: Ray chooses where it listens."""
        found = self.ray.util.get_node_ip_address()
        if found != LOOPBACK:
            self.close()
            raise InvalidArgumentError(
                f"Ray {self.ray.__version__} started a cluster that listens at {found}, where "
                "others can reach it",
                fix="use another version of Ray or the engine local, or start a cluster yourself "
                "(ray start --head) and give its address",
            )

    def _stay(self, address: str | None) -> None:
        """Refuse to use another cluster than the one that was asked for."""
        here = self.ray.get_runtime_context().gcs_address
        if address not in {None, "local", "auto"} and self._find(str(address)) != here:
            raise InvalidArgumentError(
                f"this process is connected to the Ray cluster at {here}, not {shorten(address)}",
                fix="ray.shutdown() first, or leave the address out",
            )

    def _find(self, address: str) -> str | None:
        """Where a cluster is, after making sure that somebody listens there."""
        # Which one "auto" means, Ray tells nobody in public.
        services: Any = importlib.import_module("ray._private.services")
        try:
            place: str | None = services.canonicalize_bootstrap_address(address)
            if place is not None:  # RAY_ADDRESS may say that one is to be started
                host, _, port = place.rpartition(":")
                socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
        except (OSError, OverflowError, ValueError):
            raise InvalidArgumentError(
                f"no Ray cluster answers at {shorten(address)}",
                fix="start one with ray start --head and say auto, or "
                "leave the address out to start one for this run",
            ) from None
        return place

    def _probe(self, address: str) -> None:
        """Refuse a cluster that lets us wait: Ray itself would wait for many minutes."""
        probe = subprocess.Popen(  # noqa: S603 - our own Python, with an address
            [sys.executable, "-c", PROBE, address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            probe.wait(JOINING)  # if it fails, so will we, and say why
        except subprocess.TimeoutExpired:
            raise InvalidArgumentError(
                f"the Ray cluster at {shorten(address)} did not let us join it within "
                f"{JOINING:.0f} seconds",
                fix="see whether it is alive (ray status), or leave the address out to start one "
                "for this run",
            ) from None
        finally:
            if probe.poll() is None:
                os.killpg(probe.pid, signal.SIGKILL)
                probe.wait()

    def _connect(self, address: str, **options: Any) -> None:
        try:
            self.ray.init(address, **QUIETLY, **options)
        except (OSError, RuntimeError, ValueError, self.ray.exceptions.RayError) as problem:
            self.ray.shutdown()
            self.token.forget()
            raise InvalidArgumentError(
                f"cannot use the Ray cluster at {shorten(address)}: {problem}",
                fix="say auto on a machine of the cluster, with the same Python and Ray; "
                "an address needs RAY_AUTH_MODE=token if the cluster has one",
            ) from None

    @property
    def workers(self) -> int:
        """As many as the cluster has cores now: machines may come and go."""
        cores = max(1, self._cores)
        return cores if self.limit is None else min(cores, self.limit)

    @property
    def _cores(self) -> int:
        if not self.ray.is_initialized():  # Ray would start a cluster that nobody stops
            raise InvalidArgumentError("the engine is closed", fix="make another one")
        found: dict[str, float] = self.ray.cluster_resources()
        return int(found.get("CPU", 0))

    def run(self, jobs: Iterable[Job]) -> Results:
        """Run jobs; what was lost with a process or a machine is run again elsewhere.

        If the part of the cluster that this process is connected to is gone, it is joined again,
        or started again if it was started here, up to ``TRIES`` times.
        """
        waiting, again, attempts = each_once(jobs), deque[Job](), Attempts()
        joined = 0
        while True:
            try:
                yield from self._run(waiting, again, attempts)
                break
            except _GoneError as problem:
                joined += 1
                self._join_again(str(problem), joined)
        attempts.end()

    def _run(self, waiting: Iterator[Job], again: deque[Job], attempts: Attempts) -> Results:
        """Run what waits, as long as the cluster is there; what was running is run again then."""
        running: dict[Any, Job] = {}
        submit = self._task()
        try:
            while True:
                # Some wait at the machines, so that these need not wait for us.
                cores = max(1, self._cores)
                room = 2 * cores if self.limit is None or self.starts_own else self.limit
                while len(running) < room:
                    job = again.popleft() if again else next(waiting, None)
                    if job is None:
                        break
                    try:
                        running[submit(job)] = job
                    except BaseException:
                        again.appendleft(job)
                        raise
                if not running:
                    return
                for reference in self._wait(list(running)):
                    found = self._collect(running[reference], reference)
                    job = running.pop(reference)
                    if isinstance(found, Record):
                        attempts.succeeded()
                        yield job, found
                    elif attempts.is_to_be_tried_again(job, found):
                        again.append(job)
        except (_GoneError, self.ray.exceptions.RayError) as problem:
            again.extendleft(running.values())  # it is not their fault: they are not counted
            running.clear()
            raise _GoneError(str(problem)) from None
        finally:
            self._cancel(list(running))

    def _wait(self, running: list[Any]) -> list[Any]:
        """The jobs that came to an end; it does not wait for ever where nobody can run them."""
        end = time.monotonic() + STARVING
        while True:
            ready: list[Any] = self.ray.wait(running, timeout=POLL)[0]
            if ready:
                return ready
            if self._cores > 0:
                end = time.monotonic() + STARVING
            elif time.monotonic() > end:
                raise EngineError(
                    f"the Ray cluster has had no core for {STARVING:.0f} seconds",
                    fix="add machines to it; then the same command goes on",
                )

    def _join_again(self, reason: str, count: int) -> None:
        """Go on with a new connection, if it is ours to make one."""
        told = f"the Ray cluster is gone: {' '.join(reason.split())}"
        fix = "what is done is kept; the same command goes on, once there is a cluster"
        if not self.owned or count > TRIES:
            raise EngineError(told, fix=fix)
        self.ray.shutdown()
        try:
            self._join()
        except CraniumError as problem:
            raise EngineError(f"{told}; then {problem.message}", fix=fix) from None

    def _cancel(self, running: list[Any]) -> None:
        """Stop what is running, and say so until it was heard.

        Ray loses what it is told while it hands a task to a worker.
        """
        end = time.monotonic() + PATIENCE
        while running and self.ray.is_initialized() and time.monotonic() < end:
            for reference in running:
                self.ray.cancel(reference, force=True)
            running = self.ray.wait(running, num_returns=len(running), timeout=0.5)[1]

    def _task(self) -> Any:
        """What submits a job; Ray tries it once, because we count."""
        environment = {"env_vars": dict.fromkeys(THREADS, "1")}
        options = {"num_cpus": 1, "max_retries": 0, "runtime_env": environment}
        return self.ray.remote(**options)(carry_out).remote

    def _collect(self, job: Job, reference: Any) -> Record | str:  # noqa: ARG002 - for who notes it
        """The record of a job, or why it was lost: then it is to be tried again."""
        errors = self.ray.exceptions
        try:
            record: Record = self.ray.get(reference)
        except errors.LocalRayletDiedError as problem:
            raise _GoneError(str(problem)) from None
        except errors.RayTaskError as problem:  # a fault of the machine, or it never began there
            cause = getattr(problem, "cause", None)
            return cause.message if isinstance(cause, EngineError) else str(problem)
        except errors.RayError as problem:
            # Its process or machine is gone, or its result is, or it could not even begin there.
            return str(problem) or type(problem).__name__
        return record

    def close(self) -> None:
        """Leave the cluster, or stop it if it was started here."""
        if self.owned:
            self.owned = False
            self.ray.shutdown()
            self.token.forget()


class PrivateToken:
    """A token for a cluster that is started here: only its own processes have it.

    It is in the environment, which they inherit; nothing is written anywhere.
    """

    def __init__(self) -> None:
        self.is_set = False

    def set(self) -> None:
        """Make one, unless the user has chosen how Ray finds out who is let in."""
        if self.is_set or any(name in os.environ for name in AUTHENTICATION):
            return
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
        self.is_set = True
        _read_authentication()

    def forget(self) -> None:
        """Leave the environment as it was."""
        if self.is_set:
            self.is_set = False
            for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
                os.environ.pop(name, None)
            _read_authentication()


def _read_authentication() -> None:
    """Let Ray read again what the environment says: it does so once, when it is first asked."""
    inner: Any = importlib.import_module("ray._raylet")
    inner.Config.initialize("")
    inner.AuthenticationTokenLoader.instance().reset_cache()


@contextmanager
def _on_loopback() -> Iterator[None]:
    """Let Ray take the loopback address for that of this machine, as it does where it has to."""
    constants: Any = importlib.import_module("ray._private.ray_constants")
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before
