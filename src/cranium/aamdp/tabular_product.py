"""The product of a finite world and an automaton as arrays of its reachable pairs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.errors import InvalidArgumentError, SpaceError, shorten
from cranium.tables.configurations import MAX_CONFIGURATIONS
from cranium.tables.pay import pay
from cranium.tables.space import ConfigurationSpace
from cranium.worlds.tabular import TabularWorld

__all__ = ["TabularProduct"]

MAX_PAIRS = 20_000_000
SMALL_TABLE = 1 << 22
"""Up to this size a table is looked up, which is faster than to search in a sorted array."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TabularProduct:
    """The product of a finite world and an automaton: P pairs, A actions, K outcomes.

    Attributes:
        world: The world.
        space: The configurations, as numbers.
        state: The state of each pair. [P]
        configuration: The configuration of each pair. [P]
        first: The index of the first outcome of each pair and action. [P·A + 1]
        next_pair: The next pair of each outcome, -1 if it ends the episode. [K]
        probability: Its probability. [K]
        reward: Its reward. [K]
        success: Whether it ends the episode with success. [K]
        initial: The probability that an episode starts in each pair. [P]

    Example:
        >>> import cranium
        >>> from cranium.worlds import LetterEnv, TabularWorld
        >>> world = TabularWorld.of(LetterEnv.experiment(1))
        >>> model = TabularProduct.of(world, cranium.library.load("anbcdn"))
        >>> model.pair(((4, 4), (1,)), Configuration("counting", (0,)))
        0
    """

    world: TabularWorld = field(repr=False)
    space: ConfigurationSpace = field(repr=False)
    state: Ints = field(repr=False)
    configuration: Ints = field(repr=False)
    first: Ints = field(repr=False)
    next_pair: Ints = field(repr=False)
    probability: Floats = field(repr=False)
    reward: Floats = field(repr=False)
    success: NDArray[np.bool_] = field(repr=False)
    initial: Floats = field(repr=False)

    @classmethod
    def of(
        cls,
        world: TabularWorld,
        automaton: CountingRewardAutomaton,
        *,
        counter_limit: int | None = None,
        add_ground_reward: bool = False,
        max_configurations: int = MAX_CONFIGURATIONS,
    ) -> TabularProduct:
        """List the pairs that can be reached from the start, breadth first.

        Example:
            >>> import cranium
            >>> from cranium.worlds import LetterEnv, TabularWorld
            >>> world = TabularWorld.of(LetterEnv.experiment(1))
            >>> TabularProduct.of(world, cranium.library.load("anbcdn")).num_pairs
            135
        """
        names = frozenset(automaton.propositions)
        known = [label & names for label in world.labels]
        space = ConfigurationSpace(
            automaton, known, counter_limit=counter_limit, max_configurations=max_configurations
        )
        rows = np.array([space.label_index(label) for label in known], dtype=np.int64)
        return _Builder(world, space, rows, add_ground_reward).build()

    @property
    def num_pairs(self) -> int:
        """P."""
        return len(self.state)

    def pair(self, state: Hashable, configuration: Configuration) -> int:
        """Return the number of a pair, by the key of the state."""
        found = np.array([], dtype=np.int64)
        if state in self.world.states and configuration in self.space.configurations:
            s, x = self.world.states.index(state), self.space.configurations.index(configuration)
            found = np.flatnonzero((self.state == s) & (self.configuration == x))
        if not len(found):
            raise InvalidArgumentError(f"{shorten(state)} is never reached with {configuration}")
        return int(found[0])


class _KeySet:
    """A set of numbers: a table of those below SMALL_TABLE, and a few sorted arrays of the others.

    A table of all pairs of a state and a configuration would have gigabytes where few can be
    reached. Each array is at least twice as long as the next, so that adding all numbers together
    takes O(n log n), and a look-up is one search in each of O(log n) arrays.
    """

    def __init__(self) -> None:
        self._table = np.zeros(1 << 10, np.bool_)
        self._runs: list[Ints] = []

    def add(self, keys: Ints) -> None:
        """Add numbers that are not in it yet."""
        largest = int(keys.max())
        if len(self._table) <= largest and len(self._table) < SMALL_TABLE:
            size = min(2 * (largest + 1), SMALL_TABLE)
            self._table = np.concatenate([self._table, np.zeros(size - len(self._table), np.bool_)])
        if largest < len(self._table):
            self._table[keys] = True
            return
        self._table[keys[keys < SMALL_TABLE]] = True
        keys = np.sort(keys[keys >= SMALL_TABLE])
        while self._runs and len(self._runs[-1]) < 2 * len(keys):
            keys = np.sort(np.concatenate([self._runs.pop(), keys]), kind="stable")
        self._runs.append(keys)

    def without(self, keys: Ints) -> Ints:
        """Return the given numbers that are not in it."""
        size = len(self._table)
        inside = keys < size
        if inside.all():
            return keys[~self._table[keys]]
        keys = keys[~(inside & self._table[np.minimum(keys, size - 1)])]
        for run in self._runs:
            keys = keys[run[np.minimum(np.searchsorted(run, keys), len(run) - 1)] != keys]
        return keys


def _positions(keys: Ints, wanted: Ints) -> Ints:
    """Return the index of each wanted number in the keys; any index, if it is not there."""
    size = int(keys.max()) + 1
    if size <= SMALL_TABLE:
        numbers = np.zeros(size, np.int64)
        numbers[keys] = np.arange(len(keys))
        return numbers[np.maximum(wanted, 0)]
    order = np.argsort(keys)
    return order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]


class _Builder:
    """Lists the product level by level, whole levels at a time."""

    def __init__(
        self, world: TabularWorld, space: ConfigurationSpace, rows: Ints, add_ground_reward: bool
    ) -> None:
        self.world = world
        self.space = space
        self.rows = rows
        self.add_ground_reward = add_ground_reward
        self.function_values: dict[tuple[int, int], float] = {}

    def build(self) -> TabularProduct:
        world = self.world
        starts = np.flatnonzero(world.initial)
        level = self._keys(starts.astype(np.int64), np.full(len(starts), self.space.start))
        initial = world.initial[starts]
        order = [level]
        known, count = _KeySet(), len(level)
        parts: list[tuple[Any, ...]] = []
        while len(level):
            part = self._expand(level)
            parts.append(part)
            known.add(level)
            fresh = np.unique(part[1][part[1] >= 0])
            level = known.without(fresh)
            count += len(level)
            if count > MAX_PAIRS:
                raise SpaceError(
                    f"the product has more than {MAX_PAIRS:,} pairs of a state and a configuration",
                    fix="lower the counter limit",
                )
            order.append(level)
        keys = np.concatenate(order)
        targets = np.concatenate([part[1] for part in parts])
        found = _positions(keys, targets)  # where it is below zero it is not used
        counts = np.concatenate([part[0] for part in parts])
        chances = np.zeros(len(keys))
        chances[: len(starts)] = initial
        return TabularProduct(
            world,
            self.space,
            keys % world.num_states,
            keys // world.num_states,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.where(targets < 0, -1, found).astype(np.int64),
            np.concatenate([part[2] for part in parts]),
            np.concatenate([part[3] for part in parts]),
            np.concatenate([part[4] for part in parts]),
            chances,
        )

    def _keys(self, states: Ints, configurations: Ints) -> Ints:
        return configurations.astype(np.int64) * self.world.num_states + states

    def _expand(self, level: Ints) -> tuple[Any, ...]:
        """List all outcomes of all actions in the pairs of a level."""
        world, actions = self.world, self.world.num_actions
        states, numbers = level % world.num_states, level // world.num_states
        pairs = (states[:, None] * actions + np.arange(actions)).ravel()
        counts = (world.first[pairs + 1] - world.first[pairs]).astype(np.int64)
        ends = np.cumsum(counts)
        outcome = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
        outcome += np.repeat(world.first[pairs], counts)
        here = np.repeat(np.repeat(numbers, actions), counts)
        rows = self.rows[world.label[outcome]]
        after = self.space.step_many(rows, here)
        tables = self.space.tables
        ended = world.terminated[outcome] | tables.terminal[after]
        target = np.where(ended, -1, self._keys(world.next_state[outcome], after))
        reward = self._rewards(rows, here, outcome)
        return counts, target, world.probability[outcome], reward, tables.accepting[after]

    def _rewards(self, rows: Ints, here: Ints, outcome: Ints) -> Floats:
        """Compute the rewards of outcomes. Reward functions are called once for each outcome."""
        tables = self.space.tables
        ground = np.zeros(len(rows))
        if self.add_ground_reward:
            ground = self.world.reward[outcome]
        rewards, functions = tables.reward[rows, here], tables.reward_function[rows, here]
        paying = np.flatnonzero(functions >= 0)
        if not len(paying):
            return np.asarray(pay(rewards, functions, ground[:, None]), np.float64)
        values = np.zeros(len(rows))
        for i in paying:
            key = (int(functions[i]), int(outcome[i]))
            if key not in self.function_values:
                function = self.space.reward_functions[key[0]]
                self.function_values[key] = self.world.pay(function, key[1])
            values[i] = self.function_values[key]
        # One column for whichever function pays: most outcomes are paid for by one at most.
        extra = np.stack([ground, values], axis=-1)
        return np.asarray(pay(rewards, np.minimum(functions, 0), extra), np.float64)
