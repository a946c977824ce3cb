"""Figure "deep": networks in the office, and two counting tasks on which they differ.

The paper gives the methods that imagine |U| times the batch of DQN. Here DQN is run with the larger
batch, too, so that what imagining gains can be told from what a larger batch gains.
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

__all__ = ["NetworksConfig", "one_number"]

BATCH = 32
STATES = 2
"""|U|: the states of the delivery machine in which it goes on."""
IMAGINED = 4
"""How many configurations are imagined for each experience with letters."""
BUDGETS = ("published", "budget", "letters", "mail")
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "DQN": ("dqn", {}),
    "DQN, same batch": ("dqn", {}),
    "CRM": ("dcrm", {}),
    "CQL": ("cdqn", {}),
    "CQL heads": ("cdqn", {"heads": True}),
}
"""The learner of each, and its settings; all others are the defaults."""
PUBLISHED, ANYWHERE = "office, as published", "office, any start"
LETTERS, MAIL = "letters, N drawn", "mail, N drawn"
CASES = (PUBLISHED, ANYWHERE, LETTERS, MAIL)
COUNTING = (LETTERS, MAIL)
"""Those in which something is counted: CRM has a network for each N, the others one for all."""
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


def one_number(case: str, count: int) -> str:
    """What a case with counters is called with a machine for one N.

    Example:
        >>> one_number("mail, N drawn", 2)
        'mail, N = 2'
    """
    return f"{case.removesuffix(' drawn')} = {count}"


def carrying(times: int) -> int:
    """In how many configurations it goes on, with up to so many items of mail.

    While they are collected it has from none to all of them; while they are delivered, at least
    one is left.
    """
    return 2 * times + 1


@register
@dataclass(frozen=True)
class NetworksConfig(ExperimentConfig):
    """The experiment with networks.

    Attributes:
        trials: How many seeds (the paper has 10).
        methods: Those of ``METHODS`` that are compared.
        cases: Those of ``CASES`` that are run.
        times: Where something is counted, N is drawn from 1 to this.
        published: The budget of the office as in the paper.
        budget: The budget of the office that is begun anywhere.
        letters: The budget of the letters.
        mail: The budget of the mail.

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
        """JAX."""
        require_jax("cdqn")

    def quick(self) -> Self:
        """One seed, and budgets in which nothing is learned: to see that it works."""
        few = {name: min(getattr(self, name), 500) for name in BUDGETS}
        return replace(self, trials=1, times=min(self.times, 2), **few, is_quick=True)

    def cpu_seconds(self) -> float:
        """From what it took where this was written."""
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
        """N items of mail are collected, and then delivered; all configurations are imagined."""
        told = {"world": "Office", "task": "office-deliver", "steps": self.mail}
        fixed = {"start": "anywhere"}
        yield from self._counted(method, MAIL, told, "mail", fixed, carrying(self.times))

    def _counted(
        self,
        method: str,
        case: str,
        told: Mapping[str, Any],
        drawn: str,
        fixed: Mapping[str, Any],
        imagined: int,
    ) -> Iterator[TrainingTrial]:
        """One machine for all N, which the world draws; CRM is given one for each."""
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
            yield replace(trial, case=one_number(case, count), options=options, unroll=count)
