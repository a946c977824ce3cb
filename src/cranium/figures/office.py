"""Appendix E: learning curves for the office."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cranium.experiments.letter import REWARD_MACHINES
from cranium.experiments.office import OfficeConfig
from cranium.experiments.records import Record
from cranium.experiments.results import StudyResults
from cranium.experiments.statistics import interquartile_mean
from cranium.figures.captions import describe_results, describe_tuning, join_words
from cranium.figures.style import add_legend_below, colour, format_axes, line_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["caption", "draw", "draw_curve"]


def draw(study: StudyResults) -> dict[str, Any]:
    """Draw the figures of the experiment; returns them by name."""
    config = study.config
    assert isinstance(config, OfficeConfig)
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


def draw_curve(axes: Axes, method: str, records: Sequence[Record], name: str) -> None:
    """Draw the interquartile mean and the middle half of the curves of all seeds of a method."""
    found = [record.result["curve"] for record in records if record.done]
    length = min((len(each) for each in found), default=0)
    if not length:
        return
    curves = np.array([each[:length] for each in found])
    samples, success = curves[0, :, 0], curves[:, :, 1]
    middle = [interquartile_mean(success[:, i]) for i in range(len(samples))]
    low, high = np.quantile(success, [0.25, 0.75], axis=0)
    axes.plot(samples, middle, label=name, color=colour(method), linestyle=line_style(method))
    axes.fill_between(samples, low, high, color=colour(method), alpha=0.18, linewidth=0)


def caption(study: StudyResults) -> str:
    """Write the caption: what was run, and what the figure shows."""
    config = study.config
    assert isinstance(config, OfficeConfig)
    unrolled = [method for method in config.methods if method in REWARD_MACHINES]
    told = (
        "**Learning curves for mail and coffee in the office** (Appendix E), with 1 to "
        f"{config.mail} items of mail, drawn anew in every episode. {config.trials} seeds (the"
        " paper has 5): interquartile means of the success of the greedy policy over all "
        "amounts of mail, and the middle half of the seeds. "
        f"{describe_tuning(config.methods, config.tuning_trials)} "
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
