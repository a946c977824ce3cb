"""Appendix E: learning curves for the mail-and-coffee task of the office."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

from cranium.experiments.configs import (
    MOST_COUNTED,
    MOST_SAMPLES,
    MOST_TUNING_TRIALS,
    ExperimentConfig,
    check_limit,
    check_names,
    register,
)
from cranium.experiments.grid_search import list_settings, tune
from cranium.experiments.letter import METHODS, REWARD_MACHINES
from cranium.experiments.records import Store
from cranium.experiments.trial import Job, TrainingTrial

__all__ = ["OfficeConfig"]

PLANNED = 10_000
"""The number of samples at which the curve of the planner ends."""


@register
@dataclass(frozen=True)
class OfficeConfig(ExperimentConfig):
    """The office experiment: every method with its best settings and the same budget.

    Attributes:
        trials: The number of seeds.
        mail: The greatest number of items of mail; the least is one.
        methods: The methods that are compared, from ``letter.METHODS``.
        tuning_trials: The number of seeds on which each candidate setting is tried.
        budget: The number of samples of each trial.

    Example:
        >>> OfficeConfig(mail=3).case
        'up to 3 items of mail'
    """

    name = "office"
    place = 2
    title = "Mail and coffee in the office"

    trials: int = 20
    mail: int = 5
    methods: tuple[str, ...] = ("QL", "CQL", "CQL all+RS", "CRM", "CRM+RS", "planner")
    tuning_trials: int = 3
    budget: int = 300_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("method", self.methods, list(METHODS))
        check_limit("mail", self.mail, MOST_COUNTED)
        check_limit("tuning_trials", self.tuning_trials, MOST_TUNING_TRIALS)
        check_limit("budget", self.budget, MOST_SAMPLES)

    @property
    def case(self) -> str:
        """The name of the case."""
        return f"up to {self.mail} items of mail"

    def quick(self) -> Self:
        """Three seeds, two items of mail."""
        return replace(
            self,
            trials=min(self.trials, 3),
            mail=min(self.mail, 2),
            tuning_trials=1,
            budget=min(self.budget, 100_000),
            is_quick=True,
        )

    def cpu_seconds(self) -> float:
        """An estimate from earlier runs."""
        runs = self.trials + 12 * self.tuning_trials
        return 10 + 0.4e-6 * runs * len(self.methods) * self.budget * self.mail

    def jobs(self, store: Store) -> list[Job]:
        """First the tuning, then learning curves with the best settings."""
        jobs = []
        for trial in self.candidates():
            candidates = list_settings(METHODS[trial.method][2])
            more, best = tune(trial, candidates, self.tuning_trials, self.budget, store)
            jobs += more
            if best is not None:
                quick = trial.learner == "planner"  # which needs far fewer samples
                steps, looks = (min(PLANNED, self.budget), 100) if quick else (self.budget, 200)
                every = max(steps // looks, 1)
                curve = replace(best, until=None, steps=steps, every=every)
                jobs += [Job(curve, seed) for seed in range(self.trials)]
        return jobs

    def candidates(self) -> Iterator[TrainingTrial]:
        """A trial for each method, which stops when the task is solved."""
        for method in self.methods:
            learner, settings, _ = METHODS[method]
            yield TrainingTrial(
                self.name,
                method,
                self.case,
                world="Office",
                task="office",
                learner=learner,
                options={"mail": [1, self.mail]},
                unroll=self.mail if method in REWARD_MACHINES else None,
                settings=settings,
                steps=self.budget,
                every=1_000,
            )
