"""The trial of a study: a learner on a problem, both of which may be the user's own.

What the user wrote in Python travels to the workers as a pickle that this process has made itself.
No file contains it: records and manifests describe what was used, and digests of code.
"""

from __future__ import annotations

import functools
import hashlib
import json
import pickle
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Protocol, runtime_checkable

import gymnasium as gym
from pydantic import Field

from cranium.experiments.measures import OWN
from cranium.experiments.shapes import Count, Number, ResultSchema, Share, Size, describe_mismatch
from cranium.experiments.trial import REVISION, Trial, find_mismatch, run_trial
from cranium.learners import Agent, TrainingResult, train
from cranium.learners.agent import AgentFactory

__all__ = ["ListedTrial", "Payload", "StudyTrial", "Trainer", "pack"]

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


class Payload(NamedTuple):
    """What a trial needs of the user's Python: how to make the problem, and what learns it."""

    make_env: Callable[[], gym.Env[Any, Any]]
    learner: str | Agent | AgentFactory | Trainer
    settings: Mapping[str, Any]
    measure: Callable[[TrainingResult], float] | None


def pack(payload: Payload) -> bytes:
    """Pickle a payload for the workers of this process; lambdas and local classes, too."""
    import cloudpickle

    packed: bytes = cloudpickle.dumps(payload)
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
        until: When to stop earlier.
        measure: A digest of a measure of the user's own.
        limits: The limits of seconds and gigabytes.
        payload: What the workers run, packed.
    """

    problem: Mapping[str, Any] = field(kw_only=True)
    learner: str = field(kw_only=True)
    settings: Mapping[str, Any] = field(kw_only=True)
    steps: int = field(kw_only=True)
    every: int | None = field(kw_only=True, default=None)
    until: Literal["solved"] | None = field(kw_only=True, default=None)
    measure: str | None = field(kw_only=True, default=None)
    payload: bytes = field(kw_only=True, repr=False)

    @property
    def used(self) -> dict[str, Any]:
        """Everything that the result depends on: the key is its hash, names of legends are not."""
        return {
            "revision": REVISION,
            "problem": dict(self.problem),
            "learner": self.learner,
            "settings": dict(self.settings),
            "steps": self.steps,
            "every": self.every,
            "until": self.until,
            "measure": self.measure,
        }

    @property
    def data(self) -> dict[str, Any]:
        """The trial as plain data, as it stands in records."""
        names = {"experiment": self.experiment, "method": self.method, "case": self.case}
        return {"kind": "StudyTrial", **names, "stage": self.stage, **self.used}

    @cached_property
    def key(self) -> str:
        """The hash of what was used."""
        text = json.dumps(self.used, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class ListedTrial(Trial):
    """A trial as the manifest of a study lists it. It can be read, and not be run."""

    hash: str = field(kw_only=True)
    settings: Mapping[str, Any] = field(kw_only=True, default_factory=dict)

    @cached_property
    def key(self) -> str:
        """The hash that the manifest gives."""
        return self.hash


@run_trial.register
def _train(trial: StudyTrial, seed: int) -> dict[str, Any]:
    make_env, learner, settings, measure = _unpack(trial.payload)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        more: dict[str, Any] = {"steps": trial.steps, "seed": seed, "until": trial.until}
        more |= {"evaluate_every": trial.every, **settings}
        env = make_env()
        if isinstance(learner, Trainer):
            result = learner.train(env, **more)
        else:
            result = train(env, learner, **more)
        found = _to_data(result)
        if measure is not None:
            found[OWN] = float(measure(result))
    texts = dict.fromkeys(f"{each.category.__name__}: {each.message}" for each in caught)
    return {**found, "warnings": list(texts)[:MOST_WARNINGS]}


@functools.lru_cache(maxsize=8)
def _unpack(packed: bytes) -> Payload:
    found: Payload = pickle.loads(packed)  # noqa: S301 - of our own parent
    return found


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
    curve: list[list[Number]]
    measured: Number | None = None
    warnings: Annotated[list[str], Field(default_factory=list)]


@find_mismatch.register
def _of_study(_trial: StudyTrial, result: Mapping[str, Any]) -> str | None:
    return describe_mismatch(_Trained, result)


@find_mismatch.register
def _of_listed(_trial: ListedTrial, result: Mapping[str, Any]) -> str | None:
    return describe_mismatch(_Trained, result)
