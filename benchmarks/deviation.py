"""How little has to change until CQL with a network learns the office of Figure "deep"?

As published nobody learns it. What ``cranium reproduce deep`` changes is put back, one thing after
the other: the start, the discount, how it explores, the budget. Then what else could be changed at
the published start: shorter episodes, a step that costs something. For each, the success of the
greedy policy at the end, seed by seed. Takes half an hour.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
from running import parse, write
from studying import parser_of_studies, results_of

import cranium
from cranium.automata.step_cost import add_step_cost
from cranium.paper.deep import BATCH, NEAREST, PAPER
from cranium.worlds import OfficeWorld

STEPS, PUBLISHED, LONG, SHORT = 40_000, 12_000, 1_000, 100
ANYWHERE = {"start": "anywhere"}
CASES: dict[str, dict[str, Any]] = {
    "all four changed": {"world": ANYWHERE},
    "the published start": {},
    "the published start, three times the budget": {"steps": 3 * STEPS},
    "discount 0.99": {"world": ANYWHERE, "settings": {"discount": PAPER["discount"]}},
    "the first exploration": {
        "world": ANYWHERE,
        "settings": {"exploration": PAPER["exploration"]},
    },
    "12,000 samples": {"world": ANYWHERE, "steps": PUBLISHED},
    "the published start, 100 steps": {"horizon": SHORT},
    "the published start, a step costs 0.01": {"cost": 0.01},
}


def make(case: str) -> cranium.AutomatonAugmentedMDP:
    """The office of a case."""
    told = CASES[case]
    task = add_step_cost(cranium.library.load("mail-delivery"), told.get("cost", 0.0))
    world = OfficeWorld(None, **told.get("world", {}))
    return cranium.product(world, task, horizon=told.get("horizon", LONG))


def study_of(case: str, given: argparse.Namespace) -> cranium.Study:
    """The study of a case: its learner is evaluated at the end."""
    told = CASES[case]
    settings = {**NEAREST, **told.get("settings", {}), "batch": BATCH}
    steps = min(told.get("steps", STEPS), given.most)
    return cranium.Study(
        f"deviation, {case}",
        {case: partial(make, case)},
        {"CQL": ("cdqn", settings)},
        seeds=given.seeds,
        steps=steps,
        evaluate_every=steps,
        measure="final_success",
    )


def main() -> None:
    """Run every case, and write the success of each seed."""
    given = parse(parser_of_studies(__doc__, seeds=20), seeds=1, most=200, workers=1)
    found = {}
    for case in CASES:
        (group,) = results_of(study_of(case, given), given).groups
        found[case] = shares = [value or 0.0 for value in group.values]
        each = " ".join(f"{share:.2f}" for share in shares)
        print(f"{case:<45} {np.mean(shares):.2f}: {each}", flush=True)
    write("deviation", found, smoke=given.smoke)


if __name__ == "__main__":
    main()
