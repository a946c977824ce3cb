"""Samples against N, a line for each method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cranium.experiments.results import StudyResults
from cranium.experiments.statistics import Summary
from cranium.figures.style import colour, format_axes, line_style, marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_against_n"]


def draw_against_n(
    axes: Axes, study: StudyResults, times: Sequence[int], budget: int | None = None
) -> None:
    """Draw the interquartile means of all methods for each N, with censored trials up to a budget.

    Args:
        axes: Where to draw.
        study: The study, with cases ``N = 1`` and so on.
        times: The values of N.
        budget: The budget of trials that were not solved; None draws no line up to it.
    """
    axes.set_yscale("log")
    methods = study.methods
    for number, method in enumerate(methods):
        groups = [study.group(method, f"N = {value}") for value in times]
        # Shifted a little, so that intervals do not overlap.
        shift = 0.05 * (number - (len(methods) - 1) / 2)
        found = [
            (value + shift, group.summary)
            for value, group in zip(times, groups, strict=True)
            if group is not None and group.summary.run
        ]
        _draw_line(axes, method, [(x, summary) for x, summary in found if summary.iqm is not None])
        for x, summary in found:
            if summary.solved < summary.run:
                _mark_censored(axes, method, x, summary, budget)
    axes.set(xlabel="N", xticks=times, xlim=(times[0] - 0.5, times[-1] + 0.5))
    format_axes(axes)


def _draw_line(axes: Axes, method: str, points: list[tuple[float, Summary]]) -> None:
    """Draw the interquartile means of a method with their intervals."""
    x = [place for place, _ in points]
    y = np.array([summary.iqm for _, summary in points])
    low = y - np.array([summary.low or summary.iqm for _, summary in points])
    high = np.array([summary.high or summary.iqm for _, summary in points]) - y
    look: dict[str, Any] = {
        "color": colour(method),
        "marker": marker(method),
        "label": method,
        "capsize": 2,
    }
    spread = [np.maximum(low, 0), np.maximum(high, 0)]
    axes.errorbar(x, y, yerr=spread, linestyle=line_style(method), **look)


def _mark_censored(axes: Axes, method: str, x: float, summary: Summary, budget: int | None) -> None:
    """Mark a point with censored trials: a dotted line to the budget, and how many were solved."""
    if summary.high is None and budget is not None:
        low = summary.iqm or summary.low or budget
        axes.plot([x, x], [low, budget], ":", color=colour(method), linewidth=1)
        axes.plot(x, budget, marker(method), color=colour(method), markerfacecolor="white")
    text, place = f"{summary.solved}/{summary.run}", (x, summary.iqm or budget or 1)
    axes.annotate(text, place, (0, 6), textcoords="offset points", ha="center", fontsize=7)
