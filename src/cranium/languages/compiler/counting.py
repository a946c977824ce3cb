"""Counters for the exponents of one alternative.

The first occurrence of an exponent *defines* it: every repetition increments one counter for each
later use. A later occurrence *uses* one of these counters: every repetition decrements it, and the
occurrence ends when the counter is zero. An exponent that must not exceed an earlier one also
decrements a counter of the earlier one. An exponent that must reach an earlier one drains a counter
of the earlier one, and may then continue. An exponent that occurs once and is compared with nothing
needs no counter.
"""

from __future__ import annotations

from collections.abc import Iterator

from cranium.errors import LanguageError
from cranium.languages.compiler.constraints import ZERO
from cranium.languages.compiler.exponents import Case
from cranium.languages.compiler.ir import (
    Both,
    Choice,
    Counted,
    Counter,
    Letter,
    Node,
    Power,
    Repeat,
    Sequence,
    Shuffle,
    children,
    to_syntax,
    variables_of,
    walk,
)

__all__ = ["assign_counters"]


def assign_counters(case: Case, mark: str) -> Node:
    """Replace every power of a case by repetitions that name the counters they change.

    Args:
        case: The alternative and its constraints.
        mark: A suffix for the names of its counters, which distinguishes them from those of others.
    """
    return _Assignment(case, mark).expression


class _Assignment:
    """The counters that each exponent increments, decrements and drains."""

    def __init__(self, case: Case, mark: str) -> None:
        self.case = case
        self.mark = mark
        self.order = variables_of(case.expression)
        self.add: dict[str, list[tuple[Counter, int]]] = {name: [] for name in self.order}
        self.take: dict[str, list[tuple[Counter, int]]] = {name: [] for name in self.order}
        self.drain: dict[str, list[tuple[Counter, int]]] = {name: [] for name in self.order}
        self.until: dict[str, list[tuple[Counter, int]]] = {name: [] for name in self.order}
        self.copies: dict[tuple[str, int], int] = {}
        _check_parallel(case.expression)
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
        """Return a new counter for an exponent. The first ``skip`` repetitions are not counted."""
        offset = self.case.shifts[name] + skip
        copy = self.copies[name, offset] = self.copies.get((name, offset), 0) + 1
        bounded = full or self.case.system.most(name) is not None
        return Counter(name + self.mark, copy, offset, bounded)

    def _compare(self, greater: str, smaller: str, gap: int) -> None:
        over, under = max(gap, 0), max(-gap, 0)
        if self.order.index(greater) < self.order.index(smaller):
            # The smaller exponent has an upper bound, so higher counter values are never needed.
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

    def _visit(self, node: Node) -> Node:
        match node:
            case Letter() | Repeat() | Counted() | Choice():
                return node
            case Power():
                return self._power(node)
        return type(node)(tuple(self._visit(part) for part in node.parts))

    def _power(self, node: Power) -> Node:
        if _may_be_empty(node.body):
            raise LanguageError(
                f"{to_syntax(node.body)} may be empty, so its repetitions cannot be counted",
                fix="make at least one letter of it mandatory",
            )
        parts: list[Node] = []
        if node.exponent.constant:
            parts.append(Repeat(node.body, node.exponent.constant, node.exponent.constant))
        # Exponents that use a counter come first, because their ends are determined.
        for name, factor in sorted(
            node.exponent.factors, key=lambda item: item[0] not in self.defined
        ):
            unit = node.body if factor == 1 else Repeat(node.body, factor, factor)
            parts.append(self._occurrence(name, unit))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _occurrence(self, name: str, unit: Node) -> Node:
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
    """Yield the comparisons that need a counter: those that do not follow from earlier ones."""
    system = case.system
    order = system.variables
    parallel = _parallel_pairs(case.expression)
    for index, later in enumerate(order):
        for number, earlier in enumerate(order[:index]):
            others = [ZERO, *order[:number], *order[number + 1 : index]]
            if (earlier, later) in parallel:
                others += order[index + 1 :]
            for one, other in ((earlier, later), (later, earlier)):
                gap = system.gap(one, other)
                if gap is None or system.is_implied(one, other, others):
                    continue
                if (earlier, later) in parallel:
                    raise LanguageError(
                        f"the exponents {earlier} and {later} are compared, but counted in "
                        "parallel, so neither comes first",
                        fix="put one part after the other, or remove the comparison",
                    )
                yield one, other, gap


def _parallel_pairs(node: Node) -> set[tuple[str, str]]:
    """Return the pairs of exponents that are counted in parallel."""
    found: set[tuple[str, str]] = set()
    for child in children(node):
        found |= _parallel_pairs(child)
    if isinstance(node, Shuffle | Both):
        parts = [variables_of(part) for part in node.parts]
        for index, part in enumerate(parts):
            found |= {(x, y) for before in parts[:index] for x in before for y in part}
    return found


def _check_parallel(expression: Node) -> None:
    for one, other in sorted(_parallel_pairs(expression)):
        if one == other:
            raise LanguageError(
                f"the exponent {one} occurs in two parts that are done side by side, so neither "
                "comes first",
                fix="count it in one of them, or give them different names",
            )


def _occurrences(expression: Node) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in walk(expression):
        if isinstance(node, Power):
            for name, _ in node.exponent.factors:
                found[name] = found.get(name, 0) + 1
    return found


def _may_be_empty(node: Node) -> bool:
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
