"""How near the optimum do the learners come with their defaults, in worlds with chance?

Every learner, with its defaults and its budget, on the worlds and tasks of ``panel.py``. The greedy
policy is evaluated exactly; its value is told as a share of the optimum. The goal: at least 95 % of
the optimum at the end in 95 % of all (world, task, seed), and never below 90 % of its own best.

The held-out half is for reporting only (see ``panel.py``); ``--panel tuning`` leaves it out. What
was run is kept in ``out/defaults`` and not run again. Settings belong to the name of a record, with
their defaults; code does not: after a change of a learner's code, take the folder away.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from panel import PANELS, make
from running import OUT, parse, parser_of, write

import cranium
from cranium.learners import TrainingResult, train
from cranium.learners.registry import choose_config

BUDGETS = {"ql": 400_000, "cql": 400_000, "hrm": 400_000, "planner": 30_000}
LOOKS = 25
ENOUGH, OWN_BEST = 0.95, 0.9


@dataclass(frozen=True)
class Default:
    """A learner with its defaults and its own budget; it records shares of the optimum."""

    learner: str
    budget: int

    @property
    def description(self) -> str:
        """What the records are of."""
        return f"{self.learner}, {self.budget:,} samples, {LOOKS} shares of the optimum"

    @property
    def settings(self) -> Mapping[str, Any]:
        """The defaults, so that records are of one set of them."""
        return choose_config(self.learner, None, {}).as_dict()

    def train(
        self, env: Any, *, steps: int, seed: int, until: Any, evaluate_every: Any, **settings: Any
    ) -> TrainingResult:
        """Train, and put the share of the optimum in the place of the return in the curve."""
        shares: list[float] = []

        def note(found: Any) -> bool:
            shares.append(float(found.values[0] / found.optimum[0]))
            return False

        budget = min(self.budget, steps)
        every = max(budget // LOOKS, 1)
        told = {"steps": budget, "seed": seed, "until": note, "evaluate_every": every}
        result = train(env, self.learner, **told)
        curve = result.curve.copy()
        curve[:, 2] = shares
        return replace(result, curve=curve)


def final_share(result: TrainingResult) -> float:
    """The share of the optimum at the end."""
    return float(result.curve[-1, 2])


def study(panel: str, given: Any, learners: list[str]) -> cranium.Study:
    """All learners on a panel, or on those of its worlds that are asked for."""
    most = given.most
    return cranium.Study(
        f"defaults, {panel} panel, {most} samples at most",
        problems={
            f"{name}, task {number + 1}": functools.partial(make, panel, name, number)
            for name in PANELS[panel]
            if given.only in name
            for number in (0, 1)
        },
        learners={name: Default(name, min(BUDGETS[name], most)) for name in learners},
        seeds=given.seeds,
        steps=most,
        measure=final_share,
    )


def summary(curves: list[np.ndarray]) -> dict[str, Any]:
    """What the seeds of a learner on a task came to."""
    shares = [curve[:, 2] for curve in curves]
    end = np.array([share[-1] for share in shares])
    best = np.array([share.max() for share in shares])
    reached = [first_to_stay(curve) for curve in curves]
    return {
        "end": end.tolist(),
        "best": best.tolist(),
        "samples": reached,
        "near": int((end >= ENOUGH).sum()),
        "kept": int((end >= OWN_BEST * best).sum()),
        "seeds": len(curves),
    }


def first_to_stay(curve: np.ndarray) -> float | None:
    """The samples from which on the share is enough until the end, if it is."""
    bad = np.flatnonzero(curve[:, 2] < ENOUGH)
    first = bad[-1] + 1 if len(bad) else 0
    return float(curve[first, 0]) if first < len(curve) else None


def tell(case: str, learner: str, found: dict[str, Any]) -> str:
    """One line of the table."""
    known = [samples for samples in found["samples"] if samples is not None]
    samples = f"{np.median(known):,.0f}" if known else ""
    return (
        f"{case:<34} {learner:<8} end {np.mean(found['end']):.2f} "
        f"({min(found['end']):.2f} to {max(found['end']):.2f})  best {np.mean(found['best']):.2f}  "
        f"near {found['near']}/{found['seeds']}  kept {found['kept']}/{found['seeds']}  {samples}"
    )


def measure(panel: str, given: Any, folder: Path) -> dict[str, Any]:
    """Run what is missing of a panel, print its table, and return it."""
    learners = given.learners.split(",")
    grid = study(panel, given, learners)
    grid.run(folder / panel, workers=given.workers)
    results = grid.results()
    found: dict[str, Any] = {}
    for case in grid.problems:
        for learner in learners:
            group = results.group(learner, case)
            assert group is not None, f"{learner} was not run on {case}"
            assert not group.failed, f"{learner} failed on {case}"
            curves = [np.array(record.result["curve"]) for record in group.records]
            found[f"{case}, {learner}"] = told = summary(curves)
            print(tell(case, learner, told), flush=True)
    for learner in learners:
        mine = [told for name, told in found.items() if name.endswith(f", {learner}")]
        runs = sum(told["seeds"] for told in mine)
        near, kept = (sum(told[key] for told in mine) / runs for key in ("near", "kept"))
        print(
            f"{panel} panel, {learner}: of {runs} runs {near:.0%} end at {ENOUGH:.0%} of the "
            f"optimum or above (goal 95 %), {kept:.0%} at {OWN_BEST:.0%} of their own best or "
            f"above (goal 100 %); mean share {np.mean([told['end'] for told in mine]):.2f}"
        )
    return found


def main() -> None:
    """Measure the panels, print the tables, and write the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--most", type=int, default=400_000, help="samples of each run")
    parser.add_argument("--panel", choices=[*PANELS, "both"], default="both")
    parser.add_argument("--only", default="", help="the worlds whose names contain this")
    parser.add_argument("--learners", default="ql,cql,hrm,planner")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    given = parse(parser, seeds=1, most=50, panel="tuning", learners="cql", workers=1)
    panels = list(PANELS) if given.panel == "both" else [given.panel]
    folder = OUT / "smoke" / "defaults" if given.smoke else OUT / "defaults"
    told = {panel: measure(panel, given, folder) for panel in panels}
    write("defaults", told, smoke=given.smoke)


if __name__ == "__main__":
    main()
