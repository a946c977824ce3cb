"""How should counters and cells be shown to a network, and does it go on beyond what it has met?

Counters: counterfactual DQN on A^N B C D^N with N drawn from 1 to 3, tested with N from 4 to 6;
they are shown as bits up to some value, as logarithms or as plain numbers.

Cells: the same learner as in Figure "deep", in the office begun anywhere and on letters; whole
numbers are shown one-hot, jointly, or scaled, that with a greater learning rate, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from running import parse, write
from studying import parser_of_studies, results_of

import cranium
from cranium.learners import TrainingResult
from cranium.paper.deep import BATCH, IMAGINED, NEAREST

COUNTERS: dict[str, dict[str, Any]] = {
    **{f"bits up to {clip}": {"counters": "bits", "clip": clip} for clip in (1, 2, 3, 10)},
    "log": {"counters": "log"},
    "raw": {"counters": "raw"},
}
CELLS: dict[str, dict[str, Any]] = {
    **{cells: {"cells": cells} for cells in ("one-hot", "joint", "scaled")},
    "scaled, rate 0.001": {"cells": "scaled", "learning_rate": 1e-3},
}


def letters(times: tuple[int, int], **options: Any) -> gym.Env[Any, Any]:
    """A^N B C D^N with N drawn from a range."""
    return gym.make("cranium/Letter-anbcdn-v0", times=times, **options)


def office() -> gym.Env[Any, Any]:
    """The office of Figure "deep", begun anywhere."""
    return gym.make("cranium/Office-mail-delivery-v0", mail=None, start="anywhere")


def success_beyond(result: TrainingResult) -> float:
    """The success of the greedy policy with greater N; it acts at random where it has no values."""
    env = letters((4, 6), observation="paper")
    return float(np.mean(cranium.evaluate(env, result.policy.with_unknown("random")).success))


def learners_of(ways: dict[str, dict[str, Any]], **shared: Any) -> dict[str, Any]:
    """Counterfactual DQN with each way of showing something."""
    return {name: ("cdqn", {**shared, **told}) for name, told in ways.items()}


def counters(given: argparse.Namespace) -> Iterator[cranium.Study]:
    """Each way of showing counters."""
    yield cranium.Study(
        "network inputs, counters",
        # which does not give N away
        {"N = 1 to 3": partial(letters, (1, 3), observation="paper")},
        learners_of(COUNTERS, num_counterfactuals=6, exploration=0.3),
        seeds=given.seeds,
        steps=given.steps,
        evaluate_every=given.steps // 20,
        measure=success_beyond,
    )


def cells(given: argparse.Namespace) -> Iterator[cranium.Study]:
    """Each way of showing cells."""
    nearest = {**NEAREST, "batch": BATCH}
    counting = {"batch": BATCH, "num_counterfactuals": IMAGINED}
    for case, make, settings, looks in (
        ("office, any start", office, nearest, 30),
        ("letters, N drawn", partial(letters, (1, 3)), counting, 40),
    ):
        yield cranium.Study(
            f"network inputs, cells, {case}",
            {case: make},
            learners_of(CELLS, **settings),
            seeds=given.seeds,
            steps=given.steps,
            evaluate_every=given.steps // looks,
            measure="final_success",
        )


def compare(what: str, given: argparse.Namespace) -> None:
    """Train, test, and print a table."""
    found: dict[str, list[float]] = {}
    for study in KINDS[what](given):
        for group in results_of(study, given).groups:
            name = f"{group.method:20} {group.case}"
            found[name] = [
                float(np.mean(list(record.result["success"].values()))) for record in group.records
            ]
            if what == "counters":
                found[f"{group.method:20} N = 4 to 6"] = [value or 0.0 for value in group.values]
    for name, shares in sorted(found.items()):
        always = sum(share == 1 for share in shares)
        print(f"{name:40} {np.mean(shares):.2f}  {always} of {len(shares)} always")
    write(f"network-inputs-{what}", found, smoke=given.smoke)


KINDS = {"counters": counters, "cells": cells}


def main() -> None:
    """Compare one of them, or both."""
    parser = parser_of_studies(__doc__, seeds=20)
    parser.add_argument("what", choices=KINDS, nargs="?", help="left out, both")
    parser.add_argument("--steps", type=int, default=40_000)
    given = parse(parser, seeds=1, steps=200, workers=1)
    for what in [given.what] if given.what else KINDS:
        compare(what, given)


if __name__ == "__main__":
    main()
