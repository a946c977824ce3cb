"""The compiler's intermediate representation of a language.

It is lowered from the syntax tree and has one more kind of node: :class:`Counted`, a power to which
the planner has assigned counters. A planned expression contains no :class:`Power`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from cranium.languages import syntax
from cranium.languages.syntax import Linear

__all__ = [
    "Both",
    "Choice",
    "Counted",
    "Counter",
    "Letter",
    "Linear",
    "Node",
    "Power",
    "Repeat",
    "Sequence",
    "Shuffle",
    "children",
    "lower",
    "substitute",
    "to_syntax",
    "variables_of",
    "walk",
]


class Counter(NamedTuple):
    """A counter of the machine, which counts the repetitions of an exponent.

    Attributes:
        variable: The exponent.
        copy: The index of this counter among the counters with the same value.
        offset: The value of the exponent minus the value of the counter.
        bounded: Whether it has finitely many values, so that states can represent them.
    """

    variable: str
    copy: int
    offset: int = 0
    bounded: bool = False


Skips = tuple[tuple[Counter, int], ...]
"""Counters, each with the number of first repetitions that leave it unchanged."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One event."""

    name: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after the other; without parts, the empty word."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the parts; without parts, no word."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The body from ``low`` to ``high`` times, or without an upper limit if that is None."""

    body: Node
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Power:
    """The body, repeated according to the exponent. The planner replaces it by Counted."""

    body: Node
    exponent: Linear


@dataclass(frozen=True, slots=True)
class Shuffle:
    """All parts, interleaved in any way."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Both:
    """The words that are in every part."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """A repetition that changes and tests counters.

    Attributes:
        unit: The expression that is repeated.
        low: The least number of repetitions.
        high: The greatest number of repetitions, or None.
        add: The counters that every repetition increments.
        take: The counters that every repetition decrements; they must not be zero.
        drain: The counters that every repetition decrements unless they are zero.
        empty: The counters that must be zero at the end.
        until: For some counters of ``add``, the number of repetitions after which they stay as they
            are, because no later part needs higher values.
    """

    unit: Node
    low: int = 0
    high: int | None = None
    add: Skips = ()
    take: Skips = ()
    drain: Skips = ()
    empty: tuple[Counter, ...] = ()
    until: Skips = ()


Node = Letter | Sequence | Choice | Repeat | Power | Shuffle | Both | Counted


def lower(expression: syntax.Expression) -> Node:
    """Convert an expression of the syntax tree into a node.

    Example:
        >>> from cranium.languages import parse_language
        >>> lower(parse_language("A B").expression)
        Sequence(parts=(Letter(name='A'), Letter(name='B')))
    """
    match expression:
        case syntax.Letter(name=name):
            return Letter(name)
        case syntax.Sequence(parts=parts):
            return Sequence(tuple(map(lower, parts)))
        case syntax.Choice(parts=parts):
            return Choice(tuple(map(lower, parts)))
        case syntax.Repeat(body=body, low=low, high=high):
            return Repeat(lower(body), low, high)
        case syntax.Power(body=body, exponent=exponent):
            return Power(lower(body), exponent)
        case syntax.Shuffle(parts=parts):
            return Shuffle(tuple(map(lower, parts)))
    return Both(tuple(map(lower, expression.parts)))


def to_syntax(node: Node) -> syntax.Expression:
    """Convert a node back into an expression of the syntax tree, to show it in a message.

    Example:
        >>> from cranium.languages import parse_language
        >>> str(to_syntax(lower(parse_language("(A B?)^N C").expression)))
        '(A B?)^N C'
    """
    match node:
        case Letter(name=name):
            return syntax.Letter(name)
        case Sequence(parts=parts):
            return syntax.Sequence(tuple(map(to_syntax, parts)))
        case Choice(parts=parts):
            return syntax.Choice(tuple(map(to_syntax, parts)))
        case Repeat(body=body, low=low, high=high):
            return syntax.Repeat(to_syntax(body), low, high)
        case Power(body=body, exponent=exponent):
            return syntax.Power(to_syntax(body), exponent)
        case Shuffle(parts=parts):
            return syntax.Shuffle(tuple(map(to_syntax, parts)))
        case Both(parts=parts):
            return syntax.Both(tuple(map(to_syntax, parts)))
    raise AssertionError(node)


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly inside a node."""
    match node:
        case Letter():
            return ()
        case Repeat(body=body) | Power(body=body) | Counted(unit=body):
            return (body,)
    return node.parts


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes inside it, in reading order."""
    yield node
    for child in children(node):
        yield from walk(child)


def variables_of(node: Node) -> tuple[str, ...]:
    """Return the exponent variables that occur in powers, in reading order."""
    powers = (n for n in walk(node) if isinstance(n, Power))
    return tuple(dict.fromkeys(name for power in powers for name, _ in power.exponent.factors))


def substitute(node: Node, forms: Mapping[str, Linear]) -> Node:
    """Replace exponent variables by linear forms. Powers with a constant exponent become repeats.

    Example:
        >>> substitute(Power(Letter("A"), Linear((("N", 1),), 1)), {"N": Linear((), 2)})
        Repeat(body=Letter(name='A'), low=3, high=3)
    """
    match node:
        case Letter() | Counted():
            return node
        case Power(body=body, exponent=exponent):
            inner = substitute(body, forms)
            power = exponent.substitute(forms)
            if power.factors:
                return Power(inner, power)
            if power.constant < 0:
                return Choice(())  # no word
            return Repeat(inner, power.constant, power.constant)
        case Repeat(body=body):
            return replace(node, body=substitute(body, forms))
    return type(node)(tuple(substitute(part, forms) for part in node.parts))
