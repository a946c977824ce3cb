"""Grid search: every method tries as many settings, on the same number of tuning seeds.

The best setting solves the task on most seeds; ties are broken by the median of the samples.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from cranium.experiments.records import Record, Store
from cranium.experiments.trial import Job, TrainingTrial

__all__ = ["GRIDS", "TUNING_SEED", "list_settings", "tune"]

TUNING_SEED = 1_000_000
"""The first tuning seed. The chosen settings are then evaluated on other seeds."""

_PLAIN: dict[str, Sequence[Any]] = {
    "learning_rate": (0.5, 0.75, 1.0),
    "exploration": (0.02, 0.1),
    "initial_value": (0.5, 1.0),
}
_FEW: dict[str, Sequence[Any]] = {"learning_rate": (0.5, 1.0), "exploration": (0.02, 0.1)}
GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "ql": _PLAIN,
    "cql": _PLAIN,
    "crm": _PLAIN,
    "hrm": _PLAIN,
    # With shaping the potential matters as much as the initial values do without.
    "cql+rs": {**_FEW, "shaping_discount": (0.9, 0.95, 0.97)},
    "crm+rs": {
        **_FEW,
        "": (
            {"shaping": True, "shaping_discount": 0.9},
            {"shaping": True, "shaping_discount": 0.97},
            {"shaping": "published", "shaping_discount": 0.9, "initial_value": 2.0},
        ),
    },
    "planner": {},
}
"""The grids: twelve settings for each method, except for the planner, which has nothing to tune.
Settings that belong together stand in a dictionary."""


def list_settings(name: str) -> list[dict[str, Any]]:
    """List all settings of a grid.

    Example:
        >>> len(list_settings("cql")), len(list_settings("crm+rs")), list_settings("planner")
        (12, 12, [{}])
    """
    axes = GRIDS[name]
    found = []
    for values in product(*axes.values()):
        setting = dict(zip(axes, values, strict=True))
        several = setting.pop("", {})
        found.append({**setting, **several})
    return found


def tune(
    base: TrainingTrial,
    candidates: Sequence[Mapping[str, Any]],
    trials: int,
    budget: int,
    store: Store,
) -> tuple[list[Job], TrainingTrial | None]:
    """The jobs that compare the candidates, and the best candidate once all have been run."""
    variants = [replace(base, settings={**base.settings, **candidate}) for candidate in candidates]
    if len(variants) == 1:
        return [], variants[0]

    def tried(trial: TrainingTrial) -> TrainingTrial:
        return replace(trial, stage="tuning", steps=min(budget, trial.steps))

    # One trial for all seeds of a candidate: computing its key takes most of the time.
    jobs = [
        [Job(trial, TUNING_SEED + seed) for seed in range(trials)] for trial in map(tried, variants)
    ]
    records = [[store.find(job) for job in group] for group in jobs]
    flat = [job for group in jobs for job in group]
    if any(record is None for group in records for record in group):
        return flat, None
    ranks = [_rank(group, budget) for group in records]
    return flat, variants[ranks.index(min(ranks))]


def _rank(records: Sequence[Record | None], budget: int) -> tuple[float, float, float]:
    """Rank a setting, lower is better: unsolved trials, then the median, then the mean.

    A setting with a failed trial comes last, because nothing is known about it.
    """
    if any(record is not None and not record.done for record in records):
        return math.inf, math.inf, math.inf
    found = [record.result.get("samples") for record in records if record is not None]
    solved = [samples for samples in found if samples is not None]
    filled = [budget if samples is None else samples for samples in found]
    return len(found) - len(solved), statistics.median(filled), statistics.fmean(filled)
