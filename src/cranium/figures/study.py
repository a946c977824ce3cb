"""The figure of a study: learning curves for each problem, and the measure below them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cranium.errors import format_count
from cranium.experiments.contrasts import describe_best
from cranium.experiments.records import Record
from cranium.experiments.results import Group, StudyResults, format_interval, format_number
from cranium.figures.bands import draw_band
from cranium.figures.profiles import draw_profiles
from cranium.figures.style import (
    add_legend_below,
    colour,
    format_axes,
    marker,
    new_figure,
    plain_text,
    save_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["caption", "draw", "draw_study_figure"]

GRID = 200
"""The number of points of the common grid of samples."""
COLUMNS = 3
"""How many problems stand side by side."""
SHARES = ("final_success", "area_under_curve")
"""Measures from 0 to 1."""
MOST_NUMBERS = 8
"""How many learners on problems a caption has numbers of; tables have all."""
ROWS = 3
"""How many plots of a problem stand one below the other."""


def draw(study: StudyResults) -> dict[str, Figure]:
    """Draw the figures of the study; returns them by name."""
    return {"study": draw_figure(study)}


def draw_study_figure(study: StudyResults, path: Path) -> None:
    """Draw the figure of a study into a file."""
    save_figure(draw_figure(study), path, [path.suffix.lower()[1:]])


def draw_figure(study: StudyResults) -> Figure:
    """Draw for every problem: the learning curves, the measure, and its performance profile."""
    config = study.config
    cases = list(dict.fromkeys(group.case for group in study.groups))
    columns = min(len(cases), COLUMNS) or 1
    blocks = -(-len(cases) // columns) or 1
    with new_figure(max(3.2 * columns, 4.8), 6.9 * blocks, study.methods) as figure:
        axes = figure.subplots(ROWS * blocks, columns, squeeze=False)
        for place, case in enumerate(cases):
            row, column = divmod(place, columns)
            curves, measures, profiles = axes[ROWS * row : ROWS * (row + 1), column]
            groups = [group for group in study.groups if group.case == case]
            _draw_curves(curves, groups)
            curves.set_title(f"{plain_text(case)} ({_describe_seeds(groups)})")
            _draw_measure(measures, groups, study)
            lower = config.is_lower_better
            draw_profiles(profiles, groups, plain_text(config.measure), lower_is_better=lower)
        for unused in range(len(cases), blocks * columns):
            row, column = divmod(unused, columns)
            for each in axes[ROWS * row : ROWS * (row + 1), column]:
                each.axis("off")
        add_legend_below(figure, axes, 4)
        made: Figure = figure
    return made


def _describe_seeds(groups: list[Group]) -> str:
    counts = [group.summary.run for group in groups]
    least, most = min(counts), max(counts)
    return format_count(most, "seed") if least == most else f"{least} to {most} seeds"


def _curves_of(records: tuple[Record, ...]) -> list[list[list[float]]]:
    curves = [record.result.get("curve") or [] for record in records if record.done]
    return [[[point[0], point[1]] for point in curve] for curve in curves if curve]


def _draw_curves(axes: Axes, groups: list[Group]) -> None:
    """Draw the interquartile mean of success and its interval, for each learner."""
    known = [(group, _curves_of(group.records)) for group in groups]
    starts = [curve[0][0] for _, curves in known for curve in curves]
    if not starts:
        axes.axis("off")
        return
    for group, curves in known:
        if not curves:
            continue
        last = max(curve[-1][0] for curve in curves)
        grid = np.unique(np.geomspace(max(min(starts), 1), max(last, 1), GRID).round())
        single = "" if len(grid) > 1 else marker(group.method)
        look = {"colour": colour(group.method), "marker": single}
        draw_band(axes, curves, grid, label=plain_text(group.method), initial=0.0, **look)
    axes.set(xscale="log", xlabel="samples", ylabel="success", ylim=(-0.03, 1.05))
    format_axes(axes)


def _draw_measure(axes: Axes, groups: list[Group], study: StudyResults) -> None:
    """Draw the interquartile mean of the measure with its interval, one learner below another."""
    known = [group.summary.iqm for group in groups if group.summary.iqm is not None]
    for place, group in enumerate(reversed(groups)):
        found = group.summary
        if found.iqm is None:
            told = f"not solved ({found.solved} of {found.run})" if found.run else "no results"
            where = axes.get_yaxis_transform()  # beside the axis, whatever the scale is
            axes.text(0.03, place, told, va="center", fontsize=8, transform=where)
            continue
        spread = [
            [found.iqm - found.low if found.low is not None else 0],
            [found.high - found.iqm if found.high is not None else 0],
        ]
        shade, shape = colour(group.method), marker(group.method)
        axes.errorbar(found.iqm, place, xerr=spread, color=shade, marker=shape, capsize=2)
    axes.set_yticks(
        range(len(groups)), [plain_text(group.method) for group in reversed(groups)], fontsize=8
    )
    axes.set_ylim(-0.5, len(groups) - 0.5)
    axes.set_xlabel(plain_text(study.config.measure))
    if not known:
        axes.set_xticks([])
    elif study.config.measure_name in SHARES:
        axes.set_xlim(-0.03, 1.05)
    if known and min(known) > 0 and max(known) / min(known) > 10:
        axes.set_xscale("log")
    format_axes(axes)


def caption(study: StudyResults) -> str:
    """Write the caption: what was run, and what the figure shows, in numbers."""
    config = study.config
    told = (
        f"**{config.study}**: success of the greedy policy against samples (a curve keeps its last "
        f"value after its end); below it the {config.measure}; below that the performance "
        "profile, which is the share of trials that are at least as good as x. "
        f"Interquartile means over {format_count(config.seeds, 'seed')} with 95 % intervals "
        f"from a stratified bootstrap; the budget is {config.steps:,} samples a trial. "
    )
    tuned = dict.fromkeys(row.method for row in config.rows if row.stage == "tuning")
    fixed = [method for method in study.methods if method not in tuned]
    if config.tuning:
        told += f"{config.tuning} "
        if fixed:
            told += f"Nothing was tuned for {', '.join(fixed)}. "
    return f"{told}{_describe_numbers(study)}{describe_best(study)}".strip()


def _describe_numbers(study: StudyResults) -> str:
    parts = [
        f"{group.method} on {group.case} {format_number(group.summary.iqm, 'not solved')} "
        f"({format_interval(group.summary)})"
        for group in study.groups
        if group.summary.run
    ]
    return f"In numbers: {'; '.join(parts)}. " if 0 < len(parts) <= MOST_NUMBERS else ""
