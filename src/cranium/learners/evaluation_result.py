"""The result of an evaluation, and the interface of evaluators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranium.errors import InvalidArgumentError, shorten
from cranium.learners.policy import Policy
from cranium.worlds.protocols import Instances
from cranium.worlds.sampling import Sampling

__all__ = ["Evaluation", "Evaluator", "Instances", "check_instances"]

Floats = NDArray[np.float64]
SHOWN = 50
"""The greatest number of instances that are printed one by one."""


@dataclass(frozen=True)
class Evaluation:
    """The performance of a policy: one entry for each of I instances of the task.

    Attributes:
        instances: The names of the instances.
        success: The success rate. [I]
        returns: The expected return. [I]
        lengths: The expected number of steps. [I]
        values: The expected discounted return; without a horizon if the optimum is known. [I]
        exact: Whether these are the exact expectations, from a model of the world. If not, they are
            averages over ``episodes``, or were computed from a table that was sampled
            (``sampled``), or episodes were not followed to their end (``notes``).
        optimum: The greatest possible discounted return, if it is known. [I]
        episodes: The number of episodes that were run; None if none were. [I]
        notes: What restricts these numbers: episodes that were cut off because there is no horizon,
            episodes that passed the counter limit of the learner, an optimum that is not known.
        sampled: How the table of the world was sampled; None if it was not.

    Example:
        >>> import cranium, gymnasium
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=(1, 2))
        >>> result = cranium.train(env, "cql", steps=40_000)
        >>> print(result.evaluation)
        A once     1.0000 success, 17.00 steps, value 0.8515 of at most 0.8515
        A 2 times  1.0000 success, 21.00 steps, value 0.8179 of at most 0.8179
    """

    instances: tuple[str, ...]
    success: Floats
    returns: Floats
    lengths: Floats
    values: Floats
    exact: bool
    optimum: Floats | None = None
    episodes: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    sampled: Sampling | None = None

    @property
    def gap(self) -> Floats | None:
        """The optimum minus the values: [I]."""
        return None if self.optimum is None else self.optimum - self.values

    def is_solved(self, gap: float | None = None) -> bool:
        """Whether the policy always succeeds, and its values are at most ``gap`` below the optimum.

        If episodes were run, all of them must have succeeded; ``episodes`` is their number.
        (:func:`cranium.train` runs at least 100 of each instance before a task counts as solved.)
        """
        good = bool((self.success > 1 - 1e-9).all())
        if gap is None or not good:
            return good
        if self.gap is None:
            raise InvalidArgumentError(
                "the gap to the optimum is known for finite worlds and a discount below 1 only",
                fix="leave gap out",
            )
        return bool((self.gap <= gap + 1e-9).all())

    @property
    def solved(self) -> bool:
        """Whether the policy always succeeds, in every instance."""
        return self.is_solved()

    def __str__(self) -> str:
        told = self.notes if self.sampled is None else (*self.notes, str(self.sampled))
        return "\n".join([*self._lines(), *(f"note: {note}" for note in told)])

    def _lines(self) -> list[str]:
        if len(self.instances) > SHOWN:
            best = "" if self.optimum is None else f" of at most {self.optimum.mean():.4f}"
            runs = "" if self.episodes is None else f" in {self.episodes.sum():,} episodes"
            return [
                f"{len(self.instances)} instances: {self.success.mean():.4f} success on average, "
                f"{self.success.min():.4f} at worst{runs}, {self.lengths.mean():.2f} steps, "
                f"value {self.values.mean():.4f}{best}"
            ]
        width = max(len(name) for name in self.instances)
        return [
            f"{name:<{width}}  {self.success[i]:.4f} success{self._runs(i)}"
            + f", {self.lengths[i]:.2f} steps, value {self.values[i]:.4f}"
            + ("" if self.optimum is None else f" of at most {self.optimum[i]:.4f}")
            for i, name in enumerate(self.instances)
        ]

    def _runs(self, instance: int) -> str:
        if self.episodes is None:
            return ""
        count = int(self.episodes[instance])
        return f" in {count:,} episode{'' if count == 1 else 's'}"


class Evaluator(ABC):
    """Evaluates policies of one product."""

    @abstractmethod
    def evaluate_policy(
        self, policy: Policy, *, optimum: bool = False, confirm: bool = False
    ) -> Evaluation:
        """Evaluate a policy in each instance.

        Args:
            policy: The policy.
            optimum: Whether to compute the greatest possible value, if that is cheap.
            confirm: If all episodes have succeeded, whether to run more to confirm it.
        """


def check_instances(instances: Instances | None) -> None:
    """Accept names with options of ``reset``."""
    good = isinstance(instances, Mapping) and all(
        isinstance(options, Mapping) for options in instances.values()
    )
    if instances is not None and not good:
        raise InvalidArgumentError(
            f'instances are names with options, such as {{"three": {{"mail": 3}}}}, not '
            f"{shorten(instances)}"
        )
