"""Toro Icarte's office tasks: our baselines compared with the published numbers.

The published protocol measures the reward per step of training episodes, with exploration, averaged
over the last 100 episodes (400 if there are four tasks), relative to that of the optimal policy
with the same exploration. Methods are compared by when this reaches 0.9.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cranium.errors import format_count
from cranium.experiments.results import StudyResults
from cranium.figures.captions import join_words
from cranium.figures.kinds import FigureKind, register_figure
from cranium.figures.style import add_legend_below, colour, marker, new_figure
from cranium.paper.config import (
    MOST_SAMPLES,
    ExperimentConfig,
    check_limit,
    check_names,
    read_config,
    register,
)
from cranium.paper.problems import PaperProblem
from cranium.paper.rates import (
    compute_rates,
    compute_shortest_length,
    find_reached,
    name_optimal_rates,
)
from cranium.studies import JointStudy, Recorded, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BASELINES", "CASES", "PUBLISHED", "RewardMachinesConfig", "caption", "draw"]

WINDOW = 100
"""The number of training episodes of each task over which the reward per step is averaged."""
_COMMON = {"learning_rate": 0.5, "discount": 0.9, "exploration": 0.1, "initial_value": 2.0}
BASELINES: dict[str, tuple[str, dict[str, Any]]] = {
    "QL": ("ql", _COMMON),
    "QL+RS": ("ql", {**_COMMON, "shaping": "published"}),
    "CRM": ("crm", _COMMON),
    "CRM+RS": ("crm", {**_COMMON, "shaping": "published"}),
    "HRM": ("hrm", _COMMON),
}
"""The published settings."""
CASES = {
    "coffee and mail": "toro-coffee-mail",
    "all four": "toro-coffee+toro-mail+toro-coffee-mail+toro-patrol",
}
REACHED = 0.9
PUBLISHED: dict[tuple[str, str], int | None] = {
    ("coffee and mail", "QL"): 48_000,
    ("coffee and mail", "QL+RS"): 31_000,
    ("coffee and mail", "CRM"): 22_000,
    ("coffee and mail", "CRM+RS"): 18_000,
    ("all four", "QL"): None,
    ("all four", "CRM"): 31_000,
    ("all four", "CRM+RS"): 28_000,
    ("all four", "HRM"): 26_000,
}
"""The published medians of the samples until 0.9 of the optimum; None: not within 100,000."""
PUBLISHED_SHARES = {("coffee and mail", "HRM"): 0.72, ("all four", "HRM"): 0.93}
"""The published share of the optimum at which HRM ends."""
PUBLISHED_BUDGET = 100_000
PUBLISHED_WAYS = (11, 23)
"""The lengths of the shortest successful episodes of two tasks in the published logs."""


@register
@dataclass(frozen=True)
class RewardMachinesConfig(ExperimentConfig):
    """The reward-machine baselines.

    Attributes:
        trials: The number of seeds; 30 were published.
        methods: The methods that are compared, from ``BASELINES``.
        cases: The cases that are run, from ``CASES``.
        budget: The number of samples of each trial.

    Example:
        >>> RewardMachinesConfig(trials=5).budget
        100000
    """

    name = "reward-machines"
    place = 3
    title = "Reward machines in Toro Icarte's office"

    trials: int = 30
    methods: tuple[str, ...] = tuple(BASELINES)
    cases: tuple[str, ...] = tuple(CASES)
    budget: int = 100_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("method", self.methods, list(BASELINES))
        check_names("case", self.cases, list(CASES))
        check_limit("budget", self.budget, MOST_SAMPLES)

    def quick(self) -> Self:
        """Three seeds."""
        return replace(self, trials=min(self.trials, 3), is_quick=True)

    def cpu_seconds(self) -> float:
        """An estimate from earlier runs."""
        return 10 + 1e-6 * self.trials * len(self.methods) * len(self.cases) * self.budget

    def study(self) -> JointStudy:
        """Every baseline on every case."""
        rate = _COMMON["exploration"]
        study = Study(
            self.name,
            {case: PaperProblem("ToroOffice", CASES[case]) for case in self.cases},
            {method: BASELINES[method] for method in self.methods},
            seeds=self.trials,
            steps=self.budget,
            evaluate_every=max(self.budget // 20, 1),
            until="budget",
            measure="reached",
            lower_is_better=True,
            log=True,
            record={
                "reached": Recorded(functools.partial(find_reached, WINDOW, rate, REACHED), "size"),
                "rates": Recorded(functools.partial(compute_rates, WINDOW, rate), "pairs"),
                "optimal rates": Recorded(functools.partial(name_optimal_rates, rate), "numbers"),
            },
        )
        return self.join(
            [study],
            measure=f"samples until {REACHED} of the optimum",
            measure_field="reached",
            steps=self.budget,
        )


def draw(study: StudyResults) -> dict[str, Figure]:
    """Draw the figures of the experiment; returns them by name."""
    config = read_config(study, RewardMachinesConfig)
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


def _draw_curve(axes: Axes, study: StudyResults, method: str, case: str) -> None:
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
    config = read_config(study, RewardMachinesConfig)
    parts = [
        "**Reward-machine baselines in Toro Icarte’s office**, by their protocol, but that the "
        "task of an episode is drawn at random where they take turns: the reward per step of "
        f"training episodes (with exploration {_COMMON['exploration']}), averaged over the last "
        f"{WINDOW} episodes for each task, as a share of that of the optimal policy with the same "
        f"exploration. {format_count(config.trials, 'seed')}: medians and the middle half. "
        f"Learning rate {_COMMON['learning_rate']}, discount {_COMMON['discount']}, initial values "
        f"{_COMMON['initial_value']:g}, shaping Φ = −V. Markers with a black edge are the "
        f"published medians of the samples at which {REACHED} (dotted) is reached.",
        *(_describe_medians(study, config, case) for case in config.cases),
        *(_describe_share(study, case) for case in config.cases),
        _describe_path_lengths(tuple(config.cases)),
    ]
    return " ".join(part for part in parts if part)


def _describe_medians(study: StudyResults, config: RewardMachinesConfig, case: str) -> str:
    """List the medians of this run and the published ones."""
    told = []
    for method in config.methods:
        group = study.group(method, case)
        if group is None or not group.summary.run:
            continue
        ours = _format_median(group.summary.median, config.budget)
        published = ""
        if (case, method) in PUBLISHED:
            published = f" (published: {_format_median(PUBLISHED[case, method], PUBLISHED_BUDGET)})"
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


register_figure("reward-machines", FigureKind(draw, caption))
