"""Figure "llm", Appendix G: a task in words, the machine it becomes, and agents that learn it.

First the words become a machine; that is a trial of its own. What is trained then has this machine,
as text, in its config, so that it depends on nothing that a model might say differently next time.
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
from cranium.experiments.execution import ask
from cranium.experiments.grid_search import grid, tune
from cranium.experiments.letter import METHODS
from cranium.experiments.records import Store
from cranium.experiments.trial import Job, SpecificationTrial, SpecifiedTrial

__all__ = ["DESCRIPTION", "REFERENCE", "NaturalLanguageConfig"]

DESCRIPTION = "Collect one item of mail and deliver it to a person. Never break a decoration."
"""The task of Appendix G, as it was said to the model whose answers come with Cranium."""
RECORDING = "office.jsonl"
WORLD, REFERENCE = "Office", "mail-delivery"
CASE = "the machine from the words"


@register
@dataclass(frozen=True)
class NaturalLanguageConfig(ExperimentConfig):
    """From words to a machine to a trained agent.

    Attributes:
        trials: How many seeds.
        description: The task in words. Only for the one of Appendix G answers of a model come with
            Cranium; others take a model.
        model: The model that is asked. Left out, the recorded conversation is replayed, which takes
            no model and nothing that is not installed.
        server: Where the model is; left out, as for :class:`cranium.assist.OpenAIModel`.
        methods: Those of ``letter.METHODS`` that are compared.
        tuning_trials: On how many seeds each setting is tried.
        budget: After how many samples a trial counts as not solved.

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
        """A way to talk to the model; without one, the words as they were recorded."""
        if self.model:
            OpenAIModel(self.model, self.server)
            return
        try:
            ask(self.specification(), 0)
        except TranscriptError:
            raise TranscriptError(
                f"no answer was recorded for the description {shorten(self.description)}",
                fix='name a model that can be asked, such as model = "qwen2.5-coder-1.5b"',
            ) from None

    def quick(self) -> Self:
        """Three seeds, and settings tried on one."""
        return replace(self, trials=min(self.trials, 3), tuning_trials=1, is_quick=True)

    def cpu_seconds(self) -> float:
        """From what it took where this was written."""
        return 10 + 0.04 * len(self.methods) * (self.trials + 12 * self.tuning_trials)

    def specification(self) -> SpecificationTrial:
        """The trial in which the words become a machine."""
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
        """What came of the words; None if that is not known yet, or was an error."""
        record = store.find(Job(self.specification(), 0))
        return record.result if record is not None and record.done else None

    def jobs(self, store: Store) -> list[Job]:
        """The words first; then tuning, and every method with the best of its settings."""
        jobs, task = [Job(self.specification(), 0)], self.found(store)
        for trial in self.candidates(task) if task else ():
            candidates = grid(METHODS[trial.method][2])
            more, best = tune(trial, candidates, self.tuning_trials, self.budget, store)
            jobs += more
            if best is not None:
                jobs += [Job(best, seed) for seed in range(self.trials)]
        return jobs

    def candidates(self, task: Mapping[str, Any]) -> Iterator[SpecifiedTrial]:
        """One for each method, on the machine that came of the words."""
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
                # With one item only, what is left would tell what the machine has to remember.
                options={"mail": None},
                settings=settings,
                steps=self.budget,
                every=20 if learner == "planner" else 100,
            )
