"""The base of all machines with counters: states, counters, transitions, silent runs.

:class:`CounterProgram` is the control unit. :class:`~cranium.CountingRewardAutomaton` adds labels,
rewards and terminal states to it, :class:`~cranium.CounterMachine` adds symbols and acceptance.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn, Self

from cranium.arguments import check_count
from cranium.automata.alphabet import check_identifier, check_unique
from cranium.automata.transition import (
    Configuration,
    Transition,
    check_state_name,
    matches,
    zero_test,
)
from cranium.errors import (
    AutomatonError,
    CounterRuleError,
    CounterUnderflowError,
    DuplicateNameError,
    InvalidArgumentError,
    InvalidNameError,
    SilentLoopError,
    TerminalStateError,
    UnknownNameError,
    shorten,
)

__all__ = ["CounterProgram", "as_names"]

SILENT_LIMIT = 100_000
MAX_SILENT_LIMIT = 1_000_000
"""A run of so many silent transitions takes seconds, and every step may have one."""
MAX_COUNTERS = 300
"""Every transition has two entries for each counter."""
MAX_LEAVING = 1_000
"""How many transitions may leave a state: all pairs of them are compared."""
MAX_TITLE = 200


class CounterProgram:
    """States, counters and transitions, with the rules for silent transitions."""

    __slots__ = (
        "_enabled",
        "_outgoing",
        "_sealed",
        "_silent",
        "counters",
        "initial",
        "name",
        "silent_limit",
        "states",
        "transitions",
    )

    name: str
    initial: str
    states: tuple[str, ...]
    counters: tuple[str, ...]
    transitions: tuple[Transition, ...]
    silent_limit: int
    _outgoing: Mapping[str, list[Transition]]
    _silent: frozenset[str]
    _enabled: dict[tuple[str, str], tuple[Transition | None, tuple[Transition, ...]]]

    def _set_up(
        self,
        *,
        name: str,
        initial: str,
        states: Iterable[str],
        ends: tuple[str, ...],
        counters: Iterable[str],
        transitions: Iterable[Transition],
        silent_limit: int,
    ) -> None:
        """Take the parts, check their names, and number the transitions."""
        self.name = _check_title(name)
        self.initial = initial
        self.states = as_names(states)
        self.counters = as_names(counters)
        self.silent_limit = check_count("silent_limit", silent_limit)
        self._check_sizes()
        for counter in self.counters:
            check_identifier("counter", counter)
        check_unique("counter", self.counters)
        for state in (*self.states, *ends):
            check_state_name(state)
        known = dict.fromkeys((*self.states, *ends))
        if initial in ends:
            raise TerminalStateError(
                f"the initial state {initial!r} is terminal: the episode ends before it begins",
                path=("initial",),
            )
        check_unique("state", self.states)
        check_unique("state", ends, key="terminal")
        for state in ends:
            if state in self.states:
                raise DuplicateNameError(
                    f"the state {state!r} is declared twice: it is terminal and it is not",
                    path=("terminal",),
                )
        if initial not in self.states:
            unknown = UnknownNameError.of("state for 'initial'", initial, self.states)
            raise unknown.at(path=("initial",))
        k = len(self.counters)
        self.transitions = tuple(
            t.bind(number=i, num_counters=k) for i, t in enumerate(transitions, 1)
        )
        self._outgoing = self._by_source(known)
        self._silent = frozenset(t.source for t in self.transitions if t.silent)
        self._enabled = {}

    def _check_sizes(self) -> None:
        if self.silent_limit > MAX_SILENT_LIMIT:
            raise InvalidArgumentError(
                f"silent_limit is at most {MAX_SILENT_LIMIT:,}, not {shorten(self.silent_limit)}",
                path=("silent_limit",),
            )
        if len(self.counters) > MAX_COUNTERS:
            raise CounterRuleError(
                f"a machine has at most {MAX_COUNTERS} counters, not {len(self.counters):,}",
                path=("counters",),
            )

    def _by_source(self, known: Iterable[str]) -> dict[str, list[Transition]]:
        """Group the transitions by the state that they leave; unknown states are errors."""
        outgoing: dict[str, list[Transition]] = {state: [] for state in known}
        for transition in self.transitions:
            for key, state in (("from", transition.source), ("to", transition.target)):
                if state not in outgoing:
                    unknown = UnknownNameError.of("state", state, outgoing, f"{transition.where}: ")
                    raise unknown.at(transition.place, transition.path(key))
            leaving = outgoing[transition.source]
            leaving.append(transition)
            if len(leaving) > MAX_LEAVING:
                raise AutomatonError(
                    f"more than {MAX_LEAVING:,} transitions leave the state {transition.source!r}",
                    place=transition.place,
                    path=transition.path("from"),
                    fix="join guards that lead to the same state, or split the state",
                )
        return outgoing

    @property
    def num_counters(self) -> int:
        """The number of counters, k in the paper."""
        return len(self.counters)

    def outgoing(self, state: str) -> tuple[Transition, ...]:
        """Return the transitions that leave a state, in the order of the definition."""
        return tuple(self._outgoing[self.check_state(state)])

    def select(self, state: str, zeros: str) -> tuple[Transition | None, tuple[Transition, ...]]:
        """Return the silent transition that matches ⟨u, Z(c)⟩, if any, and the reading ones."""
        try:
            return self._enabled[state, zeros]
        except KeyError:
            fits = [t for t in self._outgoing[state] if matches(t.zero_pattern, zeros)]
            silent = next((t for t in fits if t.silent), None)
            chosen = silent, tuple(t for t in fits if not t.silent)
            self._enabled[state, zeros] = chosen
            return chosen

    def apply(self, transition: Transition, configuration: Configuration) -> Configuration:
        """Return the configuration after a transition; a counter below zero is an error."""
        counters = tuple(map(operator.add, configuration.counters, transition.change))
        if counters and min(counters) < 0:
            self._underflow(transition, configuration, counters)
        return Configuration(transition.target, counters)

    def _underflow(
        self, transition: Transition, configuration: Configuration, counters: tuple[int, ...]
    ) -> NoReturn:
        index = next(i for i, value in enumerate(counters) if value < 0)
        underflow = CounterUnderflowError(
            f"{transition.where} would take the counter {self.counters[index]!r} from "
            f"{configuration.counters[index]} to {counters[index]} in {configuration}",
            place=transition.place,
            path=transition.path("add"),
            fix="counters are never negative: decrement by 1, or go through an intermediate state",
        )
        underflow.fired = (transition,)
        raise underflow

    def settle(self, configuration: Configuration) -> tuple[Configuration, list[Transition]]:
        """Take all enabled silent transitions; return the last configuration and what fired."""
        fired: list[Transition] = []
        if configuration.state not in self._silent:
            return configuration, fired
        for silent, after in self.silent_run(configuration):
            fired.append(silent)
            configuration = after
        return configuration, fired

    def silent_run(
        self, configuration: Configuration
    ) -> Iterator[tuple[Transition, Configuration]]:
        """Yield the silent transitions that fire from here, each with the configuration after it.

        A silent run that repeats a configuration would go on for ever: the machine is
        deterministic, so Brent's algorithm finds any repetition without remembering the run.
        """
        landmark, power, length = configuration, 1, 0
        while True:
            silent, _ = self.select(configuration.state, zero_test(configuration.counters))
            if silent is None:
                return
            if length >= self.silent_limit:
                raise SilentLoopError(
                    f"more than {self.silent_limit:,} silent transitions in a row, "
                    f"now in {configuration}",
                    place=silent.place,
                    path=silent.path("silent"),
                    fix="raise silent_limit if the run is meant to be that long",
                )
            configuration = self.apply(silent, configuration)
            length += 1
            yield silent, configuration
            if configuration == landmark:
                raise SilentLoopError(
                    f"silent transitions repeat the configuration {configuration} for ever",
                    place=silent.place,
                    path=silent.path("silent"),
                    fix="let the loop change a counter towards the test that ends it",
                )
            if length == power:
                landmark, power = configuration, power * 2

    def check_configuration(self, configuration: tuple[str, tuple[int, ...]]) -> Configuration:
        """Check that a configuration, or a plain pair, belongs to this machine, and return it."""
        try:
            state, values = configuration
            counters = _whole_numbers(values)
        except (AttributeError, OverflowError, TypeError, ValueError):
            raise CounterRuleError(
                f"a configuration is a state and its counters, not {shorten(configuration)}"
            ) from None
        self.check_state(state)
        if len(counters) != len(self.counters) or (counters and min(counters) < 0):
            raise CounterRuleError(
                f"a configuration of this machine has {self.num_counters} counters of at least 0, "
                f"not {shorten(counters)}"
            )
        return Configuration(state, counters)

    def check_state(self, state: object) -> str:
        """Check that a state belongs to this machine, and return its name.

        Example:
            >>> import cranium
            >>> cranium.library.load("anbcn").check_state("done")
            'done'
        """
        if isinstance(state, str) and state in self._outgoing:
            return state
        raise UnknownNameError.of("state", state, self._outgoing)

    # Immutable, as automata-lib's machines are: every check is made once, on construction.

    def _seal(self) -> None:
        object.__setattr__(self, "_sealed", True)

    def __setattr__(self, attribute: str, value: object) -> None:
        if getattr(self, "_sealed", False):
            raise AttributeError(f"a {type(self).__name__} is immutable: cannot set {attribute!r}")
        object.__setattr__(self, attribute, value)

    def __delattr__(self, attribute: str) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable: cannot delete {attribute!r}")

    def replace(self, **changes: Any) -> Self:
        """Return a copy of this machine with some arguments of its constructor changed.

        Example:
            >>> from cranium import CounterMachine, Transition
            >>> loop = [Transition(source="u", guard="A", target="v")]
            >>> machine = CounterMachine(
            ...     symbols=["A"], initial="u", accepting=["v"], transitions=loop
            ... )
            >>> machine.accepts("A"), machine.replace(accepting=["u"]).accepts("A")
            (True, False)
        """
        return type(self)(**{**self._arguments(), **changes})

    def _arguments(self) -> dict[str, Any]:
        """The keyword arguments of a constructor call that builds this machine again."""
        return self._definition()

    def _definition(self) -> dict[str, Any]:
        """The parts that two equal machines have in common, by the constructor's names."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._definition() == other._definition()

    def __hash__(self) -> int:
        return hash((self.initial, self.states, self.transitions))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _build, (type(self), self._arguments())


def _build(cls: type[CounterProgram], arguments: dict[str, Any]) -> CounterProgram:
    return cls(**arguments)


def _whole_numbers(values: Iterable[Any]) -> tuple[int, ...]:
    """The values of counters; 2.0 is 2, which it equals, as in every dictionary of them."""
    try:
        return tuple(map(operator.index, values))
    except TypeError:
        pairs = [(int(value.real), value) for value in values]
    if any(whole != value for whole, value in pairs):
        raise ValueError
    return tuple(whole for whole, _ in pairs)


def _check_title(name: object) -> str:
    if isinstance(name, str) and len(name) <= MAX_TITLE and (name.isprintable() or not name):
        return name
    raise InvalidNameError(
        f"a machine's name is at most {MAX_TITLE} printable characters, not {shorten(name)}",
        path=("name",),
    )


def as_names(names: Iterable[str]) -> tuple[str, ...]:
    """Convert names to a tuple; those of a set are sorted, so that no run depends on hashing.

    Example:
        >>> as_names({"b", "a"}), as_names(["b", "a"])
        (('a', 'b'), ('b', 'a'))
    """
    if isinstance(names, str):
        raise InvalidNameError(
            f"names are given as a list or a tuple, not as one string: {shorten(names)}"
        )
    return tuple(sorted(names)) if isinstance(names, set | frozenset) else tuple(names)
