"""The callback that hands the numbers of a training to trackers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from cranium.experiments.trackers.protocol import (
    Preparing,
    RunDescription,
    Scalars,
    Status,
    Tracker,
    TrackerFactory,
)
from cranium.experiments.trackers.registry import find_tracker
from cranium.learners import TrainingProgress, TrainingResult

__all__ = ["TrackedRun", "TrackerWarning", "TrackingCallback", "prepare_trackers", "track"]

FIGURES = ("success", "return", "steps")


class TrackerWarning(UserWarning):
    """A tracker has raised an error. The run goes on, and is tracked no further."""


def track(*trackers: str | TrackerFactory) -> TrackingCallback:
    """Make a callback of :func:`cranium.train` that hands its numbers to trackers.

    Args:
        *trackers: ``"tensorboard:DIR"``, ``"wandb:PROJECT"``, ``"mlflow:DIR"`` or a URI,
            ``"csv:FILE"``, ``"package.module:factory"``, or a function or class that makes a
            :class:`Tracker`.

    Example:
        >>> import cranium, gymnasium, pathlib, tempfile
        >>> from cranium.experiments import track
        >>> path = pathlib.Path(tempfile.mkdtemp(), "runs.csv")
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
        >>> _ = cranium.train(env, "planner", steps=60, evaluate_every=30, callbacks=[
        ...     track(f"csv:{path}")])
        >>> [row for row in path.read_text().splitlines() if "evaluation/success" in row][-1]
        'A^N B C D^N,"planner, seed 0",60,evaluation/success,1.0'
    """
    return TrackingCallback([find_tracker(each) for each in trackers])


def prepare_trackers(factories: Sequence[TrackerFactory], group: str) -> None:
    """Check that runs of a group can be tracked, before the first of them begins."""
    for factory in factories:
        if isinstance(factory, Preparing):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of libraries that we do not choose
                factory.prepare(group)


class TrackedRun:
    """One run, which several trackers follow; what they raise does not reach the training."""

    def __init__(self, factories: Sequence[TrackerFactory], run: RunDescription) -> None:
        self.logged = -1
        self._trackers: list[Tracker] = []
        for factory in factories:
            self._guard(factory, partial(self._begin, factory, run))

    def _begin(self, factory: TrackerFactory, run: RunDescription) -> None:
        tracker = factory()
        tracker.begin(run)
        self._trackers.append(tracker)

    def log(self, samples: int, values: Scalars) -> None:
        """Hand values to the trackers."""
        self.logged = max(samples, self.logged)
        for each in list(self._trackers):
            if not self._guard(each, partial(each.log, samples, values)):
                self._trackers.remove(each)

    def end(self, status: Status, summary: Scalars) -> None:
        """Tell the trackers that the run has ended."""
        for each in self._trackers:
            self._guard(each, partial(each.end, status, summary))
        self._trackers = []

    def _guard(self, whose: Tracker | TrackerFactory, call: Callable[[], None]) -> bool:
        """Call a tracker; return whether it has worked. Its warnings are none of the training."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except Exception as problem:
            name = getattr(whose, "__qualname__", type(whose).__name__)
            reason = " ".join(str(problem).split())[:300]
            told = f"{name} stopped tracking: {type(problem).__name__}: {reason}"
            warnings.warn(told, TrackerWarning, stacklevel=2)
            return False
        return True

    def log_curve(self, curve: Sequence[Sequence[float]]) -> None:
        """Hand those evaluations of a learning curve to the trackers that they have not seen."""
        for samples, *figures in curve:
            if samples > self.logged:
                names = (f"evaluation/{name}" for name in FIGURES)
                values = dict(zip(names, map(float, figures), strict=True))
                self.log(int(samples), values)

    def finish(self, result: TrainingResult | None) -> None:
        """Hand the rest of the curve to the trackers, and the result."""
        if result is None:
            self.end("failed", {})
            return
        self.log_curve(result.curve.tolist())
        self.end("interrupted" if result.interrupted else "finished", _summarise(result))


@dataclass
class TrackingCallback:
    """A callback of :func:`cranium.train`: see :func:`track`.

    Attributes:
        factories: What make the trackers.
        describe: What describes the run; by default it is what the training says of itself.
        is_prepared: Whether :func:`prepare_trackers` was called for all runs together.
    """

    factories: Sequence[TrackerFactory]
    describe: Callable[[TrainingProgress], RunDescription] = field(
        default_factory=lambda: describe_training
    )
    is_prepared: bool = field(default=False, kw_only=True)
    _runs: dict[int, TrackedRun] = field(default_factory=dict, init=False, repr=False)

    def begin(self, progress: TrainingProgress) -> None:
        """Make the trackers of a run."""
        run = self.describe(progress)
        if not self.is_prepared:
            prepare_trackers(self.factories, run.group)
        self._runs[progress.seed] = TrackedRun(self.factories, run)

    def __call__(self, progress: TrainingProgress) -> None:
        """Hand the new evaluations and the state of the training to the trackers."""
        run = self._runs[progress.seed]
        curve = progress.curve.tolist()
        is_new = bool(curve) and curve[-1][0] == progress.samples > run.logged
        run.log_curve(curve[:-1] if is_new else curve)
        values = _read_training(progress)
        if is_new:
            names = (f"evaluation/{name}" for name in FIGURES)
            values = {**dict(zip(names, curve[-1][1:], strict=True)), **values}
        run.log(progress.samples, values)

    def end(self, result: TrainingResult | None) -> None:
        """End the run; if an error ended the training, all runs that go on."""
        seeds = list(self._runs) if result is None else [result.seed]
        for seed in seeds:
            run = self._runs.pop(seed, None)
            if run is not None:
                run.finish(result)


def describe_training(progress: TrainingProgress) -> RunDescription:
    """Describe a run by what the training says of itself."""
    metadata: dict[str, str | int] = {
        "learner": progress.learner,
        "seed": progress.seed,
        "environment": progress.environment,
        "task": progress.task,
        "steps": progress.steps,
        "path": progress.path,
    }
    if progress.samples:
        metadata["resumed_after"] = progress.samples
    name = (progress.learner, f"seed {progress.seed}")
    return RunDescription(progress.task, name, progress.config.as_dict(), metadata)


def _read_training(progress: TrainingProgress) -> dict[str, float]:
    found = {
        "training/episodes": float(progress.episodes),
        "training/successes": float(progress.successes),
        "training/exploration": float(progress.exploration),
    }
    if progress.mean_return is not None:
        found["training/return"] = progress.mean_return
    return found


def _summarise(result: TrainingResult) -> dict[str, float]:
    last = result.evaluation
    found = {
        "samples": float(result.samples),
        "episodes": float(result.episodes),
        "success": float(last.success.mean()),
        "return": float(last.returns.mean()),
    }
    if result.samples_to_solve is not None:
        found["samples_to_solve"] = float(result.samples_to_solve)
    return found
