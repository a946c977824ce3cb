"""Equal tuning: every method may try as many settings, on the same number of seeds of its own.

The best is the one that solved most of them, and of several the one with the least median.
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

__all__ = ["GRIDS", "TUNING_SEED", "grid", "tune"]

TUNING_SEED = 1_000_000
"""Tuning has seeds of its own, from here on: what was chosen is tried on fresh ones."""

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
    # With shaping the potential matters as much as initial values do without.
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
"""What is tried: twelve settings for each, but for the planner, which has nothing to tune. Where
several settings belong together, they stand in a dictionary."""


def grid(name: str) -> list[dict[str, Any]]:
    """All settings that are tried.

    Example:
        >>> len(grid("cql")), len(grid("crm+rs")), grid("planner")
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
    """The jobs that compare the candidates, and the trial with the best, once that is known."""
    variants = [replace(base, settings={**base.settings, **candidate}) for candidate in candidates]
    if len(variants) == 1:
        return [], variants[0]

    def tried(trial: TrainingTrial) -> TrainingTrial:
        return replace(trial, stage="tuning", steps=min(budget, trial.steps))

    # One trial for all seeds of a candidate: to work out its key takes most of the time.
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
    """The less, the better: trials that were not solved, then the median, then the mean.

    Of a setting with a trial that failed nothing is known, so it comes last.
    """
    if any(record is not None and not record.done for record in records):
        return math.inf, math.inf, math.inf
    found = [record.result.get("samples") for record in records if record is not None]
    solved = [samples for samples in found if samples is not None]
    filled = [budget if samples is None else samples for samples in found]
    return len(found) - len(solved), statistics.median(filled), statistics.fmean(filled)
