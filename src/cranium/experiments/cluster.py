"""Where trials are run: on a Ray cluster."""

from __future__ import annotations

import importlib
import logging
import socket
import time
from collections.abc import Sequence
from typing import Any

from cranium.errors import InvalidArgumentError, MissingExtraError, check_count, shorten
from cranium.experiments.engines import (
    PATIENCE,
    THREADS,
    TRIES,
    Closed,
    Results,
    carry_out,
    failed,
    lost,
)
from cranium.experiments.records import Record
from cranium.experiments.trial import Job

__all__ = ["RayEngine"]


class RayEngine(Closed):
    """Tasks of a Ray cluster, each with one thread.

    If this process is connected to a cluster already, that one is used, and left as it is.

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
        if not self.owned:
            self._stay(address)
        elif address is None or address == "local":
            self._connect("local", num_cpus=self.limit)
            self.limit = None  # it has no more cores than that
        else:
            self._find(address)
            self._connect(address)

    def _stay(self, address: str | None) -> None:
        """Refuse to use another cluster than the one that was asked for."""
        here = self.ray.get_runtime_context().gcs_address
        if address not in {None, "local", "auto"} and self._find(str(address)) != here:
            raise InvalidArgumentError(
                f"this process is connected to the Ray cluster at {here}, not {shorten(address)}",
                fix="ray.shutdown() first, or leave the address out",
            )

    def _find(self, address: str) -> str | None:
        """Where a cluster is, after making sure that it answers: Ray itself waits for minutes."""
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

    def _connect(self, address: str, **options: Any) -> None:
        try:
            self.ray.init(
                address,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **options,
            )
        except (OSError, RuntimeError, ValueError, self.ray.exceptions.RayError) as problem:
            self.ray.shutdown()
            raise InvalidArgumentError(
                f"cannot use the Ray cluster at {shorten(address)}: {problem}",
                fix="say auto on a machine of the cluster, with the same Python and Ray; "
                "an address needs RAY_AUTH_MODE=token if the cluster has one",
            ) from None

    @property
    def workers(self) -> int:
        """As many as the cluster has cores now: machines may come and go."""
        cores = self._cores
        return cores if self.limit is None else min(cores, self.limit)

    @property
    def _cores(self) -> int:
        if not self.ray.is_initialized():  # Ray would start a cluster that nobody stops
            raise InvalidArgumentError("the engine is closed", fix="make another one")
        found: dict[str, float] = self.ray.cluster_resources()
        return max(1, int(found.get("CPU", 1)))

    def run(self, jobs: Sequence[Job]) -> Results:
        """Run jobs; what was lost with a machine is run again elsewhere."""
        waiting, running = iter(dict.fromkeys(jobs)), dict[Any, tuple[Job, int]]()
        submit = self._task()
        try:
            while True:
                # Some wait at the machines, so that these need not wait for us.
                room = 2 * self._cores if self.limit is None else self.limit
                while len(running) < room and (job := next(waiting, None)):
                    running[submit(job)] = job, 1
                if not running:
                    return
                for reference in self.ray.wait(list(running))[0]:
                    job, tries = running.pop(reference)
                    record = self._collect(job, tries, reference)
                    if record is None:
                        running[submit(job)] = job, tries + 1
                    else:
                        yield job, record
        finally:
            self._cancel(list(running))

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

    def _collect(self, job: Job, tries: int, reference: Any) -> Record | None:
        """The record of a job that came to an end, or None if it is to be tried again."""
        errors = self.ray.exceptions
        try:
            record: Record = self.ray.get(reference)
        except errors.RayTaskError as problem:  # not the trial's: it could not even begin
            return failed(job, str(problem))
        except errors.RayError as problem:  # its process or machine is gone, or its result is
            return None if tries < TRIES else lost(job, problem)
        return record

    def close(self) -> None:
        """Leave the cluster, or stop it if it was started here."""
        if self.owned:
            self.owned = False
            self.ray.shutdown()
