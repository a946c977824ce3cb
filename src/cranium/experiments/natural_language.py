"""Figure "llm", Appendix G: a task in plain words, its machine, and agents that learn it.

The first trial turns the description into a machine. The trials that train learners have the text
of this machine in their config, so that they do not depend on what a model answers next time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from cranium.assist import RECORDED, OpenAIModel
from cranium.errors import InvalidArgumentError, TranscriptError, shorten
from cranium.experiments.configs import (
    MOST_SAMPLES,
    MOST_TUNING_TRIALS,
    ExperimentConfig,
    check_limit,
    check_names,
    register,
)
from cranium.experiments.execution import specify_task
from cranium.experiments.grid_search import list_settings, tune
from cranium.experiments.letter import METHODS
from cranium.experiments.records import Store
from cranium.experiments.trial import Job, SpecificationTrial, SpecifiedTrial

__all__ = ["DESCRIPTION", "REFERENCE", "NaturalLanguageConfig"]

DESCRIPTION = "Collect one item of mail and deliver it to a person. Never break a decoration."
"""The task of Appendix G, as in the recorded conversation that comes with Cranium."""
RECORDING = "office.jsonl"
WORLD, REFERENCE = "Office", "mail-delivery"
CASE = "the machine from the words"


@register
@dataclass(frozen=True)
class NaturalLanguageConfig(ExperimentConfig):
    """From words to a machine to a trained agent.

    Attributes:
        trials: The number of seeds.
        description: The task in plain words. Only for the description of Appendix G a recorded
            conversation comes with Cranium; others need a model.
        model: The model that is asked. By default the recorded conversation is replayed, which
            needs no model.
        server: The address of the model; by default as for :class:`cranium.assist.OpenAIModel`.
        methods: The methods that are compared, from ``letter.METHODS``.
        tuning_trials: The number of seeds on which each candidate setting is tried.
        budget: The number of samples after which a trial counts as not solved.

    Example:
        >>> NaturalLanguageConfig(methods=("planner",)).specification().recording
        'office.jsonl'
    """

    name = "natural-language"
    place = 5
    title = "From words to a trained agent"

    trials: int = 20
    description: str = DESCRIPTION
    model: str = ""
    server: str = ""
    methods: tuple[str, ...] = ("QL", "CQL", "CRM", "CRM+RS", "HRM", "planner")
    tuning_trials: int = 5
    budget: int = 300_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("method", self.methods, list(METHODS))
        check_limit("tuning_trials", self.tuning_trials, MOST_TUNING_TRIALS)
        check_limit("budget", self.budget, MOST_SAMPLES)
        if self.server and not self.model:
            raise InvalidArgumentError(
                f"the server {shorten(self.server)} is not asked anything without a model",
                fix="name the model, too, or leave out the server to replay what was recorded",
            )

    def require(self) -> None:
        """Require a client for the model or, without a model, a recorded conversation."""
        if self.model:
            OpenAIModel(self.model, self.server)
            return
        try:
            specify_task(self.specification(), 0)
        except TranscriptError:
            raise TranscriptError(
                f"no answer was recorded for the description {shorten(self.description)}",
                fix='name a model that can be asked, such as model = "qwen2.5-coder-1.5b"',
            ) from None

    def quick(self) -> Self:
        """Three seeds, and one for tuning."""
        return replace(self, trials=min(self.trials, 3), tuning_trials=1, is_quick=True)

    def cpu_seconds(self) -> float:
        """An estimate from earlier runs."""
        return 10 + 0.04 * len(self.methods) * (self.trials + 12 * self.tuning_trials)

    def specification(self) -> SpecificationTrial:
        """The trial that turns the description into a machine."""
        recorded = {}
        if not self.model:
            digest = hashlib.sha256((RECORDED / RECORDING).read_bytes()).hexdigest()[:16]
            recorded = {"recording": RECORDING, "digest": digest}
        return SpecificationTrial(
            self.name,
            "words",
            "one machine",
            description=self.description,
            world=WORLD,
            reference=REFERENCE,
            model=self.model,
            server=self.server,
            stage="first",
            **recorded,
        )

    def found(self, store: Store) -> dict[str, Any] | None:
        """The result of that trial; None if there is none yet, or if it failed."""
        record = store.find(Job(self.specification(), 0))
        return record.result if record is not None and record.done else None

    def jobs(self, store: Store) -> list[Job]:
        """First the description, then the tuning, then every method with its best settings."""
        jobs, task = [Job(self.specification(), 0)], self.found(store)
        for trial in self.candidates(task) if task else ():
            candidates = list_settings(METHODS[trial.method][2])
            more, best = tune(trial, candidates, self.tuning_trials, self.budget, store)
            jobs += more
            if best is not None:
                jobs += [Job(best, seed) for seed in range(self.trials)]
        return jobs

    def candidates(self, task: Mapping[str, Any]) -> Iterator[SpecifiedTrial]:
        """A trial for each method, on the machine of the description."""
        for method in self.methods:
            learner, settings, _ = METHODS[method]
            yield SpecifiedTrial(
                self.name,
                method,
                CASE,
                world=WORLD,
                task=task["language"],
                machine=task["machine"],
                learner=learner,
                # With one item only, the mail that is left would reveal the state of the machine.
                options={"mail": None},
                settings=settings,
                steps=self.budget,
                every=20 if learner == "planner" else 100,
            )
