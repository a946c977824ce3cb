"""How should counters be shown to a network, and does it go on beyond those it has met?

Counterfactual DQN on A^N B C D^N with N drawn from 1 to 3, tested with N from 4 to 6: counters are
shown as bits, logarithms or plain numbers, and imagined as far as they can occur, or up to 6.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from peers import write

from cranium.experiments import LocalEngine
from cranium.experiments.trial import Job, TrainingTrial


def trial(counters: str, limit: int | None, steps: int) -> TrainingTrial:
    """One way of showing counters."""
    return TrainingTrial(
        "encodings",
        counters,
        "no limit" if limit is None else f"up to {limit}",
        world="Letter",
        task="anbcdn",
        learner="cdqn",
        options={"times": [1, 3], "observation": "paper"},  # which does not give N away
        settings={"counters": counters, "imagined": 6, "exploration": 0.3},
        steps=steps,
        every=steps // 20,
        until=None,
        counter_limit=limit,
        tested_on={"times": [4, 6], "observation": "paper"},
    )


def main() -> None:
    """Train, test, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=40_000)
    given = parser.parse_args()
    kinds = [trial(c, limit, given.steps) for c in ("bits", "log", "raw") for limit in (None, 6)]
    found: dict[Any, list[tuple[float, float]]] = {kind.key: [] for kind in kinds}
    with LocalEngine() as engine:
        for job, record in engine.run([Job(k, s) for s in range(given.seeds) for k in kinds]):
            assert record.done, record.error
            result = record.result
            met, beyond = (list(result[part].values()) for part in ("success", "elsewhere"))
            found[job.trial.key].append((float(np.mean(met)), float(np.mean(beyond))))
    results = {}
    for kind in kinds:
        met, beyond = np.mean(found[kind.key], axis=0)
        results[f"{kind.method}, {kind.case}"] = {"met": met, "beyond": beyond}
        print(f"{kind.method:5} imagined {kind.case:9} N = 1..3 {met:.2f}  N = 4..6 {beyond:.2f}")
    write("encodings", results)


if __name__ == "__main__":
    main()
