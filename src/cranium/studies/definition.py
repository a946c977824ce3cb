"""What a study consists of: problems, learners, seeds, a measure, and the trials of these."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from cranium.arguments import check_count
from cranium.errors import InvalidArgumentError, shorten
from cranium.experiments.manifest import ListedRow, StudyManifest
from cranium.experiments.measures import Measure, find_measure
from cranium.experiments.records import Record, Store
from cranium.experiments.study_trial import Payload, StudyTrial, pack
from cranium.experiments.trial import Job
from cranium.experiments.tuning import Search, Tried, best_of, score_of
from cranium.learners import TrainingResult
from cranium.studies.contenders import Contender, read_contender
from cranium.studies.digests import digest_of
from cranium.studies.problems import MakeEnv, describe_problem, read_problem

__all__ = ["StudyDefinition"]

TUNING_SEED = 1_000_000
"""The first seed of tuning. Those that are reported begin with 0."""
MOST_SEEDS = 10_000
MeasureValue = str | Callable[[TrainingResult], float | None]


@dataclass(frozen=True)
class StudyDefinition:
    """The definition of a study: its arguments, and the trials that follow from them.

    :class:`~cranium.Study` documents the arguments, and adds the methods that run and read it.
    """

    name: str
    problems: Mapping[str, Any]
    learners: Mapping[str, Any]
    seeds: int = field(default=10, kw_only=True)
    steps: int = field(kw_only=True)
    measure: MeasureValue = field(default="samples_to_solve", kw_only=True)
    lower_is_better: bool = field(default=False, kw_only=True)
    tune: Search | None = field(default=None, kw_only=True)
    until: Literal["solved", "budget"] | None = field(default=None, kw_only=True)
    evaluate_every: int | None = field(default=None, kw_only=True)
    is_quick: bool = field(default=False, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip() or not self.name.isprintable():
            raise InvalidArgumentError(
                f"the name of a study is a text, not {shorten(self.name)}", fix='such as "parcels"'
            )
        for what, given in (("problems", self.problems), ("learners", self.learners)):
            if not isinstance(given, Mapping) or not given:
                raise InvalidArgumentError(
                    f"{what} is {shorten(given)}", fix=f"give {what} by name: {what}={{'name': …}}"
                )
            for name in given:
                if not isinstance(name, str) or not name.strip() or not name.isprintable():
                    raise InvalidArgumentError(
                        f"one of the {what} is called {shorten(name)}", fix="call it by a text"
                    )
        check_count("steps", self.steps)
        if check_count("seeds", self.seeds) > MOST_SEEDS:
            raise InvalidArgumentError(
                f"a study has at most {MOST_SEEDS:,} seeds", fix="a hundred are many already"
            )
        if self.until not in (None, "solved", "budget"):
            raise InvalidArgumentError(
                f"until is 'solved' or 'budget', not {shorten(self.until)}",
                fix="leave it out: it follows from the measure",
            )
        if self.evaluate_every is not None:
            check_count("evaluate_every", self.evaluate_every)
        if self.tune is not None and not callable(getattr(self.tune, "propose", None)):
            raise InvalidArgumentError(
                f"tune is {shorten(self.tune)}", fix="such as cranium.Grid(learning_rate=[0.1, 1])"
            )
        self._measure  # noqa: B018 - an unknown one is an error now
        self._makers, self._contenders  # noqa: B018

    @property
    def _measure(self) -> Measure:
        if isinstance(self.measure, str):
            return find_measure(self.measure)
        if not callable(self.measure):
            raise InvalidArgumentError(
                f"measure is {shorten(self.measure)}", fix="give a name, or a function of a result"
            )
        name = getattr(self.measure, "__name__", type(self.measure).__name__)
        return find_measure(name, own=True, lower_is_better=self.lower_is_better)

    @cached_property
    def _makers(self) -> dict[str, MakeEnv]:
        return {name: read_problem(name, value) for name, value in self.problems.items()}

    @cached_property
    def _contenders(self) -> dict[str, Contender]:
        return {name: read_contender(name, value) for name, value in self.learners.items()}

    @cached_property
    def _described(self) -> dict[str, dict[str, Any]]:
        return {name: describe_problem(name, make) for name, make in self._makers.items()}

    def quick(self) -> Self:
        """A smaller version, to see that it works; its results have a folder of their own.

        Example:
            >>> from cranium import Study
            >>> study = Study("a", {"b": ("Letter", "A B")}, {"c": "cql"}, steps=100_000)
            >>> study.quick().steps, study.quick().seeds
            (5000, 2)
        """
        return replace(
            self,
            seeds=min(self.seeds, 2),
            steps=max(self.steps // 20, min(self.steps, 200)),
            evaluate_every=None
            if self.evaluate_every is None
            else max(self.evaluate_every // 20, 1),
            tune=None if self.tune is None else self.tune.smaller(),
            is_quick=True,
        )

    @property
    def folder_name(self) -> str:
        """A name for the folder of its records: letters, digits and dashes.

        Example:
            >>> from cranium import Study
            >>> Study("My study!", {"b": ("Letter", "A B")}, {"c": "cql"}, steps=9).folder_name
            'my-study'
        """
        words = "".join(each if each.isalnum() else " " for each in self.name.lower()).split()
        return "-".join([*words, *(["quick"] if self.is_quick else [])]) or "study"

    @property
    def trials(self) -> list[Job]:
        """All trials that are known before anything has run, with their seeds.

        Example:
            >>> from cranium import Study
            >>> study = Study("a", {"b": ("Letter", "A B")}, {"c": "cql"}, seeds=2, steps=100)
            >>> [job.seed for job in study.trials]
            [0, 1]
        """
        return self.jobs(Store(Path(os.devnull)))

    def jobs(self, store: Store) -> list[Job]:
        """All trials that are known, given the results in the store: tuning comes first.

        Example:
            >>> from cranium import Study
            >>> study = Study("a", {"b": ("Letter", "A B")}, {"c": "cql"}, seeds=2, steps=100)
            >>> [job.trial.stage for job in study.jobs(Store(Path("nowhere")))]
            ['final', 'final']
        """
        return [
            job
            for problem in self.problems
            for learner in self.learners
            for job in self._jobs_of(problem, learner, store)
        ]

    def _jobs_of(self, problem: str, learner: str, store: Store) -> Iterator[Job]:
        """The jobs of one learner on one problem."""
        tried: list[Tried] = []
        contender = self._contenders[learner]
        while self.tune is not None:
            batch = self.tune.propose(contender.defaults, tried)
            if not batch:
                break
            groups = [self._tuning_jobs(problem, learner, each) for each in batch]
            for group in groups:
                yield from group
            records = [[store.find(job) for job in group] for group in groups]
            if any(record is None for group in records for record in group):
                return  # what is best is not known yet
            tried += [
                Tried(settings, self._score([each for each in group if each is not None]))
                for settings, group in zip(batch, records, strict=True)
            ]
        trial = self._trial(problem, learner, best_of(tried), "final")
        yield from (Job(trial, seed) for seed in range(self.seeds))

    def _tuning_jobs(self, problem: str, learner: str, settings: Mapping[str, Any]) -> list[Job]:
        assert self.tune is not None
        trial = self._trial(problem, learner, settings, "tuning")
        return [Job(trial, TUNING_SEED + seed) for seed in range(self.tune.seeds)]

    def _score(self, records: Sequence[Record]) -> float:
        values = [self._measure.read(record) for record in records if record.done]
        failed = any(not record.done for record in records)
        lower = self._measure.lower_is_better
        return score_of(values, lower_is_better=lower, budget=self.steps, failed=failed)

    def _trial(
        self,
        problem: str,
        learner: str,
        chosen: Mapping[str, Any],
        stage: Literal["tuning", "final"],
    ) -> StudyTrial:
        contender = self._contenders[learner]
        own = None if isinstance(self.measure, str) else self.measure
        settings = {**contender.settings, **chosen}
        solved = self.until == "solved" or (
            self.until is None and self.measure == "samples_to_solve"
        )
        return StudyTrial(
            self.name,
            learner,
            problem,
            stage=stage,
            problem=self._described[problem],
            learner=contender.description,
            settings=contender.resolve(chosen),
            steps=self.steps,
            every=self.evaluate_every,
            until="solved" if solved else None,
            measure=None if own is None else digest_of(own),
            payload=pack(Payload(self._makers[problem], contender.trained, settings, own)),
        )

    def manifest(self, store: Store) -> StudyManifest:
        """What the study consists of, as far as it is known.

        Example:
            >>> from cranium import Study
            >>> study = Study("a", {"b": ("Letter", "A B")}, {"c": "cql"}, seeds=2, steps=100)
            >>> [row.seeds for row in study.manifest(Store(Path("nowhere"))).rows]
            [2]
        """
        rows: dict[tuple[str, ...], list[Job]] = {}
        for job in self.jobs(store):
            trial = job.trial
            rows.setdefault((trial.key, trial.method, trial.case, trial.stage), []).append(job)
        return StudyManifest(
            self.name,
            self._measure.name,
            own_measure=not isinstance(self.measure, str),
            lower_is_better=self._measure.lower_is_better,
            steps=self.steps,
            seeds=self.seeds,
            tuning="" if self.tune is None else self.tune.describe(),
            rows=tuple(_listed(jobs) for jobs in rows.values()),
            is_quick=self.is_quick,
        )


def _listed(jobs: Sequence[Job]) -> ListedRow:
    trial = jobs[0].trial
    assert isinstance(trial, StudyTrial)
    return ListedRow(
        trial.key,
        trial.method,
        trial.case,
        "tuning" if trial.stage == "tuning" else "final",
        min(job.seed for job in jobs),
        len(jobs),
        dict(trial.settings),
    )
