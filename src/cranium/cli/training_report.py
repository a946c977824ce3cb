"""The results of training and evaluation, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from cranium.cli.output import print_line
from cranium.errors import format_count
from cranium.learners import Evaluation, TrainingResult

__all__ = [
    "FaultTolerantOutput",
    "TrainingRun",
    "evaluation_to_json",
    "print_evaluation",
    "print_run",
    "print_run_line",
    "print_summary",
    "run_to_json",
]


class TrainingRun(NamedTuple):
    """The result of one learner with one seed, and how long it took in seconds."""

    result: TrainingResult
    seconds: float


class FaultTolerantOutput:
    """Prints reports, and keeps going if standard output fails.

    Printing fails when the window is closed, or when the disk behind standard output is full. The
    error is kept until everything is saved, and raised by :meth:`raise_failure`.

    Args:
        quiet: Whether to print nothing.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._failure: OSError | None = None

    def print_with(self, report: Callable[[], object]) -> None:
        """Call a function that prints, unless printing has failed before."""
        if self._quiet or self._failure is not None:
            return
        try:
            report()
        except OSError as problem:
            self._failure = problem

    def raise_failure(self) -> None:
        """Raise the error with which printing failed, if it did."""
        if self._failure is not None:
            raise self._failure


def print_run(task: str | None, run: TrainingRun) -> None:
    """Print the result of one training run in full."""
    result, seconds = run
    print_line(f"task      {task}")
    print_line(f"learner   {result.learner}, seed {result.seed}, {result.path} loop")
    ends = f"{result.episodes:,} episodes, {result.successes:,} with success"
    if result.overflows:
        ends += f", {result.overflows:,} because a counter passed its limit"
    stopped = "interrupted after " if result.interrupted else ""
    print_line(f"samples   {stopped}{result.samples:,} in {seconds:.1f} s: {ends}")
    solved = result.samples_to_solve
    print_line(f"solved    {'not yet' if solved is None else f'after {solved:,} samples'}")
    print_evaluation(result.evaluation)


def print_run_line(run: TrainingRun) -> None:
    """Print the result of one training run in one line."""
    result, seconds = run
    solved = result.samples_to_solve
    verdict = "not solved" if solved is None else f"solved after {solved:,} samples"
    stopped = ", interrupted" if result.interrupted else ""
    success = float(result.evaluation.success.mean())
    print_line(
        f"{result.learner} seed {result.seed}: {verdict}, success {success:.2f} at the end, "
        f"{result.samples:,} samples in {seconds:.1f} s{stopped}"
    )


def print_summary(results: Sequence[TrainingResult]) -> None:
    """Print for each learner how many seeds solved the task, and the median of the samples."""
    from cranium.experiments.statistics import summarise

    for learner in dict.fromkeys(result.learner for result in results):
        found = [r.samples_to_solve for r in results if r.learner == learner and not r.interrupted]
        if not found:
            continue
        summary = summarise(found)
        median = "none" if summary.median is None else f"{summary.median:,.0f} samples"
        told = format_count(summary.run, "seed")
        print_line(f"{learner}: {summary.solved} of {told} solved, median {median}")


def print_evaluation(evaluation: Evaluation) -> None:
    """Print the evaluation of the greedy policy."""
    for number, line in enumerate(str(evaluation).splitlines()):
        print_line(("greedy    " if number == 0 else " " * 10) + line)


def run_to_json(run: TrainingRun) -> dict[str, object]:
    """Return the result of a training run, for JSON."""
    result, seconds = run
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
        "evaluation": evaluation_to_json(result.evaluation),
        "notes": list(result.evaluation.notes),
    }


def evaluation_to_json(evaluation: Evaluation) -> list[dict[str, object]]:
    """Return an evaluation, for JSON."""
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
