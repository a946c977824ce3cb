"""The ``where`` clause as a closed system of difference constraints x - y ≥ c.

A system is closed if it contains every constraint that follows from it. Then bounds can be read
directly, a contradiction shows as x - x ≥ c with c > 0, and values of some variables that satisfy
the constraints among them can always be completed to a solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from cranium.languages.syntax import Language

__all__ = ["DifferenceConstraints"]

ZERO = ""
"""The variable that is zero: x - ZERO ≥ 3 is x ≥ 3, and ZERO - x ≥ -5 is x ≤ 5."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class DifferenceConstraints:
    """A closed system of constraints; ``at_least[x, y]`` is the greatest known c with x - y ≥ c.

    Example:
        >>> from cranium.languages import parse_language
        >>> task = parse_language("A^N B^M C^K where N > M, M > K, N <= 9")
        >>> system = DifferenceConstraints.of(task)
        >>> system.least("N"), system.most("K"), system.gap("N", "K")
        (3, 7, 2)
    """

    variables: tuple[str, ...]
    at_least: Mapping[Pair, int] = field(default_factory=dict)

    @classmethod
    def of(cls, language: Language) -> Self:
        """Return the constraints of a language; the default lower bound of a variable is 1."""
        pairs: dict[Pair, int] = {}
        for name in language.variables:
            low, high = language.bounds(name)
            pairs[name, ZERO] = max(low, 0)
            if high is not None:
                pairs[ZERO, name] = -high
        for constraint in language.constraints:
            one, sign, other = constraint.left, constraint.sign, constraint.right
            if isinstance(other, str):
                strict = int(sign in "<>")
                if sign in (">", ">=", "=="):
                    pairs[one, other] = max(strict, pairs.get((one, other), 0))
                if sign in ("<", "<=", "=="):
                    pairs[other, one] = max(strict, pairs.get((other, one), 0))
        return cls(language.variables, _close(language.variables, pairs))

    @property
    def is_possible(self) -> bool:
        """Whether the system has a solution."""
        return all(self.at_least.get((name, name), 0) <= 0 for name in (*self.variables, ZERO))

    def gap(self, one: str, other: str) -> int | None:
        """Return the greatest c with one - other ≥ c, or None if there is no such constraint."""
        return self.at_least.get((one, other))

    def least(self, name: str) -> int:
        """Return the least value of a variable."""
        return self.at_least[name, ZERO]

    def most(self, name: str) -> int | None:
        """Return the greatest value of a variable, or None."""
        below = self.gap(ZERO, name)
        return None if below is None else -below

    def is_implied(self, one: str, other: str, through: Iterable[str]) -> bool:
        """Whether the constraint on a pair follows from two others through a third variable."""
        known = self.gap(one, other)
        if known is None:
            return True
        for third in through:
            there, back = self.gap(one, third), self.gap(third, other)
            if there is not None and back is not None and known <= there + back:
                return True
        return False

    def is_compared(self, name: str) -> bool:
        """Whether a variable has constraints besides its bounds."""
        pairs = [(a, b) for x in self.variables if x != name for a, b in ((x, name), (name, x))]
        return not all(self.is_implied(a, b, [ZERO]) for a, b in pairs)

    def find_equal(self) -> tuple[str, str, int] | None:
        """Return x, y and c such that x = y + c in every solution, with x after y; or None."""
        for index, one in enumerate(self.variables):
            for other in self.variables[:index]:
                up, down = self.gap(one, other), self.gap(other, one)
                if up is not None and down is not None and up + down == 0:
                    return one, other, up
        return None

    def with_gaps(
        self, pairs: Mapping[Pair, int], variables: Iterable[str] = ()
    ) -> DifferenceConstraints:
        """Return the system with additional constraints and variables."""
        names = tuple(dict.fromkeys([*self.variables, *variables]))
        joint = dict(self.at_least)
        for pair, gap in pairs.items():
            joint[pair] = max(gap, joint.get(pair, gap))
        return DifferenceConstraints(names, _close(names, joint))

    def with_value(self, name: str, value: int) -> DifferenceConstraints:
        """Return the system with the value of a variable fixed."""
        return self.with_gaps({(name, ZERO): value, (ZERO, name): -value})

    def restrict_to(self, names: Iterable[str]) -> DifferenceConstraints:
        """Return the projection of the system onto some of the variables, in their order."""
        kept = tuple(names)
        inside = {*kept, ZERO}
        pairs = {(a, b): gap for (a, b), gap in self.at_least.items() if {a, b} <= inside}
        return DifferenceConstraints(kept, pairs)

    def find_linked(self, names: Iterable[str]) -> set[str]:
        """Return these variables and all that are compared with them, directly or indirectly."""
        found = set(names)
        while True:
            more = {
                x
                for x in self.variables
                if x not in found
                and any(
                    not self.is_implied(a, b, [ZERO]) for y in found for a, b in ((x, y), (y, x))
                )
            }
            if not more:
                return found
            found |= more


def _close(names: tuple[str, ...], pairs: Mapping[Pair, int]) -> dict[Pair, int]:
    """Close a system: add every constraint that follows through a third variable."""
    found = dict(pairs)
    everything = (*names, ZERO)
    for third in everything:
        into = [(x, found[x, third]) for x in everything if (x, third) in found]
        out = [(y, found[third, y]) for y in everything if (third, y) in found]
        for x, there in into:
            for y, back in out:
                if found.get((x, y), there + back - 1) < there + back:
                    found[x, y] = there + back
    return found
