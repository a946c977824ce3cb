"""A language as alternatives, in each of which every exponent occurs in every word.

What ``where`` says is worked out for each alternative: of an exponent that does not occur in it,
only the consequences for the others matter. Exponents with one value become numbers, equal ones
become one, and all are shifted so that none is ever below zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from cranium.errors import LanguageError
from cranium.languages.compiler.budget import Work
from cranium.languages.compiler.constraints import ZERO, Differences
from cranium.languages.syntax import (
    Choice,
    Counted,
    Expression,
    Letter,
    Linear,
    Power,
    Repeat,
    Sequence,
    children,
    variables_of,
    walk,
)

__all__ = ["Case", "alternatives", "settle", "substituted", "values_to_try"]

MAX_CASES = 1000
MAX_COPIES = 20


@dataclass(frozen=True, slots=True)
class Case:
    """An expression without alternatives that have exponents, and what is known of those.

    Attributes:
        expression: The expression.
        system: What is known of its exponents.
        shifts: By how much an exponent of the text is greater than the one in the expression.
    """

    expression: Expression
    system: Differences
    shifts: Mapping[str, int]


# Alternatives


def alternatives(
    node: Expression,
    outside: set[str],
    system: Differences,
    plan: Callable[[Expression], Expression | None],
) -> list[Expression]:
    """The expression as a list of alternatives; each has all its exponents in every word.

    Args:
        node: The expression.
        outside: The exponents that occur outside of it.
        system: What is known of the exponents.
        plan: Plans an alternative by itself: one whose exponents matter nowhere else.
    """
    if not variables_of(node) or isinstance(node, Letter | Counted):
        return [node]
    match node:
        case Power(body=body, exponent=exponent):
            if inside := variables_of(body):
                raise LanguageError(
                    f"the exponent {inside[0]} occurs in a part that is itself raised to "
                    f"{exponent}",
                    fix="a product of exponents is beyond one counter for each use",
                )
            return [node]
        case Repeat() if (power := _as_power(node)) is not None:
            return alternatives(power, outside, system, plan)
        case Repeat(body=body, low=low, high=high):
            if high is None or high > MAX_COPIES:
                raise LanguageError(
                    f"the exponent {variables_of(body)[0]} occurs in a part that is itself "
                    "repeated",
                    fix="a variable has one value: write the repetitions out, or leave the "
                    "variable out",
                )
            copies = [Sequence((body,) * count) for count in range(low, high + 1)]
            return _of_choice(Choice(tuple(copies)), outside, system, plan)
        case Choice():
            return _of_choice(node, outside, system, plan)
    if isinstance(node, Sequence):
        node = Sequence(_joined(node.parts))
    found: list[list[Expression]] = []
    used = [variables_of(part) for part in node.parts]
    count = Counter(name for names in used for name in names)
    for part, own in zip(node.parts, used, strict=True):
        # Counted once for all parts: there may be thousands.
        others = {name for name, parts in count.items() if parts > (name in own)}
        found.append(alternatives(part, outside | others, system, plan))
    _check_number([len(one) for one in found])
    return [type(node)(parts) for parts in product(*found)]


def _joined(parts: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """A^N A is A^(N+1): what a power is followed by is counted with it, where nothing else is."""
    made: list[Expression] = []
    for part in parts:
        before = made[-1] if made else None
        # A constant below zero says which values there are: it must stay.
        if isinstance(before, Power) and before.exponent.constant >= 0:
            more = _times(part, before.body)
            if more:
                exponent = before.exponent
                made[-1] = Power(before.body, Linear(exponent.factors, exponent.constant + more))
                continue
        made.append(part)
    return tuple(made)


def _times(part: Expression, body: Expression) -> int:
    """How often a part is exactly the body, 0 if it is something else."""
    if part == body:
        return 1
    same = isinstance(part, Repeat) and part.low == part.high and part.body == body
    return part.low if same and isinstance(part, Repeat) else 0


def _as_power(node: Expression) -> Power | None:
    """(A^N)^2 is A^2N."""
    if isinstance(node, Power):
        return node
    if not isinstance(node, Repeat) or node.low != node.high or not node.low:
        return None
    inner = _as_power(node.body)
    if inner is None:
        return None
    factors = tuple((name, factor * node.low) for name, factor in inner.exponent.factors)
    return Power(inner.body, Linear(factors, inner.exponent.constant * node.low))


def _of_choice(
    node: Choice,
    outside: set[str],
    system: Differences,
    plan: Callable[[Expression], Expression | None],
) -> list[Expression]:
    if not system.linked(variables_of(node)) & outside:
        planned = [made for part in node.parts if (made := plan(part)) is not None]
        return [] if not planned else [Choice(tuple(planned))]
    plain = tuple(part for part in node.parts if not variables_of(part))
    found: list[Expression] = [Choice(plain)] if plain else []
    for part in node.parts:
        if variables_of(part):
            found += alternatives(part, outside, system, plan)
    _check_number([len(found)])
    return found


def _check_number(counts: list[int]) -> None:
    total = 1
    for count in counts:
        total *= count
    if total > MAX_CASES:
        raise LanguageError(
            f"the exponents give {total:,} alternatives to look at, more than {MAX_CASES:,}",
            fix="use fewer alternatives that have exponents, or lower their upper bounds",
        )


# What is known of the exponents of one alternative


def settle(expression: Expression, system: Differences, work: Work) -> Iterator[Case]:
    """Make all exponents natural numbers that are free of each other, or compared."""
    for fixed, known in _nonnegative(expression, system, work):
        case = _merged(fixed, known.only(variables_of(fixed)))
        if case is not None:
            yield _shifted(*case)


def _nonnegative(
    expression: Expression, system: Differences, work: Work
) -> Iterator[tuple[Expression, Differences]]:
    """No exponent is below zero; where that depends on several, small values are tried."""
    # To close a system of differences, each variable is put between all pairs that know it.
    work.spend(200 + len(system.at_least) ** 2 // (1 + len(system.variables)))
    needed: dict[tuple[str, str], int] = {}
    several: Linear | None = None
    for exponent in _exponents(expression):
        if len(exponent.factors) == 1:
            (name, factor) = exponent.factors[0]
            least = -(exponent.constant // factor)
            needed[name, ZERO] = max(least, needed.get((name, ZERO), least))
    system = system.having(needed)
    if not system.possible:
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
    _check_number([enough - low])
    for value in range(low, enough):
        known = system.fixed(name, value)
        if known.possible:
            fixed = substituted(expression, {name: Linear((), value)})
            yield from _nonnegative(fixed, known, work)
    yield from _nonnegative(expression, system.having({(name, ZERO): enough}), work)


def _exponents(expression: Expression) -> list[Linear]:
    return [node.exponent for node in walk(expression) if isinstance(node, Power)]


def _merged(expression: Expression, system: Differences) -> tuple[Expression, Differences] | None:
    """Put numbers for exponents with one value, and one for those that are equal or together."""
    while True:
        for name in system.variables:
            if system.least(name) == system.most(name):
                form = Linear((), system.least(name))
                break
        else:
            if (equal := system.equal()) is not None:
                name, other, gap = equal
                form = Linear(((other, 1),), gap)
            elif (pair := _together(expression, system)) is not None:
                name, other = pair
                both, system = _sum_of(name, other, system)
                expression = substituted(expression, {name: Linear(((both, 1), (other, -1)))})
                system = system.only(variables_of(expression))
                continue
            else:
                return expression, system
        expression = substituted(expression, {name: form})
        system = system.only(variables_of(expression))


def _together(expression: Expression, system: Differences) -> tuple[str, str] | None:
    """An exponent that only ever occurs added to another one, as in N + M, and that one."""
    exponents = [dict(exponent.factors) for exponent in _exponents(expression)]
    for name in system.variables:
        own = [factors for factors in exponents if name in factors]
        for other in own[0]:
            same = other != name and all(f.get(other) == f[name] for f in own)
            if same and not system.compared(name):
                return name, other
    return None


def _sum_of(name: str, other: str, system: Differences) -> tuple[str, Differences]:
    both = f"{other} + {name}"
    pairs = {(both, other): system.least(name)}
    most = system.most(name)
    if most is not None:
        pairs[other, both] = -most
    kept = [x for x in system.variables if x != name]
    return both, system.only(kept).having(pairs, [both])


def _shifted(expression: Expression, system: Differences) -> Case:
    """Shift the exponents so that they begin at 0 or 1 and no constant is below zero."""
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
    return Case(substituted(expression, forms), replace(system, at_least=pairs), shifts)


def substituted(node: Expression, forms: Mapping[str, Linear]) -> Expression:
    """Put linear forms for exponents."""
    match node:
        case Letter() | Counted():
            return node
        case Power(body=body, exponent=exponent):
            inner = substituted(body, forms)
            power = exponent.having(forms)
            if power.factors:
                return Power(inner, power)
            if power.constant < 0:
                return Choice(())  # no word
            return Repeat(inner, power.constant, power.constant)
        case Repeat(body=body):
            return replace(node, body=substituted(body, forms))
    return type(node)(tuple(substituted(part, forms) for part in node.parts))


# Exponents that can only be tried value by value


def values_to_try(expression: Expression, system: Differences) -> Iterator[Mapping[str, int]]:
    """Values of the exponents that no counter could follow, as far as they have finitely many."""
    names = [x for x in variables_of(expression) if x in _beyond_counting(expression, system)]
    spans = [range(system.least(x), (system.most(x) or 0) + 1) for x in names]
    _check_number([len(span) for span in spans])
    for values in product(*spans):
        yield dict(zip(names, values, strict=True))


def _beyond_counting(node: Expression, system: Differences) -> set[str]:
    def finite(names: tuple[str, ...]) -> bool:
        return all(system.most(name) is not None for name in names)

    found: set[str] = set()
    inside = variables_of(node)
    if isinstance(node, Power) and (within := variables_of(node.body)):
        raised = tuple(name for name, _ in node.exponent.factors)
        found |= set(raised if finite(raised) else within if finite(within) else ())
    if isinstance(node, Repeat) and (node.high is None or node.high > MAX_COPIES):
        found |= set(inside if finite(inside) else ())
    if not isinstance(node, Letter | Power | Repeat | Counted | Choice | Sequence):
        parts = [set(variables_of(part)) for part in node.parts]
        shared = {x for i, one in enumerate(parts) for other in parts[:i] for x in one & other}
        found |= {x for x in shared if finite((x,))}
    return found.union(*(_beyond_counting(child, system) for child in children(node)))
