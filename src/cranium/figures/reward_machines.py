"""The baselines beside their published medians."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranium.experiments.reading import Study
from cranium.experiments.reward_machines import PUBLISHED, REACHED, RewardMachinesConfig
from cranium.figures.style import colour, legend_below, marker, new_figure

__all__ = ["caption", "draw"]


def draw(study: Study) -> dict[str, Any]:
    """The figures of the experiment, by their names."""
    config = study.config
    assert isinstance(config, RewardMachinesConfig)
    with new_figure(8.4, 4.0) as figure:
        panels = figure.subplots(1, len(config.cases), squeeze=False, sharey=True)[0]
        for axes, case in zip(panels, config.cases, strict=True):
            for method in config.methods:
                _curve(axes, study, method, case)
            axes.axhline(REACHED, color="#777777", linewidth=0.8, linestyle=":")
            axes.set(title=case, xlabel="samples, in thousands", ylim=(-0.03, 1.2))
            axes.set_axisbelow(True)
        panels[0].set_ylabel("reward per step, share of the optimum")
        legend_below(figure, panels[0], 5)
    return {"reward-machines": figure}


def _curve(axes: Any, study: Study, method: str, case: str) -> None:
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


def caption(study: Study) -> str:
    """What was run, and what the figure shows."""
    config = study.config
    assert isinstance(config, RewardMachinesConfig)
    return (
        "**Reward-machine baselines in Toro Icarte’s office**, by their protocol, but "
        "that the task of an episode is drawn by lot where they take turns: the reward "
        "per step of training episodes (with exploration 0.1), averaged over the last 100"
        " episodes (400 with four tasks), as a share of that of the optimal policy with "
        f"the same exploration. {config.trials} seeds: medians and the middle half. "
        "Learning rate 0.5, discount 0.9, initial values 2, shaping Φ = −V. Markers with "
        "a black edge are the published medians of the samples at which 0.9 (dotted) is "
        "reached. On the map that the public code describes the shortest ways are 15, 29,"
        " 29 and 30 steps; the published logs contain episodes of 11 and 23 steps, so "
        "that those runs were made on a map with shorter ways: our absolute numbers are "
        "greater, and HRM, whose options take the nearest way, stays at 0.70 of the "
        "optimum with all four tasks, where 0.93 was published."
    )
