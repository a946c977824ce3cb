"""Samples until solved, one method below the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cranium.experiments.results import Group
from cranium.figures.style import colour, format_axes, marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_points"]


def draw_points(
    axes: Axes, groups: Sequence[Group], name: Callable[[Group], str], hollow: str = ""
) -> None:
    """Draw interquartile means with intervals, the best on top; case ``hollow`` is hollow."""
    order = sorted(groups, key=lambda group: group.summary.iqm or np.inf, reverse=True)
    greatest = max((group.summary.iqm or group.summary.low or 0 for group in order), default=0)
    for place, group in enumerate(order):
        _draw_point(axes, place, group, greatest, hollow=group.case == hollow)
    axes.set_yticks(range(len(order)), [name(group) for group in order], fontsize=7)
    axes.set(xscale="log", xlabel="samples")
    axes.set_ylim(-0.5, len(order) - 0.5)
    if greatest:
        axes.set_xlim(right=greatest * 8)
    format_axes(axes)


def _draw_point(axes: Axes, place: int, group: Group, greatest: float, *, hollow: bool) -> None:
    summary = group.summary
    x = summary.iqm or greatest or 1.0
    told = f"{x:,.0f}" if summary.iqm else "not solved"
    if summary.solved < summary.run:
        told += f" ({summary.solved} of {summary.run})"
    if summary.iqm:
        spread = [[max(x - (summary.low or x), 0)], [max((summary.high or x) - x, 0)]]
        face = "white" if hollow else colour(group.method)
        axes.errorbar(
            x,
            place,
            xerr=spread,
            markerfacecolor=face,
            color=colour(group.method),
            marker=marker(group.method),
            capsize=2,
        )
    end = max(summary.high or x, x)  # beside the interval, not on it
    axes.annotate(told, (end, place), (8, 0), textcoords="offset points", va="center", fontsize=8)
