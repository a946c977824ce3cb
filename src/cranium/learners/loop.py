"""The training loop: learn and evaluate by turns, call the callbacks, and make the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.interrupt import finishing
from cranium.aamdp.encoding import DictEncoding, Encoding
from cranium.errors import (
    CraniumError,
    RewardError,
    RunError,
)
from cranium.learners.acting import Acting
from cranium.learners.callbacks import Callbacks, TrainingProgress
from cranium.learners.config import LearnerConfig
from cranium.learners.episode_log import Streak, StreakFinder
from cranium.learners.evaluation import (
    Evaluation,
)
from cranium.learners.keeper import Keeper
from cranium.learners.progress import ProgressBar
from cranium.learners.result import TrainingResult
from cranium.learners.run import CHUNK, Run

__all__ = ["Loop", "RunMetadata", "Until", "closing_callbacks"]

Floats = NDArray[np.float64]
Until = Literal["solved"] | Streak | Callable[[Evaluation], bool] | None


class RunMetadata(NamedTuple):
    """Run metadata: ``world`` returns the fingerprint, ``encoding`` is that of the product."""

    learner: str
    config: LearnerConfig
    seed: int
    environment: str
    task: str
    world: Callable[[], Mapping[str, Any]]
    encoding: Encoding


class Loop:
    """The training loop of one run: learns, evaluates and calls the callbacks by turns.

    Args:
        run: The learner in its environment.
        steps: How many samples to take.
        every: The number of samples between two evaluations.
        until: When to stop earlier.
        gap: How much less than the optimum a policy that solves the task may earn.
        about: What the result says of the run.
        callbacks: What else is called.
        log: Whether the result has a log of the episodes.
    """

    def __init__(
        self,
        run: Run,
        steps: int,
        every: int,
        until: Until,
        gap: float | None,
        about: RunMetadata,
        callbacks: Callbacks,
        *,
        log: bool,
    ) -> None:
        self.run = run
        self.about = about
        self.steps = steps
        self.every = every
        self.until = until
        self.gap = gap
        self.callbacks = callbacks
        self.log = log
        self.keeper: Keeper | None = None  # writes checkpoints
        self.curve: list[tuple[float, ...]] = []
        self.last: Evaluation | None = None
        self.is_final = False  # whether the last evaluation can serve as the final one
        self.solved_at: int | None = None
        self.streak = StreakFinder(until) if isinstance(until, Streak) else None
        self.interrupted = False
        self.ended = False
        self.told = 0  # how many episodes of the log the callbacks have seen

    @property
    def done(self) -> int:
        """The number of samples so far."""
        return self.run.samples

    def go(self, watch: ProgressBar) -> None:
        """Train until a stopping rule holds, or somebody interrupts."""
        with closing_callbacks([self]):
            try:
                self.begin()
                self.catch_up()
                while not self.ended:
                    self.learn(self.pause - self.done)
                    self.show(watch)
                    self.settle()
            except KeyboardInterrupt:
                self.interrupted = True
                if self.keeper is not None:
                    self.keeper.keep_interrupted()

    def begin(self) -> None:
        """Tell the callbacks that the training begins."""
        if self.callbacks:
            self.callbacks.begin(self._progress())

    def catch_up(self) -> None:
        """Do what was still due after the last sample, if the training is resumed."""
        if self.curve and self.curve[-1][0] == self.done:
            self.ended = self.done >= self.steps or self._is_enough()
        elif self.done and (self.done % self.every == 0 or self.done >= self.steps):
            self.settle()

    def _is_enough(self) -> bool:
        """Whether the training is to stop after the last evaluation."""
        if self.until == "solved":
            return self.solved_at is not None
        if self.streak is not None:
            return self.streak.found is not None
        return callable(self.until) and self.last is not None and bool(self.until(self.last))

    def show(self, watch: ProgressBar) -> None:
        """Update the progress bar."""
        watch.show(self.done, self.run.exploration, self.run.ends, self.curve)

    @property
    def pause(self) -> int:
        """The number of samples after which there is something to do besides learning."""
        pauses = [self.steps, _next(self.done, self.every)]
        if self.callbacks or self.keeper is not None:
            pauses.append(_next(self.done, self.callbacks.every))
        if self.keeper is not None and self.keeper.is_waiting:
            pauses.append(self.done + 1)
        if self.streak is not None:
            # Counted from the last evaluation: where a streak is seen depends on nothing else.
            begin = self.done // self.every * self.every
            pauses.append(begin + _next(self.done - begin, CHUNK))
        return min(pauses)

    def settle(self) -> None:
        """Look for a streak, evaluate and call the callbacks, if that is due after this sample."""
        done = self.done
        if self.keeper is not None and done >= self.steps:
            self.keeper.keep()  # before the final evaluation, which is none of a longer training
        due = done % self.every == 0 or done >= self.steps
        look = self.streak is not None and (due or done % self.every % CHUNK == 0)
        streak = look and self._has_streak()
        if due or streak:
            self.ended = self._evaluate_now() or streak or done >= self.steps
        if self.callbacks and (self.ended or done % self.callbacks.every == 0):
            self._call()
        if self.keeper is not None and done < self.steps:
            self.keeper.keep()

    def _call(self) -> None:
        """Call the callbacks; if one of them fails, what was learned is kept first."""
        try:
            self.ended = self.callbacks(self._progress()) or self.ended
        except Exception:
            if self.keeper is not None and self.done < self.steps:
                self.keeper.keep(now=True)
            raise

    def _has_streak(self) -> bool:
        """Read the new part of the log; return whether the streak is complete."""
        finder = self.streak
        return finder is not None and finder.read(self.run.logged(finder.read_so_far)) is not None

    def _progress(self) -> TrainingProgress:
        """Return the state of the training, with the part of the log that is new."""
        run, about = self.run, self.about
        new = run.logged(self.told)
        self.told += len(new)
        if not self.log:
            run.log.drop(self.told)
        return TrainingProgress(
            about.learner,
            about.config,
            about.seed,
            run.path,
            about.environment,
            about.task,
            self.steps,
            self.every,
            self.done,
            int(run.ends[0]),
            int(run.ends[1]),
            int(run.ends[2]),
            run.exploration,
            self.last,
            np.array(self.curve).reshape(-1, 4),
            self.solved_at,
            new,
            self._policy,
            lambda: run.samples,
        )

    def learn(self, steps: int) -> None:
        """Take up to so many samples."""
        if self.keeper is None:
            self._learn(steps)
        else:
            self.keeper.learn(self._learn, steps)

    def _learn(self, steps: int) -> None:
        try:
            status = self.run.learn(steps)
        except (RunError, RewardError) as problem:
            raise self._placed(problem) from None
        self.check(status)

    def check(self, status: int) -> None:
        """Raise the error of a negative status."""
        if status < 0:
            refused = self.run.error(status)
            raise self._placed(
                refused
                or RewardError(
                    "a value became infinite or NaN", fix="lower the rewards or the learning rate"
                )
            )

    def _placed(self, problem: CraniumError) -> CraniumError:
        """Add the sample and the configuration to an error message."""
        x = self.run.configuration
        problem.message = f"after {self.done:,} samples, in {x}: {problem.message}"
        problem.args = (problem.message,)
        return problem

    def _evaluate_now(self) -> bool:
        """Evaluate the greedy policy and return whether to stop."""
        # A function may ask how near the optimum the policy is, and whether it is solved.
        asked, last = callable(self.until), self.done >= self.steps
        optimum = self.gap is not None or asked or last
        confirm = self.solved_at is None or asked or last
        self.last = found = self.run.evaluate(optimum=optimum, confirm=confirm)
        self.is_final = confirm and (optimum or found.episodes is not None)
        means = (found.success.mean(), found.returns.mean(), found.lengths.mean())
        self.curve.append((self.done, *means))
        if self.solved_at is None and found.is_solved(self.gap):
            self.solved_at = self.done
        return self.streak is None and self._is_enough()

    def _final(self) -> Evaluation:
        """The final evaluation, with the optimum where there is one."""
        last = self.last
        if last is not None and self.is_final and self.curve[-1][0] == self.done:
            return last  # nothing was learned since
        found: Evaluation = self.run.evaluate(optimum=True, confirm=True)
        return found

    def _evaluated(self) -> Evaluation:
        """The final evaluation. If it is interrupted, too, a cheaper one takes its place."""
        try:
            return self._final()
        except KeyboardInterrupt:
            self.interrupted = True
        with finishing():
            found: Evaluation = self.run.evaluate(optimum=False, confirm=False)
        return found

    def _policy(self) -> Any:
        """Return the greedy policy as it is now, and what it says of how it was made."""
        learner, config, seed, *_, world, encoding = self.about
        about = {
            "learner": learner,
            "config": config.as_dict(),
            "seed": seed,
            "samples": self.done,
            "samples_to_solve": self.solved_at,
        }
        policy: Any = self.run.policy()
        if not isinstance(policy, Acting):
            return policy  # of an agent of the user's own
        ours: Any = policy  # a dataclass
        shown = None if type(encoding) is DictEncoding else encoding
        return replace(ours, world=world(), about=about, product_encoding=shown)

    def result(self) -> TrainingResult:
        """Make the result, and tell the callbacks."""
        with closing_callbacks([self]):
            result = self._result()
        self.callbacks.end(result)
        return result

    def _result(self) -> TrainingResult:
        learner, config, seed, *_ = self.about
        run = self.run
        self._has_streak()  # it may be complete, although Ctrl-C came first
        return TrainingResult(
            learner,
            config,
            seed,
            run.path,
            self.done,
            self.solved_at,
            self._evaluated(),
            np.array(self.curve).reshape(-1, 4),
            int(run.ends[0]),
            int(run.ends[1]),
            int(run.ends[2]),
            run.logged() if self.log else np.zeros((0, 3)),
            None if self.streak is None else self.streak.found,
            self.interrupted,
            self._policy,
        )


def _next(done: int, every: int) -> int:
    """The next multiple."""
    return (done // every + 1) * every


@contextmanager
def closing_callbacks(loops: Sequence[Loop]) -> Iterator[None]:
    """Tell the callbacks if an error ends the training."""
    try:
        yield
    except BaseException:
        for loop in loops:
            loop.callbacks.end(None)
        raise
