"""The trackers of a study, on their way to the workers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Protocol

from cranium.errors import InvalidArgumentError
from cranium.experiments.manifest import StudyManifest
from cranium.experiments.records import Store
from cranium.experiments.study_trial import StudyTrial
from cranium.experiments.trackers import TrackerFactory, find_tracker
from cranium.experiments.trackers.callback import prepare_trackers
from cranium.experiments.trial import Job, Trial
from cranium.studies.digests import is_own_code

__all__ = ["TrackedPlan", "Trackers", "pack_trackers"]

Trackers = str | TrackerFactory | Sequence[str | TrackerFactory] | None


class _Plan(Protocol):
    def jobs(self, store: Store) -> list[Job]: ...

    def manifest(self, store: Store) -> StudyManifest: ...


@dataclass(frozen=True)
class TrackedPlan:
    """The jobs of a study, whose trials are tracked. Their keys are as without.

    Attributes:
        plan: The study.
        packed: The trackers, from :func:`pack_trackers`.
    """

    plan: _Plan
    packed: bytes

    def manifest(self, store: Store) -> StudyManifest:
        """What the study consists of; nothing in it is about trackers."""
        return self.plan.manifest(store)

    def jobs(self, store: Store) -> list[Job]:
        """All jobs that are known, given the results in the store."""
        found = self.plan.jobs(store)
        # By identity: trials with the same key may have other names, and another stage.
        tracked: dict[int, Trial] = {}
        for trial in (job.trial for job in found):
            if isinstance(trial, StudyTrial) and id(trial) not in tracked:
                tracked[id(trial)] = replace(trial, tracking=self.packed)
        return [Job(tracked.get(id(job.trial), job.trial), job.seed) for job in found]


def pack_trackers(trackers: Trackers, group: str) -> bytes | None:
    """Find trackers, check that they can be used, and pickle them for the workers.

    Example:
        >>> pack_trackers(None, "parcels") is None
        True
    """
    if trackers is None or (not callable(trackers) and not trackers):
        return None
    given = [trackers] if isinstance(trackers, str) or callable(trackers) else list(trackers)
    factories = [find_tracker(each) for each in given]
    prepare_trackers(factories, group)
    import cloudpickle

    with _by_value(factories):
        try:
            packed: bytes = cloudpickle.dumps(factories)
        except Exception as problem:  # whatever the user's objects raise
            raise InvalidArgumentError(
                f"a tracker cannot be sent to another process: {problem}",
                fix="give the class or a function that makes it, which opens files in begin",
            ) from problem
    return packed


@contextmanager
def _by_value(factories: Sequence[TrackerFactory]) -> Iterator[None]:
    """Let workers have the user's code itself: they may not find its file."""
    import cloudpickle

    names = {getattr(each, "__module__", None) for each in factories if is_own_code(each)}
    modules: list[ModuleType] = []
    for name in names - {None, "__main__"}:
        module = sys.modules.get(str(name))
        if module is not None and name not in cloudpickle.list_registry_pickle_by_value():
            cloudpickle.register_pickle_by_value(module)
            modules.append(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
