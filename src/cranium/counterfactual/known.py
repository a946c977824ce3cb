"""The configurations that a replay buffer knows, their tables, and draws from a set of them.

What a label does in a configuration is computed once, when both are known; after that it is read
from the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.encoding import BoxEncoding, DictEncoding, Encoding
from cranium.automata.reward import RewardFunction
from cranium.automata.transition import Configuration
from cranium.counterfactual.groups import GrowingArray, Ints, MemberGroup, RandomNumbers
from cranium.counterfactual.sets import ConfigurationArrays, ConfigurationSet
from cranium.errors import InvalidArgumentError, RunError, SpaceError
from cranium.tables.configurations import MAX_CONFIGURATIONS, OVERFLOW, is_overflow
from cranium.tables.space import AutomatonTables, ConfigurationSpace

__all__ = ["KnownConfigurations"]

MEMO_LIMIT = 1 << 16
LAG = 64
"""New members may wait for so many batches, unless they are more than one in so many of the set: to
sort a large set for each of them would take longer than to learn."""
CHUNK = 1 << 22
"""How many answers a set is asked for at once, at most."""


class KnownConfigurations:
    """The configurations that are known, which of them are in a set, and their tables.

    Known are the configurations that really occurred, and all that the labels met so far lead to
    from these and from members of the set.

    Args:
        encoding: The encoding of the product, with the machine and the limit of its counters.
        chosen: The set of configurations; None if only real ones are needed.

    Real configurations are always stored. A set with ``seen_only`` stops growing at 300,000
    configurations; for others that many are an error.

    Example:
        >>> import cranium
        >>> from cranium.counterfactual import Reachable
        >>> task = cranium.library.load("anbcdn")
        >>> env = cranium.product(cranium.worlds.LetterEnv(), task, horizon=9, counter_limit=2)
        >>> known = KnownConfigurations(env.encoding, Reachable())
        >>> row = known.row(frozenset({"A"}))
        >>> print(*[known.space.decode(x) for x in known.members])
        ⟨counting, 0⟩ ⟨counting, 1⟩ ⟨counting, 2⟩
    """

    tables: AutomatonTables
    features: list[NDArray[Any]]  # [X, …] for each part of an observation that shows the machine
    weights: NDArray[np.float64]  # [R, F]; how often each function is in a reward of the tables
    constants: NDArray[np.float64]  # [R]; and what is added to them

    def __init__(self, encoding: Encoding, chosen: ConfigurationSet | None) -> None:
        self.encoding = encoding
        self.chosen = chosen
        self.automaton = machine = encoding.automaton
        self.space = ConfigurationSpace(
            machine, [()], counter_limit=encoding.counter_limit, max_configurations=2**31 - 1
        )
        paid = (t.reward for t in machine.transitions)
        self.functions = tuple(dict.fromkeys(r for r in paid if isinstance(r, RewardFunction)))
        self.sums: list[tuple[float, list[float]]] = []  # constant and weights of each reward
        self.needed: dict[int, tuple[int, ...]] = {}  # for each label, which functions may pay
        self.shown: list[bytes] = []  # the machine's part of an observation, as bytes
        self.impossible: int | None = None  # the overflow, if no episode can get there
        self.stale = True
        self._guards = tuple(dict.fromkeys(t.guard for t in machine.transitions if not t.silent))
        self._rows: dict[frozenset[str], int] = {}
        self._classes: dict[tuple[bool, ...], int] = {}
        self._parts = [GrowingArray(part) for part in self._show(machine.start)]
        self._feature_numbers: dict[bytes, int] = {}
        self._feature = GrowingArray(0)  # [X]; equal for configurations that are shown alike
        self._states: dict[str, int] = {}
        self._state = GrowingArray(0)  # [X]
        self._counters = GrowingArray(np.zeros(machine.num_counters, np.int64))  # [X, k]
        self._decided = GrowingArray(np.False_)  # [X]; members, waiting ones and terminal ones
        self._members = GrowingArray(0)
        self._waiting: dict[tuple[int, ...], list[int]] = {}  # those with counters never seen
        self._met: dict[int, None] = {}  # the real configurations
        self._seen: set[tuple[int, ...]] = set()  # their counters
        self._depends: bool | None = None  # whether the set depends on the real configuration
        self._extra: dict[int, None] = {}  # real configurations outside the set, stepped like it
        self._groups: dict[int, MemberGroup] = {}
        self._sorted = 0  # so many members could be drawn when the set was last sorted
        self._waited = 0  # for so many batches the set was not sorted
        self._settle()

    def __getstate__(self) -> dict[str, Any]:
        # Views would come back as copies, which no longer grow with the space.
        views = ("tables", "features", "weights", "constants")
        return {**{k: v for k, v in self.__dict__.items() if k not in views}, "stale": True}

    @property
    def members(self) -> Ints:
        """The set, as numbers of its configurations; terminal ones are not in it."""
        return np.sort(self._members.rows)

    # Labels and real configurations

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
            self.needed[row] = tuple(f for f, one in enumerate(self.functions) if one in paid)
            for number in [*self._members.rows.tolist(), *self._extra]:
                self._try(row, number)
            self._settle()
        return self._classes[guards]

    def meet(self, number: int) -> None:
        """Note a real configuration: its counter values are seen from now on."""
        if number in self._met:
            return
        self._met[number] = None
        counters = self.space.configurations[number].counters
        if counters not in self._seen:
            self._seen.add(counters)
            for waiting in self._waiting.pop(counters, ()):
                self._admit(waiting)
            self._settle()
        if self.chosen is not None and not self._decided.rows[number]:
            self._extra[number] = None
            self._expand(number)
            self._settle()
        if self._depends:
            self._decide(self._ask(np.array([number]))[0])
            self._settle()

    def find(self, configuration: Configuration) -> int:
        """The number of a configuration."""
        number = self.space.encode(configuration)
        self._settle()
        return number

    def step(self, row: int, number: int) -> int:
        """The next configuration; where the machine refuses the label, its error."""
        after = self._step(row, number)
        self._settle()
        return after

    # How the set grows

    def _step(self, row: int, number: int) -> int:
        after = self.space.step(row, number)
        if len(self.space.reward_functions) > len(self.sums):
            # Silent transitions add to a reward: it is a new sum of reward functions.
            step = self.automaton.step(self.space.configurations[number], self.space.labels[row])
            rewards = [t.reward for t in step.fired]
            constant = sum(r for r in rewards if not isinstance(r, RewardFunction))
            self.sums.append((constant, [float(rewards.count(f)) for f in self.functions]))
        return after

    def _try(self, row: int, number: int) -> None:
        with suppress(RunError):  # it is marked in the tables, and never drawn
            self._step(row, number)

    def _expand(self, number: int) -> None:
        if len(self.space) < MAX_CONFIGURATIONS:
            for row in self.needed:
                self._try(row, number)

    def _admit(self, number: int) -> None:
        if len(self.space) >= MAX_CONFIGURATIONS:
            if self.chosen is not None and not self.chosen.seen_only:
                raise SpaceError(
                    f"more than {MAX_CONFIGURATIONS:,} configurations are reachable",
                    fix="use configurations='seen', or give the product a counter_limit",
                )
            return
        self._members.append(number)
        self._expand(number)

    def _settle(self) -> None:
        """Describe each new configuration; those that belong to the set may lead to more."""
        self.stale = True
        while (first := len(self.shown)) < len(self.space):
            for number in range(first, len(self.space)):
                self._describe(number)
            if self.chosen is not None:
                self._decide(self._belongs())

    def _describe(self, number: int) -> None:
        configuration = self.space.configurations[number]
        shown = b""
        for part, column in zip(self._show(configuration), self._parts, strict=True):
            column.append(part)
            shown += part.tobytes()
        self.shown.append(shown)
        self._feature.append(self._feature_numbers.setdefault(shown, len(self._feature_numbers)))
        over = is_overflow(configuration)
        self._state.append(self._states.setdefault(configuration.state, len(self._states)))
        self._counters.append(-1 if over else configuration.counters)
        if over and not self.encoding.can_overflow:
            self.impossible = number
        self._decided.append(over or self.automaton.is_terminal(configuration))

    def _decide(self, belongs: NDArray[np.bool_]) -> None:
        """Admit the configurations that belong to the set, or let them wait to be seen."""
        assert self.chosen is not None
        for number in np.flatnonzero(belongs & ~self._decided.rows).tolist():
            self._decided.rows[number] = True
            counters = self.space.configurations[number].counters
            if self.chosen.seen_only and counters not in self._seen:
                self._waiting.setdefault(counters, []).append(number)
            else:
                self._extra.pop(number, None)
                self._admit(number)

    def _belongs(self) -> NDArray[np.bool_]:
        """Whether each configuration belongs to the set, for any real one: [X]."""
        start = self.space.start
        if self._depends is None:
            self._depends = len(self._ask(np.array([start, start]))) > 1
        if not self._depends:
            alike: NDArray[np.bool_] = self._ask(np.array([start]))[0]
            return alike
        real = np.array([start, *self._met], np.int64)
        pieces = max(1, len(real) * len(self.shown) // CHUNK)
        found = np.zeros(len(self.shown), np.bool_)
        for some in np.array_split(real, pieces):
            found |= self._ask(some).any(axis=0)
        return found

    def _ask(self, real: Ints) -> NDArray[np.bool_]:
        """Ask the set, and check its answer."""
        assert self.chosen is not None
        known = ConfigurationArrays(self._state.rows, self._counters.rows)
        found = np.asarray(self.chosen.candidates(known, real))
        width = len(self._state.rows)
        if found.dtype != np.bool_ or found.shape not in {(1, width), (len(real), width)}:
            raise InvalidArgumentError(
                f"{type(self.chosen).__name__}.candidates returned an array of the shape "
                f"{found.shape} and the dtype {found.dtype} for {len(real)} real configurations "
                f"of {width}",
                fix=f"return booleans of the shape (1, {width}) or ({len(real)}, {width})",
            )
        return found

    def _show(self, configuration: Configuration) -> Iterator[NDArray[Any]]:
        if isinstance(self.encoding, BoxEncoding):
            yield self.encoding.encode_configuration(configuration)
            return
        assert isinstance(self.encoding, DictEncoding)  # buffers take these two
        state, counters = self.encoding.encode_configuration(configuration)
        yield np.atleast_1d(state)
        if counters is not None:
            yield next(counters)

    # Files

    def export(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """What is known, as arrays and as plain data: see :meth:`restore`."""
        number, alphabet = self.encoding.state_number, self.automaton.alphabet
        arrays = {
            "configuration_states": np.array([number(x) for x in self.space.configurations]),
            "configuration_counters": self._counters.rows,
            "members": self._members.rows,
            "met": np.array(list(self._met), np.int64),
        }
        labels = [sorted(alphabet.names(bits)) for bits in self.space.labels]
        rows = list(self.needed)
        about = {"labels": labels, "rows": rows, "sorted": self._sorted, "waited": self._waited}
        return arrays, about

    def restore(self, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> None:
        """Take over what :meth:`export` returned; damaged data is a ``ValueError``."""
        states, counters = arrays["configuration_states"], arrays["configuration_counters"]
        members, met = arrays["members"].tolist(), arrays["met"].tolist()
        labels = [frozenset(names) for names in about["labels"]]
        for label in labels:
            self.space.add_label(label)
        names = self.encoding.names
        for number, (state, row) in enumerate(zip(states.tolist(), counters, strict=True)):
            last = state == len(names) - 1
            found = OVERFLOW if last else Configuration(names[state], tuple(row.tolist()))
            if self.space.encode(found) != number:
                raise ValueError(f"the configuration {found} has another number than {number}")
        for number in range(len(self.shown), len(self.space)):
            self._describe(number)
        terminal = self.space.tables.terminal
        if any(terminal[number] for number in [*members, *met]):
            raise ValueError("terminal configurations in the set")
        self._decided.rows[:] = terminal
        self._decided.rows[members] = True
        self._waiting.clear()
        self._members = GrowingArray(0)
        for number in members:
            self._members.append(number)
        self._met = dict.fromkeys(met)
        self._seen = {self.space.configurations[number].counters for number in met}
        if self.chosen is not None:
            self._extra = dict.fromkeys(n for n in met if not self._decided.rows[n])
            self._decide(self._belongs())
        for row in about["rows"]:
            self.row(labels[row])
        self._sorted = min(int(about["sorted"]), len(members))
        self._waited = int(about["waited"])

    # Drawing

    def refresh(self) -> None:
        """Read the tables as they are now, and sort the set if enough is new."""
        self.tables = self.space.tables
        self.features = [column.rows for column in self._parts]
        self.constants = np.array([constant for constant, _ in self.sums])
        self.weights = np.array([weights for _, weights in self.sums])
        new = len(self._members.rows) - self._sorted
        self._waited += 1
        if LAG * new > self._sorted or (new and self._waited >= LAG):
            self._waited = 0
            self._sorted = len(self._members.rows)
            self._groups.clear()
            new = 0
        self.stale = new > 0

    def choose(self, real: Ints, rng: RandomNumbers) -> Ints:
        """Draw a member for each real configuration: uniform over what can be told apart.

        Configurations with the same features in an observation are drawn as one, and then one of
        them. Where the set has no member, the real configuration is returned.
        """
        drawn = rng.random(len(real))
        if not self._depends:
            group = self._groups.get(-1) or self._group(-1)
            return group.pick(drawn) if len(group.first) else real
        found = real.copy()
        for number in np.unique(real).tolist():
            group = self._groups.get(number) or self._group(number)
            rows = real == number
            found[rows] = group.pick(drawn[rows])
        return found

    def _group(self, real: int) -> MemberGroup:
        """The members that can be drawn for a real configuration; -1 if that plays no part."""
        members = self._members.rows[: self._sorted]
        if real < 0:
            members = members[self._ask(np.array([self.space.start]))[0][members]]
        else:  # the real configuration is always one of them
            members = np.union1d(members[self._ask(np.array([real]))[0][members]], real)
        group = self._groups[real] = MemberGroup.of(members, self._feature.rows[members])
        return group
