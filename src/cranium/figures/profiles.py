"""Performance profiles: the share of trials that are at least as good as a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from cranium.experiments.comparison import performance_profile
from cranium.experiments.results import Group
from cranium.figures.style import colour, format_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_profiles"]

RESAMPLES = 500
"""Of the intervals; enough for a picture."""
MOST_POINTS = 200
"""A profile with more steps is drawn at so many of them."""
WIDE = 10
"""From this ratio of the largest to the smallest value on, the axis is logarithmic."""


def draw_profiles(
    axes: Axes, groups: Sequence[Group], measure: str, *, lower_is_better: bool
) -> None:
    """Draw the profile of each group as steps, with 95 % intervals; censored trials never count."""
    known = sorted({value for group in groups for value in group.values if value is not None})
    if not known:
        axes.axis("off")
        return
    if len(known) > MOST_POINTS:
        known = np.quantile(known, np.linspace(0, 1, MOST_POINTS)).tolist()
    is_wide = known[0] > 0 and known[-1] / known[0] > WIDE
    points = _extend(known, is_wide=is_wide)
    for group in groups:
        if group.values:
            _draw_profile(axes, group, points, lower_is_better=lower_is_better)
    sign = "≤" if lower_is_better else "≥"
    axes.set(xlabel=measure, ylabel=f"share of trials {sign} x", ylim=(-0.03, 1.05))
    if is_wide:
        axes.set_xscale("log")
    format_axes(axes)


def _extend(known: Sequence[float], *, is_wide: bool) -> list[float]:
    """Add a point before the first value and one after the last, so that every step is seen."""
    first, last = known[0], known[-1]
    if is_wide:
        return [first / 1.2, *known, last * 1.2]
    margin = (last - first) / 20 or abs(first) / 20 or 0.05
    return [first - margin, *known, last + margin]


def _draw_profile(
    axes: Axes, group: Group, thresholds: Sequence[float], *, lower_is_better: bool
) -> None:
    found = performance_profile(
        [group.values], thresholds, lower_is_better=lower_is_better, resamples=RESAMPLES
    )
    shade = colour(group.method)
    # The share changes at a value: after it if lower is better, else before it.
    where: Literal["post", "pre"] = "post" if lower_is_better else "pre"
    axes.step(thresholds, [each.value or 0.0 for each in found], color=shade, where=where)
    low, high = (
        np.array([getattr(each, part) for each in found], float) for part in ("low", "high")
    )
    if not np.isnan(low).any():  # one trial has no interval
        axes.fill_between(thresholds, low, high, step=where, color=shade, alpha=0.18, linewidth=0)
