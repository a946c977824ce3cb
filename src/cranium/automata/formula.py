"""Guards φ: propositional formulas over the propositions P.

    A & !B | C        A and not B or C        A ∧ ¬B ∨ C

are three ways to write one formula. A formula is an immutable tree:
:mod:`cranium.automata.formula_parser` reads it, :meth:`Formula.evaluate` decides σ ⊨ φ for one
label, and :mod:`cranium.automata.satisfiability` decides what holds for some or for all labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, NoReturn

from cranium.automata.alphabet import Alphabet, check_identifier
from cranium.errors import FormulaSyntaxError

__all__ = ["FALSE", "TRUE", "And", "Constant", "Formula", "Not", "Or", "Proposition"]

Notation = Literal["ascii", "unicode", "latex"]

MAX_DEPTH = 200  # twice what the parser takes, so that guards can be negated and joined

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
        >>> from cranium import parse_formula
        >>> guard = parse_formula("A & !B")
        >>> guard.evaluate(0b01, Alphabet(["A", "B"])), guard.evaluate(0b11, Alphabet(["A", "B"]))
        (True, False)
        >>> print(guard | Proposition("C"))
        A & !B | C
        >>> guard.format("unicode")
        'A ∧ ¬B'
    """

    __slots__ = ("_hash", "_key", "depth")

    _key: tuple[Any, ...]
    _hash: int
    depth: int
    precedence: ClassVar[int] = 3

    def __init__(self, key: tuple[Any, ...], depth: int) -> None:
        if depth > MAX_DEPTH:
            raise FormulaSyntaxError(
                f"a formula may be nested {MAX_DEPTH} deep, this one is deeper"
            )
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_hash", hash((type(self).__name__, key)))
        object.__setattr__(self, "depth", depth)

    def __setattr__(self, attribute: str, value: object) -> NoReturn:
        raise AttributeError(f"a formula is immutable: cannot set {attribute!r}")

    def evaluate(self, label: int, alphabet: Alphabet) -> bool:
        """Whether the label satisfies the formula, σ ⊨ φ.

        Example:
            >>> from cranium import parse_formula
            >>> parse_formula("A | B").evaluate(0, Alphabet(["A", "B"]))
            False
        """
        raise NotImplementedError

    def format(self, notation: Notation = "ascii") -> str:
        r"""Format the formula as text; ASCII and Unicode can be parsed again.

        Example:
            >>> from cranium import parse_formula
            >>> parse_formula("not (A or B)").format("latex")
            '\\lnot (\\mathit{A} \\lor \\mathit{B})'
        """
        raise NotImplementedError

    def walk(self) -> Iterator[Formula]:
        """Yield this formula and all those inside it.

        Example:
            >>> from cranium import parse_formula
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
            >>> from cranium import parse_formula
            >>> [str(part) for part in parse_formula("A & !B").operands]
            ['A', '!B']
        """
        return ()

    @property
    def propositions(self) -> frozenset[str]:
        """The names of the propositions that occur in the formula.

        Example:
            >>> from cranium import parse_formula
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
        return type(self) is type(other) and self._key == other._key

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
    r"""One proposition.

    Example:
        >>> Proposition("mail").format("latex")
        '\\mathit{mail}'
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
    """The base of ``And`` and ``Or``: any number of operands, nested chains flattened."""

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
