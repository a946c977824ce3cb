"""The trial of a study: a learner on a problem, both of which may be the user's own.

What the user wrote in Python travels to the workers as a pickle that this process has made itself.
No file contains it: records and manifests describe what was used, and digests of code.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeGuard, runtime_checkable

import gymnasium as gym
from pydantic import Field

from cranium.arguments import check_number
from cranium.errors import InvalidArgumentError
from cranium.experiments.limits import NO_LIMITS, Limits
from cranium.experiments.measures import OWN
from cranium.experiments.shapes import (
    Count,
    Number,
    ResultSchema,
    Share,
    Size,
    describe_mismatch,
    schema_of,
)
from cranium.experiments.trackers.trials import TrialTracking, describe_trial
from cranium.experiments.trial import REVISION, FieldKind, Trial, find_mismatch, run_trial
from cranium.learners import Agent, Streak, TrainingResult, train
from cranium.learners.agent import AgentFactory

__all__ = ["ListedTrial", "Payload", "Recorded", "StudyTrial", "Trainer", "is_trainer", "pack"]

MOST_WARNINGS = 20
"""How many different warnings a record keeps."""


@runtime_checkable
class Trainer(Protocol):
    """What a study can train besides the learners of :func:`cranium.train`: see ``sb3.agent``."""

    def train(
        self,
        env: gym.Env[Any, Any],
        *,
        steps: int,
        seed: int,
        until: Literal["solved"] | None,
        evaluate_every: int | None,
        **settings: object,
    ) -> TrainingResult:
        """Train on an environment, and return what :func:`cranium.train` returns."""


def is_trainer(learner: object) -> TypeGuard[Trainer]:
    """Whether it trains itself; an agent or a class may have a method of this name, too.

    Example:
        >>> is_trainer("cql")
        False
    """
    return isinstance(learner, Trainer) and not isinstance(learner, type | Agent)


class Recorded(NamedTuple):
    """One more field of the results of a study.

    Attributes:
        compute: A function of the :class:`~cranium.learners.TrainingResult` and the environment
            that returns plain data.
        kind: What it returns: ``"number"``, ``"size"`` (a whole number from 1 on), ``"count"``
            (from 0 on), ``"share"``, ``"text"`` or ``"flag"``, each of which may be None;
            ``"shares"`` or ``"numbers"`` (a dictionary of them); ``"pairs"`` (a list of samples
            with a number for each); or ``"any"``. Other records are not read.
    """

    compute: Callable[[TrainingResult, gym.Env[Any, Any]], Any]
    kind: FieldKind = "any"


class Payload(NamedTuple):
    """What a trial needs of the user's Python: how to make the problem, and what learns it."""

    make_env: Callable[[], gym.Env[Any, Any]]
    learner: str | AgentFactory | Trainer
    settings: Mapping[str, Any]
    measure: Callable[[TrainingResult], float | None] | None
    record: Mapping[str, Recorded]
    log: bool


def pack(payload: Payload) -> bytes:
    """Pickle a payload for the workers of this process; lambdas and local classes, too."""
    import cloudpickle

    try:
        packed: bytes = cloudpickle.dumps(payload)
    except Exception as problem:  # whatever the user's objects raise
        raise InvalidArgumentError(
            f"a trial cannot be sent to another process: {problem}",
            fix="make locks, files and connections inside the function, not beside it",
        ) from problem
    return packed


@dataclass(frozen=True, eq=False)
class StudyTrial(Trial):
    """A trial of a study.

    Attributes:
        problem: A description of the problem: the fingerprint of the world, and the machine.
        learner: The name of the learner, and a digest of its code if it is the user's own.
        settings: All settings of the learner that were used, defaults included.
        steps: The budget of samples.
        every: The number of samples between two evaluations.
        until: When to stop earlier: when the task is solved, or after so many successful training
            episodes in a row.
        measure: A digest of a measure of the user's own.
        record: Digests of the functions that compute more fields of the result.
        payload: What the workers run, packed.
        tracking: What make the trackers of its runs, packed. No result depends on it.
        limits: The limits of memory and time.
    """

    problem: Mapping[str, Any] = field(kw_only=True)
    learner: str = field(kw_only=True)
    settings: Mapping[str, Any] = field(kw_only=True)
    steps: int = field(kw_only=True)
    every: int | None = field(kw_only=True, default=None)
    until: Literal["solved"] | int | None = field(kw_only=True, default=None)
    measure: str | None = field(kw_only=True, default=None)
    record: Mapping[str, str] = field(kw_only=True, default_factory=dict)
    payload: bytes = field(kw_only=True, repr=False)
    tracking: bytes | None = field(kw_only=True, default=None, repr=False)
    limits: Limits = field(kw_only=True, default=NO_LIMITS)

    @property
    def used(self) -> dict[str, Any]:
        """Everything that the result depends on."""
        return {
            "revision": REVISION,
            "problem": dict(self.problem),
            "learner": self.learner,
            "settings": dict(self.settings),
            "steps": self.steps,
            "every": self.every,
            "until": self.until,
            "measure": self.measure,
            "record": dict(self.record),
        }


@dataclass(frozen=True, eq=False)
class ListedTrial(Trial):
    """A trial as the manifest of a study lists it. It can be read, and not be run.

    Attributes:
        hash: The key.
        settings: The settings.
        trained: Whether its result is that of a training.
    """

    hash: str = field(kw_only=True)
    settings: Mapping[str, Any] = field(kw_only=True, default_factory=dict)
    trained: bool = field(kw_only=True, default=True)

    @cached_property
    def key(self) -> str:
        """The hash that the manifest gives."""
        return self.hash

    @property
    def used(self) -> dict[str, Any]:
        """The settings."""
        return {"settings": dict(self.settings)}


@run_trial.register
def _train(trial: StudyTrial, seed: int) -> dict[str, Any]:
    # Anew for every trial: what one trial changes must not change the next one.
    payload: Payload = pickle.loads(trial.payload)  # noqa: S301 - of our own parent
    make_env, learner, settings, measure, record, log = payload
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        until = Streak(trial.until) if isinstance(trial.until, int) else trial.until
        more: dict[str, Any] = {"steps": trial.steps, "seed": seed, "until": until}
        more |= {"evaluate_every": trial.every, **({"log": True} if log else {}), **settings}
        env = make_env()
        result = _run(env, learner, more, _track(trial, seed))
        if result.interrupted:  # a partial training is no result
            raise KeyboardInterrupt
        found = _to_data(result)
        if measure is not None:
            value = measure(result)
            found[OWN] = None if value is None else check_number("the measure", float(value))
        found |= {name: each.compute(result, env) for name, each in record.items()}
    wrong = find_mismatch(trial, found)
    if wrong is not None:  # it would be taken for a damaged record, and be run again and again
        raise InvalidArgumentError(f"the learner returned what is no result: {wrong}")
    texts = dict.fromkeys(f"{each.category.__name__}: {each.message}" for each in caught)
    return {**found, "warnings": list(texts)[:MOST_WARNINGS]}


def _track(trial: StudyTrial, seed: int) -> TrialTracking:
    factories = () if trial.tracking is None else pickle.loads(trial.tracking)  # noqa: S301 - ours
    names = (trial.experiment, trial.method, trial.case, trial.stage, trial.key)
    return TrialTracking(factories, describe_trial(*names, seed, trial.steps, trial.settings))


def _run(
    env: gym.Env[Any, Any],
    learner: str | AgentFactory | Trainer,
    more: Mapping[str, Any],
    tracking: TrialTracking,
) -> TrainingResult:
    if is_trainer(learner):
        with tracking:
            result = learner.train(env, **more)
            tracking.finish(result)
        return result
    given: str | AgentFactory = learner  # type: ignore[assignment]
    return train(env, given, callbacks=tracking.callbacks, **more)


def _to_data(result: TrainingResult) -> dict[str, Any]:
    last = result.evaluation
    return {
        "samples": result.samples_to_solve,
        "taken": result.samples,
        "path": result.path,
        "episodes": result.episodes,
        "overflows": result.overflows,
        "success": dict(zip(last.instances, last.success.tolist(), strict=True)),
        "returns": dict(zip(last.instances, last.returns.tolist(), strict=True)),
        "lengths": dict(zip(last.instances, last.lengths.tolist(), strict=True)),
        "exact": last.exact,
        "curve": [[int(row[0]), *(round(float(x), 6) for x in row[1:])] for row in result.curve],
    }


class _Trained(ResultSchema):
    samples: Size | None
    taken: Count
    episodes: Count = 0
    overflows: Count = 0
    success: dict[str, Share]
    returns: dict[str, Number]
    lengths: dict[str, Number]
    curve: list[Annotated[list[Number], Field(min_length=2)]]
    measured: Number | None = None
    warnings: Annotated[list[str], Field(default_factory=list)]


@find_mismatch.register
def _of_study(trial: StudyTrial, result: Mapping[str, Any]) -> str | None:
    return describe_mismatch(schema_of(tuple(trial.fields.items()), _Trained), result)


@find_mismatch.register
def _of_listed(trial: ListedTrial, result: Mapping[str, Any]) -> str | None:
    base = _Trained if trial.trained else ResultSchema
    return describe_mismatch(schema_of(tuple(trial.fields.items()), base), result)
