"""What the compiler counts: exponent variables become counters.

Of a variable that occurs u + 1 times on a path, the first occurrence *defines* it: every
repetition adds one to u counters. Each later occurrence *uses* one of them: every repetition takes
one, and it is left when the counter is zero. A variable that occurs once is not counted at all, and
one that has finitely many values is tried value by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product

from cranium.errors import LanguageError
from cranium.languages.syntax import (
    Both,
    Choice,
    Constraint,
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

MAX_CASES = 1000


@dataclass(frozen=True, slots=True)
class Plan:
    """An expression in which every counted power says what it counts, and the counters."""

    expression: Expression
    counters: tuple[Counter, ...]


def make_plan(language: Language) -> Plan:
    """Decide what is counted where.

    Example:
        >>> from cranium.languages import parse_language
        >>> make_plan(parse_language("A^N B^N C^N")).counters
        (('N', 1), ('N', 2))
        >>> make_plan(parse_language("A^N B^M")).counters
        ()
    """
    cases = [_plan_case(case) for case in _cases(language)]
    counters = tuple(dict.fromkeys(c for _, found in cases for c in found))
    expressions = [expression for expression, _ in cases]
    if not expressions:
        raise LanguageError(
            "no values of the exponents satisfy all conditions, so there is no word",
            fix="look at the where clause",
        )
    whole = expressions[0] if len(expressions) == 1 else Choice(tuple(expressions))
    return Plan(whole, counters)


@dataclass(frozen=True, slots=True)
class _Case:
    """The language for fixed values of the variables that have finitely many."""

    expression: Expression
    least: Mapping[str, int]
    constraints: tuple[Constraint, ...]


def _cases(language: Language) -> Iterable[_Case]:
    bounds = {name: language.bounds(name) for name in language.variables}
    finite = [name for name, (_, high) in bounds.items() if high is not None]
    spans = [range(bounds[name][0], (bounds[name][1] or 0) + 1) for name in finite]
    total = 1
    for span in spans:
        total *= len(span)
    if total > MAX_CASES:
        raise LanguageError(
            f"the exponents {', '.join(finite)} have {total:,} combinations of values, "
            f"more than {MAX_CASES:,}",
            fix="leave the upper bounds out, or lower them",
        )
    for values in product(*spans):
        case = _case(language, bounds, dict(zip(finite, values, strict=True)))
        if case is not None:
            yield case


def _case(
    language: Language,
    bounds: Mapping[str, tuple[int, int | None]],
    fixed: Mapping[str, int],
) -> _Case | None:
    least = {name: low for name, (low, _) in bounds.items() if name not in fixed}
    constraints = []
    for constraint in language.constraints:
        left, right = constraint.left, constraint.right
        if isinstance(right, int):
            continue  # already a bound
        if left in fixed and right in fixed:
            if not constraint.holds(fixed):
                return None
        elif left in fixed or right in fixed:
            bound = _as_bound(constraint, fixed)
            low = int(bound.right) + (bound.sign == ">")
            least[bound.left] = max(least[bound.left], low)
        else:
            constraints.append(constraint)
    expression = _substitute(
        language.expression, {name: Linear((), value) for name, value in fixed.items()}
    )
    return None if expression is None else _Case(expression, least, tuple(constraints))


def _as_bound(constraint: Constraint, fixed: Mapping[str, int]) -> Constraint:
    """A comparison with a variable that has a value now, as a lower bound for the other one."""
    left, right = constraint.left, str(constraint.right)
    if left in fixed:
        mirror = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "==": "=="}
        bound = Constraint(right, mirror[constraint.sign], fixed[left])
    else:
        bound = Constraint(left, constraint.sign, fixed[right])
    if bound.sign not in (">", ">="):
        raise LanguageError(
            f"{bound.left} is bounded only through another exponent",
            fix=f"add its own bound, such as: where {bound}",
        )
    return bound


def _substitute(node: Expression, values: Mapping[str, Linear]) -> Expression | None:
    """Put linear forms for variables; None if an exponent is then below zero: no word."""
    match node:
        case Letter():
            return node
        case Power(body=body, exponent=exponent):
            inner = _substitute(body, values)
            power = _evaluate(exponent, values)
            if inner is None or (not power.factors and power.constant < 0):
                return None
            if power.factors:
                return Power(inner, power)
            return Repeat(inner, power.constant, power.constant)
        case Repeat(body=body):
            inner = _substitute(body, values)
            if inner is None:
                return Sequence(()) if node.low == 0 else None
            return replace(node, body=inner)
        case Choice(parts=parts):
            kept = [made for part in parts if (made := _substitute(part, values)) is not None]
            return None if not kept else kept[0] if len(kept) == 1 else Choice(tuple(kept))
    assert not isinstance(node, Counted)
    found = [made for part in node.parts if (made := _substitute(part, values)) is not None]
    return type(node)(tuple(found)) if len(found) == len(node.parts) else None


def _evaluate(exponent: Linear, values: Mapping[str, Linear]) -> Linear:
    factors: dict[str, int] = {}
    constant = exponent.constant
    for name, factor in exponent.factors:
        form = values.get(name, Linear(((name, 1),)))
        constant += factor * form.constant
        for inner, times in form.factors:
            factors[inner] = factors.get(inner, 0) + factor * times
    return Linear(tuple(factors.items()), constant)


def _plan_case(case: _Case) -> tuple[Expression, list[Counter]]:
    case, compared_variables = _settle_constraints(case)
    case, shifts = _make_exponents_natural(case)
    limits = [
        (greater, smaller, strict + shifts[smaller] - shifts[greater])
        for greater, smaller, strict in compared_variables
    ]
    compared = {name for limit in limits for name in limit[:2]}
    case = _separate_alternatives(case, compared)
    planner = _Planner(case.least, limits, case.expression)
    return planner.expression, planner.counters


Limit = tuple[str, str, int]
"""Two variables, the first defined first, and by how much it is greater at least."""


def _settle_constraints(case: _Case) -> tuple[_Case, list[Limit]]:  # noqa: C901
    """Comparisons of variables: a later, greater one is the earlier one and some more.

    A later, smaller one is limited: what the earlier one added, it takes.
    """
    case = _unify_equals(case)
    _check_always_there(case)
    limits: list[Limit] = []
    forms: dict[str, Linear] = {}  # the variables that are others and some more
    order = variables_of(case.expression)
    for constraint in case.constraints:
        if isinstance(constraint.right, int) or constraint.sign == "==":
            continue
        greater, smaller = constraint.left, constraint.right
        if constraint.sign.startswith("<"):
            greater, smaller = smaller, greater
        strict = not constraint.sign.endswith("=")
        if greater == smaller:
            if strict:
                raise LanguageError(
                    f"{greater} would have to be greater than itself, so there is no word",
                    fix="look at the where clause",
                )
            continue
        if order.index(greater) < order.index(smaller):
            if greater in forms or smaller in forms:
                raise _too_many_conditions(greater, smaller)
            limits.append((greater, smaller, int(strict)))
            continue
        if greater in forms:
            raise _too_many_conditions(greater, smaller)
        form = forms.get(smaller, Linear(((smaller, 1),)))
        if case.least[greater] > form.value(case.least) + strict:
            raise LanguageError(
                f"{greater} is {'greater than' if strict else 'at least'} {smaller} and also at "
                f"least {case.least[greater]}, which one counter cannot decide",
                fix=f"leave one of the conditions on {greater} out",
            )
        extra = f"{greater}-{smaller}"
        forms[greater] = Linear((*form.factors, (extra, 1)), form.constant)
        expression = _substitute(case.expression, {greater: forms[greater]})
        assert expression is not None
        least = {**case.least, extra: int(strict)}
        case = replace(case, expression=expression, least=least)
    compared = [(greater, smaller) for greater, smaller, _ in limits]
    if len(set(compared)) < len(compared) or (limits and forms):
        raise _too_many_conditions(*compared[0])
    return case, limits


def _check_always_there(case: _Case) -> None:
    """What is compared must occur in every word: otherwise a counter has nothing to go by."""
    for constraint in case.constraints:
        for name in (constraint.left, str(constraint.right)):
            if constraint.sign != "==" and not _always_occurs(case.expression, name):
                raise LanguageError(
                    f"{constraint} compares {name}, which does not occur in every word",
                    fix="write the alternatives out, each with its own variables",
                )


def _is_on_every_path(node: Expression, wanted: Power) -> bool:
    if node == wanted:
        return True
    if isinstance(node, Choice):
        return all(_is_on_every_path(part, wanted) for part in node.parts)
    if isinstance(node, Repeat) and node.low == 0:
        return False
    return any(_is_on_every_path(child, wanted) for child in children(node))


def _always_occurs(node: Expression, name: str) -> bool:
    match node:
        case Power(exponent=exponent):
            return name in dict(exponent.factors)
        case Choice(parts=parts):
            return all(_always_occurs(part, name) for part in parts)
        case Repeat(body=body, low=low):
            return low > 0 and _always_occurs(body, name)
    return any(_always_occurs(child, name) for child in children(node))


def _too_many_conditions(greater: str, smaller: str) -> LanguageError:
    return LanguageError(
        f"{greater} and {smaller} are compared with each other and with a third exponent, which "
        "cannot be decided while reading",
        fix=f"leave one of the conditions on {greater} and {smaller} out",
    )


def _unify_equals(case: _Case) -> _Case:
    """Variables that are equal become one, in the other conditions too."""
    while True:
        equal = next((c for c in case.constraints if c.sign == "==" and c.left != c.right), None)
        if equal is None:
            return case
        case = _rename(case, equal.left, str(equal.right))


def _rename(case: _Case, old: str, new: str) -> _Case:
    expression = _substitute(case.expression, {old: Linear(((new, 1),))})
    assert expression is not None
    least = {**case.least, new: max(case.least[old], case.least[new])}
    constraints = tuple(
        replace(
            c,
            left=new if c.left == old else c.left,
            right=new if c.right == old else c.right,
        )
        for c in case.constraints
    )
    return _Case(expression, least, constraints)


def _make_exponents_natural(case: _Case) -> tuple[_Case, dict[str, int]]:
    """Shift the variables so that they begin at 0 or 1 and no exponent is ever below zero."""
    needed: dict[str, int] = {}
    for node in walk(case.expression):
        if isinstance(node, Power) and node.exponent.constant < 0:
            name, factor = node.exponent.factors[0]
            least = -(node.exponent.constant // factor)
            if len(node.exponent.factors) > 1 and least > case.least[name]:
                raise LanguageError(
                    f"whether the exponent {node.exponent} is below zero depends on several "
                    "variables",
                    fix=f"raise the least value of the first: where {name} >= {least}",
                )
            if least > case.least[name] and not _is_on_every_path(case.expression, node):
                raise LanguageError(
                    f"the exponent {node.exponent} can be below zero in one alternative only",
                    fix=f"say what is meant: where {name} >= {least}",
                )
            needed[name] = max(needed.get(name, 0), least)
    shifts: dict[str, int] = {}
    least_values = {}
    for name, low in case.least.items():
        least = max(low, needed.get(name, 0))
        shift = max(needed.get(name, 0), least - 1, 0)
        least_values[name] = least - shift
        shifts[name] = shift
    shifted = {name: Linear(((name, 1),), shift) for name, shift in shifts.items()}
    expression = _substitute(case.expression, shifted)
    assert expression is not None
    return replace(case, expression=expression, least=least_values), shifts


def _separate_alternatives(case: _Case, compared: set[str]) -> _Case:
    """Give a variable that only occurs within alternatives a name of its own in each of them.

    It has the same value there only in name; sharing a counter is decided later, if it can be.
    """
    least = dict(case.least)

    def separate(node: Expression, outside: set[str]) -> Expression:
        if isinstance(node, Letter | Power | Counted):
            return node
        if isinstance(node, Repeat):
            return replace(node, body=separate(node.body, outside))
        made = []
        for index, whole in enumerate(node.parts):
            part = whole
            others = set(outside)
            for j, sibling in enumerate(node.parts):
                if j != index and not isinstance(node, Choice):
                    others |= set(variables_of(sibling))
            if isinstance(node, Choice):
                names = {}
                for name in variables_of(part):
                    if name not in outside and name not in compared:
                        names[name] = Linear(((f"{name}.{index + 1}", 1),))
                        least[f"{name}.{index + 1}"] = least[name]
                renamed = _substitute(part, names)
                assert renamed is not None
                part = renamed
            made.append(separate(part, others))
        return type(node)(tuple(made))

    return replace(case, expression=separate(case.expression, set()), least=least)


class _Planner:
    """Numbers the occurrences of every variable along each path, and says what each does."""

    def __init__(
        self, least: Mapping[str, int], limits: list[Limit], expression: Expression
    ) -> None:
        self.least = least
        self.limits = limits
        self.uses: dict[str, int] = {}
        self.building = False
        self._visit(expression, dict.fromkeys(variables_of(expression), 0))
        self.building = True
        self.expression, _ = self._visit(expression, dict.fromkeys(variables_of(expression), 0))
        self.counters: list[Counter] = [
            (name, index) for name, most in self.uses.items() for index in range(1, most + 1)
        ]
        self.counters += [(f"{greater}>{smaller}", 1) for greater, smaller, _ in limits]

    def _visit(
        self, node: Expression, before: dict[str, int | None]
    ) -> tuple[Expression, dict[str, int | None]]:
        match node:
            case Letter():
                return node, before
            case Power():
                return self._power(node, before)
            case Repeat(body=body, low=low, high=high):
                return self._repeat(node, body, low, high, before)
            case Sequence(parts=parts):
                made = []
                for part in parts:
                    planned, before = self._visit(part, before)
                    made.append(planned)
                return Sequence(tuple(made)), before
            case Choice(parts=parts):
                visited = [self._visit(part, before) for part in parts]
                after = {
                    name: counts.pop()
                    if len(counts := {a[name] for _, a in visited}) == 1
                    else None
                    for name in before
                }
                return Choice(tuple(p for p, _ in visited)), after
        assert not isinstance(node, Counted)
        return self._side_by_side(node, before)

    def _side_by_side(
        self, node: Shuffle | Both, before: dict[str, int | None]
    ) -> tuple[Expression, dict[str, int | None]]:
        seen: set[str] = set()
        after = dict(before)
        made = []
        for part in node.parts:
            own = set(variables_of(part))
            if own & seen:
                raise LanguageError(
                    f"the exponent {sorted(own & seen)[0]} occurs in two parts that are done side "
                    "by side, so neither comes first",
                    fix="count it in one of them, or give them different names",
                )
            seen |= own
            planned, ended = self._visit(part, before)
            after.update({name: ended[name] for name in own})
            made.append(planned)
        return type(node)(tuple(made)), after

    def _repeat(
        self,
        node: Repeat,
        body: Expression,
        low: int,
        high: int | None,
        before: dict[str, int | None],
    ) -> tuple[Expression, dict[str, int | None]]:
        inside = variables_of(body)
        if not inside:
            planned, _ = self._visit(body, before)
            return replace(node, body=planned), before
        if low == high and low <= 20:
            return self._visit(Sequence((body,) * low), before)
        if (low, high) == (0, 1):
            return self._visit(Choice((Sequence(()), body)), before)
        raise LanguageError(
            f"the exponent {inside[0]} occurs in a part that is itself repeated",
            fix="a variable has one value: write the repetitions out, or leave the variable out",
        )

    def _power(
        self, node: Power, before: dict[str, int | None]
    ) -> tuple[Expression, dict[str, int | None]]:
        inside = variables_of(node.body)
        if inside:
            raise LanguageError(
                f"the exponent {inside[0]} occurs in a part that is itself raised to "
                f"{node.exponent}",
                fix="a product of exponents is beyond one counter for each use",
            )
        body, _ = self._visit(node.body, before)
        if _may_be_empty(node.body):
            raise LanguageError(
                f"{node.body} may be empty, so nothing shows how often it is repeated",
                fix="leave out what makes it optional",
            )
        parts: list[Expression] = []
        if node.exponent.constant:
            parts.append(Repeat(body, node.exponent.constant, node.exponent.constant))
        after = dict(before)
        for name, factor in node.exponent.factors:
            unit = body if factor == 1 else Repeat(body, factor, factor)
            parts.append(self._occurrence(name, unit, after))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts)), after

    def _occurrence(self, name: str, unit: Expression, counts: dict[str, int | None]) -> Expression:
        index = counts[name]
        if index is None:
            raise LanguageError(
                f"the exponent {name} is counted on some ways to here and not on others",
                fix="write the alternatives out, each with its own variable",
            )
        counts[name] = index + 1
        if index:
            self.uses[name] = max(self.uses.get(name, 0), index)
            return Counted(unit, take=((name, index),), exhaust=True)
        least = self.least[name]
        add = [(name, use) for use in range(1, self.uses.get(name, 0) + 1)]
        take: list[Counter] = []
        free: list[tuple[Counter, int]] = []
        for greater, smaller, margin in self.limits:
            counter = (f"{greater}>{smaller}", 1)
            if name == greater:
                add.append(counter)
                free += [(counter, margin)] if margin > 0 else []
            if name == smaller:
                if self.building and counts.get(greater) == 0:
                    raise LanguageError(f"{smaller} is counted before {greater} on some way")
                take.append(counter)
                free += [(counter, -margin)] if margin < 0 else []
        if not add and not take:
            return Repeat(unit, least, None)
        return Counted(unit, tuple(add), tuple(take), tuple(free), least=least)


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
