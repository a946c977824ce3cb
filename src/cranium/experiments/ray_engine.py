"""The engine that runs trials on a Ray cluster."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

from cranium.arguments import check_count
from cranium.errors import (
    CraniumError,
    EngineError,
    InvalidArgumentError,
    MissingExtraError,
    shorten,
)
from cranium.experiments.attempts import TRIES, Attempts, Loss
from cranium.experiments.local_engine import ClosesOnExit, Results
from cranium.experiments.ray_privacy import PrivateToken, on_loopback
from cranium.experiments.ray_tasks import run_task
from cranium.experiments.records import Record
from cranium.experiments.trial import Job
from cranium.experiments.worker import THREADS

__all__ = ["RayEngine"]

PATIENCE = 5.0
"""The timeout of connections, in seconds."""
JOINING = 60.0
"""The timeout for joining a cluster, in seconds."""
STARVING = 60.0
"""Seconds after which a cluster without any core is given up."""
POLL = 5.0
LOOPBACK = "127.0.0.1"
QUIETLY = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
PROBE = (
    "import sys, ray;"
    "ray.init(sys.argv[1], include_dashboard=False, log_to_driver=False, logging_level='ERROR');"
    "ray.shutdown()"
)
"""Joins and leaves a cluster, in a process of its own, because Ray may wait for ever."""


class _ClusterLostError(Exception):
    """The connection of this process to the cluster is lost."""


class RayEngine(ClosesOnExit):
    """Runs jobs as tasks of a Ray cluster, each with one thread.

    If this process is already connected to a cluster, that one is used and not closed. A cluster
    that is started here listens on the loopback interface only and requires a token that is made
    for it, unless ``RAY_AUTH_MODE`` is set.

    Args:
        address: The address of the cluster; ``"auto"`` for the one that this machine belongs to. By
            default one is started on this machine.
        workers: The number of jobs that run at once; by default one for each core of the cluster.
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
            self._check_connected(address)

    def _join(self) -> None:
        if self.starts_own:  # with as many cores as workers
            self.token.set()
            with on_loopback():
                self._connect("local", num_cpus=self.limit, _node_ip_address=LOOPBACK)
            self._check_loopback()
        else:
            self._find(self.address)
            self._probe(self.address)
            self._connect(self.address)

    def _check_loopback(self) -> None:
        """Refuse a cluster that other machines can reach: Ray chooses the interface."""
        found = self.ray.util.get_node_ip_address()
        if found != LOOPBACK:
            self.close()
            raise InvalidArgumentError(
                f"Ray {self.ray.__version__} started a cluster that listens at {found}, where "
                "others can reach it",
                fix="use another version of Ray or the engine local, or start a cluster yourself "
                "(ray start --head) and give its address",
            )

    def _check_connected(self, address: str | None) -> None:
        """Refuse a connection to another cluster than the one with this address."""
        here = self.ray.get_runtime_context().gcs_address
        if address not in {None, "local", "auto"} and self._find(str(address)) != here:
            raise InvalidArgumentError(
                f"this process is connected to the Ray cluster at {here}, not {shorten(address)}",
                fix="ray.shutdown() first, or leave the address out",
            )

    def _find(self, address: str) -> str | None:
        """Resolve the address of a cluster, and check that a server listens there."""
        # Ray has no public function that resolves "auto".
        services: Any = importlib.import_module("ray._private.services")
        try:
            place: str | None = services.canonicalize_bootstrap_address(address)
            if place is not None:  # RAY_ADDRESS may ask for a new cluster
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
        """Refuse a cluster that does not answer: Ray itself would wait for many minutes."""
        probe = subprocess.Popen(  # noqa: S603 - our own Python, with an address
            [sys.executable, "-c", PROBE, address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            probe.wait(JOINING)  # if it fails, connecting fails, too, with a message
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
        """The number of cores that the cluster has now, at most the limit."""
        cores = max(1, self._cores)
        return cores if self.limit is None else min(cores, self.limit)

    @property
    def _cores(self) -> int:
        if not self.ray.is_initialized():  # otherwise Ray would start a cluster
            raise InvalidArgumentError("the engine is closed", fix="make another one")
        found: dict[str, float] = self.ray.cluster_resources()
        return int(found.get("CPU", 0))

    def run(self, jobs: Iterable[Job]) -> Results:
        """Run jobs. A job that is lost with a process or a machine is run again elsewhere.

        If the connection to the cluster is lost, it is joined again, or started again if it was
        started here, up to ``TRIES`` times.
        """
        attempts, joined = Attempts(jobs), 0
        while True:
            try:
                yield from self._run(attempts)
                break
            except _ClusterLostError as problem:
                joined += 1
                self._join_again(str(problem), joined)
        yield from attempts.finish()

    def _run(self, attempts: Attempts) -> Results:
        """Run waiting jobs until the connection is lost; running jobs are then run again."""
        running: dict[Any, Job] = {}
        submit = self._task()
        try:
            while True:
                # Some jobs wait at the machines, so that these are never idle.
                cores = max(1, self._cores)
                room = 2 * cores if self.limit is None or self.starts_own else self.limit
                while len(running) < room:
                    job = attempts.take()
                    if job is None:
                        break
                    try:
                        running[submit(job)] = job
                    except BaseException:
                        attempts.put_back(job)
                        raise
                if not running:
                    return
                for reference in self._wait(list(running)):
                    found = self._collect(running[reference], reference)
                    job = running.pop(reference)
                    yield from attempts.end(job, found)
        except (_ClusterLostError, self.ray.exceptions.RayError) as problem:
            for job in running.values():  # these losses are not counted
                attempts.put_back(job)
            running.clear()
            raise _ClusterLostError(str(problem)) from None
        finally:
            self._cancel(list(running))

    def _wait(self, running: list[Any]) -> list[Any]:
        """Wait for jobs to end. Raises an error if the cluster has no core for a while."""
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
        """Reconnect, if this engine made the connection."""
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
        """Cancel the running tasks, repeatedly.

        Ray drops a cancellation that arrives while it hands the task to a worker.
        """
        end = time.monotonic() + PATIENCE
        while running and self.ray.is_initialized() and time.monotonic() < end:
            for reference in running:
                self.ray.cancel(reference, force=True)
            running = self.ray.wait(running, num_returns=len(running), timeout=0.5)[1]

    def _task(self) -> Any:
        """The function that submits a job. Ray itself does not retry, because we count attempts."""
        environment = {"env_vars": dict.fromkeys(THREADS, "1")}
        options = {"num_cpus": 1, "max_retries": 0, "runtime_env": environment}
        return self.ray.remote(**options)(run_task).remote

    def _collect(self, job: Job, reference: Any) -> Record | Loss:  # noqa: ARG002 - tests override this method
        """The record of a job, or why it was lost."""
        errors = self.ray.exceptions
        try:
            found: Record | Loss = self.ray.get(reference)
        except errors.LocalRayletDiedError as problem:
            raise _ClusterLostError(str(problem)) from None
        except errors.WorkerCrashedError:
            return Loss("crashed", "its process was ended, or ended by itself")
        except errors.OutOfMemoryError as problem:
            return Loss("killed", str(problem))
        except (
            errors.RayTaskError
        ) as problem:  # a fault of the machine, or the task could not start there
            cause = getattr(problem, "cause", None)
            return Loss("fault", cause.message if isinstance(cause, EngineError) else str(problem))
        except errors.RayError as problem:
            # Its machine or result is gone, or the task could not start there.
            return Loss("fault", str(problem) or type(problem).__name__)
        return found

    def close(self) -> None:
        """Leave the cluster, or stop it if it was started here."""
        if self.owned:
            self.owned = False
            self.ray.shutdown()
            self.token.forget()
