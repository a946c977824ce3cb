"""Figure "deep": deep learners in the office, and two counting tasks on which they differ.

In the paper the counterfactual methods have |U| times the batch of DQN. Here DQN is also run with
the larger batch, to separate the gain of counterfactuals from the gain of a larger batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from cranium.experiments.configs import (
    MOST_COUNTED,
    MOST_SAMPLES,
    ExperimentConfig,
    check_limit,
    check_names,
    register,
)
from cranium.experiments.records import Store
from cranium.experiments.trial import Job, TrainingTrial
from cranium.learners.deep import require_jax

__all__ = ["NetworksConfig", "name_single_count"]

BATCH = 32
STATES = 2
"""|U|: the number of non-terminal states of the delivery machine."""
IMAGINED = 4
"""The number of counterfactual configurations for each transition in the letters case."""
BUDGETS = ("published", "budget", "letters", "mail")
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "DQN": ("dqn", {}),
    "DQN, same batch": ("dqn", {}),
    "CRM": ("dcrm", {}),
    "CQL": ("cdqn", {}),
    "CQL heads": ("cdqn", {"heads": True}),
}
"""For each method the id of the learner and its settings; all others are the defaults."""
PUBLISHED, ANYWHERE = "office, as published", "office, any start"
LETTERS, MAIL = "letters, N drawn", "mail, N drawn"
CASES = (PUBLISHED, ANYWHERE, LETTERS, MAIL)
COUNTING = (LETTERS, MAIL)
"""The cases with counters: CRM has a network for each N, the other methods one for all N."""
PAPER: dict[str, Any] = {
    "learning_rate": 1e-4,
    "discount": 0.99,
    "double": False,
    "target_every": 500,
    "exploration": {"first": 1.0, "last": 0.05, "over": 1_200, "unit": "samples"},
}
"""Appendix H gives the network, the learning rate, the replay buffer and the batch. All else is as
in Stable-Baselines3's DQN, except for the target network, which is copied every 10,000 samples
there."""
NEAREST: dict[str, Any] = {
    **PAPER,
    "discount": 0.95,
    "exploration": {"first": 1.0, "last": 0.1, "over": 10_000, "unit": "samples"},
}
"""The settings that have to change, besides the start and the budget, before anything is learned in
the office (``benchmarks/deviation.py`` leaves out one after the other)."""


def name_single_count(case: str, count: int) -> str:
    """The name of a case with counters if the machine is for a single N.

    Example:
        >>> name_single_count("mail, N drawn", 2)
        'mail, N = 2'
    """
    return f"{case.removesuffix(' drawn')} = {count}"


def count_delivery_configurations(times: int) -> int:
    """Count the non-terminal configurations with up to so many items of mail.

    While items are collected the counter is 0 to ``times``; while they are delivered it is 1 to
    ``times``.
    """
    return 2 * times + 1


@register
@dataclass(frozen=True)
class NetworksConfig(ExperimentConfig):
    """The experiment with deep learners.

    Attributes:
        trials: The number of seeds (the paper has 10).
        methods: The methods that are compared, from ``METHODS``.
        cases: The cases that are run, from ``CASES``.
        times: In the counting cases N is sampled from 1 to this.
        published: The number of samples in the office as in the paper.
        budget: The number of samples in the office with any start.
        letters: The number of samples in the letters case.
        mail: The number of samples in the mail case.

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
    mail: int = 120_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("method", self.methods, list(METHODS))
        check_names("case", self.cases, CASES)
        check_limit("times", self.times, MOST_COUNTED)
        for name in BUDGETS:
            check_limit(name, getattr(self, name), MOST_SAMPLES)

    def require(self) -> None:
        """Require JAX."""
        require_jax("cdqn")

    def quick(self) -> Self:
        """One seed, and budgets that are too small to learn anything."""
        few = {name: min(getattr(self, name), 500) for name in BUDGETS}
        return replace(self, trials=1, times=min(self.times, 2), **few, is_quick=True)

    def cpu_seconds(self) -> float:
        """An estimate from earlier runs."""
        steps = sum(job.trial.steps for job in self._all(1) if isinstance(job.trial, TrainingTrial))
        return 20 + 0.25e-3 * self.trials * steps

    def jobs(self, store: Store) -> list[Job]:  # noqa: ARG002 - nothing is tuned
        """Every method on every case."""
        return self._all(self.trials)

    def _all(self, trials: int) -> list[Job]:
        kinds = {
            PUBLISHED: self._published,
            ANYWHERE: self._anywhere,
            LETTERS: self._letters,
            MAIL: self._mail,
        }
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
        """A^N B C D^N."""
        told = {"world": "Letter", "task": "anbcdn", "steps": self.letters}
        yield from self._counted(method, LETTERS, told, "times", {}, IMAGINED)

    def _mail(self, method: str) -> Iterator[TrainingTrial]:
        """Collect N items of mail, then deliver them; all configurations are counterfactual."""
        told = {"world": "Office", "task": "office-deliver", "steps": self.mail}
        fixed = {"start": "anywhere"}
        yield from self._counted(
            method, MAIL, told, "mail", fixed, count_delivery_configurations(self.times)
        )

    def _counted(
        self,
        method: str,
        case: str,
        told: Mapping[str, Any],
        drawn: str,
        fixed: Mapping[str, Any],
        imagined: int,
    ) -> Iterator[TrainingTrial]:
        """One machine for all N, which the world samples; for CRM one for each N."""
        learner, own = METHODS[method]
        settings = {**own, "batch": BATCH * (imagined if method == "DQN, same batch" else 1)}
        if learner != "dqn":
            settings["num_counterfactuals"] = imagined
        trial = TrainingTrial(
            self.name,
            method,
            case,
            learner=learner,
            options={drawn: [1, self.times], **fixed},
            settings=settings,
            every=max(told["steps"] // 40, 1),
            until=None,
            **told,
        )
        if learner != "dcrm":
            yield trial
            return
        for count in range(1, self.times + 1):
            options = {drawn: count, **fixed}
            yield replace(trial, case=name_single_count(case, count), options=options, unroll=count)
