"""The training loop: learn and evaluate by turns, and make the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.interrupt import finishing
from cranium.aamdp.encoding import DictEncoding, Encoding
from cranium.errors import (
    CraniumError,
    PolicyError,
    RewardError,
    RunError,
)
from cranium.learners.acting import Acting
from cranium.learners.config import LearnerConfig
from cranium.learners.episode_log import Streak, StreakFinder
from cranium.learners.evaluation import (
    Evaluation,
)
from cranium.learners.policy import Policy
from cranium.learners.progress import ProgressBar
from cranium.learners.run import CHUNK, Run

if TYPE_CHECKING:
    from cranium.learners.deep.fused import FusedRun

__all__ = ["Loop", "RunMetadata", "TrainingResult", "Until", "go_together"]

Floats = NDArray[np.float64]
Until = Literal["solved"] | Streak | Callable[[Evaluation], bool] | None


@dataclass(frozen=True)
class TrainingResult:
    """The result of a training: the policy, its evaluation and the learning curve.

    Attributes:
        learner: The id of the learner.
        config: Its settings.
        seed: The seed.
        path: ``"compiled"``: the world was made into arrays, and the whole loop compiled;
            ``"jax"``: the same, for networks; ``"python"``: the environment stepped in Python.
        samples: How many samples were taken.
        samples_to_solve: After how many the greedy policy first solved every instance, or None.
        evaluation: The greedy policy at the end.
        curve: Samples, and the success, return and steps of the greedy policy then, averaged over
            the instances. [T, 4]
        episodes: How many episodes ended while training, with exploration.
        successes: How many of them with success.
        overflows: How many of them because a counter passed its limit.
        log: With ``log=True``, these episodes one by one: how many samples were taken when each
            ended, its return (the sum of its rewards), whether it succeeded (0 or 1). [E, 3]
        streak_at: After how many samples the streak that was asked for was complete, or None.
        interrupted: Whether Ctrl-C ended it.
        learned: What makes the policy.

    Example:
        >>> import cranium, gymnasium
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
        >>> result = cranium.train(env, "ql", steps=40_000, until="solved")
        >>> result.samples == result.samples_to_solve < 40_000, result.path
        (True, 'compiled')
    """

    learner: str
    config: LearnerConfig
    seed: int
    path: str
    samples: int
    samples_to_solve: int | None
    evaluation: Evaluation
    curve: Floats = field(repr=False)
    episodes: int
    successes: int
    overflows: int
    log: Floats = field(repr=False)
    streak_at: int | None
    interrupted: bool
    learned: Callable[[], Policy] = field(repr=False, compare=False)

    @cached_property
    def policy(self) -> Policy:
        """The learned policy, computed when it is first asked for."""
        return self.learned()

    def __reduce__(self) -> Any:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return _restored, ({**values, "learned": None}, self.policy)

    @property
    def q(self) -> Floats:
        """The values of actions. [O, X, A] as in the policy."""
        if not isinstance(self.policy, Policy):
            raise PolicyError(
                f"{self.learner} has learned a network, which has no table of values",
                fix="ask result.policy.values(observations, configurations)",
            )
        return self.policy.q


def _restored(values: dict[str, Any], policy: Policy) -> TrainingResult:
    return TrainingResult(**{**values, "learned": lambda: policy})


class RunMetadata(NamedTuple):
    """Run metadata: ``world`` returns the fingerprint, ``encoding`` is that of the product."""

    learner: str
    config: LearnerConfig
    seed: int
    world: Callable[[], Mapping[str, Any]]
    encoding: Encoding


class Loop:
    """The training loop of one run: learns and evaluates by turns."""

    def __init__(
        self, run: Run, steps: int, every: int, until: Until, gap: float | None, about: RunMetadata
    ) -> None:
        self.run = run
        self.about = about
        self.steps = steps
        self.every = every
        self.until = until
        self.gap = gap
        self.curve: list[tuple[float, ...]] = []
        self.last: Evaluation | None = None
        self.is_final = False  # whether the last evaluation can serve as the final one
        self.solved_at: int | None = None
        self.streak = StreakFinder(until) if isinstance(until, Streak) else None
        self.interrupted = False

    @property
    def done(self) -> int:
        """The number of samples so far."""
        return self.run.samples

    @property
    def exploration(self) -> float:
        """The current exploration rate."""
        return self.run.exploration

    def go(self, watch: ProgressBar) -> None:
        """Train until a stopping rule holds, or somebody interrupts."""
        try:
            while self.done < self.steps:
                target = self.target
                while self.done < target and not self.has_streak():
                    self._learn(target - self.done)
                    watch.show(self.done, self.exploration, self.run.ends, self.curve)
                if self.evaluate_now() or self.has_streak():
                    return
        except KeyboardInterrupt:
            self.interrupted = True

    @property
    def target(self) -> int:
        """The number of samples after which the next evaluation is due."""
        return min((self.done // self.every + 1) * self.every, self.steps)

    def has_streak(self) -> bool:
        """Read the new part of the log; return whether the streak is complete."""
        finder = self.streak
        return finder is not None and finder.read(self.run.logged(finder.read_so_far)) is not None

    def _learn(self, steps: int) -> None:
        if self.streak is not None:
            steps = min(steps, CHUNK)  # so that both paths stop after the same sample
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

    def evaluate_now(self) -> bool:
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
        if self.until == "solved":
            return self.solved_at is not None
        return callable(self.until) and bool(self.until(found))

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

    def result(self) -> TrainingResult:
        """Make the result."""
        learner, config, seed, world, encoding = self.about
        run = self.run
        self.has_streak()  # it may be complete, although Ctrl-C came first
        about = {
            "learner": learner,
            "config": config.as_dict(),
            "seed": seed,
            "samples": self.done,
            "samples_to_solve": self.solved_at,
        }

        def learned() -> Any:
            policy: Any = run.policy()
            if not isinstance(policy, Acting):
                return policy  # of an agent of the user's own
            ours: Any = policy  # a dataclass
            shown = None if type(encoding) is DictEncoding else encoding
            return replace(ours, world=world(), about=about, product_encoding=shown)

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
            run.logged(),
            None if self.streak is None else self.streak.found,
            self.interrupted,
            learned,
        )


def go_together(loops: Sequence[Loop], watch: ProgressBar) -> None:
    """Train several seeds at once; each is evaluated when it would be if it were alone."""
    from cranium.learners.deep.vmap_seeds import learn_together

    going = list(loops)
    try:
        while going:
            first, target = going[0], going[0].target
            statuses = learn_together(_fused_runs(going), target - first.done)
            for loop, status in zip(going, statuses, strict=True):
                loop.check(status)
            watch.show(first.done, first.exploration, first.run.ends, first.curve)
            going = [loop for loop in going if not _is_through(loop, target)]
    except KeyboardInterrupt:
        for loop in going:
            loop.interrupted = True


def _fused_runs(loops: Sequence[Loop]) -> list[FusedRun]:
    from cranium.learners.deep.fused import FusedRun

    return [loop.run for loop in loops if isinstance(loop.run, FusedRun)]  # which all of them are


def _is_through(loop: Loop, target: int) -> bool:
    """Evaluate a loop if that is due, and return whether it has ended."""
    streak = loop.has_streak()
    if not streak and loop.done < target:
        return False
    return loop.evaluate_now() or streak or loop.done >= loop.steps
