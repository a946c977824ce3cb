"""The reward-machine baselines, with the published medians."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from cranium.experiments.execution import compute_shortest_length
from cranium.experiments.results import StudyResults
from cranium.experiments.reward_machines import (
    BASELINES,
    CASES,
    PUBLISHED,
    PUBLISHED_SHARES,
    PUBLISHED_WAYS,
    REACHED,
    RewardMachinesConfig,
)
from cranium.figures.captions import join_words
from cranium.figures.style import add_legend_below, colour, marker, new_figure

__all__ = ["caption", "draw"]

_COMMON = BASELINES["QL"][1]


def draw(study: StudyResults) -> dict[str, Any]:
    """Draw the figures of the experiment; returns them by name."""
    config = study.config
    assert isinstance(config, RewardMachinesConfig)
    with new_figure(8.4, 4.0, study.methods) as figure:
        panels = figure.subplots(1, len(config.cases), squeeze=False, sharey=True)[0]
        for axes, case in zip(panels, config.cases, strict=True):
            for method in config.methods:
                _draw_curve(axes, study, method, case)
            axes.axhline(REACHED, color="#777777", linewidth=0.8, linestyle=":")
            axes.set(title=case, xlabel="samples, in thousands", ylim=(-0.03, 1.2))
            axes.set_axisbelow(True)
        panels[0].set_ylabel("reward per step, share of the optimum")
        add_legend_below(figure, panels[0], 5)
    return {"reward-machines": figure}


def _draw_curve(axes: Any, study: StudyResults, method: str, case: str) -> None:
    group = study.group(method, case)
    curves = [] if group is None else [r.result["rates"] for r in group.records if r.done]
    length = min((len(curve) for curve in curves), default=0)
    if length:
        found = np.array([curve[:length] for curve in curves])
        low, middle, high = np.quantile(found[:, :, 1], [0.25, 0.5, 0.75], axis=0)
        x = found[0, :, 0] / 1_000
        axes.plot(x, middle, color=colour(method), label=method)
        axes.fill_between(x, low, high, color=colour(method), alpha=0.2, linewidth=0)
    published = PUBLISHED.get((case, method))
    if published is not None:
        axes.plot(
            published / 1_000,
            REACHED,
            marker(method),
            color=colour(method),
            markeredgecolor="black",
        )


def caption(study: StudyResults) -> str:
    """Write the caption: what was run, and what the figure shows."""
    config = study.config
    assert isinstance(config, RewardMachinesConfig)
    parts = [
        "**Reward-machine baselines in Toro Icarte’s office**, by their protocol, but that the "
        "task of an episode is drawn at random where they take turns: the reward per step of "
        f"training episodes (with exploration {_COMMON['exploration']}), averaged over the last "
        "100 episodes for each task, as a share of that of the optimal policy with the same "
        f"exploration. {config.trials} seeds: medians and the middle half. Learning rate "
        f"{_COMMON['learning_rate']}, discount {_COMMON['discount']}, initial values "
        f"{_COMMON['initial_value']:g}, shaping Φ = −V. Markers with a black edge are the "
        f"published medians of the samples at which {REACHED} (dotted) is reached.",
        *(_describe_medians(study, case) for case in config.cases),
        *(_describe_share(study, case) for case in config.cases),
        _describe_path_lengths(tuple(config.cases)),
    ]
    return " ".join(part for part in parts if part)


def _describe_medians(study: StudyResults, case: str) -> str:
    """List the medians of this run and the published ones."""
    assert isinstance(study.config, RewardMachinesConfig)
    told = []
    for method in study.config.methods:
        group = study.group(method, case)
        if group is None or not group.summary.run:
            continue
        ours = _format_median(group.summary.median, study.config.budget)
        published = ""
        if (case, method) in PUBLISHED:
            published = f" (published: {_format_median(PUBLISHED[case, method], 100_000)})"
        told.append(f"{method} {ours}{published}")
    return f"Samples until {REACHED}, {case}: {'; '.join(told)}." if told else ""


def _format_median(value: float | None, budget: int) -> str:
    return f"not within {budget:,}" if value is None else f"{value:,.0f}"


def _describe_share(study: StudyResults, case: str) -> str:
    """Describe the share of the optimum at which HRM ends: it need not become optimal."""
    group = study.group("HRM", case)
    records = () if group is None else group.records
    last = [r.result["rates"][-1][1] for r in records if r.done and r.result["rates"]]
    if not last:
        return ""
    told = f"HRM ends at {np.median(last):.2f} of the optimum with {case}"
    published = PUBLISHED_SHARES.get((case, "HRM"))
    return f"{told}." if published is None else f"{told} (published: {published})."


@lru_cache(maxsize=8)
def _describe_path_lengths(cases: tuple[str, ...]) -> str:
    """Compare the shortest paths on our map with those in the published logs."""
    tasks = dict.fromkeys(task for case in cases for task in CASES[case].split("+"))
    lengths = [compute_shortest_length("ToroOffice", task) for task in tasks]
    told = join_words(f"{length:.0f}" for length in lengths)
    ways = "way takes" if len(lengths) == 1 else "ways take"
    return (
        f"On the map that the public code describes the shortest {ways} {told} steps "
        f"({join_words(tasks)}); the published logs contain episodes of "
        f"{join_words(map(str, PUBLISHED_WAYS))} steps, so that those runs were made on another "
        "map, and absolute numbers cannot agree."
    )
