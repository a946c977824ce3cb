"""The interface of tabular agents, and the one of Q-learning, CQL and CRM."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.interrupt import held
from cranium.learners.config import LearnerConfig, TabularConfig
from cranium.learners.saved_state import ANY, SavedState, generator_data, restore_generator
from cranium.learners.tabular import kernels, live_kernels, loop_kernels
from cranium.learners.tabular.arrays import RANDOMS, LearnerTables
from cranium.learners.tabular.kernels import Floats, WorldArrays
from cranium.worlds.protocols import Observation

__all__ = ["QLearningAgent", "TabularAgent"]


BELOW_ONE = float(np.nextafter(1.0, 0.0))
"""The greatest random number that may be drawn."""


class TabularAgent(Protocol):
    """The interface of tabular agents. Negative statuses are the error codes of ``kernels``."""

    tables: LearnerTables
    config: LearnerConfig

    def run(
        self, world: WorldArrays, steps: int, nature: np.random.Generator, ends: Floats, log: Floats
    ) -> int:
        """Take so many samples in a finite world; ``ends``, ``log``: see ``kernels.advance``."""

    def prepare(self) -> None:
        """Prepare for up to ``CHUNK`` samples in a live environment."""

    def start(self, observation: int) -> int:
        """Start an episode of a live environment and return the first action."""

    @property
    def experience(self) -> Callable[[int, int], int]:
        """Learn from a transition; returns the next action, or a negative status.

        What happened is one number, see ``live_kernels.read``.
        """

    def grow(self, observations: int | None = None) -> None:
        """Make room for more observations, or for new labels and configurations."""

    def add_observation(self, number: int, observation: Observation) -> None:
        """Note that an observation has been given a number."""

    def known(self) -> NDArray[np.bool_] | None:
        """Where the last values are known: [O, X], or None for everywhere."""

    def values(self, *, everything: bool = False) -> NDArray[np.float64]:
        """Return Q, at least where the greedy policy goes: [O, X, A]."""

    def save_state(self, saved: SavedState) -> None:
        """Add what was learned, besides the tables, and the random generator."""

    def restore_state(self, saved: SavedState) -> None:
        """Go on from what ``save_state`` added; the tables are there already."""


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

    def run(
        self, world: WorldArrays, steps: int, nature: np.random.Generator, ends: Floats, log: Floats
    ) -> int:
        """Take so many samples in a finite world."""
        more = (steps, self.first, self.rng, nature, ends, log)
        with held():
            return int(loop_kernels.run(world, self.tables.arrays, *more))

    def start(self, observation: int) -> int:
        """Start an episode and return the first action."""
        return int(live_kernels.start(self.address, observation, self.first))

    @property
    def experience(self) -> Callable[[int, int], int]:
        """Learn from a transition; returns the next action, or a negative status."""
        return partial(live_kernels.experience, self.address)

    def prepare(self) -> None:
        """Draw the random numbers of the next actions, two for each, after those that are left."""
        position, randoms = self.tables.position, self.tables.arrays.randoms
        used = int(position[kernels.CURSOR])
        rest = randoms[used:].copy()
        randoms[: len(rest)] = rest
        randoms[len(rest) :] = self.rng.random(RANDOMS - len(rest))
        position[kernels.CURSOR] = 0
        self.address = self.tables.address

    def grow(self, observations: int | None = None) -> None:
        """Make room for more observations or configurations."""
        self.tables.grow(observations)

    def add_observation(self, number: int, observation: Observation) -> None:
        """Do nothing: a table needs only the number."""

    def known(self) -> None:
        """Return None: values are known everywhere, the initial ones included."""

    def values(self, *, everything: bool = False) -> NDArray[np.float64]:  # noqa: ARG002
        """Return Q: [O, X, A]."""
        return self.tables.arrays.q

    def save_state(self, saved: SavedState) -> None:
        """Add the random generator, and its numbers that are not used yet."""
        used = int(self.tables.position[kernels.CURSOR])
        saved.arrays["randoms"] = self.tables.arrays.randoms[used:].copy()
        saved.data["rng"] = generator_data(self.rng)

    def restore_state(self, saved: SavedState) -> None:
        """Go on with the random numbers that are next."""
        rest = saved.array("randoms", np.float64, (ANY,), least=0.0, most=BELOW_ONE)
        if len(rest) > RANDOMS:
            raise ValueError(f"{len(rest):,} random numbers")
        self.tables.position[kernels.CURSOR] = RANDOMS - len(rest)
        self.tables.arrays.randoms[RANDOMS - len(rest) :] = rest
        restore_generator(self.rng, saved.data["rng"])
