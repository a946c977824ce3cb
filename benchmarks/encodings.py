"""How should counters be shown to a network, and does it go on beyond those it has met?

Counterfactual DQN on A^N B C D^N with N drawn from 1 to 3, tested with N from 4 to 6: counters are
shown as bits up to some value, as logarithms or as plain numbers.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from peers import write

from cranium.experiments import LocalEngine
from cranium.experiments.trial import Job, TrainingTrial

WAYS: dict[str, dict[str, Any]] = {
    **{f"bits up to {clip}": {"counters": "bits", "clip": clip} for clip in (1, 2, 3, 10)},
    "log": {"counters": "log"},
    "raw": {"counters": "raw"},
}


def trial(name: str, steps: int) -> TrainingTrial:
    """One way of showing counters."""
    return TrainingTrial(
        "encodings",
        name,
        "N = 1..3",
        world="Letter",
        task="anbcdn",
        learner="cdqn",
        options={"times": [1, 3], "observation": "paper"},  # which does not give N away
        settings={**WAYS[name], "imagined": 6, "exploration": 0.3},
        steps=steps,
        every=steps // 20,
        until=None,
        tested_on={"times": [4, 6], "observation": "paper"},
    )


def main() -> None:
    """Train, test, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--workers", type=int, default=None)
    given = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    jobs = [Job(trial(name, given.steps), s) for s in range(given.seeds) for name in WAYS]
    with LocalEngine(given.workers) as engine:
        for number, (job, record) in enumerate(engine.run(jobs)):
            assert record.done, record.error
            result = record.result
            met, beyond = (list(result[part].values()) for part in ("success", "elsewhere"))
            found[job.trial.method].append((float(np.mean(met)), float(np.mean(beyond))))
            print(f"{number + 1} of {len(jobs)}: {job.trial.method} {found[job.trial.method][-1]}")
    for name, pairs in found.items():
        met, beyond = np.mean(pairs, axis=0)
        print(f"{name:13} N = 1..3 {met:.2f}  N = 4..6 {beyond:.2f}")
    write("encodings", found)


if __name__ == "__main__":
    main()
