"""Which words are in a language, decided slowly and obviously on the syntax tree.

This is the oracle that compiled machines are tested against. It shares no code with the compiler:
it tries every value of the exponents that could matter, and then every way to match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cranium.automata.alphabet import Alphabet
from cranium.languages.syntax import (
    Both,
    Choice,
    Expression,
    Language,
    Letter,
    Power,
    Repeat,
    Sequence,
    Shuffle,
    letters_of,
    walk,
)

__all__ = ["accepts_labels", "is_member"]


def is_member(language: Language, word: Iterable[str]) -> bool:
    """Whether a word, a sequence of letters, is in the language.

    Example:
        >>> from cranium.languages import parse_language
        >>> language = parse_language("A^N B C^N")
        >>> is_member(language, "A A B C C".split()), is_member(language, "A B C C".split())
        (True, False)
    """
    letters = tuple(word)
    if any(letter in language.never for letter in letters):
        return False
    return any(
        len(letters) in match_ends(language.expression, letters, 0, values)
        for values in valuations(language, len(letters))
    )


def accepts_labels(language: Language, labels: Iterable[Iterable[str]]) -> bool:
    """Whether a sequence of labels, sets of propositions, spells a word of the language.

    A label without letters is passed over, one with two or more spells nothing; and the last label
    must be the last letter, because the episode ends with it.

    Example:
        >>> from cranium.languages import parse_language
        >>> language = parse_language("A B")
        >>> accepts_labels(language, [["A"], [], ["B"]]), accepts_labels(language, [["A", "B"]])
        (True, False)
    """
    word: list[str] = []
    last: list[str] = []
    for label in labels:
        last = _letters_in(language, frozenset(label))
        if len(last) > 1:
            return False
        word += last
    return bool(last) and is_member(language, word)


def _letters_in(language: Language, label: frozenset[str]) -> list[str]:
    bindings = dict(language.bindings)
    found = []
    for letter in language.letters:
        if letter in bindings:
            formula = bindings[letter]
            alphabet = Alphabet(sorted(formula.propositions | label))
            if formula.evaluate(alphabet.label(label), alphabet):
                found.append(letter)
        elif letter in label:
            found.append(letter)
    return found


def valuations(language: Language, length: int) -> Iterator[Mapping[str, int]]:
    """Every assignment of the exponents with which a word may have at most this length."""
    constants = [c.right for c in language.constraints if isinstance(c.right, int)]
    most = length + max([0, *constants]) + len(language.variables) + _largest_offset(language)
    least = {name: max(language.bounds(name)[0], 0) for name in language.variables}

    def assign(values: dict[str, int], names: tuple[str, ...]) -> Iterator[Mapping[str, int]]:
        if not names:
            if all(constraint.holds(values) for constraint in language.constraints):
                yield values
            return
        name, *rest = names
        high = language.bounds(name)[1]
        for value in range(least[name], min(most, high if high is not None else most) + 1):
            more = {**values, name: value}
            if shortest(language.expression, {**least, **more}) > length:
                break  # greater values make no word shorter
            yield from assign(more, tuple(rest))

    yield from assign({}, language.variables)


def _largest_offset(language: Language) -> int:
    powers = (node for node in walk(language.expression) if isinstance(node, Power))
    return max((max(0, -power.exponent.constant) for power in powers), default=0)


def shortest(node: Expression, values: Mapping[str, int]) -> int:
    """A length that no word of the expression is shorter than."""
    match node:
        case Letter():
            return 1
        case Sequence(parts=parts) | Shuffle(parts=parts):
            return sum(shortest(part, values) for part in parts)
        case Choice(parts=parts):
            return min(shortest(part, values) for part in parts)
        case Both(parts=parts):
            return max(shortest(part, values) for part in parts)
        case Power(body=body, exponent=exponent):
            return max(0, exponent.value(values)) * shortest(body, values)
        case Repeat(body=body, low=low):
            return low * shortest(body, values)
    raise AssertionError(node)


def match_ends(
    node: Expression, word: tuple[str, ...], start: int, values: Mapping[str, int]
) -> frozenset[int]:
    """Where a match of the expression that begins at ``start`` can end."""
    match node:
        case Letter(name=name):
            return frozenset({start + 1} if word[start : start + 1] == (name,) else ())
        case Sequence(parts=parts):
            ends = frozenset({start})
            for part in parts:
                ends = frozenset(
                    e for middle in ends for e in match_ends(part, word, middle, values)
                )
            return ends
        case Choice(parts=parts):
            return frozenset(e for part in parts for e in match_ends(part, word, start, values))
        case Both(parts=parts):
            all_ends = [match_ends(part, word, start, values) for part in parts]
            return frozenset.intersection(*all_ends)
        case Shuffle(parts=parts):
            return _shuffled_ends(parts, word, start, values)
        case Repeat(body=body, low=low, high=high):
            return _repeated_ends(body, low, high, word, start, values)
        case Power(body=body, exponent=exponent):
            count = exponent.value(values)
            return (
                frozenset()
                if count < 0
                else _repeated_ends(body, count, count, word, start, values)
            )
    raise AssertionError(node)


def _repeated_ends(
    body: Expression,
    low: int,
    high: int | None,
    word: tuple[str, ...],
    start: int,
    values: Mapping[str, int],
) -> frozenset[int]:
    ends = frozenset({start})
    for _ in range(low):
        ends = frozenset(e for middle in ends for e in match_ends(body, word, middle, values))
    found = set(ends)
    more = (high - low) if high is not None else len(word) + 1
    for _ in range(more):
        ends = (
            frozenset(e for middle in ends for e in match_ends(body, word, middle, values)) - found
        )
        if not ends:
            break
        found |= ends
    return frozenset(found)


def _shuffled_ends(
    parts: tuple[Expression, ...], word: tuple[str, ...], start: int, values: Mapping[str, int]
) -> frozenset[int]:
    own = [set(letters_of(part)) for part in parts]
    found = set()
    for end in range(start, len(word) + 1):
        piece = word[start:end]
        if any(not any(letter in letters for letters in own) for letter in piece):
            break
        shares = [tuple(x for x in piece if x in letters) for letters in own]
        if all(
            len(share) in match_ends(part, share, 0, values)
            for part, share in zip(parts, shares, strict=True)
        ):
            found.add(end)
    return frozenset(found)
