"""The text of guards: ``! & |``, ``not and or``, ``¬ ∧ ∨``, ``true``, ``false``, parentheses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NoReturn

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from cranium.automata.formula import FALSE, TRUE, And, Formula, Not, Or, Proposition
from cranium.errors import FormulaSyntaxError, shorten

__all__ = ["explain", "parse_formula"]

MAX_TEXT = 100_000
MAX_DEPTH = 100

_GRAMMAR = r"""
?start: either
?either: both (_OR both)*
?both: unary (_AND unary)*
?unary: _NOT unary -> negation
      | "(" either ")"
      | TRUE -> true
      | FALSE -> false
      | NAME -> proposition
_NOT.2: "!" | "¬" | "~" | /(not|Not|NOT)\b/
_AND.2: "&&" | "&" | "∧" | /(and|And|AND)\b/
_OR.2: "||" | "|" | "∨" | /(or|Or|OR)\b/
TRUE.2: "⊤" | /(true|True|TRUE)\b/
FALSE.2: "⊥" | /(false|False|FALSE)\b/
NAME: /[^\W\d]\w*/
%ignore /\s+/
"""

_EXPECTED = {
    "NAME": "a proposition",
    "_NOT": "'!'",
    "_AND": "'&'",
    "_OR": "'|'",
    "LPAR": "'('",
    "RPAR": "')'",
    "TRUE": "'true'",
    "FALSE": "'false'",
    "$END": "the end",
}


class _Builder(Transformer[Token, Formula]):
    """Lark calls these while parsing, so deep nesting never recurses in Python."""

    def either(self, operands: list[Formula]) -> Formula:
        return Or(*operands)

    def both(self, operands: list[Formula]) -> Formula:
        return And(*operands)

    def negation(self, operands: list[Formula]) -> Formula:
        return Not(operands[0])

    def true(self, _: list[Token]) -> Formula:
        return TRUE

    def false(self, _: list[Token]) -> Formula:
        return FALSE

    def proposition(self, tokens: list[Token]) -> Formula:
        return Proposition(str(tokens[0]))


@lru_cache(maxsize=1)
def _parser() -> Callable[[str], Formula]:
    return Lark(_GRAMMAR, parser="lalr", transformer=_Builder()).parse  # type: ignore[return-value]


def parse_formula(text: str) -> Formula:
    """Parse a guard: ``! & |``, ``not and or``, ``¬ ∧ ∨``, ``true``, ``false``, parentheses.

    ``!`` binds tighter than ``&``, and ``&`` tighter than ``|``.

    Example:
        >>> parse_formula("not A and (B or true)") == parse_formula("¬A ∧ (B ∨ true)")
        True
        >>> parse_formula("A & | B")
        Traceback (most recent call last):
        cranium.errors.FormulaSyntaxError: line 1, column 5: a formula expects a proposition,
        '!', '(', 'true' or 'false' here, not '|'
          A & | B
              ^
    """
    if not isinstance(text, str):
        raise FormulaSyntaxError(f"a formula is text, not {shorten(text)}")
    if len(text) > MAX_TEXT:
        raise FormulaSyntaxError(
            f"a formula may have {MAX_TEXT:,} characters, this has {len(text):,}"
        )
    return _parse(text)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Formula:
    try:
        formula = _parser()(text)
    except UnexpectedInput as problem:
        _refuse(problem, text)
    if formula.depth > MAX_DEPTH:
        raise FormulaSyntaxError(f"a formula may be nested {MAX_DEPTH} deep, this one is deeper")
    return formula


def _refuse(problem: UnexpectedInput, text: str) -> NoReturn:
    said, offset = explain(problem, text, _EXPECTED)
    raise FormulaSyntaxError.pointing(f"a formula expects {said}", text, offset) from None


def explain(problem: UnexpectedInput, text: str, names: Mapping[str, str]) -> tuple[str, int]:
    """Explain an error of a Lark parser: what it expected, what it found, and where.

    Example:
        >>> from lark import Lark, UnexpectedInput
        >>> try:
        ...     Lark('start: "a" "b"', parser="lalr").parse("ac")
        ... except UnexpectedInput as problem:
        ...     explain(problem, "ac", {"B": "a b"})
        ("a b here, not 'c'", 1)
    """
    if isinstance(problem, UnexpectedToken):
        wanted, found = problem.accepts or problem.expected, str(problem.token)
        at_end = problem.token.type == "$END"
    else:
        assert isinstance(problem, UnexpectedCharacters)
        wanted, found, at_end = problem.allowed or set(), text[problem.pos_in_stream or 0], False
    said = [words for name, words in names.items() if name in wanted]
    choice = " or ".join(filter(None, [", ".join(said[:-1]), *said[-1:]]))
    what = "but the text ends" if at_end else f"not {shorten(found)}"
    return f"{choice} here, {what}", len(text) if at_end else problem.pos_in_stream or 0
