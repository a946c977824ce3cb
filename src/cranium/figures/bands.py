"""Learning curves of several seeds: the interquartile mean with a band."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cranium.experiments.comparison import Curves, curve_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_band"]

RESAMPLES = 500
"""The number of bootstrap samples of a band: enough for a picture."""


def draw_band(
    axes: Axes,
    curves: Curves,
    grid: NDArray[np.float64],
    *,
    colour: str,
    label: str,
    marker: str = "",
    initial: float | None = None,
) -> None:
    """Draw the interquartile mean of curves, and its pointwise 95 % interval as a band.

    Arguments are those of :func:`~cranium.experiments.comparison.curve_band`, and how it looks. One
    curve is drawn as it is, without a band.
    """
    band = curve_band(curves, grid, initial=initial, resamples=RESAMPLES)
    middle, low, high = (
        np.array([getattr(point, part) for point in band], float)
        for part in ("value", "low", "high")
    )
    # In steps: between two evaluations, nothing is known of the greedy policy.
    axes.plot(grid, middle, color=colour, label=label, marker=marker, drawstyle="steps-post")
    if not np.isnan(low).any():  # one seed has no interval
        axes.fill_between(grid, low, high, color=colour, step="post", alpha=0.18, linewidth=0)
