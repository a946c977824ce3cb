"""The learners as objects, the same for both paths: compiled loops, and one call for each step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.interrupt import held
from cranium.learners.config import LearnerConfig, TabularConfig
from cranium.learners.tabular import kernels, live_kernels, loop_kernels
from cranium.learners.tabular.arrays import RANDOMS, LearnerTables

__all__ = ["QLearningAgent", "TabularAgent"]


class TabularAgent(Protocol):
    """What learns. Statuses below zero say what stopped it: see ``kernels``."""

    tables: LearnerTables
    config: LearnerConfig

    def run(self, world: Any, steps: int, nature: np.random.Generator, ends: Any, log: Any) -> int:
        """Take so many samples in a finite world; ``ends`` and ``log`` as in ``kernels.go_on``."""

    def prepare(self) -> None:
        """Get ready for the next samples in a live environment, at most ``tables.CHUNK``."""

    def start(self, observation: int) -> int:
        """Begin an episode of a live environment; the first action."""

    @property
    def experience(self) -> Callable[[int, int], int]:
        """Learn from what was seen and happened then; the next action, or a status.

        What happened is one number, see ``live_kernels.read``.
        """

    def grow(self, observations: int | None = None) -> None:
        """Make room for observations, or for what the space has come to hold."""

    def met(self, number: int, observation: Any) -> None:
        """An observation has got a number."""

    def known(self) -> NDArray[np.bool_] | None:
        """Of what the values that were asked for last say anything: [O, X]; None: everything."""

    def values(self, *, everything: bool = False) -> NDArray[np.float64]:
        """Q, at least where the greedy policy goes, or everywhere: [O, X, A]."""


class QLearningAgent:
    """Q-learning, CQL and CRM."""

    def __init__(
        self, tables: LearnerTables, config: TabularConfig, rng: np.random.Generator
    ) -> None:
        self.tables = tables
        self.config = config
        self.rng = rng
        self.first = int(tables.space.start)
        self.address = 0
        tables.position[kernels.CURSOR] = RANDOMS  # none are drawn yet
        if tables.kind == kernels.CHOSEN and tables.set.sample is not None:
            tables.position[kernels.DRAWN] = 1 + rng.integers(2**31 - 2)

    def run(self, world: Any, steps: int, nature: np.random.Generator, ends: Any, log: Any) -> int:
        """Take so many samples in a finite world."""
        more = (steps, self.first, self.rng, nature, ends, log)
        with held():
            return int(loop_kernels.run(world, self.tables.arrays, *more))

    def start(self, observation: int) -> int:
        """Begin an episode; the first action."""
        return int(live_kernels.start(self.address, observation, self.first))

    @property
    def experience(self) -> Callable[[int, int], int]:
        """Learn from what the action led to; the next action, or a status."""
        return partial(live_kernels.experience, self.address)

    def prepare(self) -> None:
        """Draw the random numbers of the next actions, two for each; those that are left first."""
        position, randoms = self.tables.position, self.tables.arrays.randoms
        used = int(position[kernels.CURSOR])
        rest = randoms[used:].copy()
        randoms[: len(rest)] = rest
        randoms[len(rest) :] = self.rng.random(RANDOMS - len(rest))
        position[kernels.CURSOR] = 0
        self.address = self.tables.address

    def grow(self, observations: int | None = None) -> None:
        """Make room."""
        self.tables.grow(observations)

    def met(self, number: int, observation: Any) -> None:
        """Numbers are all it needs."""

    def known(self) -> None:
        """What was never met has its first value."""

    def values(self, *, everything: bool = False) -> NDArray[np.float64]:  # noqa: ARG002
        """Q everywhere: [O, X, A]."""
        return self.tables.arrays.q
