"""Figure "deep": networks in the office, and a counting task on which they differ.

The paper gives the methods that imagine |U| times the batch of DQN. Here DQN is run with the larger
batch, too, so that what imagining gains can be told from what a larger batch gains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from cranium.errors import check_count
from cranium.experiments.configs import ExperimentConfig, check_names, register
from cranium.experiments.records import Store
from cranium.experiments.trial import Job, TrainingTrial
from cranium.learners.deep import require_jax

__all__ = ["NetworksConfig", "one_number"]

BATCH = 32
STATES = 2
"""|U|: the states of the delivery machine in which it goes on."""
IMAGINED = 4
"""How many configurations are imagined for each experience with letters."""
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "DQN": ("dqn", {}),
    "DQN, same batch": ("dqn", {}),
    "CRM": ("dcrm", {}),
    "CQL": ("cdqn", {}),
    "CQL heads": ("cdqn", {"heads": True}),
}
"""The learner of each, and its settings; all others are the defaults."""
PUBLISHED, ANYWHERE, LETTERS = "office, as published", "office, any start", "letters, N drawn"
CASES = (PUBLISHED, ANYWHERE, LETTERS)
PAPER: dict[str, Any] = {
    "learning_rate": 1e-4,
    "discount": 0.99,
    "double": False,
    "target_every": 500,
    "exploration": {"first": 1.0, "last": 0.05, "over": 1_200, "unit": "samples"},
}
"""Appendix H has the network, the learning rate, the replay and the batch. What it leaves out is as
in Stable-Baselines3's DQN, but for the target network, which that copies every 10,000 samples."""
NEAREST: dict[str, Any] = {
    **PAPER,
    "discount": 0.95,
    "exploration": {"first": 1.0, "last": 0.1, "over": 10_000, "unit": "samples"},
}
"""What has to change besides the start and the budget, until anything is learned in the office
(``benchmarks/deviation.py`` leaves out one after the other)."""


def one_number(count: int) -> str:
    """The case of a machine for one N."""
    return f"letters, N = {count}"


@register
@dataclass(frozen=True)
class NetworksConfig(ExperimentConfig):
    """The experiment with networks.

    Attributes:
        trials: How many seeds (the paper has 10).
        methods: Those of ``METHODS`` that are compared.
        cases: Those of ``CASES`` that are run.
        times: With letters, N is drawn from 1 to this.
        published: The budget of the office as in the paper.
        budget: The budget of the office that is begun anywhere.
        letters: The budget of the letters.

    Example:
        >>> NetworksConfig(trials=2, cases=("letters, N drawn",)).times
        3
    """

    name = "deep"
    place = 4
    title = "Networks"

    trials: int = 20
    methods: tuple[str, ...] = tuple(METHODS)
    cases: tuple[str, ...] = CASES
    times: int = 3
    published: int = 12_000
    budget: int = 40_000
    letters: int = 40_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("method", self.methods, list(METHODS))
        check_names("case", self.cases, CASES)
        for name in ("times", "published", "budget", "letters"):
            check_count(name, getattr(self, name))

    def require(self) -> None:
        """JAX."""
        require_jax("cdqn")

    def quick(self) -> Self:
        """One seed, and budgets in which nothing is learned: to see that it works."""
        few = {name: min(getattr(self, name), 500) for name in ("published", "budget", "letters")}
        return replace(self, trials=1, times=min(self.times, 2), **few)

    def cpu_seconds(self) -> float:
        """From what it took where this was written."""
        steps = sum(job.trial.steps for job in self._all(1) if isinstance(job.trial, TrainingTrial))
        return 20 + 0.45e-3 * self.trials * steps

    def jobs(self, store: Store) -> list[Job]:  # noqa: ARG002 - nothing is tuned
        """Every method on every case."""
        return self._all(self.trials)

    def _all(self, trials: int) -> list[Job]:
        kinds = {PUBLISHED: self._published, ANYWHERE: self._anywhere, LETTERS: self._letters}
        found = []
        for case in self.cases:
            for method in self.methods:
                for trial in kinds[case](method):
                    found += [Job(trial, seed) for seed in range(trials)]
        return found

    def _published(self, method: str) -> Iterator[TrainingTrial]:
        yield self._office(method, PUBLISHED, {"mail": None}, PAPER, self.published)

    def _anywhere(self, method: str) -> Iterator[TrainingTrial]:
        options = {"mail": None, "start": "anywhere"}
        yield self._office(method, ANYWHERE, options, NEAREST, self.budget)

    def _office(
        self, method: str, case: str, options: Any, settings: Mapping[str, Any], steps: int
    ) -> TrainingTrial:
        learner, own = METHODS[method]
        batch = BATCH * (STATES if method == "DQN, same batch" else 1)
        return TrainingTrial(
            self.name,
            method,
            case,
            world="Office",
            task="mail-delivery",
            learner=learner,
            options=options,
            settings={**settings, **own, "batch": batch},
            steps=steps,
            every=max(steps // 30, 1),
            until=None,
        )

    def _letters(self, method: str) -> Iterator[TrainingTrial]:
        """One machine for all N; without counters one for each."""
        learner, own = METHODS[method]
        many = method == "DQN, same batch"
        settings = {**own, "batch": BATCH * (IMAGINED if many else 1)}
        if learner != "dqn" and not own:
            settings["imagined"] = IMAGINED
        trial = TrainingTrial(
            self.name,
            method,
            LETTERS,
            world="Letter",
            task="anbcdn",
            learner=learner,
            options={"times": [1, self.times]},
            settings=settings,
            steps=self.letters,
            every=max(self.letters // 40, 1),
            until=None,
        )
        if learner != "dcrm":
            yield trial
            return
        for count in range(1, self.times + 1):
            yield replace(trial, case=one_number(count), options={"times": count}, unroll=count)
