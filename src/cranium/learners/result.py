"""The result of a training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranium.errors import PolicyError
from cranium.learners.config import LearnerConfig
from cranium.learners.evaluation_result import Evaluation
from cranium.learners.policy import Policy

__all__ = ["TrainingResult"]

Floats = NDArray[np.float64]


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
