"""Figure "office-comp": the size of machines as a function of the greatest count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from cranium.experiments.configs import ExperimentConfig, check_limit, register
from cranium.experiments.records import Store
from cranium.experiments.trial import ComplexityTrial, Job

__all__ = ["MACHINES", "ComplexityConfig"]

MACHINES = {"office": "items of mail", "anbcdn": "N"}
"""The machines that are unrolled, and what they count."""
MOST = 200
"""The greatest limit for unrolling: with two counters the size grows with its square."""


@register
@dataclass(frozen=True)
class ComplexityConfig(ExperimentConfig):
    """States and transitions of the automaton, and of the equivalent reward machines.

    Attributes:
        trials: The number of repetitions. The sizes are the same; the shortest time is shown.
        most: The greatest number of items of mail, and the greatest N.

    Example:
        >>> ComplexityConfig(most=10).most
        10
    """

    name = "complexity"
    place = 1
    title = "The size of machines"

    trials: int = 3
    most: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limit("most", self.most, MOST)

    @property
    def measure(self) -> str:
        """The name of the quantity that is summarised."""
        return "states"

    def value(self, result: Mapping[str, Any]) -> float | None:
        """The number of states."""
        return float(result["states"])

    def quick(self) -> Self:
        """At most ten items."""
        return replace(self, most=min(self.most, 10), is_quick=True)

    def cpu_seconds(self) -> float:
        """An estimate from earlier runs."""
        return 5 + 1e-4 * self.most**3

    def jobs(self, store: Store) -> list[Job]:  # noqa: ARG002
        """The automaton once, the reward machine for each limit."""
        trials = []
        for machine, unit in MACHINES.items():
            trials.append(ComplexityTrial(self.name, "CRA", f"any {unit}", machine))
            trials += [
                ComplexityTrial(self.name, "RM", f"{limit} {unit}", machine, limit)
                for limit in range(1, self.most + 1)
            ]
        return [Job(trial, seed) for trial in trials for seed in range(self.trials)]
