"""Appendix E: learning curves for the office."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranium.experiments.office import OfficeConfig
from cranium.experiments.reading import Study
from cranium.experiments.statistics import interquartile_mean
from cranium.figures.style import colour, dashes, legend_below, new_figure, tidy

__all__ = ["caption", "curve", "draw"]


def draw(study: Study) -> dict[str, Any]:
    """The figures of the experiment, by their names."""
    config = study.config
    assert isinstance(config, OfficeConfig)
    with new_figure(6.4, 4.2) as figure:
        axes = figure.subplots()
        for group in study.groups:
            curves = [r.result["curve"] for r in group.records if r.done]
            if curves:
                curve(axes, group.method, np.array(curves), group.method)
        axes.set(
            xscale="log",
            xlabel="samples",
            ylabel="success of the greedy policy",
            ylim=(-0.03, 1.05),
        )
        tidy(axes)
        legend_below(figure, axes, 3)
    return {"office": figure}


def curve(axes: Any, method: str, curves: Any, name: str) -> None:
    """The curves of a method's seeds: their interquartile mean, and their middle half."""
    samples, success = curves[0, :, 0], curves[:, :, 1]
    middle = [interquartile_mean(success[:, i]) for i in range(len(samples))]
    low, high = np.quantile(success, [0.25, 0.75], axis=0)
    look = {"color": colour(method), "linestyle": dashes(method)}
    axes.plot(samples, middle, label=name, **look)
    axes.fill_between(samples, low, high, color=colour(method), alpha=0.18, linewidth=0)


def caption(study: Study) -> str:
    """What was run, and what the figure shows."""
    config = study.config
    assert isinstance(config, OfficeConfig)
    return (
        "**Learning curves for mail and coffee in the office** (Appendix E), with 1 to "
        f"{config.mail} items of mail, drawn anew in every episode. {config.trials} seeds (the"
        " paper has 5): interquartile means of the success of the greedy policy over all "
        "amounts of mail, and the middle half of the seeds. Every method had twelve settings "
        f"to choose from, each tried on {config.tuning_trials} other seeds; the planner has "
        f"nothing to tune. CRM learns on the machine unrolled for {config.mail} items. Samples"
        " are on a logarithmic scale; the planner’s curve ends after 10,000."
    )
