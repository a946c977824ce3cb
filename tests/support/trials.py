"""Trials for tests of what runs, keeps and reads them, whatever they are about."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from cranium.experiments import Store
from cranium.experiments.study_trial import StudyTrial
from cranium.experiments.trial import FunctionTrial, Job
from cranium.paper import ComplexityConfig
from cranium.paper.letter_paper import evaluate_elsewhere, read_streak
from cranium.paper.problems import PaperProblem
from cranium.studies import JointStudy, Recorded, Study


def size_trial(machine: str = "anbcdn", limit: int | None = None, **names: Any) -> FunctionTrial:
    """A trial that measures the size of a machine."""
    told = {"experiment": "complexity", "method": "RM" if limit else "CRA", "case": f"N = {limit}"}
    return FunctionTrial(
        **{**told, **names},
        function="cranium.paper.complexity:measure_size",
        settings={"machine": machine, "limit": limit},
        fields={"states": "size", "transitions": "size"},
    )


def training(
    learner: str = "cql",
    settings: Mapping[str, Any] | None = None,
    *,
    world: str = "Letter",
    task: str = "anbcdn",
    options: Mapping[str, Any] | None = None,
    limit: int | None = None,
    experiment: str = "letter",
    method: str = "CQL",
    case: str = "N = 1",
    tested_on: Mapping[str, Any] | None = None,
    kind: type[StudyTrial] = StudyTrial,
    more: Mapping[str, Any] | None = None,
    **limits: Any,
) -> Any:
    """A trial that trains a learner of ours on a task of ours."""
    problem = PaperProblem(world, task, options or {}, limit=limit)
    record = {}
    if limits.get("until") not in (None, "solved", "budget"):
        record["streak"] = Recorded(read_streak, "size")
    if tested_on is not None:
        tested = PaperProblem(world, task, tested_on)
        record["elsewhere"] = Recorded(functools.partial(evaluate_elsewhere, tested), "shares")
    told = {"steps": 1_000_000, "evaluate_every": 100, "record": record, **limits}
    study = Study(experiment, {case: problem}, {method: (learner, settings or {})}, seeds=1, **told)
    trial = study.trials[0].trial
    assert isinstance(trial, StudyTrial)
    if kind is StudyTrial:
        return trial
    return kind(**{each.name: getattr(trial, each.name) for each in fields(trial)}, **(more or {}))


@dataclass(frozen=True)
class Given(ComplexityConfig):
    """An experiment of these jobs."""

    given: tuple[Job, ...] = ()

    def jobs(self, store: Store) -> list[Job]:
        return list(self.given)

    def study(self) -> JointStudy:
        return JointStudy("given", lambda _: [self])
