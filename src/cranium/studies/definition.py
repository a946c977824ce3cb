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
from cranium.experiments.limits import Limits, make_limits
from cranium.experiments.manifest import StudyManifest, list_rows
from cranium.experiments.measures import OWN, Measure, find_measure
from cranium.experiments.records import Record, Store
from cranium.experiments.study_trial import Payload, Recorded, StudyTrial, pack
from cranium.experiments.trial import Job
from cranium.experiments.tuning import Candidates, Search, Tried, best_of, score_of
from cranium.learners import TrainingResult
from cranium.studies.contenders import Contender, Method, read_contender
from cranium.studies.digests import digest_of
from cranium.studies.problems import MakeEnv, describe_problem, read_problem
from cranium.studies.recorded import RecordValue, read_recorded

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
    until: Literal["solved", "budget"] | int | None = field(default=None, kw_only=True)
    evaluate_every: int | None = field(default=None, kw_only=True)
    record: Mapping[str, RecordValue] = field(default_factory=dict, kw_only=True)
    log: bool = field(default=False, kw_only=True)
    trial_memory: str | int | None = field(default=None, kw_only=True)
    trial_time: str | float | None = field(default=None, kw_only=True)
    is_quick: bool = field(default=False, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip() or not self.name.isprintable():
            raise InvalidArgumentError(
                f"the name of a study is a text, not {shorten(self.name)}", fix='such as "parcels"'
            )
        _check_names("problems", self.problems)
        _check_names("learners", self.learners)
        if check_count("seeds", self.seeds) > MOST_SEEDS:
            raise InvalidArgumentError(
                f"a study has at most {MOST_SEEDS:,} seeds", fix="a hundred are many already"
            )
        if isinstance(self.until, int):
            check_count("until", self.until)
        elif self.until not in (None, "solved", "budget"):
            raise InvalidArgumentError(
                f"until is 'solved', 'budget' or a number, not {shorten(self.until)}",
                fix="leave it out: it follows from the measure",
            )
        check_count("steps", self.steps)
        _check_limits(self)
        for method in self._methods.values():
            if method.problems is not None:
                _check_names("problems", method.problems)
            _check_limits(method)
        self._measure, self._trial_limits  # noqa: B018 - what is wrong is an error now
        self._makers, self._contenders, self._recorded  # noqa: B018

    @property
    def _measure(self) -> Measure:
        lower = self.lower_is_better
        if isinstance(self.measure, str) and self.measure in self.record:
            return find_measure(self.measure, field=self.measure, lower_is_better=lower)
        if isinstance(self.measure, str):
            return find_measure(self.measure)
        if not callable(self.measure):
            raise InvalidArgumentError(
                f"measure is {shorten(self.measure)}", fix="give a name, or a function of a result"
            )
        name = getattr(self.measure, "__name__", type(self.measure).__name__)
        return find_measure(name, field=OWN, lower_is_better=lower)

    @cached_property
    def _recorded(self) -> dict[str, Recorded]:
        return {name: read_recorded(name, value) for name, value in self.record.items()}

    @cached_property
    def _trial_limits(self) -> Limits:
        return make_limits(self.trial_memory, self.trial_time)

    @cached_property
    def _methods(self) -> dict[str, Method]:
        """What each learner has of its own."""
        return {
            name: value if isinstance(value, Method) else Method(value)
            for name, value in self.learners.items()
        }

    @cached_property
    def _contenders(self) -> dict[str, Contender]:
        return {name: read_contender(name, value) for name, value in self.learners.items()}

    @cached_property
    def _makers(self) -> dict[str, dict[str, MakeEnv]]:
        """How the problems of each learner are made."""
        shared = {name: read_problem(name, value) for name, value in self.problems.items()}
        return {
            learner: shared
            if method.problems is None
            else {name: read_problem(name, value) for name, value in method.problems.items()}
            for learner, method in self._methods.items()
        }

    @cached_property
    def _described(self) -> dict[tuple[str, str], dict[str, Any]]:
        """What is hashed of each learner's problems. Each is made once."""
        known: dict[int, dict[str, Any]] = {}
        found = {}
        for learner, makers in self._makers.items():
            for name, make in makers.items():
                if id(make) not in known:
                    known[id(make)] = describe_problem(name, make)
                found[learner, name] = known[id(make)]
        return found

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
            steps=_make_fewer(self.steps),
            evaluate_every=self.evaluate_every and max(self.evaluate_every // 20, 1),
            tune=None if self.tune is None else self.tune.smaller(),
            learners={name: _make_smaller(value) for name, value in self.learners.items()},
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
        every = dict.fromkeys(
            [*self.problems, *(x for each in self._makers.values() for x in each)]
        )
        return [
            job
            for problem in every
            for learner in self.learners
            if problem in self._makers[learner]
            for job in self._jobs_of(problem, learner, store)
        ]

    def _jobs_of(self, problem: str, learner: str, store: Store) -> Iterator[Job]:
        """The jobs of one learner on one problem."""
        tried: list[Tried] = []
        contender, search = self._contenders[learner], self._methods[learner].tune or self.tune
        while search is not None:
            batch = search.propose(contender.defaults, tried)
            if not batch:
                break
            trials = [self._trial(problem, learner, each, search) for each in batch]
            groups = [
                [Job(trial, TUNING_SEED + seed) for seed in range(search.seeds)] for trial in trials
            ]
            for group in groups:
                yield from group
            records = [[store.find(job) for job in group] for group in groups]
            if any(record is None for group in records for record in group):
                return  # what is best is not known yet
            tried += [
                Tried(settings, self._score([each for each in group if each is not None], trial))
                for settings, trial, group in zip(batch, trials, records, strict=True)
            ]
        trial = self._trial(problem, learner, best_of(tried))
        yield from (Job(trial, seed) for seed in range(self.seeds))

    def _score(self, records: Sequence[Record], trial: StudyTrial) -> float:
        values = [self._measure.read(record) for record in records if record.done]
        failed = any(not record.done for record in records)
        lower = self._measure.lower_is_better
        return score_of(values, lower_is_better=lower, budget=trial.steps, failed=failed)

    def _trial(
        self,
        problem: str,
        learner: str,
        chosen: Mapping[str, Any],
        search: Search | None = None,
    ) -> StudyTrial:
        """The trials of a learner on a problem; those of a search, if one is given."""
        contender = self._contenders[learner]
        own = None if isinstance(self.measure, str) else self.measure
        settings = {**contender.settings, **chosen}
        maker, recorded = self._makers[learner][problem], self._recorded
        return StudyTrial(
            self.name,
            learner,
            problem,
            stage="final" if search is None else "tuning",
            fields={name: each.kind for name, each in recorded.items()},
            problem=self._described[learner, problem],
            learner=contender.description,
            settings=contender.resolve(chosen),
            measure=None if own is None else digest_of(own),
            record={name: digest_of(each.compute) for name, each in recorded.items()},
            payload=pack(Payload(maker, contender.trained, settings, own, recorded, log=self.log)),
            limits=self._trial_limits,
            **self._limits(problem, self._methods[learner], search),
        )

    def _limits(self, problem: str, method: Method, search: Search | None) -> dict[str, Any]:
        """The budget of a trial, when it ends earlier, and how often it is evaluated."""
        until = self.until
        if until is None:
            until = "solved" if self.measure == "samples_to_solve" else "budget"
        steps, every = method.steps or self.steps, method.evaluate_every or self.evaluate_every
        if isinstance(search, Candidates):
            told = search.steps
            own = told.get(problem) if isinstance(told, Mapping) else told
            steps, until = own or steps, search.until or until
            every = search.evaluate_every or every
        return {"steps": steps, "every": every, "until": None if until == "budget" else until}

    def manifest(self, store: Store) -> StudyManifest:
        """What the study consists of, as far as it is known.

        Example:
            >>> from cranium import Study
            >>> study = Study("a", {"b": ("Letter", "A B")}, {"c": "cql"}, seeds=2, steps=100)
            >>> [row.seeds for row in study.manifest(Store(Path("nowhere"))).rows]
            [2]
        """
        own = not isinstance(self.measure, str) or self.measure in self.record
        return StudyManifest(
            self.name,
            self._measure.name,
            measure_field=("" if not own else OWN if callable(self.measure) else self.measure),
            lower_is_better=self._measure.lower_is_better,
            steps=self.steps,
            seeds=self.seeds,
            tuning=self.tuning,
            rows=list_rows(self.jobs(store)),
            is_quick=self.is_quick,
        )

    @property
    def tuning(self) -> str:
        """How settings are chosen, in a sentence; empty if they are not."""
        searches = [self.tune, *(method.tune for method in self._methods.values())]
        return " ".join(dict.fromkeys(each.describe() for each in searches if each is not None))


def _check_names(what: str, given: object) -> None:
    if not isinstance(given, Mapping) or not given:
        raise InvalidArgumentError(
            f"{what} is {shorten(given)}", fix=f"give {what} by name: {what}={{'name': …}}"
        )
    for name in given:
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise InvalidArgumentError(
                f"one of the {what} is called {shorten(name)}", fix="call it by a text"
            )


def _check_limits(owner: StudyDefinition | Method) -> None:
    """Check the budget and the search of a study or of one of its learners."""
    for name in ("steps", "evaluate_every"):
        if getattr(owner, name) is not None:
            check_count(name, getattr(owner, name))
    if owner.tune is not None and not callable(getattr(owner.tune, "propose", None)):
        raise InvalidArgumentError(
            f"tune is {shorten(owner.tune)}", fix="such as cranium.Grid(learning_rate=[0.1, 1])"
        )


def _make_fewer(steps: int) -> int:
    return max(steps // 20, min(steps, 200))


def _make_smaller(learner: Any) -> Any:
    """A learner for the quick version: with what is its own made smaller."""
    if not isinstance(learner, Method):
        return learner
    return replace(
        learner,
        steps=learner.steps and _make_fewer(learner.steps),
        evaluate_every=learner.evaluate_every and max(learner.evaluate_every // 20, 1),
        tune=learner.tune and learner.tune.smaller(),
    )
