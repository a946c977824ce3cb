"""The configurations ⟨u, c⟩ of a machine as numbers, and its steps as tables.

Silent transitions are folded in. A configuration with a counter above the limit is the *overflow*
configuration: terminal, without success. A step that the machine refuses (a counter below zero, no
transition where that is an error) is marked, and taking it raises the machine's own error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranium.automata.alphabet import AnyLabel
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.outcomes import Outcomes
from cranium.automata.reward import RewardFunction
from cranium.automata.transition import Configuration
from cranium.errors import InvalidArgumentError, RunError, SpaceError, check_count, shorten

__all__ = [
    "AutomatonTables",
    "ConfigurationSpace",
    "GrowingSpace",
    "largest_increment",
    "limited",
    "reachable",
]

MAX_CONFIGURATIONS = 300_000
REFUSED = -1
"""In place of the next configuration: the machine refuses this step."""
UNKNOWN = -2
"""In place of the next configuration: not worked out yet (growing spaces only)."""
OVERFLOW = Configuration("overflow", (-1,))
"""Where a counter beyond its limit leads. No machine has it: a counter is never below zero."""


def limited(configuration: Configuration, counter_limit: int | None) -> Configuration:
    """The configuration, or the overflow if one of its counters is above the limit.

    Example:
        >>> print(limited(Configuration("u", (3,)), 3), limited(Configuration("u", (3,)), 2))
        ⟨u, 3⟩ ⟨overflow, -1⟩
    """
    if counter_limit is not None and any(c > counter_limit for c in configuration.counters):
        return OVERFLOW
    return configuration


def copy_into(old: NDArray[Any], new: NDArray[Any]) -> None:
    """Copy an array into the leading part of a larger one."""
    new[tuple(slice(size) for size in old.shape)] = old


class AutomatonTables(NamedTuple):
    """A machine as arrays: L labels, X configurations.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("anbcn")
        >>> tables = ConfigurationSpace(machine, ["A", "B", "C"], counter_limit=1).tables
        >>> tables.next_configuration[0]
        array([1, 3, 2, 3, 5, 5, 6], dtype=int32)
    """

    next_configuration: NDArray[np.int32]  # [L, X]; REFUSED where the machine refuses
    reward: NDArray[np.float64]  # [L, X]; without what reward functions add
    reward_function: NDArray[np.int32]  # [L, X]; which reward function adds to it, -1 for none
    terminal: NDArray[np.bool_]  # [X]
    accepting: NDArray[np.bool_]  # [X]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of labels and of configurations."""
        labels, configurations = self.next_configuration.shape
        return labels, configurations


def largest_increment(automaton: CountingRewardAutomaton) -> int:
    """The most that one transition adds to a counter.

    Example:
        >>> import cranium
        >>> largest_increment(cranium.library.load("office"))
        1
    """
    return max((max(t.change, default=0) for t in automaton.transitions), default=0)


def check_start(automaton: CountingRewardAutomaton, counter_limit: int | None) -> None:
    """Refuse a limit that the machine's first configuration passes already.

    Example:
        >>> import cranium
        >>> check_start(cranium.library.load("anbcn"), 0)
    """
    if limited(automaton.start, counter_limit) == OVERFLOW:
        raise InvalidArgumentError(
            f"the machine begins in {automaton.start}, above the counter limit of {counter_limit}",
            fix=f"the limit must be at least {max(automaton.start.counters)}",
        )


def reachable(
    automaton: CountingRewardAutomaton,
    counter_limit: int,
    *,
    max_configurations: int = MAX_CONFIGURATIONS,
) -> list[Configuration]:
    """All configurations that any labels lead to, counters up to the limit, breadth first.

    Example:
        >>> import cranium
        >>> print(*reachable(cranium.library.load("anbcn"), 1))
        ⟨counting, 0⟩ ⟨counting, 1⟩ ⟨failed, 0⟩ ⟨overflow, -1⟩ ⟨matching, 1⟩ ⟨failed, 1⟩ ⟨done, 0⟩
    """
    check_start(automaton, counter_limit)
    outcomes = Outcomes(automaton)
    found = {automaton.start: None}
    queue = deque(found)
    while queue:
        for outcome in outcomes.of(queue.popleft()):
            if outcome.step is None:
                continue
            after = limited(outcome.step.configuration, counter_limit)
            if after not in found:
                if len(found) >= max_configurations:
                    raise _too_many(automaton, counter_limit, max_configurations)
                found[after] = None
                if after != OVERFLOW:
                    queue.append(after)
    return list(found)


def _too_many(automaton: CountingRewardAutomaton, limit: int | None, most: int) -> SpaceError:
    up_to = "" if limit is None else f" with counters up to {limit:,}"
    estimate = ""
    if limit is not None:
        count = len(automaton.states) * (limit + 1) ** automaton.num_counters
        size = count * 16 / 2**20
        estimate = f"; there may be {count:,}, about {size:,.0f} MiB of tables for each label"
    return SpaceError(
        f"the machine has more than {most:,} configurations{up_to}{estimate}",
        fix="lower the counter limit or the horizon, or let them be met one by one (GrowingSpace)",
    )


class GrowingSpace:
    """Configurations as numbers, given out as they are met.

    Args:
        automaton: The machine.
        labels: The labels that can occur; names and sets of names are allowed.
        counter_limit: Γ: a counter above it overflows. None if nothing does.
        max_configurations: How many configurations there may be.

    Example:
        >>> import cranium
        >>> space = GrowingSpace(cranium.library.load("anbcn"), ["A", "B", "C", ()])
        >>> x = space.step(0, space.start)
        >>> print(x, space.decode(x), len(space))
        1 ⟨counting, 1⟩ 2
    """

    def __init__(
        self,
        automaton: CountingRewardAutomaton,
        labels: Iterable[AnyLabel],
        *,
        counter_limit: int | None = None,
        max_configurations: int = MAX_CONFIGURATIONS,
    ) -> None:
        self.automaton = automaton
        self.labels = tuple(dict.fromkeys(automaton.alphabet.label(label) for label in labels))
        if not self.labels:
            raise InvalidArgumentError("a space needs at least one label")
        if counter_limit is not None:
            check_count("the counter limit", counter_limit, least=0)
        self.counter_limit = counter_limit
        self.max_configurations = check_count("max_configurations", max_configurations)
        self.configurations: list[Configuration] = []
        self.reward_functions: list[RewardFunction] = []
        self.problems: dict[tuple[int, int], RunError] = {}
        self._index: dict[Configuration, int] = {}
        self._waiting: dict[Configuration, list[tuple[int, int]]] = {}
        self._functions: dict[RewardFunction, int] = {}
        self._grow(len(self.labels), 16)
        check_start(automaton, counter_limit)
        self.start = self.encode(automaton.start)

    def __len__(self) -> int:
        return len(self.configurations)

    @property
    def tables(self) -> AutomatonTables:
        """The tables as far as they are known: views, which later growth may leave behind."""
        rows, x = len(self.labels), len(self)
        return AutomatonTables(
            self._next[:rows, :x],
            self._reward[:rows, :x],
            self._function[:rows, :x],
            self._terminal[:x],
            self._accepting[:x],
        )

    def label_index(self, label: AnyLabel) -> int:
        """Which row of the tables stands for a label."""
        bits = self.automaton.alphabet.label(label)
        try:
            return self.labels.index(bits)
        except ValueError:
            raise InvalidArgumentError(
                f"the label {self.automaton.alphabet.format(bits)} is not one of this space",
                fix="make the space with it",
            ) from None

    def add_label(self, label: AnyLabel) -> int:
        """The row of a label; one that is new gets the next, with nothing known of it yet.

        Example:
            >>> import cranium
            >>> space = GrowingSpace(cranium.library.load("anbcn"), [()])
            >>> space.add_label("A"), space.step(1, space.start), len(space)
            (1, 1, 2)
        """
        bits = self.automaton.alphabet.label(label)
        if bits not in self.labels:
            rows, room = self._next.shape
            if len(self.labels) == rows:
                self._grow(2 * rows, room)
            self.labels = (*self.labels, bits)
        return self.labels.index(bits)

    def decode(self, number: int) -> Configuration:
        """The configuration that a number stands for."""
        if not 0 <= number < len(self):
            raise InvalidArgumentError(
                f"there are {len(self):,} configurations, and no number {shorten(number)}"
            )
        return self.configurations[number]

    def encode(self, configuration: Configuration) -> int:
        """The number of a configuration; a new one gets the next number.

        Example:
            >>> import cranium
            >>> space = GrowingSpace(cranium.library.load("anbcn"), ["A", "B", "C"])
            >>> space.encode(Configuration("counting", (7,)))
            1
        """
        known = self._index.get(configuration)
        if known is not None:
            return known
        if configuration != OVERFLOW:
            self.automaton.check_configuration(configuration)
            if limited(configuration, self.counter_limit) == OVERFLOW:
                return self.encode(OVERFLOW)
        number = len(self.configurations)
        if number >= self.max_configurations:
            raise _too_many(self.automaton, self.counter_limit, self.max_configurations)
        if number == self._next.shape[1]:
            self._grow(len(self._next), 2 * number)
        self.configurations.append(configuration)
        self._index[configuration] = number
        over = configuration == OVERFLOW
        self._terminal[number] = over or self.automaton.is_terminal(configuration)
        self._accepting[number] = not over and self.automaton.is_accepting(configuration)
        if self._terminal[number]:
            self._next[:, number] = number
        return number

    def step(self, label: int, number: int) -> int:
        """The number of the next configuration, worked out now if it is not known yet."""
        if not (0 <= label < len(self.labels) and 0 <= number < len(self.configurations)):
            raise self._strange(label, number)
        after = int(self._next[label, number])
        if after >= 0:
            return after
        if after == UNKNOWN:
            after = self._fill(label, number)
        if after == REFUSED:
            raise self.problems[label, number]
        return after

    def look(self, label: int, number: int) -> int:
        """Like :meth:`step`, but nothing grows, and nothing is raised.

        Returns:
            The next configuration; UNKNOWN if it was never met, REFUSED if the machine refuses.
        """
        if not (0 <= label < len(self.labels) and 0 <= number < len(self.configurations)):
            raise self._strange(label, number)
        after = int(self._next[label, number])
        if after != UNKNOWN:
            return after
        try:
            found = self.automaton.step(self.configurations[number], self.labels[label])
        except RunError:
            return self._fill(label, number)
        target = limited(found.configuration, self.counter_limit)
        if target in self._index:
            return self._fill(label, number)
        self._waiting.setdefault(target, []).append((label, number))
        return UNKNOWN

    def leading_to(self, number: int) -> Sequence[tuple[int, int]]:
        """From where a configuration was found to be reached before it was met.

        Returns:
            Labels and configurations for which :meth:`look` returned UNKNOWN because of this one.

        Example:
            >>> import cranium
            >>> space = GrowingSpace(cranium.library.load("anbcn"), ["A"])
            >>> space.look(0, space.start) == UNKNOWN, space.leading_to(space.step(0, space.start))
            (True, [(0, 0)])
        """
        return self._waiting.get(self.decode(number), ())

    def _strange(self, label: int, number: int) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"there are {len(self.labels):,} labels and {len(self):,} configurations, counted from "
            f"0, and no label {shorten(label)} with configuration {shorten(number)}"
        )

    def _fill(self, label: int, number: int) -> int:
        try:
            step = self.automaton.step(self.configurations[number], self.labels[label])
        except RunError as problem:
            self.problems[label, number] = problem
            self._next[label, number] = REFUSED
            return REFUSED
        after = self.encode(step.configuration)
        self._next[label, number] = after
        if isinstance(step.reward, RewardFunction):
            function = self._functions.setdefault(step.reward, len(self._functions))
            if function == len(self.reward_functions):
                self.reward_functions.append(step.reward)
            self._function[label, number] = function
        else:
            self._reward[label, number] = step.reward
        return after

    def _grow(self, rows: int, capacity: int) -> None:
        """Make room; by doubling, so that all copying together is linear in what there is."""
        capacity = min(capacity, self.max_configurations)
        shape = (rows, capacity)
        fresh = (
            ("_next", np.full(shape, UNKNOWN, np.int32)),
            ("_reward", np.zeros(shape, np.float64)),
            ("_function", np.full(shape, -1, np.int32)),
            ("_terminal", np.zeros(capacity, np.bool_)),
            ("_accepting", np.zeros(capacity, np.bool_)),
        )
        for name, array in fresh:
            if (old := getattr(self, name, None)) is not None:
                copy_into(old, array)
            setattr(self, name, array)
        over = np.flatnonzero(self._terminal)  # a terminal configuration is never left
        self._next[:, over] = over

    _next: NDArray[np.int32]
    _reward: NDArray[np.float64]
    _function: NDArray[np.int32]
    _terminal: NDArray[np.bool_]
    _accepting: NDArray[np.bool_]


class ConfigurationSpace(GrowingSpace):
    """All configurations that the machine can reach, as numbers: the closure under its steps.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("anbcn")
        >>> space = ConfigurationSpace(machine, ["A", "B", "C", ()], counter_limit=3)
        >>> len(space), space.tables.shape
        (13, (4, 13))
        >>> print(space.decode(space.step(space.label_index("A"), space.start)))
        ⟨counting, 1⟩
    """

    def __init__(
        self,
        automaton: CountingRewardAutomaton,
        labels: Iterable[AnyLabel],
        *,
        counter_limit: int,
        max_configurations: int = MAX_CONFIGURATIONS,
    ) -> None:
        check_count("the counter limit", counter_limit, least=0)
        super().__init__(
            automaton, labels, counter_limit=counter_limit, max_configurations=max_configurations
        )
        number = 0
        while number < len(self):
            if not self._terminal[number]:
                for label in range(len(self.labels)):
                    self._fill(label, number)
            number += 1
        self.encode(OVERFLOW)  # so that every space has it

    def indices(self, configurations: Sequence[Configuration]) -> NDArray[np.int32]:
        """The numbers of several configurations, which must be in the space."""
        found = [self._index.get(configuration, -1) for configuration in configurations]
        if -1 in found:
            strange = configurations[found.index(-1)]
            raise InvalidArgumentError(f"the machine cannot reach {shorten(str(strange))}")
        return np.array(found, dtype=np.int32)
