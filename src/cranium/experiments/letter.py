"""Figure "letter-res": the number of samples until A^N B C D^N is learned.

There are two protocols. ``fair`` counts training samples until the greedy policy solves every
instance, with the Markov observation and equal tuning. Reward machines are trained for each N; the
machine with counters is also trained once, with N sampled from all values. ``paper`` has the
published schedule and stopping rule, and observes the cell only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from cranium.arguments import check_count
from cranium.errors import InvalidArgumentError, shorten
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
from cranium.experiments.records import Store
from cranium.experiments.trial import Job, TrainingTrial

__all__ = ["METHODS", "LetterConfig"]

Method = tuple[str, dict[str, Any], str]
METHODS: dict[str, Method] = {
    "QL": ("ql", {}, "ql"),
    "CQL": ("cql", {"configurations": "seen"}, "cql"),
    "CQL all": ("cql", {"configurations": "reachable"}, "cql"),
    "CQL all+RS": ("cql", {"configurations": "reachable", "shaping": True}, "cql+rs"),
    "CRM": ("crm", {}, "crm"),
    "CRM+RS": ("crm", {"shaping": True}, "crm+rs"),
    "HRM": ("hrm", {}, "hrm"),
    "planner": ("planner", {}, "planner"),
}
"""For each method the id of the learner, its settings, and its grid in ``grid_search.GRIDS``. The
counterfactual configurations of CQL are those with counter values seen so far, as in the paper;
those of "CQL all" are all reachable ones."""
IN_THE_PAPER = ("QL", "CQL", "CRM", "CRM+RS")
REWARD_MACHINES = ("CRM", "CRM+RS", "HRM")
EPISODES = {1: 25_000, 2: 50_000, 3: 100_000, 4: 1_000_000, 5: 1_000_000}
"""The published numbers of episodes for each N. Exploration falls over the first half of them."""
STREAK = 100


def name_range_of_times(times: tuple[int, ...]) -> str:
    """The name of the case in which N is sampled."""
    return f"N = {min(times)} to {max(times)}"


@register
@dataclass(frozen=True)
class LetterConfig(ExperimentConfig):
    """The letter experiment.

    Attributes:
        trials: The number of seeds.
        protocol: ``"fair"`` or ``"paper"``.
        times: The values of N.
        methods: The methods that are compared, from ``METHODS``.
        tuning_trials: The number of seeds on which each candidate setting is tried.
        budget: The number of samples after which a trial counts as not solved.

    Example:
        >>> LetterConfig(trials=2, methods=("CQL", "planner")).times
        (1, 2, 3, 4, 5)
    """

    name = "letter"
    place = 0
    title = "Samples to learn A^N B C D^N"

    trials: int = 40
    protocol: Literal["fair", "paper"] = "fair"
    times: tuple[int, ...] = (1, 2, 3, 4, 5)
    methods: tuple[str, ...] = tuple(METHODS)
    tuning_trials: int = 5
    budget: int = 3_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("method", self.methods, list(METHODS))
        check_limit("tuning_trials", self.tuning_trials, MOST_TUNING_TRIALS)
        check_limit("budget", self.budget, MOST_SAMPLES)
        if self.protocol not in ("fair", "paper"):
            raise InvalidArgumentError(f"a protocol is fair or paper, not {self.protocol!r}")
        if not self.compared:
            raise InvalidArgumentError(
                f"the paper has no {', '.join(self.methods)}",
                fix=f"it has {', '.join(IN_THE_PAPER)}",
            )
        if not self.times or list(self.times) != sorted(set(self.times)):
            raise InvalidArgumentError(f"times are numbers that grow, not {self.times}")
        for value in self.times:
            check_count("N", value)
            if value > MOST_COUNTED:
                raise InvalidArgumentError(
                    f"N is at most {MOST_COUNTED} here, not {shorten(value)}"
                )
            if self.protocol == "paper" and value not in EPISODES:
                raise InvalidArgumentError(f"the paper has schedules for N = 1 to 5, not {value}")

    @property
    def variants(self) -> tuple[str, ...]:
        """The published protocol is a variant."""
        return (*(("paper",) if self.protocol == "paper" else ()), *super().variants)

    @property
    def whole(self) -> bool:
        """Whether the times are a whole range, so that one machine can be compared with many."""
        low, high = min(self.times), max(self.times)
        return 1 < len(self.times) == high - low + 1

    @property
    def compared(self) -> tuple[str, ...]:
        """The methods that the protocol has: the paper has four of them."""
        known = METHODS if self.protocol == "fair" else IN_THE_PAPER
        return tuple(method for method in known if method in self.methods)

    @property
    def measure(self) -> str:
        """The name of the quantity that is summarised."""
        return super().measure if self.protocol == "fair" else f"samples until {STREAK} in a row"

    def value(self, result: Mapping[str, Any]) -> float | None:
        """Samples until the greedy policy solves the task, or until the published streak."""
        return super().value(result if self.protocol == "fair" else {"samples": result["streak"]})

    def quick(self) -> Self:
        """Three seeds, two values of N."""
        few, times = min(self.trials, 3), self.times[:2]
        return replace(self, trials=few, times=times, tuning_trials=1, is_quick=True)

    def cpu_seconds(self) -> float:
        """An estimate from earlier runs."""
        if self.protocol == "paper":
            each = {1: 0.15, 2: 0.2, 3: 0.3, 4: 2.5, 5: 3.0}
            return self.trials * len(self.compared) * sum(each[value] for value in self.times)
        each_n: float = sum(0.03 + 0.0012 * value**2.2 for value in self.times)
        runs = self.trials + 12 * self.tuning_trials
        return 10 + runs * len(self.compared) * (each_n + 0.004 * max(self.times) ** 2)

    def jobs(self, store: Store) -> list[Job]:
        """First the tuning, then every method with its best settings."""
        jobs = []
        for trial in self.trials_of_paper() if self.protocol == "paper" else self.fair_trials():
            best: TrainingTrial | None = trial
            if self.protocol == "fair":
                candidates = list_settings(METHODS[trial.method][2])
                most = max(100_000, 5_000 * int(np.max(trial.options["times"])) ** 2)
                more, best = tune(trial, candidates, self.tuning_trials, most, store)
                jobs += more
            if best is not None:
                jobs += [Job(best, seed) for seed in range(self.trials)]
        return jobs

    def fair_trials(self) -> Iterator[TrainingTrial]:
        """A trial for each method and case."""
        for method in self.compared:
            for value in self.times:
                yield self._fair(method, f"N = {value}", value, value)
            if method not in REWARD_MACHINES and self.whole:
                span = [min(self.times), max(self.times)]
                yield self._fair(method, name_range_of_times(self.times), span, max(self.times))

    def _fair(self, method: str, case: str, times: Any, most: int) -> TrainingTrial:
        learner, settings, _ = METHODS[method]
        return TrainingTrial(
            self.name,
            method,
            case,
            world="Letter",
            task="anbcdn",
            learner=learner,
            options={"times": times},
            unroll=most if method in REWARD_MACHINES else None,
            settings=settings,
            steps=self.budget,
            every=20 if learner == "planner" else 100,
        )

    def trials_of_paper(self) -> Iterator[TrainingTrial]:
        """The published settings: learning rate 0.01, ε from 1 to 0.01, a streak of successes."""
        for method in self.compared:
            for value in self.times:
                learner, settings, _ = METHODS[method]
                exploration = {
                    "first": 1.0,
                    "last": 0.01,
                    "over": EPISODES[value] // 2,
                    "unit": "episodes",
                }
                more = {"learning_rate": 0.01, "discount": 0.99, "initial_value": 0.0}
                yield TrainingTrial(
                    self.name,
                    method,
                    f"N = {value}",
                    world="Letter",
                    task="anbcdn",
                    learner=learner,
                    options={"times": value, "observation": "cell"},
                    unroll=value if method in REWARD_MACHINES else None,
                    settings={**settings, **more, "exploration": exploration},
                    steps=100 * EPISODES[value],
                    every=50_000,
                    until=STREAK,
                    tested_on={"times": [min(self.times), max(self.times)], "observation": "cell"}
                    if method not in REWARD_MACHINES
                    else None,
                )
