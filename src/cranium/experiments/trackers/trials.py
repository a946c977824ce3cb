"""Tracking of the trials of a study, in the processes that run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cranium.experiments.trackers.callback import TrackedRun, TrackingCallback
from cranium.experiments.trackers.protocol import RunDescription, TrackerFactory
from cranium.learners import Callback, TrainingProgress, TrainingResult

__all__ = ["TrialTracking"]


@dataclass(frozen=True)
class TrialTracking:
    """Hands the numbers of one trial to trackers.

    Attributes:
        factories: What make the trackers.
        run: What is known of the trial before it is trained.
    """

    factories: Sequence[TrackerFactory]
    run: RunDescription
    _live: list[TrackedRun] = field(default_factory=list, init=False, repr=False)

    @property
    def callbacks(self) -> tuple[Callback, ...]:
        """The callbacks of :func:`cranium.train`; none if nothing is tracked."""
        if not self.factories:
            return ()
        return (TrackingCallback(self.factories, self._describe, is_prepared=True),)

    def _describe(self, progress: TrainingProgress) -> RunDescription:
        more = {
            "environment": progress.environment,
            "task": progress.task,
            "path": progress.path,
        }
        run = self.run
        return RunDescription(run.group, run.name, run.settings, {**run.metadata, **more})

    def __enter__(self) -> TrialTracking:
        """Begin a run whose training has no callbacks: it is tracked when it has ended."""
        if self.factories:
            self._live.append(TrackedRun(self.factories, self.run))
        return self

    def finish(self, result: TrainingResult) -> None:
        """Hand the learning curve and the result to the trackers."""
        for run in self._live:
            run.finish(result)
        self._live.clear()

    def __exit__(self, *_: object) -> None:
        for run in self._live:  # an error has ended it
            run.finish(None)
        self._live.clear()


def describe_trial(
    study: str,
    method: str,
    case: str,
    stage: str,
    key: str,
    seed: int,
    steps: int,
    settings: Mapping[str, object],
) -> RunDescription:
    """Describe a trial; those for tuning differ in their settings, and so have the key as name.

    Example:
        >>> describe_trial("parcels", "CQL", "small", "tuning", "0af3", 1000000, 200, {}).name
        ('small', 'CQL', 'tuning 0af3', 'seed 1000000')
    """
    tuning = (f"tuning {key}",) if stage == "tuning" else ()
    metadata: dict[str, str | int] = {
        "learner": method,
        "problem": case,
        "seed": seed,
        "steps": steps,
        "stage": stage,
        "trial": key,
    }
    return RunDescription(study, (case, method, *tuning, f"seed {seed}"), settings, metadata)
