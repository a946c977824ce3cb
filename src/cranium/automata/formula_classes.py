"""Equivalence classes of formulas: those that hold for the same labels."""

from __future__ import annotations

import random
from collections.abc import Iterable

from cranium.automata.formula import And, Constant, Formula, Not, Or, Proposition
from cranium.automata.satisfiability import are_equivalent

__all__ = ["FormulaClasses", "any_of"]


class FormulaClasses:
    """Numbers for formulas, the same for equivalent ones.

    Each proposition gets a fixed column of random bits, so that a formula evaluated on columns is a
    fingerprint: different fingerprints prove a difference, and equal ones are settled by SAT.

    Example:
        >>> from cranium.automata.formula_parser import parse_formula
        >>> classes = FormulaClasses()
        >>> classes.of(parse_formula("!(A & B)")) == classes.of(parse_formula("!A | !B"))
        True
    """

    BITS = 256

    def __init__(self) -> None:
        self._columns: dict[str, int] = {}
        self._buckets: dict[int, list[tuple[Formula, int]]] = {}
        self._known: dict[Formula, int] = {}

    def of(self, formula: Formula) -> int:
        """Return the number of the formula's class."""
        if formula not in self._known:
            bucket = self._buckets.setdefault(self._fingerprint(formula), [])
            same = (number for known, number in bucket if are_equivalent(known, formula))
            number = next(same, len(self._known))
            bucket.append((formula, number))
            self._known[formula] = number
        return self._known[formula]

    def _fingerprint(self, formula: Formula) -> int:
        everything = (1 << self.BITS) - 1
        match formula:
            case Proposition(name=name):
                if name not in self._columns:
                    self._columns[name] = random.Random(name).getrandbits(self.BITS)  # noqa: S311
                return self._columns[name]
            case Constant():
                return everything if formula.value else 0
            case Not():
                return everything ^ self._fingerprint(formula.operands[0])
        columns = [self._fingerprint(operand) for operand in formula.operands]
        result = columns[0]
        for column in columns[1:]:
            result = result & column if isinstance(formula, And) else result | column
        return result


def any_of(formulas: Iterable[Formula]) -> Formula:
    """Return the disjunction of one or more formulas.

    Example:
        >>> from cranium.automata.formula import Proposition
        >>> str(any_of([Proposition("A"), Proposition("B"), Proposition("A")]))
        'A | B'
    """
    unique = list(dict.fromkeys(formulas))
    return unique[0] if len(unique) == 1 else Or(*unique)
