"""The syntax tree of the task language.

A^N B C^N
(mail coffee?)^N office^N where N <= 5 never decoration
(A^N B^N) && (C | D)* finally home
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cranium.automata.formula import Formula

__all__ = [
    "Both",
    "Choice",
    "Constraint",
    "Expression",
    "Language",
    "Letter",
    "Linear",
    "Power",
    "Repeat",
    "Sequence",
    "Shuffle",
]


@dataclass(frozen=True, slots=True)
class Linear:
    """The exponent of a power: a sum of variables with factors, and a constant.

    Example:
        >>> str(Linear((("N", 2), ("M", 1)), -1))
        '2N + M - 1'
    """

    factors: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def __str__(self) -> str:
        terms = [name if factor == 1 else f"{factor}{name}" for name, factor in self.factors]
        if self.constant > 0 or not terms:
            terms.append(str(self.constant))
        text = " + ".join(terms)
        return f"{text} - {-self.constant}" if self.constant < 0 and self.factors else text

    def value(self, values: Mapping[str, int]) -> int:
        """Return the value for given values of the variables.

        Example:
            >>> Linear((("N", 2),), 1).value({"N": 3})
            7
        """
        return self.constant + sum(factor * values[name] for name, factor in self.factors)

    def substitute(self, forms: Mapping[str, Linear]) -> Linear:
        """Replace some of the variables by other linear forms.

        Example:
            >>> str(Linear((("N", 2),), 1).substitute({"N": Linear((("M", 1),), 3)}))
            '2M + 7'
        """
        factors: dict[str, int] = {}
        constant = self.constant
        for name, factor in self.factors:
            form = forms.get(name, Linear(((name, 1),)))
            constant += factor * form.constant
            for inner, times in form.factors:
                factors[inner] = factors.get(inner, 0) + factor * times
        return Linear(tuple((n, f) for n, f in factors.items() if f), constant)


@dataclass(frozen=True, slots=True)
class Letter:
    """One event."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after the other; without parts, the empty word."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " ".join(_inside(part, self) for part in self.parts) or "()"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the parts."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " | ".join(_inside(part, self) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Repeat:
    """The body from ``low`` to ``high`` times, or without an upper limit if that is None."""

    body: Expression
    low: int
    high: int | None

    def __str__(self) -> str:
        marks = {(0, None): "*", (1, None): "+", (0, 1): "?"}
        high = "" if self.high is None else str(self.high)
        exact = f"^{self.low}" if self.low == self.high else f"{{{self.low},{high}}}"
        return _inside(self.body, self) + marks.get((self.low, self.high), exact)


@dataclass(frozen=True, slots=True)
class Power:
    """The body, repeated according to an exponent that contains a variable."""

    body: Expression
    exponent: Linear

    def __str__(self) -> str:
        text = str(self.exponent)
        return f"{_inside(self.body, self)}^{text if text.isalnum() else f'({text})'}"


@dataclass(frozen=True, slots=True)
class Shuffle:
    """All parts, interleaved in any order; they share no letters."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " && ".join(_inside(part, self) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Both:
    """The words that are in every part."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " & ".join(_inside(part, self) for part in self.parts)


Expression = Letter | Sequence | Choice | Repeat | Power | Shuffle | Both
_TIGHTNESS: dict[type, int] = {Shuffle: 0, Both: 1, Choice: 2, Sequence: 3, Repeat: 4, Power: 4}


def _inside(part: Expression, whole: Expression) -> str:
    loose = _TIGHTNESS.get(type(part), 5) <= _TIGHTNESS[type(whole)]
    postfix = isinstance(whole, Repeat | Power) and isinstance(part, Repeat | Power)
    return f"({part})" if loose and not postfix else str(part)


def children(node: Expression) -> tuple[Expression, ...]:
    """Return the expressions directly inside an expression.

    Example:
        >>> [str(child) for child in children(Sequence((Letter("A"), Letter("B"))))]
        ['A', 'B']
    """
    match node:
        case Letter():
            return ()
        case Repeat(body=body) | Power(body=body):
            return (body,)
    return node.parts


def walk(node: Expression) -> Iterator[Expression]:
    """Yield an expression and all expressions inside it, in reading order."""
    yield node
    for child in children(node):
        yield from walk(child)


def letters_of(node: Expression) -> tuple[str, ...]:
    """Return the letters that occur, in reading order."""
    return tuple(dict.fromkeys(n.name for n in walk(node) if isinstance(n, Letter)))


def variables_of(node: Expression) -> tuple[str, ...]:
    """Return the exponent variables that occur, in reading order."""
    powers = (n for n in walk(node) if isinstance(n, Power))
    return tuple(dict.fromkeys(name for power in powers for name, _ in power.exponent.factors))


@dataclass(frozen=True, slots=True)
class Constraint:
    """A comparison of an exponent variable with a number or with another variable."""

    left: str
    sign: str
    right: str | int

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether the values satisfy the constraint.

        Example:
            >>> Constraint("N", ">", "M").holds({"N": 3, "M": 2})
            True
        """
        one = values[self.left]
        other = self.right if isinstance(self.right, int) else values[self.right]
        return {
            ">": one > other,
            "<": one < other,
            ">=": one >= other,
            "<=": one <= other,
            "==": one == other,
        }[self.sign]


@dataclass(frozen=True, slots=True)
class Language:
    """A task: an expression over letters, with constraints and forbidden letters.

    Attributes:
        expression: The expression; the letter of ``finally`` is already its last one.
        constraints: The constraints on the variables, from the ``where`` clause.
        never: The letters that must not happen.
        bindings: Letters that stand for formulas; all others are propositions of their own name.
        text: The text that it was parsed from.

    Example:
        >>> from cranium.languages import parse_language
        >>> language = parse_language("A^N B^N where N <= 5 never C")
        >>> language.letters, language.variables, language.never
        (('A', 'B', 'C'), ('N',), ('C',))
    """

    expression: Expression
    constraints: tuple[Constraint, ...] = ()
    never: tuple[str, ...] = ()
    bindings: tuple[tuple[str, Formula], ...] = ()
    text: str = field(default="", compare=False)

    @property
    def letters(self) -> tuple[str, ...]:
        """All letters, the forbidden ones last."""
        return tuple(dict.fromkeys([*letters_of(self.expression), *self.never]))

    @property
    def variables(self) -> tuple[str, ...]:
        """The exponent variables."""
        return variables_of(self.expression)

    def bounds(self, variable: str) -> tuple[int, int | None]:
        """Return the least and the greatest value of a variable. The default least value is 1.

        Example:
            >>> from cranium.languages import parse_language
            >>> parse_language("A^N B^N where N >= 0").bounds("N")
            (0, None)
        """
        low, high = None, None
        for constraint in self.constraints:
            if constraint.left != variable or not isinstance(constraint.right, int):
                continue
            number = constraint.right
            if constraint.sign in (">", ">=", "=="):
                least = number + (constraint.sign == ">")
                low = least if low is None else max(low, least)
            if constraint.sign in ("<", "<=", "=="):
                most = number - (constraint.sign == "<")
                high = most if high is None else min(high, most)
        return (1 if low is None else low), high

    def __str__(self) -> str:
        parts = [str(self.expression)]
        if self.constraints:
            parts.append("where " + ", ".join(map(str, self.constraints)))
        if self.never:
            parts.append("never " + ", ".join(self.never))
        if self.bindings:
            parts.append("with " + ", ".join(f"{name} = {f}" for name, f in self.bindings))
        return " ".join(parts)
