"""Keeps the state of a training loop in checkpoints, and brings it back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.interrupt import held
from cranium.errors import CraniumError, FileFormatError, InvalidArgumentError, shorten
from cranium.io import format_path
from cranium.learners.callbacks import Callbacks
from cranium.learners.checkpoints import (
    Checkpoint,
    CheckpointFile,
    evaluation_from,
    save_evaluation,
)
from cranium.learners.episode_log import StreakFinder
from cranium.learners.evaluation_result import Evaluation
from cranium.learners.run import Run
from cranium.learners.saved_state import ANY, SavedState
from cranium.npz import DAMAGES

__all__ = ["Keeper", "resume_loop"]

QUICK, SLOW = 0.1, 0.5
"""How many seconds compiled code, or an environment, may hold Ctrl-C back."""
PATIENCE = 100_000
"""How many samples more are taken at most after Ctrl-C, to come to the end of an episode."""
COLUMNS = 4
LARGEST = 2**53


class ResumableLoop(Protocol):
    """The parts of a training loop that a checkpoint holds."""

    run: Run
    steps: int
    callbacks: Callbacks
    log: bool
    curve: list[tuple[float, ...]]
    last: Evaluation | None
    is_final: bool
    solved_at: int | None
    streak: StreakFinder | None
    ended: bool
    told: int

    @property
    def done(self) -> int: ...

    def learn(self, steps: int) -> None: ...

    def settle(self) -> None: ...

    def catch_up(self) -> None: ...


class Keeper:
    """Writes checkpoints of a loop when they are due.

    The state of an environment in Python can be saved only between two episodes. A checkpoint that
    falls due within one waits for its end.
    """

    def __init__(self, loop: ResumableLoop, file: CheckpointFile) -> None:
        self.loop = loop
        self.file = file
        self.written_at = -1  # how many samples the last checkpoint has
        self._most = 64  # samples in one piece, during which Ctrl-C waits
        self._is_torn = False  # whether an error came between two samples

    @property
    def is_waiting(self) -> bool:
        """Whether a checkpoint is due that could not be written yet."""
        return self.file.due

    def learn(self, learn: Callable[[int], None], steps: int) -> None:
        """Take some of the samples in one piece, so that Ctrl-C comes between two of them."""
        first = self.loop.done == 0
        begin = time.perf_counter()
        with held():
            self._is_torn = True
            learn(1 if first else min(steps, self._most))
            self._is_torn = False
        if first:
            self.loop.run.check_resumable()
        spent = time.perf_counter() - begin
        if spent < QUICK and not first:
            self._most *= 2
        elif spent > SLOW:
            self._most = max(self._most // 2, 1)

    def keep(self, *, now: bool = False) -> None:
        """Write a checkpoint if one is due, or now, if the state can be saved."""
        loop, file = self.loop, self.file
        if self.written_at == loop.done:
            return
        if loop.done % loop.callbacks.every == 0 or loop.ended or loop.done >= loop.steps or now:
            file.due = True
        if file.due and loop.run.is_between_episodes:
            with held():
                file.write(save_loop(loop))
                self.written_at = loop.done

    def keep_interrupted(self) -> None:
        """Write a checkpoint after Ctrl-C; a second one ends the wait for the end of an episode."""
        loop = self.loop
        if self._is_torn or not loop.done:
            return
        try:
            for _ in range(PATIENCE):
                self.keep(now=True)
                if not self.file.due or loop.ended or loop.done >= loop.steps:
                    return
                loop.catch_up()  # an evaluation may have been interrupted
                loop.learn(1)
                loop.settle()
        except KeyboardInterrupt:
            return


def save_loop(loop: ResumableLoop) -> SavedState:
    """Return the whole state of a training."""
    saved, run = SavedState(), loop.run
    run.save_state(saved)
    saved.arrays["log"] = run.logged()
    saved.arrays["ends"] = np.array(run.ends, np.float64)
    saved.arrays["curve"] = np.array(loop.curve, np.float64).reshape(-1, COLUMNS)
    save_evaluation(loop.last, saved)
    saved.data["done"] = loop.done
    saved.data["solved_at"] = loop.solved_at
    saved.data["is_final"] = loop.is_final
    saved.data["told"] = loop.told
    return saved


def resume_loop(loop: ResumableLoop, checkpoint: Checkpoint) -> None:
    """Let a new loop go on from a checkpoint of the same training."""
    name = format_path(checkpoint.path)
    try:
        _restore(loop, checkpoint.saved)
    except CraniumError:
        raise
    except DAMAGES as problem:
        raise FileFormatError(f"{name} is damaged: {shorten(str(problem))}") from None
    if loop.done > loop.steps:
        raise InvalidArgumentError(
            f"{name} has {loop.done:,} samples already, and steps is {loop.steps:,}",
            fix=f"give steps={loop.done} or more",
        )


def _restore(loop: ResumableLoop, saved: SavedState) -> None:
    done = saved.whole("done", 1, LARGEST)
    ends = saved.finite("ends", (4,))
    counts = ends[:3]
    if (counts < 0).any() or (counts > done).any() or (counts != counts.round()).any():
        raise ValueError(f"counts of episodes: {counts.tolist()}")
    rows = saved.finite("log", (ANY, 3))
    episodes = int(ends[0])
    if (
        len(rows) > episodes
        or not _is_rising(rows[:, 0], done)
        or (loop.log and len(rows) < episodes)
    ):
        raise ValueError("a log of other episodes")
    curve = saved.finite("curve", (ANY, COLUMNS))
    if not _is_rising(curve[:, 0], done):
        raise ValueError("a curve of other samples")
    loop.run.restore_state(saved)
    if loop.done != done:
        raise ValueError(f"{loop.done:,} samples, not {done:,}")
    _set_ends(loop.run.ends, ends)
    loop.run.log.restore(rows, episodes)
    loop.curve = [(int(row[0]), *row[1:].tolist()) for row in curve]
    loop.last = evaluation_from(saved)
    loop.is_final = saved.switch("is_final")
    solved = saved.data["solved_at"]
    loop.solved_at = None if solved is None else saved.whole("solved_at", 1, done)
    loop.told = max(saved.whole("told", 0, LARGEST), episodes - len(rows))
    loop.told = min(loop.told, episodes)
    if loop.streak is not None:
        loop.streak.read(rows)


def _is_rising(samples: NDArray[np.float64], most: int) -> bool:
    return bool((np.diff(samples, prepend=0) > 0).all() and (samples <= most).all())


def _set_ends(ends: Sequence[float] | NDArray[np.float64], values: NDArray[np.float64]) -> None:
    given: Any = ends
    given[:] = values.tolist()
