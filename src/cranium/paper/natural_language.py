"""Figure "llm", Appendix G: a task in plain words, its machine, and agents that learn it.

The first trial turns the description into a machine. The trials that train learners have this
machine in their key, so that they do not depend on what a model answers next time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from cranium.aamdp.registry import find_world
from cranium.assist import RECORDED, OpenAIModel, Specification, specify
from cranium.automata.equivalence import equivalent
from cranium.errors import InvalidArgumentError, TranscriptError, format_count, shorten
from cranium.experiments.records import Store
from cranium.experiments.results import StudyResults
from cranium.experiments.trial import FieldKind, FunctionTrial, Job
from cranium.figures.captions import describe_evaluations, describe_tuning
from cranium.figures.kinds import FigureKind, ShownMachine, register_figure
from cranium.figures.points import draw_points
from cranium.figures.style import new_figure
from cranium.formats import library
from cranium.formats.files import dumps, loads
from cranium.paper.config import (
    MOST_SAMPLES,
    MOST_TUNING_TRIALS,
    ExperimentConfig,
    check_limit,
    check_names,
    read_config,
    register,
)
from cranium.paper.grids import METHODS, tune_on
from cranium.paper.problems import PaperProblem
from cranium.studies import JointStudy, Method, Study, Trials
from cranium.studies.joint import Part

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DESCRIPTION", "REFERENCE", "NaturalLanguageConfig", "caption", "draw", "make_machine"]

FIELDS: dict[str, FieldKind] = {
    "model": "text",
    "answers": "count",
    "language": "text",
    "restatement": "text",
    "machine": "text",
    "states": "size",
    "transitions": "count",
    "equivalent": "flag",
    "proved": "flag",
    "difference": "text",
}
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
        methods: The methods that are compared, from ``METHODS`` of the grids.
        tuning_trials: The number of seeds on which each candidate setting is tried.
        budget: The number of samples after which a trial counts as not solved.

    Example:
        >>> NaturalLanguageConfig(methods=("planner",)).source["recording"]
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
            specify_task(self.description, 0, **self.source)
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

    @property
    def source(self) -> dict[str, str]:
        """Where the machine comes from: a recorded conversation and its digest, or a model."""
        if self.model:
            return {"recording": "", "digest": "", "model": self.model, "server": self.server}
        digest = hashlib.sha256((RECORDED / RECORDING).read_bytes()).hexdigest()[:16]
        return {"recording": RECORDING, "digest": digest, "model": "", "server": ""}

    def specification(self) -> FunctionTrial:
        """The trial that turns the description into a machine."""
        return FunctionTrial(
            self.name,
            "words",
            "one machine",
            stage="first",
            function="cranium.paper.natural_language:make_machine",
            settings={"description": self.description, **self.source},
            fields=FIELDS,
        )

    def study(self) -> JointStudy:
        """First the description, then the tuning, then every method with its best settings."""

        def find_parts(store: Store) -> Sequence[Part]:
            trial = self.specification()
            parts: list[Part] = [Trials([trial])]
            record = store.find(Job(trial, 0))
            if record is not None and record.done:
                parts.append(self._training(record.result))
            return parts

        return self.join(find_parts, steps=self.budget)

    def _training(self, task: Mapping[str, Any]) -> Study:
        # With one item only, the mail that is left would reveal the state of the machine.
        problem = PaperProblem(WORLD, task["language"], {"mail": None}, machine=task["machine"])
        methods = {}
        for name in self.methods:
            learner, settings, grid = METHODS[name]
            methods[name] = Method(
                learner,
                settings,
                tune=tune_on(grid, self.tuning_trials, steps=self.budget),
                evaluate_every=20 if learner == "planner" else None,
            )
        return Study(
            self.name,
            {CASE: problem},
            methods,
            seeds=self.trials,
            steps=self.budget,
            evaluate_every=100,
        )


def make_machine(*, seed: int, **told: str) -> dict[str, Any]:
    """Turn a description into a machine, and compare it with the one that the paper means."""
    task = specify_task(told.pop("description"), seed, **told)
    compared = equivalent(task.machine, library.load(REFERENCE))
    return {
        "model": task.transcript[0].model,
        "answers": len(task.verdict.attempts),
        "plan": task.plan.model_dump(mode="json"),
        "language": str(task.language),
        "restatement": task.restatement,
        "machine": dumps(task.machine),
        "states": task.machine.size.states,
        "transitions": task.machine.size.transitions,
        "equivalent": compared.equal,
        "proved": compared.exact,
        "difference": compared.reason,
    }


def specify_task(
    description: str, seed: int, *, recording: str, digest: str, model: str, server: str
) -> Specification:
    """Specify a task: replay the recorded conversation, or ask a model."""
    del digest  # another conversation is another trial
    events = find_world(WORLD).events()
    if model:
        asked = OpenAIModel(model, server)
        return specify(description, events, model=asked, seed=seed)
    return specify(description, events, transcript=RECORDED / recording, mode="replay", seed=seed)


def draw(study: StudyResults) -> dict[str, Figure]:
    """Draw the figures of the experiment; returns them by name."""
    with new_figure(6.4, 2.6, study.methods) as figure:
        axes = figure.subplots()
        shown = [group for group in study.groups if group.summary.run]
        if shown:
            draw_points(axes, shown, lambda group: group.method)
            axes.set(xlabel="samples until solved")
        else:
            axes.set_visible(False)
    return {"natural-language": figure}


def _find_task(study: StudyResults) -> dict[str, Any] | None:
    """What came of the description; None if nothing did."""
    return next((record.result for record in study.first if record.done), None)


def find_machines(study: StudyResults) -> list[ShownMachine]:
    """The machine made from the description, if there is one."""
    task = _find_task(study)
    if task is None:
        return []
    title = "The machine that came of the words (Figure “llm”)"
    return [ShownMachine("machine-words", title, loads(task["machine"]))]


def caption(study: StudyResults) -> str:
    """Write the caption: what was run, and what the figure shows."""
    config, task = read_config(study, NaturalLanguageConfig), _find_task(study)
    words = f"**From words to a trained agent** (Figure “llm”, Appendix G): “{config.description}” "
    if task is None:
        return f"{words}No machine has come of these words."
    return (
        f"{words}{_describe_origin(config, task)} {_describe_comparison(task)} "
        "In the paper’s own drawing the rewards are on the wrong edges: delivering the mail pays 0 "
        "there, and failing with mail in hand pays 1. The figure has the samples until the greedy "
        "policy solves the task in the office, on the machine that came of the words and "
        "with mail that never runs out; "
        f"{format_count(config.trials, 'seed')}, interquartile means with 95 % intervals. "
        f"{describe_tuning(study)} {describe_evaluations(study)} "
        "The learners have tables; for networks on this task see Figure “deep”."
    )


def _describe_origin(config: NaturalLanguageConfig, task: Mapping[str, Any]) -> str:
    count = task["answers"]
    answers = "its first answer" if count == 1 else f"its answer number {count}"
    how = "asked for this run" if config.model else "in a recorded conversation"
    return (
        f"The model {task['model']} ({how}) filled in a form; {answers} passed all checks, and "
        f"means “{task['language']}”. From that our own code made the machine, with "
        f"{task['states']} states and {task['transitions']} transitions."
    )


def _describe_comparison(task: Mapping[str, Any]) -> str:
    meant = f"the machine that the paper means (library:{REFERENCE})"
    if not task["equivalent"]:
        return f"It is not {meant}: {task['difference']}."
    if task["proved"]:
        return f"On every word it does the same as {meant}."
    return f"No difference was found to {meant}."


register_figure("natural-language", FigureKind(draw, caption, find_machines))
