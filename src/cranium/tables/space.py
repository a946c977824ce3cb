"""The configurations ⟨u, c⟩ of a machine as numbers, and its steps as tables.

Silent transitions are part of the step before them, so a look-up is one whole step of the machine.
A step that the machine refuses (a counter below zero, or no transition where that is an error) is
marked in the tables, and taking it raises the machine's own error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cranium.arguments import check_count
from cranium.automata.alphabet import AnyLabel
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import RewardFunction
from cranium.automata.transition import Configuration
from cranium.errors import InvalidArgumentError, RunError, SpaceError, shorten
from cranium.tables.configurations import (
    MAX_CONFIGURATIONS,
    OVERFLOW,
    apply_limit,
    check_start,
    is_overflow,
    reachable_configurations,
    too_many_configurations,
)

__all__ = ["AutomatonTables", "ConfigurationSpace", "copy_into"]

REFUSED = -1
"""In place of the next configuration: the machine refuses this step."""
UNKNOWN = -2
"""In place of the next configuration: this step has not been computed yet."""


def copy_into(old: NDArray[Any], new: NDArray[Any]) -> None:
    """Copy an array into the leading part of a larger one."""
    new[tuple(slice(size) for size in old.shape)] = old


MOST_LISTED = 2_000
"""The number of configurations up to which all are listed although nobody gave a limit."""


class AutomatonTables(NamedTuple):
    """A machine as arrays: L labels, X configurations.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("anbcn")
        >>> space = ConfigurationSpace(machine, ["A", "B", "C"], counter_limit=1).complete()
        >>> space.tables.next_configuration[0]
        array([1, 3, 2, 3, 5, 5, 6], dtype=int32)
    """

    next_configuration: NDArray[np.int32]  # [L, X]; negative where there is none
    reward: NDArray[np.float64]  # [L, X]; without what reward functions add
    reward_function: NDArray[np.int32]  # [L, X]; which reward function adds to it, -1 for none
    terminal: NDArray[np.bool_]  # [X]
    accepting: NDArray[np.bool_]  # [X]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of labels and of configurations."""
        labels, configurations = self.next_configuration.shape
        return labels, configurations


class ConfigurationSpace:
    """The configurations of a machine as numbers, and its steps as tables.

    A configuration gets its number when it is met first: the start has 0. :meth:`complete` meets
    all that the labels can lead to at once.

    Args:
        automaton: The machine.
        labels: The labels that can occur; names and sets of names are allowed.
        counter_limit: Γ: a counter above it overflows. None if there is no limit.
        max_configurations: Raise ``SpaceError`` when there are more.

    Example:
        >>> import cranium
        >>> space = ConfigurationSpace(cranium.library.load("anbcn"), ["A", "B", "C", ()])
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

    def complete(self) -> Self:
        """Meet every configuration that the labels can lead to, and fill in all the tables.

        The overflow is added, too, so that it has a number in every complete space.

        Returns:
            This space.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> space = ConfigurationSpace(machine, ["A", "B", "C", ()], counter_limit=3).complete()
            >>> len(space), space.tables.shape
            (13, (4, 13))
            >>> print(space.decode(space.step(space.label_index("A"), space.start)))
            ⟨counting, 1⟩
        """
        number = 0
        while number < len(self):
            if not self._terminal[number]:
                for label in range(len(self.labels)):
                    if self._next[label, number] == UNKNOWN:
                        self._fill(label, number)
            number += 1
        self.add_overflow()
        return self

    @property
    def tables(self) -> AutomatonTables:
        """The tables of all configurations met so far, as views: take them anew after growth."""
        rows, x = len(self.labels), len(self)
        return AutomatonTables(
            self._next[:rows, :x],
            self._reward[:rows, :x],
            self._function[:rows, :x],
            self._terminal[:x],
            self._accepting[:x],
        )

    def label_index(self, label: AnyLabel) -> int:
        """Return the row of the tables that stands for a label."""
        bits = self.automaton.alphabet.label(label)
        try:
            return self.labels.index(bits)
        except ValueError:
            raise InvalidArgumentError(
                f"the label {self.automaton.alphabet.format(bits)} is not one of this space",
                fix="make the space with it",
            ) from None

    def add_label(self, label: AnyLabel) -> int:
        """Return the row of a label; a new label gets the next row, to be filled in later.

        Example:
            >>> import cranium
            >>> space = ConfigurationSpace(cranium.library.load("anbcn"), [()])
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
        """Return the configuration with this number."""
        if not 0 <= number < len(self):
            raise InvalidArgumentError(
                f"there are {len(self):,} configurations, and no number {shorten(number)}"
            )
        return self.configurations[number]

    def encode(self, configuration: Configuration) -> int:
        """Return the number of a configuration; a new one gets the next number.

        Example:
            >>> import cranium
            >>> space = ConfigurationSpace(cranium.library.load("anbcn"), ["A", "B", "C"])
            >>> space.encode(Configuration("counting", (7,)))
            1
        """
        known = self._index.get(configuration)
        if known is not None:
            return known
        if not is_overflow(configuration):
            self.automaton.check_configuration(configuration)
            if is_overflow(apply_limit(configuration, self.counter_limit)):
                return self.add_overflow()
        number = len(self.configurations)
        if number >= self.max_configurations:
            raise too_many_configurations(
                self.automaton, self.counter_limit, self.max_configurations
            )
        if number == self._next.shape[1]:
            self._grow(len(self._next), 2 * number)
        self.configurations.append(configuration)
        self._index[configuration] = number
        over = is_overflow(configuration)
        self._terminal[number] = over or self.automaton.is_terminal(configuration)
        self._accepting[number] = not over and self.automaton.is_accepting(configuration)
        if self._terminal[number]:
            self._next[:, number] = number
        return number

    @property
    def has_overflow(self) -> bool:
        """Whether the overflow is one of the configurations.

        Example:
            >>> import cranium
            >>> space = ConfigurationSpace(cranium.library.load("anbcn"), ["A"], counter_limit=0)
            >>> space.has_overflow, space.is_overflow(space.step(0, space.start))
            (False, True)
        """
        return OVERFLOW in self._index

    def add_overflow(self) -> int:
        """Return the number of the overflow, which gets one if it has none yet."""
        return self.encode(OVERFLOW)

    def is_overflow(self, number: int) -> bool:
        """Whether a number stands for the overflow, which a counter above its limit leads to.

        Example:
            >>> import cranium
            >>> space = ConfigurationSpace(cranium.library.load("anbcn"), ["A"], counter_limit=0)
            >>> space.is_overflow(space.start), space.is_overflow(space.add_overflow())
            (False, True)
        """
        return is_overflow(self.decode(number))

    def step(self, label: int, number: int) -> int:
        """Return the number of the next configuration, which is computed if it is not known yet."""
        if not (0 <= label < len(self.labels) and 0 <= number < len(self.configurations)):
            raise self._out_of_range(label, number)
        after = int(self._next[label, number])
        if after >= 0:
            return after
        if after == UNKNOWN:
            after = self._fill(label, number)
        if after == REFUSED:
            raise self.problems[label, number]
        return after

    def step_many(
        self, labels: NDArray[np.integer[Any]], numbers: NDArray[np.integer[Any]]
    ) -> NDArray[np.int64]:
        """Take many steps, each from a configuration of its own: :meth:`step` for arrays.

        Args:
            labels: Rows of the tables: [N].
            numbers: Configurations: [N].

        Returns:
            The next configurations: [N]. The first step that the machine refuses raises its error.

        Example:
            >>> import cranium
            >>> space = ConfigurationSpace(cranium.library.load("anbcn"), ["A", "B"])
            >>> after = space.step_many(np.array([0, 1]), np.array([0, 0]))
            >>> print(*[space.decode(x) for x in after])
            ⟨counting, 1⟩ ⟨failed, 0⟩
        """
        after: NDArray[np.int32] = self._next[labels, numbers]
        missing = after == UNKNOWN
        if missing.any():
            for pair in set(zip(labels[missing].tolist(), numbers[missing].tolist(), strict=True)):
                self.step(*pair)
            after = self._next[labels, numbers]
        if (refused := np.flatnonzero(after == REFUSED)).size:
            raise self.problems[int(labels[refused[0]]), int(numbers[refused[0]])]
        return after.astype(np.int64)

    def look(self, label: int, number: int) -> int:
        """Return what the tables say of a step, without adding a configuration or raising.

        Returns:
            The next configuration; UNKNOWN if it was never met, REFUSED if the machine refuses.
        """
        if not (0 <= label < len(self.labels) and 0 <= number < len(self.configurations)):
            raise self._out_of_range(label, number)
        after = int(self._next[label, number])
        if after != UNKNOWN:
            return after
        try:
            found = self.automaton.step(self.configurations[number], self.labels[label])
        except RunError:
            return self._fill(label, number)
        target = apply_limit(found.configuration, self.counter_limit)
        if target in self._index:
            return self._fill(label, number)
        self._waiting.setdefault(target, []).append((label, number))
        return UNKNOWN

    def leading_to(self, number: int) -> Sequence[tuple[int, int]]:
        """Return the steps that :meth:`look` left unknown because their target had no number yet.

        Args:
            number: The target.

        Returns:
            Pairs of a label and a configuration.

        Example:
            >>> import cranium
            >>> space = ConfigurationSpace(cranium.library.load("anbcn"), ["A"])
            >>> space.look(0, space.start) == UNKNOWN, space.leading_to(space.step(0, space.start))
            (True, [(0, 0)])
        """
        return self._waiting.get(self.decode(number), ())

    def _out_of_range(self, label: int, number: int) -> InvalidArgumentError:
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
        """Make room; by doubling, so that all copying together is linear in the final size."""
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


def open_space(
    automaton: CountingRewardAutomaton, counter_limit: int | None, most: int | None = None
) -> ConfigurationSpace:
    """Make a space of all configurations that a machine can reach, with no labels yet.

    If there are more than ``most`` of them, or no limit for the counters, it holds only the first
    configuration: the others are added as they are met.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("anbcn")
        >>> len(open_space(machine, 3)), len(open_space(machine, 3, most=5))
        (13, 1)
    """
    space = ConfigurationSpace(automaton, [()], counter_limit=counter_limit)
    if counter_limit is not None:
        try:
            most = most or space.max_configurations
            for configuration in reachable_configurations(
                automaton, counter_limit, max_configurations=most
            ):
                space.encode(configuration)
            space.add_overflow()
        except SpaceError:
            if most == space.max_configurations:
                raise
    return space
