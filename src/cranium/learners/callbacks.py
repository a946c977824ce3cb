"""Callbacks: functions of a user's own that are called while a learner trains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cranium.arguments import check_count
from cranium.errors import InvalidArgumentError, PolicyError, shorten
from cranium.learners.config import LearnerConfig
from cranium.learners.evaluation_result import Evaluation
from cranium.learners.policy import Policy
from cranium.learners.result import TrainingResult

__all__ = ["Callback", "Callbacks", "TrainingProgress", "check_callbacks", "check_every"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TrainingProgress:
    """The state of a training between two samples, as callbacks see it.

    Attributes:
        learner: The id of the learner.
        config: Its settings.
        seed: The seed.
        path: Where the environment steps: ``"compiled"``, ``"jax"`` or ``"python"``.
        environment: The name of the environment.
        task: The name of the automaton.
        steps: How many samples are to be taken in all.
        evaluate_every: The number of samples between two evaluations.
        samples: How many samples were taken so far.
        episodes: How many training episodes have ended.
        successes: How many of them with success.
        overflows: How many of them because a counter passed its limit.
        exploration: The current exploration rate.
        evaluation: The last evaluation of the greedy policy, or None before the first. It was made
            after ``curve[-1, 0]`` samples.
        curve: Samples, and the success, return and steps of the greedy policy then, averaged over
            the instances. [T, 4]
        samples_to_solve: After how many samples the task was first solved, or None.
        log: The training episodes that ended since the last call: how many samples were taken
            when each ended, its return, whether it succeeded (0 or 1). [E, 3]

    Example:
        >>> import cranium, gymnasium
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
        >>> def show(progress):
        ...     print(progress.samples, progress.episodes, len(progress.log))
        >>> _ = cranium.train(env, "ql", steps=2_000, callbacks=[show], every=1_000)
        1000 25 25
        2000 39 14
    """

    learner: str
    config: LearnerConfig
    seed: int
    path: str
    environment: str
    task: str
    steps: int
    evaluate_every: int
    samples: int
    episodes: int
    successes: int
    overflows: int
    exploration: float
    evaluation: Evaluation | None
    curve: Floats = field(repr=False)
    samples_to_solve: int | None
    log: Floats = field(repr=False)
    _policy: Callable[[], Policy] = field(repr=False, compare=False)
    _samples_now: Callable[[], int] = field(repr=False, compare=False)

    @property
    def mean_return(self) -> float | None:
        """The mean return of the training episodes in ``log``; None if there are none.

        Example:
            >>> import cranium, gymnasium
            >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
            >>> def show(progress):
            ...     print(progress.mean_return)
            >>> _ = cranium.train(env, "planner", steps=500, callbacks=[show], every=500)
            0.8666666666666667
        """
        return float(self.log[:, 1].mean()) if len(self.log) else None

    def policy(self) -> Policy:
        """Return the greedy policy as it is now. Ask during the call: the training goes on.

        Example:
            >>> import cranium, gymnasium
            >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
            >>> kept = []
            >>> def keep(progress):
            ...     kept.append(progress.policy())
            >>> _ = cranium.train(env, "cql", steps=500, callbacks=[keep], every=500)
            >>> kept[0].num_actions
            4
        """
        now = self._samples_now()
        if now != self.samples:
            raise PolicyError(
                f"this is the state after {self.samples:,} samples, and {now:,} have been taken",
                fix="ask for the policy while the callback is called",
            )
        return self._policy()


class Callback(Protocol):
    """The interface of a callback: a function of the state of the training.

    It is called every n samples, and once more at the end, except if Ctrl-C ended the training.
    It returns True to stop, and None or False to go on. What it raises ends the training, and
    nothing it does changes what is learned.

    An object may have two methods more, either or both:

    - ``begin(progress)`` is called before the first sample. In a training that is resumed,
      ``progress.samples`` is where it goes on.
    - ``end(result)`` is called last, with the :class:`~cranium.learners.TrainingResult`, or with
      None if an error ended the training. It is called if ``begin`` was, whatever happens.

    With several seeds (:func:`~cranium.learners.train_seeds`) the same callback follows each of
    them: ``progress.seed`` and ``result.seed`` say which.

    Example:
        >>> def stop_at_half(progress):
        ...     return bool(progress.curve[-1, 1] >= 0.5)  # the success of the greedy policy
        >>> import cranium, gymnasium
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=(1, 2))
        >>> result = cranium.train(env, "ql", steps=200_000, callbacks=[stop_at_half])
        >>> result.samples < 200_000
        True
    """

    def __call__(self, progress: TrainingProgress, /) -> bool | None:
        """Look at the state of the training; return True to stop."""


@runtime_checkable
class _HasBegin(Protocol):
    def begin(self, progress: TrainingProgress, /) -> object: ...


@runtime_checkable
class _HasEnd(Protocol):
    def end(self, result: TrainingResult | None, /) -> object: ...


def check_callbacks(callbacks: Iterable[Callback]) -> tuple[Callback, ...]:
    """Return the callbacks, if they are that.

    Example:
        >>> check_callbacks(print)
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: callbacks are a list, not
        <built-in function print>
          fix: callbacks=[…]
    """
    if not isinstance(callbacks, Iterable):
        raise InvalidArgumentError(
            f"callbacks are a list, not {shorten(callbacks)}", fix="callbacks=[…]"
        )
    found = tuple(callbacks)
    for each in found:
        if not callable(each) or isinstance(each, type):
            raise InvalidArgumentError(
                f"a callback is a function of the progress, not {shorten(each)}",
                fix="give a function, or an object with the method __call__",
            )
    return found


def check_every(every: int | None, used: object) -> None:
    """Check the number of samples between two calls or checkpoints, if there are any.

    Example:
        >>> check_every(1_000, [])
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: every says how often callbacks are called and
        checkpoints are written, and there are none
          fix: give callbacks=[…] or checkpoint=…, or evaluate_every=… for evaluations
    """
    if every is None:
        return
    check_count("every", every)
    if not used:
        raise InvalidArgumentError(
            "every says how often callbacks are called and checkpoints are written, and there are "
            "none",
            fix="give callbacks=[…] or checkpoint=…, or evaluate_every=… for evaluations",
        )


class Callbacks:
    """The callbacks of one training, and when they are due."""

    def __init__(self, callbacks: Sequence[Callback], every: int) -> None:
        self.callbacks = callbacks
        self.every = every
        self._begun: list[Callback] = []

    def __bool__(self) -> bool:
        return bool(self.callbacks)

    def begin(self, progress: TrainingProgress) -> None:
        """Tell each that the training begins."""
        for each in self.callbacks:
            self._begun.append(each)
            if isinstance(each, _HasBegin):
                each.begin(progress)

    def __call__(self, progress: TrainingProgress) -> bool:
        """Call each, and return whether one of them wants to stop."""
        answers = [_stops(each, each(progress)) for each in self.callbacks]
        return any(answers)

    def end(self, result: TrainingResult | None) -> None:
        """Tell each that began that the training has ended; an error of one stops no other."""
        with ExitStack() as stack:
            for each in reversed(self._begun):
                if isinstance(each, _HasEnd):
                    stack.callback(each.end, result)
            self._begun = []


def _stops(callback: Callback, answer: object) -> bool:
    if answer is None or isinstance(answer, bool | np.bool_):
        return bool(answer)
    name = getattr(callback, "__qualname__", type(callback).__name__)
    raise InvalidArgumentError(
        f"the callback {name} returned {shorten(answer)}",
        fix="return True to stop, and None or False to go on",
    )
