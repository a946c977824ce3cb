"""The exponents of one alternative, with the ``where`` clause applied to them.

Exponents with one possible value become numbers, equal exponents become one variable, and all are
shifted so that none is below zero. Exponents that no counter can count are enumerated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from cranium.errors import LanguageError
from cranium.languages.compiler import ir
from cranium.languages.compiler.budget import Budget
from cranium.languages.compiler.constraints import ZERO, DifferenceConstraints
from cranium.languages.compiler.ir import Linear, Node, substitute, variables_of

__all__ = ["MAX_COPIES", "Case", "check_alternatives", "enumerate_values", "simplify"]

MAX_CASES = 1000
MAX_COPIES = 20
"""The most repetitions of a part with exponents, because each repetition is written out."""


@dataclass(frozen=True, slots=True)
class Case:
    """An alternative in which every exponent occurs in every word, with its constraints.

    Attributes:
        expression: The expression.
        system: The constraints on its exponents.
        shifts: For each exponent, its value in the text minus its value in the expression.
    """

    expression: Node
    system: DifferenceConstraints
    shifts: Mapping[str, int]


def check_alternatives(counts: list[int]) -> None:
    """Raise an error if the product of the counts is too large."""
    total = 1
    for count in counts:
        total *= count
    if total > MAX_CASES:
        raise LanguageError(
            f"the exponents give {total:,} alternatives, more than {MAX_CASES:,}",
            fix="use fewer alternatives that have exponents, or lower their upper bounds",
        )


def simplify(expression: Node, system: DifferenceConstraints, budget: Budget) -> Iterator[Case]:
    """Yield the cases of an alternative, in which all exponents are natural numbers.

    Args:
        expression: The alternative.
        system: The constraints on its exponents.
        budget: The steps that compilation may still take.
    """
    for fixed, known in _make_nonnegative(expression, system, budget):
        case = _merge(fixed, known.restrict_to(variables_of(fixed)))
        if case is not None:
            yield _shift(*case)


def _make_nonnegative(
    expression: Node, system: DifferenceConstraints, budget: Budget
) -> Iterator[tuple[Node, DifferenceConstraints]]:
    """Make all exponents nonnegative. Sums of several variables are split by small values."""
    # Closing a system of differences tries each variable between all pairs of others.
    budget.spend(200 + len(system.at_least) ** 2 // (1 + len(system.variables)))
    needed: dict[tuple[str, str], int] = {}
    several: Linear | None = None
    for exponent in _exponents(expression):
        if len(exponent.factors) == 1:
            (name, factor) = exponent.factors[0]
            least = -(exponent.constant // factor)
            needed[name, ZERO] = max(least, needed.get((name, ZERO), least))
    system = system.with_gaps(needed)
    if not system.is_possible:
        return
    for exponent in _exponents(expression):
        lowest = exponent.value({name: system.least(name) for name, _ in exponent.factors})
        if lowest < 0:
            several = exponent
    if several is None:
        yield expression, system
        return
    name, factor = several.factors[0]
    rest = Linear(several.factors[1:], several.constant)
    low = system.least(name)
    enough = -(rest.value({x: system.least(x) for x, _ in rest.factors}) // factor)
    check_alternatives([enough - low])
    for value in range(low, enough):
        known = system.with_value(name, value)
        if known.is_possible:
            fixed = substitute(expression, {name: Linear((), value)})
            yield from _make_nonnegative(fixed, known, budget)
    yield from _make_nonnegative(expression, system.with_gaps({(name, ZERO): enough}), budget)


def _exponents(expression: Node) -> list[Linear]:
    return [node.exponent for node in ir.walk(expression) if isinstance(node, ir.Power)]


def _merge(
    expression: Node, system: DifferenceConstraints
) -> tuple[Node, DifferenceConstraints] | None:
    """Replace variables that have one value, and merge variables that are equal or always added."""
    while True:
        for name in system.variables:
            if system.least(name) == system.most(name):
                form = Linear((), system.least(name))
                break
        else:
            if (equal := system.find_equal()) is not None:
                name, other, gap = equal
                form = Linear(((other, 1),), gap)
            elif (pair := _find_added_pair(expression, system)) is not None:
                name, other = pair
                both, system = _add_sum(name, other, system)
                expression = substitute(expression, {name: Linear(((both, 1), (other, -1)))})
                system = system.restrict_to(variables_of(expression))
                continue
            else:
                return expression, system
        expression = substitute(expression, {name: form})
        system = system.restrict_to(variables_of(expression))


def _find_added_pair(expression: Node, system: DifferenceConstraints) -> tuple[str, str] | None:
    """Find a variable that occurs only in sums with the same other variable, as in N + M."""
    exponents = [dict(exponent.factors) for exponent in _exponents(expression)]
    for name in system.variables:
        own = [factors for factors in exponents if name in factors]
        for other in own[0]:
            same = other != name and all(f.get(other) == f[name] for f in own)
            if same and not system.is_compared(name):
                return name, other
    return None


def _add_sum(
    name: str, other: str, system: DifferenceConstraints
) -> tuple[str, DifferenceConstraints]:
    both = f"{other} + {name}"
    pairs = {(both, other): system.least(name)}
    most = system.most(name)
    if most is not None:
        pairs[other, both] = -most
    kept = [x for x in system.variables if x != name]
    return both, system.restrict_to(kept).with_gaps(pairs, [both])


def _shift(expression: Node, system: DifferenceConstraints) -> Case:
    """Shift the exponents so that their least values are 0 or 1 and no constant is negative."""
    shifts = {name: max(system.least(name) - 1, 0) for name in system.variables}
    for exponent in _exponents(expression):
        names = [name for name, _ in exponent.factors]
        if len(names) == 1:
            name, factor = exponent.factors[0]
            shifts[name] = max(shifts[name], -(exponent.constant // factor))
        elif exponent.constant < 0:
            shifts |= {name: system.least(name) for name in names}
    forms = {name: Linear(((name, 1),), shift) for name, shift in shifts.items()}
    offset = {**shifts, ZERO: 0}
    pairs = {(a, b): gap - offset[a] + offset[b] for (a, b), gap in system.at_least.items()}
    return Case(substitute(expression, forms), replace(system, at_least=pairs), shifts)


def enumerate_values(
    expression: Node, system: DifferenceConstraints
) -> Iterator[Mapping[str, int]]:
    """Yield all values of the exponents that no counter can count, if they are finitely many."""
    names = [x for x in variables_of(expression) if x in _find_uncountable(expression, system)]
    spans = [range(system.least(x), (system.most(x) or 0) + 1) for x in names]
    check_alternatives([len(span) for span in spans])
    for values in product(*spans):
        yield dict(zip(names, values, strict=True))


def _find_uncountable(node: Node, system: DifferenceConstraints) -> set[str]:
    """Find bounded exponents in nested powers, long repetitions and parts that run in parallel."""

    def finite(names: tuple[str, ...]) -> bool:
        return all(system.most(name) is not None for name in names)

    found: set[str] = set()
    inside = variables_of(node)
    if isinstance(node, ir.Power) and (within := variables_of(node.body)):
        raised = tuple(name for name, _ in node.exponent.factors)
        found |= set(raised if finite(raised) else within if finite(within) else ())
    if isinstance(node, ir.Repeat) and (node.high is None or node.high > MAX_COPIES):
        found |= set(inside if finite(inside) else ())
    if isinstance(node, ir.Shuffle | ir.Both):
        parts = [set(variables_of(part)) for part in node.parts]
        shared = {x for i, one in enumerate(parts) for other in parts[:i] for x in one & other}
        found |= {x for x in shared if finite((x,))}
    return found.union(*(_find_uncountable(child, system) for child in ir.children(node)))
