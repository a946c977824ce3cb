"""Toro Icarte's office tasks: our baselines compared with the published numbers.

The published protocol measures the reward per step of training episodes, with exploration, averaged
over the last 100 episodes (400 if there are four tasks), relative to that of the optimal policy
with the same exploration. Methods are compared by when this reaches 0.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from cranium.experiments.configs import (
    MOST_SAMPLES,
    ExperimentConfig,
    check_limit,
    check_names,
    register,
)
from cranium.experiments.records import Store
from cranium.experiments.trial import Job, TrainingTrial

__all__ = ["BASELINES", "CASES", "PUBLISHED", "RewardMachinesConfig"]

_COMMON = {"learning_rate": 0.5, "discount": 0.9, "exploration": 0.1, "initial_value": 2.0}
BASELINES: dict[str, tuple[str, dict[str, Any]]] = {
    "QL": ("ql", _COMMON),
    "QL+RS": ("ql", {**_COMMON, "shaping": "published"}),
    "CRM": ("crm", _COMMON),
    "CRM+RS": ("crm", {**_COMMON, "shaping": "published"}),
    "HRM": ("hrm", _COMMON),
}
"""The published settings."""
CASES = {
    "coffee and mail": "toro-coffee-mail",
    "all four": "toro-coffee+toro-mail+toro-coffee-mail+toro-patrol",
}
REACHED = 0.9
PUBLISHED: dict[tuple[str, str], int | None] = {
    ("coffee and mail", "QL"): 48_000,
    ("coffee and mail", "QL+RS"): 31_000,
    ("coffee and mail", "CRM"): 22_000,
    ("coffee and mail", "CRM+RS"): 18_000,
    ("all four", "QL"): None,
    ("all four", "CRM"): 31_000,
    ("all four", "CRM+RS"): 28_000,
    ("all four", "HRM"): 26_000,
}
"""The published medians of the samples until 0.9 of the optimum; None: not within 100,000."""
PUBLISHED_SHARES = {("coffee and mail", "HRM"): 0.72, ("all four", "HRM"): 0.93}
"""The published share of the optimum at which HRM ends."""
PUBLISHED_WAYS = (11, 23)
"""The lengths of the shortest successful episodes of two tasks in the published logs."""


@register
@dataclass(frozen=True)
class RewardMachinesConfig(ExperimentConfig):
    """The reward-machine baselines.

    Attributes:
        trials: The number of seeds; 30 were published.
        methods: The methods that are compared, from ``BASELINES``.
        cases: The cases that are run, from ``CASES``.
        budget: The number of samples of each trial.

    Example:
        >>> RewardMachinesConfig(trials=5).budget
        100000
    """

    name = "reward-machines"
    place = 3
    title = "Reward machines in Toro Icarte's office"

    trials: int = 30
    methods: tuple[str, ...] = tuple(BASELINES)
    cases: tuple[str, ...] = tuple(CASES)
    budget: int = 100_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("method", self.methods, list(BASELINES))
        check_names("case", self.cases, list(CASES))
        check_limit("budget", self.budget, MOST_SAMPLES)

    @property
    def measure(self) -> str:
        """The name of the quantity that is summarised."""
        return f"samples until {REACHED} of the optimum"

    def value(self, result: Mapping[str, Any]) -> float | None:
        """The samples at which the reward per step first reaches 0.9 of the optimum."""
        return next((samples for samples, share in result["rates"] if share >= REACHED), None)

    def quick(self) -> Self:
        """Three seeds."""
        return replace(self, trials=min(self.trials, 3), is_quick=True)

    def cpu_seconds(self) -> float:
        """An estimate from earlier runs."""
        return 10 + 1e-6 * self.trials * len(self.methods) * len(self.cases) * self.budget

    def jobs(self, store: Store) -> list[Job]:  # noqa: ARG002
        """Every baseline on every case."""
        trials = [
            TrainingTrial(
                self.name,
                method,
                case,
                world="ToroOffice",
                task=CASES[case],
                learner=BASELINES[method][0],
                settings=BASELINES[method][1],
                steps=self.budget,
                every=max(self.budget // 20, 1),
                until=None,
                window=100 * len(CASES[case].split("+")),
            )
            for case in self.cases
            for method in self.methods
        ]
        return [Job(trial, seed) for trial in trials for seed in range(self.trials)]
