"""The parts of a machine: configurations ⟨u, c⟩ and transitions ⟨u, φ, ω, u′, μ, r⟩."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from cranium.automata.formula import TRUE, Formula, Not, Or
from cranium.automata.formula_parser import parse_formula
from cranium.automata.reward import Reward, RewardFunction, as_reward
from cranium.errors import (
    AutomatonError,
    CounterRuleError,
    InvalidNameError,
    Path,
    Place,
    shorten,
)

__all__ = [
    "Configuration",
    "Transition",
    "check_state_name",
    "matches",
    "otherwise_guard",
    "zero_test",
]

MAX_STATE = 500  # unrolled states carry the names and values of all counters


class Configuration(NamedTuple):
    """A machine configuration ⟨u, c⟩: a state and one number for each counter.

    Example:
        >>> print(Configuration("counting", (2,)))
        ⟨counting, 2⟩
    """

    state: str
    counters: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"⟨{', '.join([self.state, *map(str, self.counters)])}⟩"


def zero_test(counters: Sequence[int]) -> str:
    """Z(c): for each counter ``0`` if it is zero and ``1`` otherwise.

    Example:
        >>> zero_test((0, 7))
        '01'
    """
    return "".join(["1" if value else "0" for value in counters])


def matches(zero_pattern: str, zeros: str) -> bool:
    """Whether Z(c) matches ω, or two patterns have a match in common; ``*`` matches anything.

    Example:
        >>> matches("1*", "10"), matches("1*", "00"), matches("1*", "*0")
        (True, False, True)
    """
    return all(a == b or "*" in (a, b) for a, b in zip(zero_pattern, zeros, strict=True))


@dataclass(frozen=True, slots=True, init=False)
class Transition:
    """One edge of a machine, ⟨source, φ, ω, target, μ, reward⟩.

    It is enabled in ⟨u, c⟩ on label σ when u is the source, σ satisfies the guard and Z(c) fits
    the zero pattern.

    Args:
        source: The state that it leaves.
        target: The state that it enters; the source if it is left out.
        guard: The formula φ over the propositions, as text or as a ``Formula``.
        zero_pattern: ω, one character for each counter: ``0`` is zero, ``1`` is not zero, ``*``
            is either. Left out, it is ``*`` throughout.
        change: μ, what is added to each counter. Left out, nothing is.
        reward: A number, or a function of (s, a, s′).
        silent: Whether it reads no label (ε). A guard that is ``true`` does read one.
        place: Where it stands in its file, for messages.
        number: Its number in its machine, from one; the machine sets it.

    Example:
        >>> print(Transition(source="counting", guard="B", zero_pattern="1", target="matching"))
        counting → matching on B if [1]
    """

    source: str
    target: str
    guard: Formula
    zero_pattern: str
    change: tuple[int, ...]
    reward: Reward
    silent: bool
    place: Place | None = field(compare=False, repr=False)
    number: int = field(compare=False, repr=False)

    def __init__(
        self,
        *,
        source: str,
        target: str = "",
        guard: Formula | str = TRUE,
        zero_pattern: str = "",
        change: Iterable[int] = (),
        reward: Reward | Callable[[Any, Any, Any], float] = 0.0,
        silent: bool = False,
        place: Place | None = None,
        number: int = 0,
    ) -> None:
        assign = object.__setattr__
        for name in (source, target):
            if not isinstance(name, str):
                raise InvalidNameError(f"a state's name is text, not {shorten(name)}", place=place)
        assign(self, "source", source)
        assign(self, "target", target or source)
        assign(self, "guard", guard if isinstance(guard, Formula) else parse_formula(guard))
        assign(self, "zero_pattern", _as_pattern(zero_pattern, place))
        assign(self, "change", _as_change(change, place))
        assign(self, "reward", as_reward(reward))
        assign(self, "silent", bool(silent))
        assign(self, "place", place)
        assign(self, "number", number)
        if silent and self.guard != TRUE:
            raise AutomatonError(
                f"a silent transition reads no label, so it has no guard; this has {self.guard}",
                fix="remove the guard, or silent",
                place=place,
            )

    def bind(self, *, number: int, num_counters: int) -> Transition:
        """Return this transition with its number in a machine, and with vectors of full length.

        Example:
            >>> Transition(source="u").bind(number=1, num_counters=2).zero_pattern
            '**'
        """
        pattern = self.zero_pattern or "*" * num_counters
        change = self.change or (0,) * num_counters
        for what, vector in (("zero pattern", pattern), ("change", change)):
            if len(vector) != num_counters:
                raise CounterRuleError(
                    f"transition {number}: the {what} {shorten(vector)} has {len(vector)} entries "
                    f"for {num_counters} counters",
                    place=self.place,
                    fix=f"give it {num_counters} entries, one for each counter",
                )
        if self.number == number and pattern is self.zero_pattern and change is self.change:
            return self
        return replace(self, number=number, zero_pattern=pattern, change=change)

    def path(self, key: str) -> Path:
        """Return the path of a part of this transition in its machine's definition.

        Example:
            >>> Transition(source="a").bind(number=3, num_counters=0).path("when")
            ('transitions', 2, 'when')
        """
        return "transitions", self.number - 1, key

    @property
    def where(self) -> str:
        """The name of this transition in messages.

        Example:
            >>> Transition(source="a", target="b").bind(number=3, num_counters=0).where
            "transition 3 ('a' → 'b')"
        """
        return f"transition {self.number} ({self.source!r} → {self.target!r})"

    def tests(self, counters: Sequence[str]) -> list[str]:
        """Format the zero tests with the names of the counters.

        Example:
            >>> Transition(source="u", zero_pattern="1*0").tests(["n", "m", "k"])
            ['n > 0', 'k == 0']
        """
        sign = {"1": "> 0", "0": "== 0"}
        pairs = zip(counters, self.zero_pattern, strict=True)
        return [f"{name} {sign[test]}" for name, test in pairs if test != "*"]

    def __str__(self) -> str:
        reading = "silently" if self.silent else f"on {self.guard}"
        tests = f" if [{self.zero_pattern}]" if self.zero_pattern.strip("*") else ""
        change = f" add {list(self.change)}" if any(self.change) else ""
        plain = not isinstance(self.reward, RewardFunction)
        reward = f" reward {self.reward:g}" if plain else f" reward {self.reward}"
        shown = "" if self.reward == 0 else reward
        return f"{self.source} → {self.target} {reading}{tests}{change}{shown}"


def _as_pattern(pattern: object, place: Place | None) -> str:
    if isinstance(pattern, str) and not pattern.strip("01*"):
        return pattern
    raise CounterRuleError(
        f"a zero pattern has one of 0, 1 and * for each counter, not {shorten(pattern)}",
        place=place,
    )


def _as_change(change: Iterable[int], place: Place | None) -> tuple[int, ...]:
    try:
        steps = tuple(map(operator.index, change))
    except TypeError:
        steps = None
    if steps is None or isinstance(change, str) or bool in map(type, change):
        raise CounterRuleError(
            f"a change has one integer for each counter, not {shorten(change)}",
            place=place,
            fix="write a tuple in the order of the counters, such as change=(1, 0)",
        )
    return steps


def check_state_name(name: object) -> None:
    """Check that a state's name is printable text of reasonable length.

    Example:
        >>> check_state_name("fetch mail")
        >>> check_state_name("")
        Traceback (most recent call last):
        cranium.errors.InvalidNameError: a state's name is 1 to 500 printable characters, not ''
    """
    fits = isinstance(name, str) and 0 < len(name) <= MAX_STATE
    if not fits or not str(name).isprintable() or str(name).strip() != name:
        raise InvalidNameError(
            f"a state's name is 1 to {MAX_STATE} printable characters, not {shorten(name)}"
        )


def otherwise_guard(transitions: Iterable[Transition]) -> Formula:
    """Return the guard of all labels on which none of the transitions is enabled.

    Example:
        >>> enabled = [Transition(source="u", guard=guard) for guard in ("A", "B & !A")]
        >>> str(otherwise_guard(enabled))
        '!(A | B & !A)'
    """
    guards = [t.guard for t in transitions]
    if not guards:
        return TRUE
    return Not(guards[0] if len(guards) == 1 else Or(*guards))
