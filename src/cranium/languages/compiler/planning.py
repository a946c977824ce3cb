"""The plan of a language: which repetition changes and tests which counters.

An expression is split into alternatives in which every exponent occurs in every word. The exponents
of each alternative are simplified (:mod:`exponents`) and assigned to counters (:mod:`counting`).
Alternatives whose exponents occur nowhere else are planned separately, inside the expression.
"""

from __future__ import annotations

import collections
from dataclasses import dataclass
from itertools import product

from cranium.errors import LanguageError
from cranium.languages.compiler import ir
from cranium.languages.compiler.budget import Budget
from cranium.languages.compiler.constraints import DifferenceConstraints
from cranium.languages.compiler.counting import assign_counters
from cranium.languages.compiler.exponents import (
    MAX_COPIES,
    check_alternatives,
    enumerate_values,
    simplify,
)
from cranium.languages.compiler.ir import Counter, Linear, Node, substitute, variables_of
from cranium.languages.syntax import Language

__all__ = ["Plan", "make_plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """An expression whose counted repetitions name their counters, and all counters."""

    expression: Node
    counters: tuple[Counter, ...]


def make_plan(language: Language, *, apart: bool = False, budget: Budget | None = None) -> Plan:
    """Assign counters to the exponents of a language.

    Args:
        language: The language.
        apart: Whether each alternative has its own counters for an exponent. Otherwise alternatives
            share them.
        budget: The steps that compilation may still take.

    Example:
        >>> from cranium.languages import parse_language
        >>> [counter.copy for counter in make_plan(parse_language("A^N B^N C^N")).counters]
        [1, 2]
        >>> make_plan(parse_language("A^N B^M")).counters
        ()
    """
    system = DifferenceConstraints.of(language)
    planned = _Planner(system, apart, budget or Budget()).plan(ir.lower(language.expression))
    if planned is None:
        raise LanguageError(
            "no values of the exponents satisfy all conditions, so there is no word",
            fix="check the where clause",
        )
    blocks = [node for node in ir.walk(planned) if isinstance(node, ir.Counted)]
    found = dict.fromkeys(counter for block in blocks for counter, _ in block.add)
    return Plan(planned, tuple(found))


class _Planner:
    """Splits an expression into alternatives and assigns counters to each of them."""

    def __init__(self, system: DifferenceConstraints, apart: bool, budget: Budget) -> None:
        self.system = system
        self.budget = budget
        self.apart = apart
        self.number = 0

    def plan(self, expression: Node) -> Node | None:
        """Plan an expression whose exponents occur nowhere else. Returns None if it has no word."""
        made: list[Node] = []
        for values in enumerate_values(expression, self.system):
            system = self.system
            for name, value in values.items():
                system = system.with_value(name, value)
            if not system.is_possible:
                continue
            forms = {name: Linear((), value) for name, value in values.items()}
            for one in self._alternatives(substitute(expression, forms), set(), system):
                for case in simplify(one, system, self.budget):
                    self.number += 1
                    made.append(assign_counters(case, f".{self.number}" * self.apart))
        return None if not made else made[0] if len(made) == 1 else ir.Choice(tuple(made))

    def _alternatives(
        self, node: Node, outside: set[str], system: DifferenceConstraints
    ) -> list[Node]:
        """Split an expression into alternatives in which every exponent occurs in every word.

        Args:
            node: The expression.
            outside: The exponents that occur outside of the expression.
            system: The constraints on the exponents.
        """
        if not variables_of(node):
            return [node]
        match node:
            case ir.Power():
                _check_power(node)
                return [node]
            case ir.Repeat() if (power := _as_power(node)) is not None:
                _check_power(power)
                return [power]
            case ir.Repeat():
                return self._of_choice(_write_out(node), outside, system)
            case ir.Choice():
                return self._of_choice(node, outside, system)
            case ir.Letter() | ir.Counted():
                raise AssertionError(node)  # neither has a power inside
            case ir.Sequence(parts=parts):
                node = ir.Sequence(_join_powers(parts))
        found: list[list[Node]] = []
        used = [variables_of(part) for part in node.parts]
        count = collections.Counter(name for names in used for name in names)
        for part, own in zip(node.parts, used, strict=True):
            # Computed once for all parts, because there may be thousands.
            others = {name for name, parts in count.items() if parts > (name in own)}
            found.append(self._alternatives(part, outside | others, system))
        check_alternatives([len(one) for one in found])
        return [type(node)(parts) for parts in product(*found)]

    def _of_choice(
        self, node: ir.Choice, outside: set[str], system: DifferenceConstraints
    ) -> list[Node]:
        if not system.find_linked(variables_of(node)) & outside:
            planned = [made for part in node.parts if (made := self.plan(part)) is not None]
            return [] if not planned else [ir.Choice(tuple(planned))]
        plain = tuple(part for part in node.parts if not variables_of(part))
        found: list[Node] = [ir.Choice(plain)] if plain else []
        for part in node.parts:
            if variables_of(part):
                found += self._alternatives(part, outside, system)
        check_alternatives([len(found)])
        return found


def _check_power(node: ir.Power) -> None:
    if inside := variables_of(node.body):
        raise LanguageError(
            f"the exponent {inside[0]} occurs in a part that is itself raised to {node.exponent}",
            fix="a product of exponents is beyond one counter for each use",
        )


def _write_out(node: ir.Repeat) -> ir.Choice:
    """Replace a repetition of a part that has exponents by a choice of sequences."""
    if node.high is None or node.high > MAX_COPIES:
        raise LanguageError(
            f"the exponent {variables_of(node.body)[0]} occurs in a part that is itself repeated",
            fix="a variable has one value: write the repetitions out, or leave the variable out",
        )
    counts = range(node.low, node.high + 1)
    return ir.Choice(tuple(ir.Sequence((node.body,) * count) for count in counts))


def _join_powers(parts: tuple[Node, ...]) -> tuple[Node, ...]:
    """Join a power with copies of its body that follow it: A^N A is A^(N+1)."""
    made: list[Node] = []
    for part in parts:
        before = made[-1] if made else None
        # A negative constant is a lower bound of the exponent, so it must stay.
        if isinstance(before, ir.Power) and before.exponent.constant >= 0:
            more = _count_copies(part, before.body)
            if more:
                exponent = before.exponent
                joined = Linear(exponent.factors, exponent.constant + more)
                made[-1] = ir.Power(before.body, joined)
                continue
        made.append(part)
    return tuple(made)


def _count_copies(part: Node, body: Node) -> int:
    """Return how often a part repeats exactly the body, or 0 if it is a different expression."""
    if part == body:
        return 1
    if isinstance(part, ir.Repeat) and part.low == part.high and part.body == body:
        return part.low
    return 0


def _as_power(node: Node) -> ir.Power | None:
    """Turn a repeated power into a power: (A^N)^2 is A^2N."""
    if isinstance(node, ir.Power):
        return node
    if not isinstance(node, ir.Repeat) or node.low != node.high or not node.low:
        return None
    inner = _as_power(node.body)
    if inner is None:
        return None
    factors = tuple((name, factor * node.low) for name, factor in inner.exponent.factors)
    return ir.Power(inner.body, Linear(factors, inner.exponent.constant * node.low))
