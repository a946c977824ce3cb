"""How should counters and cells be shown to a network, and does it go on beyond what it has met?

Counters: counterfactual DQN on A^N B C D^N with N drawn from 1 to 3, tested with N from 4 to 6;
they are shown as bits up to some value, as logarithms or as plain numbers.

Cells: the same learner as in Figure "deep", in the office begun anywhere and on letters; whole
numbers are shown one-hot, jointly, or scaled, that with a greater learning rate, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from running import parse, parser_of, write

from cranium.experiments import LocalEngine, NetworksConfig, Store
from cranium.experiments.deep import ANYWHERE, LETTERS
from cranium.experiments.records import Record
from cranium.experiments.trial import Job, TrainingTrial

COUNTERS: dict[str, dict[str, Any]] = {
    **{f"bits up to {clip}": {"counters": "bits", "clip": clip} for clip in (1, 2, 3, 10)},
    "log": {"counters": "log"},
    "raw": {"counters": "raw"},
}
CELLS: dict[str, dict[str, Any]] = {
    **{cells: {"cells": cells} for cells in ("one-hot", "joint", "scaled")},
    "scaled, rate 0.001": {"cells": "scaled", "learning_rate": 1e-3},
}


def counters(seeds: int, steps: int) -> Iterator[Job]:
    """Each way of showing counters."""
    for seed in range(seeds):
        for name, told in COUNTERS.items():
            trial = TrainingTrial(
                "network-inputs",
                name,
                "N = 1..3",
                world="Letter",
                task="anbcdn",
                learner="cdqn",
                options={"times": [1, 3], "observation": "paper"},  # which does not give N away
                settings={**told, "num_counterfactuals": 6, "exploration": 0.3},
                steps=steps,
                every=steps // 20,
                until=None,
                tested_on={"times": [4, 6], "observation": "paper"},
            )
            yield Job(trial, seed)


def cells(seeds: int, steps: int) -> Iterator[Job]:
    """Each way of showing cells."""
    shared = {"methods": ("CQL",), "cases": (ANYWHERE, LETTERS)}
    config = NetworksConfig(seeds, budget=steps, letters=steps, **shared)
    for trial, seed in config.jobs(Store(Path())):
        assert isinstance(trial, TrainingTrial)
        for name, told in CELLS.items():
            yield Job(replace(trial, method=name, settings={**trial.settings, **told}), seed)


def success(trial: TrainingTrial, record: Record) -> dict[str, float]:
    """That of the greedy policy at the end, by case."""
    assert record.done, record.error
    found = {trial.case: record.result["success"], "N = 4..6": record.result.get("elsewhere")}
    return {case: float(np.mean(list(each.values()))) for case, each in found.items() if each}


def compare(what: str, given: Any) -> None:
    """Train, test, and print a table."""
    jobs = list(KINDS[what](given.seeds, given.steps))
    found: dict[str, list[float]] = {}
    with LocalEngine(given.workers) as engine:
        for number, (job, record) in enumerate(engine.run(jobs)):
            for case, share in success(job.trial, record).items():
                found.setdefault(f"{job.trial.method:20} {case}", []).append(share)
                print(f"{number + 1} of {len(jobs)}: {job.trial.method}, {case}: {share:.2f}")
    for name, shares in sorted(found.items()):
        always = sum(share == 1 for share in shares)
        print(f"{name:40} {np.mean(shares):.2f}  {always} of {len(shares)} always")
    write(f"network-inputs-{what}", found, smoke=given.smoke)


KINDS = {"counters": counters, "cells": cells}


def main() -> None:
    """Compare one of them, or both."""
    parser = parser_of(__doc__)
    parser.add_argument("what", choices=KINDS, nargs="?", help="left out, both")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--workers", type=int, default=None)
    given = parse(parser, seeds=1, steps=200)
    for what in [given.what] if given.what else KINDS:
        compare(what, given)


if __name__ == "__main__":
    main()
