"""The checkpoints of ``cranium train``: their names, and what is said about them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TypedDict

from cranium.cli.output import print_line
from cranium.cli.training_report import FaultTolerantOutput
from cranium.errors import InvalidArgumentError
from cranium.learners import Callback, TrainingProgress, TrainingResult
from cranium.learners.checkpoints import check_place, existing, named_after

__all__ = ["CheckpointFiles"]


class Arguments(TypedDict):
    """The arguments of ``cranium.train`` for one learner and one seed."""

    checkpoint: Path | None
    resume: Path | None
    every: int | None
    callbacks: list[Callback]


class CheckpointFiles:
    """One file for each learner and seed.

    A single training has the file that was named. Of several, ``agent.ckpt`` becomes
    ``agent-cql-seed3.ckpt``, with the learner if there are several, and the seed if there are.

    Args:
        checkpoint: The name of the files that are written, if any are.
        resume: The name of the files to go on from. A training without one begins anew.
        every: The number of samples between two checkpoints.
        learners: The learners.
        seeds: The seeds.
        output: Where to say that a training goes on.
    """

    def __init__(
        self,
        checkpoint: Path | None,
        resume: Path | None,
        every: int | None,
        learners: Sequence[str],
        seeds: Sequence[int],
        output: FaultTolerantOutput,
    ) -> None:
        if every is not None and checkpoint is None:
            raise InvalidArgumentError(
                "--every says how often checkpoints are written, and there are none",
                fix="give --checkpoint FILE, or --evaluate-every for evaluations",
            )
        self.checkpoint = checkpoint
        self.every = every
        self.several = (len(learners) > 1, len(seeds) > 1)
        self.output = output
        self.found: dict[tuple[str, int], Path | None] = {}
        trainings = list(product(learners, seeds))
        if resume is not None:
            names = [self._name(resume, *training) for training in trainings]
            found = existing(names) if any(self.several) else [*names]
            self.found = dict(zip(trainings, found, strict=True))
        if checkpoint is not None:  # before the first of them begins
            for training in trainings:
                check_place(self._name(checkpoint, *training), self.found.get(training))

    def _name(self, file: Path, learner: str, seed: int) -> Path:
        parts = [learner] if self.several[0] else []
        parts += [f"seed{seed}"] if self.several[1] else []
        return named_after(file, *parts)

    def arguments(self, learner: str, seed: int) -> Arguments:
        """Return the arguments of one training."""
        resume = self.found.get((learner, seed))
        file = self.checkpoint
        return {
            "checkpoint": None if file is None else self._name(file, learner, seed),
            "resume": resume,
            "every": self.every,
            "callbacks": [] if resume is None else [Resumed(resume, self.output)],
        }

    def report(self, last: TrainingResult) -> None:
        """Say how an interrupted training goes on."""
        if self.checkpoint is not None and last.interrupted:
            file = self._name(self.checkpoint, last.learner, last.seed)
            if file.exists():
                text = f"wrote {file}: go on with --resume {self.checkpoint}"
                self.output.print_with(lambda: print_line(text))


class Resumed:
    """A callback that says where a training goes on."""

    def __init__(self, file: Path, output: FaultTolerantOutput) -> None:
        self.file = file
        self.output = output

    def __call__(self, progress: TrainingProgress) -> None:
        """Do nothing: it was said at the beginning."""

    def begin(self, progress: TrainingProgress) -> None:
        """Say it."""
        text = (
            f"{progress.learner} seed {progress.seed} goes on after {progress.samples:,} samples "
            f"({self.file})"
        )
        self.output.print_with(partial(print_line, text))
