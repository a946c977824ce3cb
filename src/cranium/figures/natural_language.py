"""Figure "llm": the machine made from a description, and how fast it is learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.experiments.natural_language import REFERENCE, NaturalLanguageConfig
from cranium.experiments.records import Store
from cranium.experiments.results import StudyResults
from cranium.figures.captions import describe_evaluations, describe_tuning
from cranium.figures.points import draw_points
from cranium.figures.style import new_figure
from cranium.formats.files import loads

__all__ = ["caption", "draw", "load_machine"]


def draw(study: StudyResults) -> dict[str, Any]:
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


def load_machine(study: StudyResults) -> CountingRewardAutomaton | None:
    """Load the machine made from the description, if there is one."""
    task = _load_task(study)
    return None if task is None else loads(task["machine"])


def _load_task(study: StudyResults) -> dict[str, Any] | None:
    config = study.config
    assert isinstance(config, NaturalLanguageConfig)
    return config.found(Store(study.folder))


def caption(study: StudyResults) -> str:
    """Write the caption: what was run, and what the figure shows."""
    config, task = study.config, _load_task(study)
    assert isinstance(config, NaturalLanguageConfig)
    words = f"**From words to a trained agent** (Figure “llm”, Appendix G): “{config.description}” "
    if task is None:
        return f"{words}No machine has come of these words."
    return (
        f"{words}{_describe_origin(config, task)} {_describe_comparison(task)} "
        "In the paper’s own drawing the rewards are on the wrong edges: delivering the mail pays 0 "
        "there, and failing with mail in hand pays 1. The figure has the samples until the greedy "
        "policy solves the task in the office, on the machine that came of the words and "
        "with mail that never runs out; "
        f"{config.trials} seeds, interquartile means with 95 % intervals. "
        f"{describe_tuning(config.methods, config.tuning_trials)} {describe_evaluations(study)} "
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
