"""Propositions P, the alphabet Σ = 2^P, and labels σ ∈ Σ as bitmasks.

A label is the set of propositions that are true at one step. It is stored as an ``int`` with one
bit for each proposition, so sixty propositions cost what six do: nothing here ever lists 2^P.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn, SupportsIndex

from cranium.errors import (
    DuplicateNameError,
    InvalidNameError,
    LabelError,
    UnknownNameError,
    WordSyntaxError,
    shorten,
)

__all__ = ["Alphabet", "AnyLabel", "check_identifier", "check_unique", "parse_word"]

AnyLabel = SupportsIndex | str | Iterable[str]
"""A label as people write it: ``"A"``, ``("A", "B")``, ``()`` for the empty one, or a bitmask."""

RESERVED = frozenset({"true", "false", "not", "and", "or"})
MAX_NAME = 100
MAX_WORD = 1_000_000
_IDENTIFIER = re.compile(r"[^\W\d]\w*\Z")
_WORD_TOKEN = re.compile(r"\{(?P<several>[^{}]*)\}|(?P<one>[^\s{},]+)")


class Alphabet:
    """The propositions of a task, in order, and the labels over them.

    Example:
        >>> alphabet = Alphabet(["mail", "coffee", "decoration"])
        >>> alphabet.label("coffee"), alphabet.label(["mail", "coffee"]), alphabet.label(())
        (2, 3, 0)
        >>> alphabet.names(3)
        ('mail', 'coffee')
        >>> alphabet.format(3), alphabet.format(2), alphabet.format(0)
        ('{mail, coffee}', 'coffee', '{}')
    """

    __slots__ = ("_index", "propositions")

    propositions: tuple[str, ...]
    _index: dict[str, int]

    def __init__(self, propositions: Iterable[str]) -> None:
        names = tuple(propositions)
        for name in names:
            check_identifier("proposition", name)
        check_unique("proposition", names)
        object.__setattr__(self, "propositions", names)
        object.__setattr__(self, "_index", {name: index for index, name in enumerate(names)})

    def __setattr__(self, attribute: str, value: object) -> NoReturn:
        raise AttributeError(f"an Alphabet is immutable: cannot set {attribute!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Alphabet, (self.propositions,)

    def index(self, name: str) -> int:
        """Return the index of the bit that stands for a proposition.

        Example:
            >>> Alphabet(["A", "B"]).index("B")
            1
        """
        try:
            return self._index[name]
        except (KeyError, TypeError):
            raise UnknownNameError.of("proposition", name, self.propositions) from None

    def label(self, names: AnyLabel) -> int:
        """Convert a label to a bitmask: a name, several names, none, or a bitmask to check.

        Example:
            >>> Alphabet(["A", "B"]).label({"A", "B"})
            3
            >>> Alphabet(["A", "B"]).label("C")
            Traceback (most recent call last):
            cranium.errors.LabelError: no such proposition in a label: 'C'
              fix: known: A, B
        """
        if hasattr(names, "__index__") and not getattr(names, "ndim", 0):  # arrays have one, too
            return self._mask(names)
        if isinstance(names, str):
            names = (names,)
        if not isinstance(names, Iterable) or isinstance(names, bytes | Mapping):
            # Of a dictionary the keys would be read, whatever it says of them.
            raise _no_label(names)
        label = 0
        for name in names:
            try:
                label |= 1 << self._index[name]
            except (KeyError, TypeError):
                raise self._unknown_name_error(name) from None
        return label

    def _mask(self, number: Any) -> int:
        try:
            bits = operator.index(number)
        except TypeError:  # an array of one thing, which is no whole number
            raise _no_label(number) from None
        if 0 <= bits < 1 << len(self.propositions):
            return bits
        raise LabelError(
            f"a label over {len(self.propositions)} propositions is a bitmask from 0 to "
            f"{(1 << len(self.propositions)) - 1:#x}, not {shorten(number)}"
        )

    def _unknown_name_error(self, name: object) -> LabelError:
        unknown = UnknownNameError.of("proposition in a label", name, self.propositions)
        if isinstance(name, str) and name and all(letter in self._index for letter in name):
            unknown.fix = f"separate the labels: {' '.join(name[:20])}"
        return LabelError(unknown.message, fix=unknown.fix)

    def names(self, label: int) -> tuple[str, ...]:
        """Return the propositions that are true in a label, in the alphabet's order.

        Example:
            >>> Alphabet(["A", "B"]).names(2)
            ('B',)
        """
        label = self.label(label)
        return tuple(name for name, index in self._index.items() if label >> index & 1)

    def format(self, label: int) -> str:
        """Format a label as :func:`parse_word` reads it: ``A``, ``{A, B}`` or ``{}``.

        Example:
            >>> Alphabet(["A", "B"]).format(0)
            '{}'
        """
        names = self.names(label)
        return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"

    def __len__(self) -> int:
        return len(self.propositions)

    def __iter__(self) -> Iterator[str]:
        return iter(self.propositions)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alphabet) and self.propositions == other.propositions

    def __hash__(self) -> int:
        return hash(self.propositions)

    def __repr__(self) -> str:
        return f"Alphabet({list(self.propositions)!r})"


def _no_label(value: object) -> LabelError:
    return LabelError(
        f"a label is a name, a collection of names or a bitmask, not {shorten(value)}"
    )


def parse_word(text: str) -> list[tuple[str, ...]]:
    """Read a word: labels separated by spaces, ``{A, B}`` for two at once, ``{}`` for none.

    Example:
        >>> parse_word("A A {B, C} {} D")
        [('A',), ('A',), ('B', 'C'), (), ('D',)]
    """
    if len(text) > MAX_WORD:
        raise WordSyntaxError(f"a word may have {MAX_WORD:,} characters, this has {len(text):,}")
    word: list[tuple[str, ...]] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        token = _WORD_TOKEN.match(text, position)
        if token is None:
            raise WordSyntaxError.pointing(
                "expected a name, {A, B} for several at once, or {} for none",
                text,
                position,
                fix="separate the labels with spaces",
            )
        word.append(_names_of(token, text))
        position = token.end()
    return word


def _names_of(token: re.Match[str], text: str) -> tuple[str, ...]:
    several: str | None = token["several"]
    names = [token["one"]] if several is None else [n.strip() for n in several.split(",")]
    if several is not None and not several.strip():
        return ()
    for name in names:
        if not _IDENTIFIER.match(name):
            raise WordSyntaxError.pointing(
                f"{shorten(name)} is not the name of a proposition",
                text,
                token.start(),
                fix="write names, separated by spaces, for example: A A {B, C} {} D",
            )
    return tuple(names)


def check_identifier(kind: str, name: object) -> None:
    """Check that a name is an identifier, short enough, and no word of the formula language.

    Example:
        >>> check_identifier("counter", "2n")
        Traceback (most recent call last):
        cranium.errors.InvalidNameError: a counter is a letter or _ followed by letters,
        digits or _, not '2n'
    """
    if not isinstance(name, str) or not _IDENTIFIER.match(name):
        raise InvalidNameError(
            f"a {kind} is a letter or _ followed by letters, digits or _, not {shorten(name)}",
            path=(f"{kind}s",),
        )
    if len(name) > MAX_NAME:
        raise InvalidNameError(
            f"a {kind} has at most {MAX_NAME} characters, {shorten(name, 30)} has {len(name):,}",
            path=(f"{kind}s",),
        )
    if name.lower() in RESERVED:
        raise InvalidNameError(
            f"{name!r} is a word of the formula language and cannot name a {kind}",
            fix=f"call it {name}_ or p_{name}",
            path=(f"{kind}s",),
        )


def check_unique(kind: str, names: Iterable[str], key: str = "") -> None:
    """Check that no name occurs twice.

    Example:
        >>> check_unique("counter", ["n", "m", "n"])
        Traceback (most recent call last):
        cranium.errors.DuplicateNameError: the counter 'n' is declared twice
    """
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            raise DuplicateNameError(
                f"the {kind} {name!r} is declared twice", path=(key or f"{kind}s", index)
            )
        seen.add(name)
