"""Appendix E: learning curves for the mail-and-coffee task of the office."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from cranium.errors import format_count
from cranium.experiments.records import Record
from cranium.experiments.results import StudyResults
from cranium.experiments.statistics import interquartile_mean
from cranium.figures.captions import describe_results, describe_tuning, join_words
from cranium.figures.kinds import FigureKind, register_figure
from cranium.figures.style import add_legend_below, colour, format_axes, line_style, new_figure
from cranium.paper.config import (
    MOST_COUNTED,
    MOST_SAMPLES,
    MOST_TUNING_TRIALS,
    ExperimentConfig,
    check_limit,
    check_names,
    read_config,
    register,
)
from cranium.paper.grids import METHODS, REWARD_MACHINES, tune_on
from cranium.paper.problems import PaperProblem
from cranium.studies import JointStudy, Method, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["OfficeConfig", "caption", "draw", "draw_curve"]

PLANNED = 10_000
"""The number of samples at which the curve of the planner ends."""


@register
@dataclass(frozen=True)
class OfficeConfig(ExperimentConfig):
    """The office experiment: every method with its best settings and the same budget.

    Attributes:
        trials: The number of seeds.
        mail: The greatest number of items of mail; the least is one.
        methods: The methods that are compared, from ``METHODS`` of the grids.
        tuning_trials: The number of seeds on which each candidate setting is tried.
        budget: The number of samples of each trial.

    Example:
        >>> OfficeConfig(mail=3).case
        'up to 3 items of mail'
    """

    name = "office"
    place = 2
    title = "Mail and coffee in the office"

    trials: int = 20
    mail: int = 5
    methods: tuple[str, ...] = ("QL", "CQL", "CQL all+RS", "CRM", "CRM+RS", "planner")
    tuning_trials: int = 3
    budget: int = 300_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("method", self.methods, list(METHODS))
        check_limit("mail", self.mail, MOST_COUNTED)
        check_limit("tuning_trials", self.tuning_trials, MOST_TUNING_TRIALS)
        check_limit("budget", self.budget, MOST_SAMPLES)

    @property
    def case(self) -> str:
        """The name of the case."""
        return f"up to {self.mail} items of mail"

    def quick(self) -> Self:
        """Three seeds, two items of mail."""
        return replace(
            self,
            trials=min(self.trials, 3),
            mail=min(self.mail, 2),
            tuning_trials=1,
            budget=min(self.budget, 100_000),
            is_quick=True,
        )

    def cpu_seconds(self) -> float:
        """An estimate from earlier runs."""
        runs = self.trials + 12 * self.tuning_trials
        return 10 + 0.4e-6 * runs * len(self.methods) * self.budget * self.mail

    def study(self) -> JointStudy:
        """First the tuning, until the task is solved; then learning curves over the budget."""
        options = {"mail": [1, self.mail]}
        unrolled = {self.case: PaperProblem("Office", "office", options, limit=self.mail)}
        methods = {}
        for name in self.methods:
            learner, settings, grid = METHODS[name]
            steps, count = self.budget, 200
            if learner == "planner":  # which needs far fewer samples
                steps, count = min(PLANNED, self.budget), 100
            methods[name] = Method(
                learner,
                settings,
                problems=unrolled if name in REWARD_MACHINES else None,
                tune=tune_on(
                    grid,
                    self.tuning_trials,
                    steps=self.budget,
                    until="solved",
                    evaluate_every=1_000,
                ),
                steps=steps,
                evaluate_every=max(steps // count, 1),
            )
        study = Study(
            self.name,
            {self.case: PaperProblem("Office", "office", options)},
            methods,
            seeds=self.trials,
            steps=self.budget,
            until="budget",
        )
        return self.join([study], steps=self.budget)


def draw(study: StudyResults) -> dict[str, Figure]:
    """Draw the figures of the experiment; returns them by name."""
    with new_figure(6.4, 4.2, study.methods) as figure:
        axes = figure.subplots()
        for group in study.groups:
            draw_curve(axes, group.method, group.records, group.method)
        axes.set(
            xscale="log",
            xlabel="samples",
            ylabel="success of the greedy policy",
            ylim=(-0.03, 1.05),
        )
        format_axes(axes)
        add_legend_below(figure, axes, 3)
    return {"office": figure}


def draw_curve(
    axes: Axes, method: str, records: Sequence[Record], name: str, line: str = ""
) -> None:
    """Draw the interquartile mean and the middle half of the curves of all seeds of a method."""
    found = [[point[:2] for point in record.result["curve"]] for record in records if record.done]
    length = min((len(each) for each in found), default=0)
    if not length:
        return
    curves = np.array([each[:length] for each in found])
    samples, success = curves[0, :, 0], curves[:, :, 1]
    middle = [interquartile_mean(success[:, i]) for i in range(len(samples))]
    low, high = np.quantile(success, [0.25, 0.75], axis=0)
    axes.plot(
        samples, middle, label=name, color=colour(method), linestyle=line or line_style(method)
    )
    axes.fill_between(samples, low, high, color=colour(method), alpha=0.18, linewidth=0)


def caption(study: StudyResults) -> str:
    """Write the caption: what was run, and what the figure shows."""
    config = read_config(study, OfficeConfig)
    unrolled = [method for method in config.methods if method in REWARD_MACHINES]
    told = (
        "**Learning curves for mail and coffee in the office** (Appendix E), with 1 to "
        f"{config.mail} items of mail, drawn anew in every episode. "
        f"{format_count(config.trials, 'seed')} (the paper has 5): interquartile means of "
        "the success of the greedy policy over all amounts of mail, and the middle half of the "
        f"seeds. {describe_tuning(study)} "
    )
    if unrolled:
        told += f"{join_words(unrolled)}: on the machine unrolled for {config.mail} items. "
    return (
        f"{told}Samples are on a logarithmic scale.{_describe_ends(study)}{_describe_solved(study)}"
    )


def _describe_ends(study: StudyResults) -> str:
    """Describe which curves end before the others."""
    last = {
        group.method: max(int(r.result["curve"][-1][0]) for r in group.records if _has_curve(r))
        for group in study.groups
        if any(_has_curve(record) for record in group.records)
    }
    most = max(last.values(), default=0)
    short = [f"that of {method} after {end:,}" for method, end in last.items() if end < most]
    return f" Curves end after {most:,} samples, {join_words(short)}." if short else ""


def _describe_solved(study: StudyResults) -> str:
    groups = [group for group in study.groups if group.summary.run]
    return f" Samples until solved: {describe_results(groups)}." if groups else ""


def _has_curve(record: Record) -> bool:
    return record.done and bool(record.result["curve"])


register_figure("office", FigureKind(draw, caption))
