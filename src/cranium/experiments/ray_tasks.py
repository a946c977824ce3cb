"""What a worker of a Ray cluster runs: a job, in a process of its own if it has limits."""

from __future__ import annotations

from cranium.experiments.attempts import Loss
from cranium.experiments.limits import NO_LIMITS
from cranium.experiments.local_engine import run_job
from cranium.experiments.pool import WorkerPool
from cranium.experiments.records import Record
from cranium.experiments.trial import Job

__all__ = ["run_task"]

_POOLS: list[WorkerPool] = []
"""The pool with the one process that runs the jobs of this worker that have limits."""


def run_task(job: Job) -> Record | Loss:
    """Run a job; returns its record, or why its process has none.

    Raises:
        EngineError: The machine was at fault.

    Example:
        >>> from cranium.experiments.trial import FunctionTrial
        >>> run_task(Job(FunctionTrial("a", "b", "c", function="builtins:dict"), 0)).status
        'done'
    """
    if job.trial.limits == NO_LIMITS:
        return run_job(job)
    if not _POOLS:
        _POOLS.append(WorkerPool(1, [], run_job))
    try:
        while True:
            _POOLS[0].submit(job)
            for reply in _POOLS[0].replies():
                if reply.found is not None:
                    return reply.found
    except BaseException:
        _POOLS.pop().stop()
        raise
