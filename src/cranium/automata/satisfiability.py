"""Satisfiability, overlap and equivalence of formulas.

The questions go to a SAT solver through Tseitin's encoding, which is linear in the formula. (A
decision diagram answers them too, but is exponential in the number of propositions when the
variables come in a bad order: ``a1 & b1 | … | a30 & b30`` has 2^30 nodes.)
"""

from __future__ import annotations

from functools import lru_cache

from pysat.solvers import Minisat22

from cranium.automata.alphabet import Alphabet
from cranium.automata.formula import And, Constant, Formula, Not, Or, Proposition
from cranium.errors import AutomatonError, shorten

__all__ = ["are_equivalent", "find_label", "is_satisfiable"]

MAX_CONFLICTS = 20_000  # guards that people write need a handful


@lru_cache(maxsize=1 << 16)
def find_label(*formulas: Formula) -> frozenset[str] | None:
    """Find a label (the names that are true) that satisfies all the formulas, or None.

    Propositions that make no difference are left false.

    Example:
        >>> from cranium.automata.formula_parser import parse_formula
        >>> sorted(find_label(parse_formula("A | B"), parse_formula("!A")))
        ['B']
        >>> find_label(parse_formula("A & B"), parse_formula("!A")) is None
        True
    """
    if _clash(formulas):
        return None
    encoding = _Tseitin()
    for formula in formulas:
        encoding.clauses.append([encoding.literal(formula)])
    with Minisat22(bootstrap_with=encoding.clauses) as solver:
        solver.conf_budget(MAX_CONFLICTS)
        solved = solver.solve_limited()
        if solved is None:
            shown = " and ".join(shorten(str(formula), 40) for formula in formulas)
            raise AutomatonError(
                f"whether a label satisfies {shown} is too hard to decide",
                fix="write simpler guards",
            )
        if not solved:
            return None
        true = {variable for variable in solver.get_model() or () if variable > 0}
    chosen = {name for name, variable in encoding.variables.items() if variable in true}
    return frozenset(_drop_unneeded(chosen, formulas))


def _clash(formulas: tuple[Formula, ...]) -> bool:
    """Whether one formula needs a proposition to be true that another needs to be false.

    Most guards that exclude each other do so plainly, and a solver need not be asked.
    """
    needs = [_literals(formula) for formula in formulas]
    return any(not true.isdisjoint(false) for true, _ in needs for _, false in needs)


@lru_cache(maxsize=1 << 16)
def _literals(formula: Formula) -> tuple[frozenset[str], frozenset[str]]:
    """Return the propositions that a formula requires to be true, and those to be false."""
    true: set[str] = set()
    false: set[str] = set()
    for part in formula.operands if isinstance(formula, And) else (formula,):
        if isinstance(part, Proposition):
            true.add(part.name)
        elif isinstance(part, Not) and isinstance(part.operands[0], Proposition):
            false.add(part.operands[0].name)
    return frozenset(true), frozenset(false)


def _drop_unneeded(chosen: set[str], formulas: tuple[Formula, ...]) -> set[str]:
    """Drop the propositions that the formulas do not need, so that the witness is short."""
    alphabet = Alphabet(sorted(chosen | {n for f in formulas for n in f.propositions}))
    for name in sorted(chosen):
        label = alphabet.label(chosen - {name})
        if all(formula.evaluate(label, alphabet) for formula in formulas):
            chosen = chosen - {name}
    return chosen


def is_satisfiable(formula: Formula) -> bool:
    """Whether some label satisfies the formula.

    Example:
        >>> from cranium.automata.formula_parser import parse_formula
        >>> is_satisfiable(parse_formula("A & !A"))
        False
    """
    return find_label(formula) is not None


def are_equivalent(one: Formula, other: Formula) -> bool:
    """Whether two formulas hold for the same labels.

    Example:
        >>> from cranium.automata.formula_parser import parse_formula
        >>> are_equivalent(parse_formula("!(A & B)"), parse_formula("!A | !B"))
        True
    """
    return one == other or (
        find_label(one, Not(other)) is None and find_label(Not(one), other) is None
    )


class _Tseitin:
    """Clauses that give every subformula a variable equal to its truth."""

    def __init__(self) -> None:
        self.variables: dict[str, int] = {}
        self.clauses: list[list[int]] = []
        self._count = 0

    def _fresh(self) -> int:
        self._count += 1
        return self._count

    def literal(self, formula: Formula) -> int:
        """Return the literal that is true exactly when the formula is."""
        match formula:
            case Proposition():
                if formula.name not in self.variables:
                    self.variables[formula.name] = self._fresh()
                return self.variables[formula.name]
            case Not():
                return -self.literal(formula.operands[0])
            case Constant():
                always = self._fresh()
                self.clauses.append([always])
                return always if formula.value else -always
            case And():
                return self._all_of([self.literal(operand) for operand in formula.operands])
            case Or():
                return -self._all_of([-self.literal(operand) for operand in formula.operands])
        raise AssertionError(formula)

    def _all_of(self, literals: list[int]) -> int:
        whole = self._fresh()
        self.clauses.extend([-whole, literal] for literal in literals)
        self.clauses.append([whole, *(-literal for literal in literals)])
        return whole
