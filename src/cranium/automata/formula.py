"""Guards φ: propositional formulas over the propositions P.

    A & !B | C        A and not B or C        A ∧ ¬B ∨ C

are three ways to write one formula. A formula is an immutable tree; :meth:`Formula.evaluate`
decides σ ⊨ φ for one label, and :mod:`cranium.automata.satisfiability` decides what holds for some
or for all labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, ClassVar, Literal, NoReturn

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from cranium.automata.alphabet import Alphabet, check_identifier
from cranium.errors import FormulaSyntaxError, shorten

__all__ = ["FALSE", "TRUE", "And", "Constant", "Formula", "Not", "Or", "Proposition", "parse_formula"]

Notation = Literal["ascii", "unicode", "latex"]

MAX_DEPTH = 100
MAX_TEXT = 100_000

_SYMBOLS: dict[Notation, dict[str, str]] = {
    "ascii": {"not": "!", "and": " & ", "or": " | ", "true": "true", "false": "false"},
    "unicode": {"not": "¬", "and": " ∧ ", "or": " ∨ ", "true": "⊤", "false": "⊥"},
    "latex": {
        "not": r"\lnot ",
        "and": r" \land ",
        "or": r" \lor ",
        "true": r"\top",
        "false": r"\bot",
    },
}


class Formula:
    """A propositional formula; build it with :func:`parse_formula` or with ``&``, ``|`` and ``~``.

    Example:
        >>> guard = parse_formula("A & !B")
        >>> guard.evaluate(0b01, Alphabet(["A", "B"])), guard.evaluate(0b11, Alphabet(["A", "B"]))
        (True, False)
        >>> print(guard | Proposition("C"))
        A & !B | C
        >>> guard.format("unicode")
        'A ∧ ¬B'
    """

    __slots__ = ("_hash", "_key", "depth")
    precedence: ClassVar[int] = 3

    def __init__(self, key: tuple[Any, ...], depth: int) -> None:
        if depth > MAX_DEPTH:
            raise FormulaSyntaxError(f"a formula may be nested {MAX_DEPTH} deep, this one is deeper")
        self._key = key
        self._hash = hash((type(self).__name__, key))
        self.depth = depth

    def evaluate(self, label: int, alphabet: Alphabet) -> bool:
        """Whether the label satisfies the formula, σ ⊨ φ.

        Example:
            >>> parse_formula("A | B").evaluate(0, Alphabet(["A", "B"]))
            False
        """
        raise NotImplementedError

    def format(self, notation: Notation = "ascii") -> str:
        """The formula as text; ASCII and Unicode can be parsed again.

        Example:
            >>> parse_formula("not (A or B)").format("latex")
            '\\\\lnot (\\\\mathit{A} \\\\lor \\\\mathit{B})'
        """
        raise NotImplementedError

    def walk(self) -> Iterator[Formula]:
        """This formula and all those inside it.

        Example:
            >>> [str(part) for part in parse_formula("A & !B").walk()]
            ['A & !B', 'A', '!B', 'B']
        """
        yield self
        for operand in self.operands:
            yield from operand.walk()

    @property
    def operands(self) -> tuple[Formula, ...]:
        """The formulas that this one joins or negates.

        Example:
            >>> [str(part) for part in parse_formula("A & !B").operands]
            ['A', '!B']
        """
        return ()

    @property
    def propositions(self) -> frozenset[str]:
        """The names of the propositions that occur in the formula.

        Example:
            >>> sorted(parse_formula("A & (B | !A)").propositions)
            ['A', 'B']
        """
        return frozenset(part.name for part in self.walk() if isinstance(part, Proposition))

    def _inside(self, parent: Formula, notation: Notation) -> str:
        text = self.format(notation)
        return f"({text})" if self.precedence < parent.precedence else text

    def __and__(self, other: Formula) -> Formula:
        return And(self, other)

    def __or__(self, other: Formula) -> Formula:
        return Or(self, other)

    def __invert__(self) -> Formula:
        return Not(self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and self._key == other._key  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._key

    def __str__(self) -> str:
        return self.format()

    def __repr__(self) -> str:
        return f"parse_formula({self.format()!r})"


class Constant(Formula):
    """``true`` (the paper's tautology τ) or ``false``.

    Example:
        >>> TRUE.evaluate(0, Alphabet([])), FALSE.evaluate(0, Alphabet([]))
        (True, False)
    """

    __slots__ = ()

    def __init__(self, value: bool) -> None:
        super().__init__((value,), 1)

    def evaluate(self, label: int, alphabet: Alphabet) -> bool:  # noqa: ARG002, D102
        return self.value

    @property
    def value(self) -> bool:
        """Whether this is ``true``.

        Example:
            >>> FALSE.value
            False
        """
        return bool(self._key[0])

    def format(self, notation: Notation = "ascii") -> str:  # noqa: D102
        return _SYMBOLS[notation]["true" if self.value else "false"]


class Proposition(Formula):
    """One proposition.

    Example:
        >>> Proposition("mail").format("latex")
        '\\\\mathit{mail}'
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        check_identifier("proposition", name)
        super().__init__((name,), 1)

    @property
    def name(self) -> str:
        """The name of the proposition.

        Example:
            >>> Proposition("mail").name
            'mail'
        """
        return str(self._key[0])

    def evaluate(self, label: int, alphabet: Alphabet) -> bool:  # noqa: D102
        return bool(label >> alphabet.index(self.name) & 1)

    def format(self, notation: Notation = "ascii") -> str:  # noqa: D102
        if notation == "latex":
            return rf"\mathit{{{self.name.replace('_', chr(92) + '_')}}}"
        return self.name


class Not(Formula):
    """¬φ.

    Example:
        >>> str(Not(And(Proposition("A"), Proposition("B"))))
        '!(A & B)'
    """

    __slots__ = ()

    def __init__(self, operand: Formula) -> None:
        super().__init__((operand,), operand.depth + 1)

    @property
    def operands(self) -> tuple[Formula, ...]:  # noqa: D102
        return self._key

    def evaluate(self, label: int, alphabet: Alphabet) -> bool:  # noqa: D102
        return not self.operands[0].evaluate(label, alphabet)

    def format(self, notation: Notation = "ascii") -> str:  # noqa: D102
        return _SYMBOLS[notation]["not"] + self.operands[0]._inside(self, notation)


class _Chain(Formula):
    """What ``And`` and ``Or`` share: any number of operands, nested chains flattened."""

    __slots__ = ()
    word: ClassVar[str]

    def __init__(self, *operands: Formula) -> None:
        flat: list[Formula] = []
        for operand in operands:
            flat.extend(operand.operands if type(operand) is type(self) else [operand])
        if len(flat) < 2:
            raise FormulaSyntaxError(f"'{self.word}' joins two or more formulas, not {len(flat)}")
        super().__init__(tuple(flat), 1 + max(operand.depth for operand in flat))

    @property
    def operands(self) -> tuple[Formula, ...]:
        return self._key

    def format(self, notation: Notation = "ascii") -> str:
        parts = (operand._inside(self, notation) for operand in self.operands)
        return _SYMBOLS[notation][self.word].join(parts)


class And(_Chain):
    """φ₁ ∧ … ∧ φₙ.

    Example:
        >>> str(And(Proposition("A"), Or(Proposition("B"), Proposition("C"))))
        'A & (B | C)'
    """

    __slots__ = ()
    word = "and"
    precedence = 2

    def evaluate(self, label: int, alphabet: Alphabet) -> bool:  # noqa: D102
        return all(operand.evaluate(label, alphabet) for operand in self.operands)


class Or(_Chain):
    """φ₁ ∨ … ∨ φₙ.

    Example:
        >>> Or(Proposition("A"), Proposition("B")).format("unicode")
        'A ∨ B'
    """

    __slots__ = ()
    word = "or"
    precedence = 1

    def evaluate(self, label: int, alphabet: Alphabet) -> bool:  # noqa: D102
        return any(operand.evaluate(label, alphabet) for operand in self.operands)


TRUE = Constant(True)
FALSE = Constant(False)

_GRAMMAR = r"""
?start: either
?either: both (_OR both)*
?both: unary (_AND unary)*
?unary: _NOT unary -> negation
      | "(" either ")"
      | TRUE -> true
      | FALSE -> false
      | NAME -> proposition
_NOT.2: "!" | "¬" | "~" | /not\b/i
_AND.2: "&&" | "&" | "∧" | /and\b/i
_OR.2: "||" | "|" | "∨" | /or\b/i
TRUE.2: "⊤" | /true\b/i
FALSE.2: "⊥" | /false\b/i
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
        cranium.errors.FormulaSyntaxError: line 1, column 5: a formula expects a proposition, '!', '(', 'true' or 'false' here, not '|'
          A & | B
              ^
    """
    if not isinstance(text, str):
        raise FormulaSyntaxError(f"a formula is text, not {shorten(text)}")
    if len(text) > MAX_TEXT:
        raise FormulaSyntaxError(f"a formula may have {MAX_TEXT:,} characters, this has {len(text):,}")
    return _parse(text)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Formula:
    try:
        return _parser()(text)
    except UnexpectedInput as problem:
        _refuse(problem, text)


def _refuse(problem: UnexpectedInput, text: str) -> NoReturn:
    if isinstance(problem, UnexpectedToken):
        names, found = problem.accepts or problem.expected, str(problem.token)
        at_end = problem.token.type == "$END"
    else:
        assert isinstance(problem, UnexpectedCharacters)
        names, found, at_end = problem.allowed or set(), text[problem.pos_in_stream or 0], False
    offset = len(text) if at_end else problem.pos_in_stream or 0
    wanted = [said for name, said in _EXPECTED.items() if name in names]
    choice = " or ".join(filter(None, [", ".join(wanted[:-1]), *wanted[-1:]]))
    what = "but the text ends" if at_end else f"not {shorten(found)}"
    raise FormulaSyntaxError.pointing(
        f"a formula expects {choice} here, {what}", text, offset
    ) from None
