"""What the compiler counts: exponent variables become counters.

The first occurrence of an exponent *defines* it: every repetition adds one to a counter for each
purpose that it serves later. A later occurrence *uses* one: every repetition takes one, and it is
left when the counter is zero. An exponent that must not exceed an earlier one takes from a counter
of that, too; one that must reach an earlier one drains its counter, and then goes on freely. An
exponent that occurs once and is compared with nothing is not counted at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cranium.errors import LanguageError
from cranium.languages.compiler.budget import Work
from cranium.languages.compiler.cases import Case, alternatives, settle, substituted, values_to_try
from cranium.languages.compiler.constraints import ZERO, Differences
from cranium.languages.syntax import (
    Both,
    Choice,
    Counted,
    Counter,
    Expression,
    Language,
    Letter,
    Linear,
    Power,
    Repeat,
    Sequence,
    Shuffle,
    children,
    variables_of,
    walk,
)

__all__ = ["Plan", "make_plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """An expression in which every counted power says what it counts, and the counters."""

    expression: Expression
    counters: tuple[Counter, ...]


def make_plan(language: Language, *, apart: bool = False, work: Work | None = None) -> Plan:
    """Decide what is counted where.

    Args:
        language: The language.
        apart: Whether an exponent has counters of its own in each alternative, even where the
            alternatives seem to count alike.
        work: What may still be spent.

    Example:
        >>> from cranium.languages import parse_language
        >>> [counter.copy for counter in make_plan(parse_language("A^N B^N C^N")).counters]
        [1, 2]
        >>> make_plan(parse_language("A^N B^M")).counters
        ()
    """
    system = Differences.of(language)
    planned = _Alternatives(system, apart, work or Work()).plan(language.expression)
    if planned is None:
        raise LanguageError(
            "no values of the exponents satisfy all conditions, so there is no word",
            fix="look at the where clause",
        )
    blocks = [node for node in walk(planned) if isinstance(node, Counted)]
    found = dict.fromkeys(counter for block in blocks for counter, _ in block.add)
    return Plan(planned, tuple(found))


class _Alternatives:
    """Plans each alternative by itself."""

    def __init__(self, system: Differences, apart: bool, work: Work) -> None:
        self.system = system
        self.work = work
        self.apart = apart
        self.number = 0

    def plan(self, expression: Expression) -> Expression | None:
        """An expression whose exponents occur nowhere else; None if it has no word."""
        made: list[Expression] = []
        for values in values_to_try(expression, self.system):
            system = self.system
            for name, value in values.items():
                system = system.fixed(name, value)
            if not system.possible:
                continue
            forms = {name: Linear((), value) for name, value in values.items()}
            for one in alternatives(substituted(expression, forms), set(), system, self.plan):
                for case in settle(one, system, self.work):
                    self.number += 1
                    made.append(_Planner(case, f".{self.number}" * self.apart).expression)
        return None if not made else made[0] if len(made) == 1 else Choice(tuple(made))


class _Planner:
    """Says of every occurrence of the exponents of an alternative what it does."""

    def __init__(self, case: Case, mark: str) -> None:
        self.case = case
        self.mark = mark
        self.order = variables_of(case.expression)
        self.add: dict[str, list[tuple[Counter, int]]] = {name: [] for name in self.order}
        self.take: dict[str, list[tuple[Counter, int]]] = {name: [] for name in self.order}
        self.drain: dict[str, list[tuple[Counter, int]]] = {name: [] for name in self.order}
        self.until: dict[str, list[tuple[Counter, int]]] = {name: [] for name in self.order}
        self.copies: dict[tuple[str, int], int] = {}
        _check_side_by_side(case.expression)
        for greater, smaller, gap in _comparisons(case):
            self._compare(greater, smaller, gap)
        self.used: dict[str, list[Counter]] = {name: [] for name in self.order}
        for name, times in _occurrences(case.expression).items():
            for _ in range(times - 1):
                counter = self._counter(name, 0)
                self.add[name].append((counter, 0))
                self.used[name].append(counter)
        self.defined: set[str] = set()
        self.expression = self._visit(case.expression)

    def _counter(self, name: str, skip: int, *, full: bool = False) -> Counter:
        """One more counter for an exponent, less what its first repetitions leave out."""
        offset = self.case.shifts[name] + skip
        copy = self.copies[name, offset] = self.copies.get((name, offset), 0) + 1
        bounded = full or self.case.system.most(name) is not None
        return Counter(name + self.mark, copy, offset, bounded)

    def _compare(self, greater: str, smaller: str, gap: int) -> None:
        over, under = max(gap, 0), max(-gap, 0)
        if self.order.index(greater) < self.order.index(smaller):
            # What takes from it at most so often never asks for more.
            most = self.case.system.most(smaller)
            counter = self._counter(greater, over, full=most is not None)
            self.add[greater].append((counter, over))
            if most is not None:
                self.until[greater].append((counter, over + max(most - under, 0)))
            self.take[smaller].append((counter, under))
        else:
            counter = self._counter(smaller, under)
            self.add[smaller].append((counter, under))
            self.drain[greater].append((counter, over))

    def _visit(self, node: Expression) -> Expression:
        match node:
            case Letter() | Repeat() | Counted() | Choice():
                return node
            case Power():
                return self._power(node)
        return type(node)(tuple(self._visit(part) for part in node.parts))

    def _power(self, node: Power) -> Expression:
        if _may_be_empty(node.body):
            raise LanguageError(
                f"{node.body} may be empty, so nothing shows how often it is repeated",
                fix="leave out what makes it optional",
            )
        parts: list[Expression] = []
        if node.exponent.constant:
            parts.append(Repeat(node.body, node.exponent.constant, node.exponent.constant))
        # What is known already is read first: then it is clear where it ends.
        for name, factor in sorted(
            node.exponent.factors, key=lambda item: item[0] not in self.defined
        ):
            unit = node.body if factor == 1 else Repeat(node.body, factor, factor)
            parts.append(self._occurrence(name, unit))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _occurrence(self, name: str, unit: Expression) -> Expression:
        if name in self.defined:
            counter = self.used[name].pop(0)
            return Counted(unit, take=((counter, 0),), empty=(counter,))
        self.defined.add(name)
        low, high = self.case.system.least(name), self.case.system.most(name)
        add, take, drain = self.add[name], self.take[name], self.drain[name]
        if not add and not take and not drain:
            return Repeat(unit, low, high)
        empty = tuple(counter for counter, _ in drain)
        return Counted(
            unit, low, high, tuple(add), tuple(take), tuple(drain), empty, tuple(self.until[name])
        )


def _comparisons(case: Case) -> Iterator[tuple[str, str, int]]:
    """The differences that have to be watched: those that do not follow from earlier ones."""
    system = case.system
    order = system.variables
    parallel = _side_by_side(case.expression)
    for index, later in enumerate(order):
        for number, earlier in enumerate(order[:index]):
            others = [ZERO, *order[:number], *order[number + 1 : index]]
            if (earlier, later) in parallel:
                others += order[index + 1 :]
            for one, other in ((earlier, later), (later, earlier)):
                gap = system.gap(one, other)
                if gap is None or system.follows(one, other, others):
                    continue
                if (earlier, later) in parallel:
                    raise LanguageError(
                        f"the exponents {earlier} and {later} are compared, but counted side by "
                        "side, so neither comes first",
                        fix="do one after the other, or leave the comparison out",
                    )
                yield one, other, gap


def _side_by_side(node: Expression) -> set[tuple[str, str]]:
    """The pairs of exponents that are counted at the same time."""
    found: set[tuple[str, str]] = set()
    for child in children(node):
        found |= _side_by_side(child)
    if isinstance(node, Shuffle | Both):
        parts = [variables_of(part) for part in node.parts]
        for index, part in enumerate(parts):
            found |= {(x, y) for before in parts[:index] for x in before for y in part}
    return found


def _check_side_by_side(expression: Expression) -> None:
    for one, other in sorted(_side_by_side(expression)):
        if one == other:
            raise LanguageError(
                f"the exponent {one} occurs in two parts that are done side by side, so neither "
                "comes first",
                fix="count it in one of them, or give them different names",
            )


def _occurrences(expression: Expression) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in walk(expression):
        if isinstance(node, Power):
            for name, _ in node.exponent.factors:
                found[name] = found.get(name, 0) + 1
    return found


def _may_be_empty(node: Expression) -> bool:
    match node:
        case Letter():
            return False
        case Repeat(body=body, low=low):
            return low == 0 or _may_be_empty(body)
        case Power(body=body):
            return _may_be_empty(body)
        case Choice():
            return any(map(_may_be_empty, children(node)))
    return all(map(_may_be_empty, children(node)))
