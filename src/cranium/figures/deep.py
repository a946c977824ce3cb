"""Figure "deep": learning curves of deep learners."""

from __future__ import annotations

from typing import Any

from cranium.experiments.deep import (
    ANYWHERE,
    BATCH,
    COUNTING,
    IMAGINED,
    LETTERS,
    MAIL,
    NEAREST,
    PAPER,
    PUBLISHED,
    STATES,
    NetworksConfig,
    count_delivery_configurations,
    name_single_count,
)
from cranium.experiments.results import StudyResults
from cranium.figures.office import draw_curve
from cranium.figures.style import add_legend_below, format_axes, new_figure

__all__ = ["caption", "draw"]


def draw(study: StudyResults) -> dict[str, Any]:
    """Draw the figures of the experiment; returns them by name."""
    config = study.config
    assert isinstance(config, NetworksConfig)
    rows, columns = arrange_panels(len(config.cases))
    width = max(3.6 * columns, 6.4)  # the legend needs that much
    with new_figure(width, 2.6 * rows + 0.8, study.methods) as figure:
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
        panels = grid.ravel()[: len(config.cases)]
        for spare in grid.ravel()[len(config.cases) :]:
            spare.remove()
        for axes, case in zip(panels, config.cases, strict=True):
            for group in study.groups:
                # Of the machines for a single N only that for the greatest N is shown.
                alone = case in COUNTING and group.case == name_single_count(case, config.times)
                if group.case == case or alone:
                    name = f"{group.method}, N = {config.times} only" if alone else group.method
                    draw_curve(axes, group.method, group.records, name)
            axes.set(xlabel="samples", title=case, ylim=(-0.03, 1.05))
            format_axes(axes)
            axes.locator_params(axis="x", nbins=5)  # otherwise long numbers overlap
            axes.xaxis.set_major_formatter("{x:,.0f}")
        for axes in grid[:, 0]:
            axes.set_ylabel("success of the greedy policy")
        add_legend_below(figure, panels, 3)
    return {"deep": figure}


def arrange_panels(cases: int) -> tuple[int, int]:
    """The numbers of rows and columns of panels."""
    columns = cases if cases < 4 else 2
    return -(-cases // columns), columns


def caption(study: StudyResults) -> str:
    """Write the caption: what was run, and what the figure shows."""
    config = study.config
    assert isinstance(config, NetworksConfig)
    cases = {
        PUBLISHED: f"As published: the whole map, {config.published:,} samples, learning rate "
        f"{PAPER['learning_rate']:f}".rstrip("0")
        + ".",
        ANYWHERE: "Any start: the same task, but an episode begins anywhere, the discount is "
        f"{NEAREST['discount']}, and it explores longer; {config.budget:,} samples.",
        LETTERS: f"Letters: A^N B C D^N, N drawn from 1 to {config.times}, {config.letters:,} "
        "samples, with the defaults of the library.",
        MAIL: "Mail: N items are collected, then delivered, begun anywhere in the office; N drawn "
        f"from 1 to {config.times}, {config.mail:,} samples, with the defaults of the library.",
    }
    parts = [
        f"**Networks** (Figure “deep”), {config.trials} seeds (the paper has 10): interquartile "
        "means of the success of the greedy policy, and the middle half of the seeds. Two hidden "
        f"layers of 128 units; DQN learns from {BATCH} experiences in each update, CRM and CQL "
        f"imagine each of them in |U| = {STATES} states (with letters in {IMAGINED} "
        f"configurations, with mail in all {count_delivery_configurations(config.times)}), and "
        "“DQN, same batch” draws as many real ones instead.",
        *(cases[case] for case in config.cases),
        _describe_machines(config),
        *(_describe_equal_curves(study, case) for case in config.cases if case not in COUNTING),
        "No method was tuned by itself.",
    ]
    return " ".join(part for part in parts if part)


def _describe_machines(config: NetworksConfig) -> str:
    if "CRM" not in config.methods or not any(case in COUNTING for case in config.cases):
        return ""
    return (
        "Where something is counted CRM was given a machine and a network for each N, the others "
        "one for all; one reward machine for all N was not run."
    )


def _describe_equal_curves(study: StudyResults, case: str) -> str:
    """Describe for how many seeds CRM and CQL have the same curve."""
    found = []
    for method in ("CRM", "CQL"):
        group = study.group(method, case)
        records = () if group is None else group.records
        found.append({r.seed: r.result["curve"] for r in records if r.done})
    seeds = sorted(set(found[0]) & set(found[1]))
    if not seeds:
        return ""
    equal = sum(found[0][seed] == found[1][seed] for seed in seeds)
    told = "are one line: their curves are the same" if equal == len(seeds) else "have equal curves"
    return f"CRM and CQL ({case}) {told} for {equal} of {len(seeds)} seeds."
