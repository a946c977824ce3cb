"""What is told of a training and of an evaluation, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cranium
from cranium.cli.output import say
from cranium.learners import Evaluation, TrainingResult

__all__ = [
    "Reports",
    "evaluation_data",
    "report",
    "report_briefly",
    "report_evaluation",
    "summarise_seeds",
    "training_data",
]


class Reports:
    """What is told of a training; if nobody can be told any more, results are still written.

    A window that was closed, or a full disk behind standard output, fails when something is
    printed. That is raised in the end, when everything is saved.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._problem: OSError | None = None

    def tell(self, what: Callable[[], object]) -> None:
        """Print something."""
        if self._quiet or self._problem is not None:
            return
        try:
            what()
        except OSError as problem:
            self._problem = problem

    def check(self) -> None:
        """Raise what went wrong."""
        if self._problem is not None:
            raise self._problem


def report(env: cranium.AutomatonAugmentedMDP, result: TrainingResult, seconds: float) -> None:
    """Tell what came of a training."""
    say(f"task      {env.automaton.name}")
    say(f"learner   {result.learner}, seed {result.seed}, {result.path} loop")
    ends = f"{result.episodes:,} episodes, {result.successes:,} with success"
    if result.overflows:
        ends += f", {result.overflows:,} because a counter passed its limit"
    stopped = "interrupted after " if result.interrupted else ""
    say(f"samples   {stopped}{result.samples:,} in {seconds:.1f} s: {ends}")
    solved = result.samples_to_solve
    say(f"solved    {'not yet' if solved is None else f'after {solved:,} samples'}")
    report_evaluation(result.evaluation)


def report_briefly(
    _: cranium.AutomatonAugmentedMDP, result: TrainingResult, seconds: float
) -> None:
    """One of several seeds."""
    solved = result.samples_to_solve
    told = "not solved" if solved is None else f"solved after {solved:,} samples"
    stopped = ", interrupted" if result.interrupted else ""
    success = float(result.evaluation.success.mean())
    say(
        f"{result.learner} seed {result.seed}: {told}, success {success:.2f} at the end, "
        f"{result.samples:,} samples in {seconds:.1f} s{stopped}"
    )


def summarise_seeds(results: list[TrainingResult]) -> None:
    """What several seeds came to, for each learner."""
    from cranium.experiments.statistics import summarise

    for learner in dict.fromkeys(result.learner for result in results):
        found = [r.samples_to_solve for r in results if r.learner == learner and not r.interrupted]
        if not found:
            continue
        told = summarise(found)
        median = "none" if told.median is None else f"{told.median:,.0f} samples"
        say(f"{learner}: {told.solved} of {told.run} seeds solved, median {median}")


def report_evaluation(evaluation: Evaluation) -> None:
    """Tell what the greedy policy achieves."""
    for number, line in enumerate(str(evaluation).splitlines()):
        say(("greedy    " if number == 0 else " " * 10) + line)


def training_data(result: TrainingResult, seconds: float) -> dict[str, Any]:
    """What came of a training, for JSON."""
    return {
        "learner": result.learner,
        "seed": result.seed,
        "path": result.path,
        "samples": result.samples,
        "samples_to_solve": result.samples_to_solve,
        "seconds": round(seconds, 3),
        "episodes": result.episodes,
        "overflows": result.overflows,
        "interrupted": result.interrupted,
        "evaluation": evaluation_data(result.evaluation),
        "notes": list(result.evaluation.notes),
    }


def evaluation_data(evaluation: Evaluation) -> list[dict[str, Any]]:
    """An evaluation, for JSON."""
    gap = evaluation.gap
    return [
        {
            "instance": name,
            "success": float(evaluation.success[i]),
            "return": float(evaluation.returns[i]),
            "steps": float(evaluation.lengths[i]),
            "gap": None if gap is None else float(gap[i]),
            "episodes": None if evaluation.episodes is None else int(evaluation.episodes[i]),
        }
        for i, name in enumerate(evaluation.instances)
    ]
