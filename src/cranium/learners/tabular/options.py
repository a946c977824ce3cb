"""Hierarchical options on a reward machine (HRM): a policy over options, and one for each option.

An option leads from one machine state to another, as in the reward-machine literature (Toro Icarte
et al., 2022). Its way is learned from every experience; what it is worth, when it ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.interrupt import held
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.successors import Successors
from cranium.automata.transition import Configuration
from cranium.learners.config import OptionsConfig
from cranium.learners.saved_state import SavedState, generator_data, restore_generator
from cranium.learners.tabular import kernels, live_kernels, options_kernels
from cranium.learners.tabular.arrays import LearnerTables
from cranium.learners.tabular.kernels import Floats, WorldArrays
from cranium.tables.configurations import reachable_configurations
from cranium.tables.space import copy_into
from cranium.worlds.protocols import Observation

__all__ = ["OptionsAgent", "targets"]


def targets(automaton: CountingRewardAutomaton) -> dict[Configuration, list[Configuration]]:
    """Return the other configurations to which each configuration can lead in one step.

    Example:
        >>> import cranium
        >>> for source, found in targets(cranium.library.load("toro-coffee")).items():
        ...     print(source.state, "→", *(target.state for target in found))
        fetch coffee → deliver failed
        deliver → done failed
        failed →
        done →
    """
    outcomes, found = Successors(automaton), {}
    for source in reachable_configurations(automaton, 0):
        steps = [outcome.step for outcome in outcomes.of(source) if outcome.step is not None]
        ends = dict.fromkeys(step.configuration for step in steps)
        found[source] = [target for target in ends if target != source]
    return found


class OptionsAgent:
    """Options of a machine without counters, so that a configuration is a machine state.

    All options are known from the start, because the machine is: labels need not be met for that.
    """

    def __init__(
        self, tables: LearnerTables, config: OptionsConfig, rng: np.random.Generator
    ) -> None:
        self.tables = tables
        self.config = config
        self.rng = rng
        self.first = int(tables.space.start)
        self.action = 0
        found = targets(tables.space.automaton)
        pairs = [
            (tables.space.encode(x), [tables.space.encode(y) for y in found[x]]) for x in found
        ]
        self.pairs = [(x, y) for x, ends in sorted(pairs) for y in ends]
        if len(tables.space) > tables.arrays.q.shape[1]:
            tables.grow()
        self.options = self._allocate()

    def _allocate(self) -> options_kernels.Options:
        config, arrays = self.config, self.tables.arrays
        room, width, actions = arrays.q.shape
        count = len(self.pairs)
        source, target = np.array(self.pairs, np.int32).reshape(-1, 2).T.copy()
        rewards = (config.success_reward, config.failure_reward)
        return options_kernels.Options(
            np.full((room, count, actions), config.initial_value, np.float64),
            np.full((room, count), config.initial_value, np.float64),
            np.zeros((room, count), np.bool_),
            np.searchsorted(source, np.arange(width + 1)).astype(np.int32),
            source,
            target,
            np.zeros(count),
            np.array([config.learning_rate, config.exploration, *rewards], np.float64),
            np.array([-1, 0]),
            np.zeros(2),
        )

    def run(
        self, world: WorldArrays, steps: int, nature: np.random.Generator, ends: Floats, log: Floats
    ) -> int:
        """Take so many samples in a finite world."""
        more = (steps, self.first, self.rng, nature, ends, log)
        with held():
            return int(options_kernels.run(world, self.tables.machine, self.options, *more))

    def start(self, observation: int) -> int:
        """Start an episode and return the first action."""
        position = self.tables.position
        position[kernels.STATE], position[kernels.CONFIGURATION] = observation, self.first
        return self._next_action()

    def prepare(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def experience(self, after: int, what: int) -> int:
        """Learn from a transition; returns the next action, or a negative status."""
        row, terminated, over = live_kernels.read(what)
        arrays, position = self.tables.arrays, self.tables.position
        seen, x = int(position[kernels.STATE]), int(position[kernels.CONFIGURATION])
        status: int = options_kernels.experience(
            self.options,
            self.tables.machine,
            seen,
            self.action,
            after,
            row,
            terminated,
            over,
            arrays.extra,
        )
        if status < 0:
            return status
        position[kernels.SAMPLES] += 1
        position[kernels.STATE] = after
        position[kernels.CONFIGURATION] = arrays.next_configuration[row, x]
        return 0 if over else self._next_action()

    def _next_action(self) -> int:
        position = self.tables.position
        seen, x = int(position[kernels.STATE]), int(position[kernels.CONFIGURATION])
        self.action = int(options_kernels.act(self.options, seen, x, *self.rng.random(4)))
        return self.action

    def grow(self, observations: int | None = None) -> None:
        """Make room for more observations or configurations."""
        self.tables.grow(observations)
        room, width, _ = self.tables.arrays.q.shape
        if (len(self.options.low), len(self.options.first)) == (room, width + 1):
            return
        old, self.options = self.options, self._allocate()
        for name in ("low", "high", "tried", "progress", "sums"):
            copy_into(getattr(old, name), getattr(self.options, name))

    def save_state(self, saved: SavedState) -> None:
        """Add the values of the options, and which one is followed."""
        for name in ("low", "high", "tried", "progress", "sums"):
            saved.arrays[f"options_{name}"] = getattr(self.options, name).copy()
        saved.data["rng"] = generator_data(self.rng)

    def restore_state(self, saved: SavedState) -> None:
        """Go on with the values of the options, and the one that is followed."""
        self.grow()  # as the tables did
        options, wide = self.options, np.iinfo(np.int32).max
        for name in ("low", "high", "tried", "sums"):
            own = getattr(options, name)
            own[...] = saved.array(f"options_{name}", own.dtype, own.shape)
        option, began = saved.array("options_progress", np.int64, (2,), least=-1, most=wide)
        room, count = options.high.shape
        if option >= count or not 0 <= began < room:
            raise ValueError(f"an option {option} that began with the observation {began}")
        options.progress[:] = option, began
        restore_generator(self.rng, saved.data["rng"])

    def add_observation(self, number: int, observation: Observation) -> None:
        """Do nothing: a table needs only the number."""

    def known(self) -> None:
        """Return None: values are known everywhere, the initial ones included."""

    def values(self, *, everything: bool = False) -> NDArray[np.float64]:  # noqa: ARG002
        """1 for the best action on the way of the best option, 0 elsewhere: [O, X, A].

        The best option is asked for anew at every step. Options that were never tried with an
        observation do not count; where none was, as on the way of another option, the best is
        the one that was worth most on average. Without options it is the first action.
        """
        options = self.options
        room, width, actions = self.tables.arrays.q.shape
        best = np.zeros((room, width), np.int64)
        for x in range(width):
            own = slice(options.first[x], options.first[x + 1])
            if own.start < own.stop:
                worth = _worth(options.high[:, own], options.tried[:, own])
                option = own.start + np.argmax(worth, axis=1)
                best[:, x] = np.argmax(options.low[np.arange(room), option], axis=1)
        return np.eye(actions)[best]


def _worth(
    high: NDArray[np.float64],  # [O, M]; of the M options of one configuration
    tried: NDArray[np.bool_],  # [O, M]
) -> NDArray[np.float64]:
    """Return the values of options where they were tried, or their means where none was."""
    times = tried.sum(axis=0)
    mean = np.where(tried, high, 0.0).sum(axis=0) / np.maximum(times, 1)
    mean[times == 0] = -np.inf
    somewhere = tried.any(axis=1, keepdims=True)
    return np.where(somewhere, np.where(tried, high, -np.inf), mean)
