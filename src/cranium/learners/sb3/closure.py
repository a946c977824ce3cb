"""The configurations that steps are seen from, and what the labels that were met do in them.

A label and a configuration are worked out once, when they are met; after that they are looked up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding, DictEncoding, Encoding
from cranium.automata.reward import RewardFunction
from cranium.automata.transition import Configuration
from cranium.errors import RunError, SpaceError
from cranium.tables.configurations import MAX_CONFIGURATIONS, is_overflow
from cranium.tables.space import AutomatonTables, ConfigurationSpace

__all__ = ["Closure", "Ints"]

MEMO_LIMIT = 1 << 16
LAG = 64
"""For so many batches, at most, does what is new wait, unless it is more than that part of the set:
to sort a large set for each would take longer than to learn."""
Ints = NDArray[np.int64]


class _Growing:
    """Rows that become more: an array with room to spare, so that one more costs no copy."""

    def __init__(self, first: Any) -> None:
        shape, kind = np.shape(first), np.asarray(first).dtype
        self._room: NDArray[Any] = np.zeros((16, *shape), kind)
        self._size = 0

    def append(self, row: Any) -> None:
        if self._size == len(self._room):
            self._room = np.concatenate([self._room, np.zeros_like(self._room)])
        self._room[self._size] = row
        self._size += 1

    @property
    def rows(self) -> NDArray[Any]:
        return self._room[: self._size]


class Closure:
    """A set of configurations, closed under what it is made of, and its tables.

    Args:
        encoding: Of the product: it knows the machine and the limit of its counters.
        kind: ``"seen"``, those with counter values that occurred, ``"reachable"``, all that the
            labels met so far can lead to, or ``"none"``.

    What really happens has its place however much that is; what is seen is a member of the set
    unless there are 300,000 configurations already.

    Example:
        >>> import cranium
        >>> task = cranium.library.load("anbcdn")
        >>> env = cranium.product(cranium.worlds.LetterEnv(), task, horizon=9, counter_limit=2)
        >>> closure = Closure(env.encoding, "reachable")
        >>> row = closure.row(frozenset({"A"}))
        >>> print(*[closure.space.decode(x) for x in closure.members])
        ⟨counting, 0⟩ ⟨counting, 1⟩ ⟨counting, 2⟩
    """

    tables: AutomatonTables
    looks: list[NDArray[Any]]  # [X, …] for each part of an observation that shows the machine
    weights: NDArray[np.float64]  # [R, F] how often each function is in a reward of the tables
    constants: NDArray[np.float64]  # [R] and what is added to them

    def __init__(self, encoding: Encoding, kind: Literal["seen", "reachable", "none"]) -> None:
        self.encoding = encoding
        self.kind = kind
        self.automaton = machine = encoding.automaton
        self.space = ConfigurationSpace(
            machine, [()], counter_limit=encoding.counter_limit, max_configurations=2**31 - 1
        )
        paid = (t.reward for t in machine.transitions)
        self.functions = tuple(dict.fromkeys(r for r in paid if isinstance(r, RewardFunction)))
        self.sums: list[tuple[float, list[float]]] = []  # what each reward of the space is made of
        self.asked: dict[int, tuple[int, ...]] = {}  # for each label, which functions may pay
        self.shown: list[bytes] = []  # how each configuration looks
        self._guards = tuple(dict.fromkeys(t.guard for t in machine.transitions if not t.silent))
        self._rows: dict[frozenset[str], int] = {}
        self._classes: dict[tuple[bool, ...], int] = {}
        self._numbers: dict[bytes, int] = {}  # of looks
        self._look = _Growing(0)
        self._members = _Growing(0)
        self._parts = [_Growing(part) for part in self._show(machine.start)]
        self._met: set[int] = set()  # the real configurations
        self._seen: set[tuple[int, ...]] = set()  # their counters
        self.impossible: int | None = None  # the overflow, if no episode can get there
        self._waiting: dict[tuple[int, ...], list[int]] = {}  # those with counters never seen
        self.stale = True
        self._sorted: Ints = np.zeros(0, np.int64)
        self._waited = 0  # for how many batches the set was not sorted
        self._settle()

    def __getstate__(self) -> dict[str, Any]:
        # Views would come back as copies, which no longer grow with the space.
        views = ("tables", "looks", "weights", "constants")
        return {**{k: v for k, v in self.__dict__.items() if k not in views}, "stale": True}

    @property
    def members(self) -> Ints:
        """The set, as numbers of its configurations; terminal ones are not in it."""
        return np.sort(self._members.rows)

    # What is met

    def row(self, label: frozenset[str]) -> int:
        """The row of a label in the tables; labels that satisfy the same guards share one."""
        row = self._rows.get(label)
        if row is None:
            if len(self._rows) >= MEMO_LIMIT:
                self._rows.clear()
            row = self._rows[label] = self._classify(label)
        return row

    def _classify(self, label: frozenset[str]) -> int:
        alphabet = self.automaton.alphabet
        bits = alphabet.label(label)
        guards = tuple(guard.evaluate(bits, alphabet) for guard in self._guards)
        if guards not in self._classes:
            self._classes[guards] = row = self.space.add_label(bits)
            holds = dict(zip(self._guards, guards, strict=True))
            paid = {t.reward for t in self.automaton.transitions if t.silent or holds[t.guard]}
            self.asked[row] = tuple(f for f, one in enumerate(self.functions) if one in paid)
            for number in self._members.rows.tolist():
                self._try(row, number)
            self._settle()
        return self._classes[guards]

    def meet(self, number: int) -> None:
        """Note a real configuration: those with its counters are seen."""
        if number in self._met:
            return
        self._met.add(number)
        counters = self.space.configurations[number].counters
        if counters not in self._seen:
            self._seen.add(counters)
            for waiting in self._waiting.pop(counters, ()):
                self._admit(waiting)
            self._settle()

    def find(self, configuration: Configuration) -> int:
        """The number of a configuration."""
        number = self.space.encode(configuration)
        self._settle()
        return number

    def step(self, row: int, number: int) -> int:
        """The next configuration; if the machine refuses, its error."""
        after = self._step(row, number)
        self._settle()
        return after

    # How it grows

    def _step(self, row: int, number: int) -> int:
        after = self.space.step(row, number)
        if len(self.space.reward_functions) > len(self.sums):
            # Silent transitions add to a reward: a new sum of what the functions pay.
            step = self.automaton.step(self.space.configurations[number], self.space.labels[row])
            rewards = [t.reward for t in step.fired]
            constant = sum(r for r in rewards if not isinstance(r, RewardFunction))
            self.sums.append((constant, [float(rewards.count(f)) for f in self.functions]))
        return after

    def _try(self, row: int, number: int) -> None:
        with suppress(RunError):  # it is marked in the tables, and never imagined
            self._step(row, number)

    def _admit(self, number: int) -> None:
        if len(self.space) >= MAX_CONFIGURATIONS:
            if self.kind == "reachable":
                raise SpaceError(
                    f"more than {MAX_CONFIGURATIONS:,} configurations are reachable",
                    fix="use configurations='seen', or give the product a counter_limit",
                )
            return
        self._members.append(number)
        for row in self.asked:
            self._try(row, number)

    def _settle(self) -> None:
        """Look at each configuration that is new; what belongs to the set may lead to more."""
        self.stale = True
        while (number := len(self.shown)) < len(self.space):
            configuration = self.space.configurations[number]
            look = b""
            for part, column in zip(self._show(configuration), self._parts, strict=True):
                column.append(part)
                look += part.tobytes()
            self.shown.append(look)
            self._look.append(self._numbers.setdefault(look, len(self._numbers)))
            if is_overflow(configuration) and not self.encoding.can_overflow:
                self.impossible = number
            over = is_overflow(configuration) or self.automaton.is_terminal(configuration)
            if over or self.kind == "none":
                continue
            if self.kind == "seen" and configuration.counters not in self._seen:
                self._waiting.setdefault(configuration.counters, []).append(number)
            else:
                self._admit(number)

    def _show(self, configuration: Configuration) -> Iterator[NDArray[Any]]:
        if isinstance(self.encoding, BoxEncoding):
            yield self.encoding.encode_configuration(configuration)
            return
        assert isinstance(self.encoding, DictEncoding)  # buffers take these two
        state, counters = self.encoding.encode_configuration(configuration)
        yield np.atleast_1d(state)
        if counters is not None:
            yield next(counters)

    # Drawing

    def refresh(self) -> None:
        """Look at the tables as they are now, and sort the set by how it looks."""
        self.tables = self.space.tables
        self.looks = [column.rows for column in self._parts]
        self.constants = np.array([constant for constant, _ in self.sums])
        self.weights = np.array([weights for _, weights in self.sums])
        new = len(self._members.rows) - len(self._sorted)
        self._waited += 1
        if LAG * new > len(self._sorted) or (new and self._waited >= LAG):
            self._sort()
            new = 0
        self.stale = new > 0

    def _sort(self) -> None:
        self._waited = 0
        look = self._look.rows[self._members.rows]
        order = np.argsort(look, kind="stable")
        self._sorted = self._members.rows[order]
        self._first = np.flatnonzero(np.diff(look[order], prepend=-1))
        self._alike = np.diff(self._first, append=len(order))

    def choose(self, count: int) -> Ints:
        """Members of the set, drawn: every look equally often, and so is all that looks like it."""
        place = np.random.random(count) * len(self._first)
        look = place.astype(np.int64)
        if len(self._first) == len(self._sorted):
            return self._sorted.take(look)
        # What is left of the random number behind the point is one, too.
        within = ((place - look) * self._alike.take(look)).astype(np.int64)
        return self._sorted.take(self._first.take(look) + within)
