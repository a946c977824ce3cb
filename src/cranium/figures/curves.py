"""Learning curves of results of training."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cranium.errors import DrawingError
from cranium.experiments.statistics import summarise
from cranium.figures.bands import draw_band
from cranium.figures.style import (
    COLOURS,
    add_legend_below,
    format_axes,
    new_figure,
    plain_text,
    render_figure,
)
from cranium.io import write_bytes
from cranium.learners import TrainingResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_curves"]

ENDINGS = (".png", ".svg", ".pdf")
MOST_POINTS = 400
"""The greatest number of points at which the curves of several seeds are compared."""


def check_picture(path: str | os.PathLike[str]) -> Path:
    """Check that an image can be written to a path, and return it."""
    where = Path(path)
    if where.suffix.lower() not in ENDINGS:
        raise DrawingError(f"curves are drawn into {', '.join(ENDINGS)}, not {where.name!r}")
    if not where.parent.is_dir():
        raise DrawingError(f"cannot draw into {where}: there is no folder {where.parent}")
    return where


def draw_curves(
    results: Sequence[TrainingResult],
    path: str | os.PathLike[str],
    *,
    title: str = "",
    single_seeds: bool = False,
) -> None:
    """Draw the success of the greedy policy against the samples, a curve for each learner.

    Several seeds of a learner are drawn as their interquartile mean with a 95 % interval from a
    bootstrap over the seeds; a curve that has ended keeps its last value. A dot marks the median of
    the samples until solved. The legend below the figure says how many seeds there are. Samples are
    on a logarithmic scale.

    Args:
        results: The results, of one or several learners.
        path: The file: ``.png``, ``.svg`` or ``.pdf``.
        title: The title of the figure.
        single_seeds: Whether to draw a line for each seed, instead of a band.

    Example:
        >>> import cranium, gymnasium, tempfile
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
        >>> results = [
        ...     cranium.train(env, "planner", steps=200, seed=seed, evaluate_every=5)
        ...     for seed in range(3)
        ... ]
        >>> draw_curves(results, tempfile.mkdtemp() + "/curves.svg")
    """
    where = check_picture(path)
    figure = make_figure(results, title, single_seeds=single_seeds)
    write_bytes(where, render_figure(figure, where.suffix.lower()[1:]))


def make_figure(
    results: Sequence[TrainingResult], title: str = "", *, single_seeds: bool = False
) -> Figure:
    """Draw the figure of :func:`draw_curves`."""
    learners: dict[str, list[TrainingResult]] = {}
    for result in results:
        learners.setdefault(result.learner, []).append(result)
    has_bands = not single_seeds and any(len(each) > 1 for each in learners.values())
    with new_figure(6.4, 3.6 + 0.2 * len(learners)) as figure:
        axes = figure.add_subplot()
        for number, (name, found) in enumerate(learners.items()):
            shade = COLOURS[number % len(COLOURS)]
            label = plain_text(f"{name}, {_describe(found)}")
            if single_seeds or len(found) == 1:
                _draw_lines(axes, found, shade, label)
            else:
                _draw_learner(axes, found, shade, label)
        told = "success, IQM and 95 % interval" if has_bands else "success"
        axes.set(xscale="log", ylim=(-0.03, 1.05), xlabel="samples", ylabel=told)
        axes.set_title(plain_text(title))
        format_axes(axes)
        add_legend_below(figure, axes, 1)
    made: Figure = figure
    return made


def _describe(results: Sequence[TrainingResult]) -> str:
    """The number of seeds, and after how many samples they have solved the task."""
    summary = summarise([result.samples_to_solve for result in results])
    if summary.run == 1:
        found = results[0].samples_to_solve
        told = "not solved" if found is None else f"solved after {found:,} samples"
        return f"1 seed: {told}"
    if summary.solved == 0:
        return f"{summary.run} seeds: none solved"
    middle = "" if summary.median is None else f", median {summary.median:,.0f} samples"
    return f"{summary.run} seeds: {summary.solved} solved{middle}"


def _draw_lines(axes: Axes, results: Sequence[TrainingResult], shade: str, label: str) -> None:
    """Draw a line for each seed, and dots where the task was solved."""
    for number, result in enumerate(results):
        samples, success = result.curve[:, 0], result.curve[:, 1]
        axes.plot(
            samples,
            success,
            color=shade,
            label=label if number == 0 else None,
            alpha=1.0 if len(results) == 1 else 0.5,
            drawstyle="steps-post",
        )
        if result.samples_to_solve is not None:
            axes.plot(result.samples_to_solve, 1.0, "o", color=shade)


def _draw_learner(axes: Axes, results: Sequence[TrainingResult], shade: str, label: str) -> None:
    """Draw the seeds of a learner as a band, and a dot at the median of samples until solved."""
    curves = [result.curve[:, :2] for result in results if len(result.curve)]
    if not curves:  # all were interrupted before the first evaluation
        axes.plot([], [], color=shade, label=label)
        return
    points = np.unique(np.concatenate([curve[:, 0] for curve in curves]))
    grid = points[points >= max(curve[0, 0] for curve in curves)]
    if len(grid) > MOST_POINTS:
        grid = grid[np.unique(np.geomspace(1, len(grid), MOST_POINTS).astype(int) - 1)]
    draw_band(axes, curves, grid, colour=shade, label=label)
    median = summarise([result.samples_to_solve for result in results]).median
    if median is not None:
        axes.plot(median, 1.0, "o", color=shade)
