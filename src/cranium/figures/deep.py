"""Figure "deep": learning curves of networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranium.experiments.deep import (
    BATCH,
    COUNTING,
    IMAGINED,
    STATES,
    NetworksConfig,
    carrying,
    one_number,
)
from cranium.experiments.reading import Study
from cranium.figures.office import curve
from cranium.figures.style import legend_below, new_figure, tidy

__all__ = ["caption", "draw"]


def draw(study: Study) -> dict[str, Any]:
    """The figures of the experiment, by their names."""
    config = study.config
    assert isinstance(config, NetworksConfig)
    rows, columns = shape_of(len(config.cases))
    width = max(3.6 * columns, 6.4)  # the legend needs that much
    with new_figure(width, 2.6 * rows + 0.8) as figure:
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
        panels = grid.ravel()[: len(config.cases)]
        for spare in grid.ravel()[len(config.cases) :]:
            spare.remove()
        for axes, case in zip(panels, config.cases, strict=True):
            for group in study.groups:
                # Of the machines for one N, that for the greatest is shown beside those for all.
                alone = case in COUNTING and group.case == one_number(case, config.times)
                curves = [r.result["curve"] for r in group.records if r.done]
                if curves and (group.case == case or alone):
                    name = f"{group.method}, N = {config.times} only" if alone else group.method
                    curve(axes, group.method, np.array(curves), name)
            axes.set(xlabel="samples", title=case, ylim=(-0.03, 1.05))
            tidy(axes)
            axes.locator_params(axis="x", nbins=5)  # or long numbers run into each other
            axes.xaxis.set_major_formatter("{x:,.0f}")
        for axes in grid[:, 0]:
            axes.set_ylabel("success of the greedy policy")
        legend_below(figure, panels, 3)
    return {"deep": figure}


def shape_of(cases: int) -> tuple[int, int]:
    """How many rows and columns of panels."""
    columns = cases if cases < 4 else 2
    return -(-cases // columns), columns


def caption(study: Study) -> str:
    """What was run, and what the figure shows."""
    config = study.config
    assert isinstance(config, NetworksConfig)
    return (
        f"**Networks** (Figure “deep”), {config.trials} seeds (the paper has 10): interquartile "
        "means of the success of the greedy policy, and the middle half of the seeds. Two hidden "
        f"layers of 128 units; DQN learns from {BATCH} experiences in each update, CRM and CQL "
        f"imagine each of them in |U| = {STATES} states (with letters in {IMAGINED} "
        f"configurations, with mail in all {carrying(config.times)}), and “DQN, same batch” draws "
        f"as many real ones instead. As published: the whole map, {config.published:,} samples, "
        "learning rate 0.0001. Any start: the same task, but an episode begins anywhere, the "
        "discount is 0.95, and it explores longer. Letters and mail, with the defaults of the "
        "library: A^N B C D^N, and N items of mail that are collected, then delivered, begun "
        f"anywhere in the office; N is drawn from 1 to {config.times}. CRM needs a machine and a "
        "network for each N. In the office without counting CRM and CQL are one line: they are "
        "the same. No method was tuned by itself."
    )
