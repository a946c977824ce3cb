"""Membership of words in a language, decided by a slow and simple search on the syntax tree.

This is the oracle that compiled machines are tested against. It shares no code with the compiler.
It tries every possible value of the exponents, and every way to match the word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from cranium.automata.alphabet import Alphabet
from cranium.languages.parser import as_language
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
    variables_of,
    walk,
)

__all__ = ["accepts_labels", "is_member"]


def is_member(language: str | Language, word: str | Iterable[str]) -> bool:
    """Whether a word, a sequence of letters, is in the language.

    Example:
        >>> is_member("A^N B C^N", "A A B C C"), is_member("A^N B C^N", ["A", "B", "C", "C"])
        (True, False)
    """
    language = as_language(language)
    letters = tuple(word.split() if isinstance(word, str) else word)
    if any(letter in language.never for letter in letters):
        return False
    return any(
        len(letters) in match_ends(one, letters, 0, values)
        for one in alternatives(language.expression)
        for values in valuations(language, one, len(letters))
    )


def accepts_labels(language: str | Language, labels: Iterable[Iterable[str]]) -> bool:
    """Whether a sequence of labels, sets of propositions, spells a word of the language.

    Labels without letters are ignored. A label with two or more letters is not accepted. The last
    label must contain the last letter, because the episode ends with it.

    Example:
        >>> from cranium.languages import parse_language
        >>> language = parse_language("A B")
        >>> accepts_labels(language, [["A"], [], ["B"]]), accepts_labels(language, [["A", "B"]])
        (True, False)
    """
    language = as_language(language)
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


def alternatives(node: Expression) -> list[Expression]:
    """Split an expression into one for each choice between parts that have exponents."""
    if not variables_of(node):
        return [node]
    match node:
        case Choice(parts=parts):
            return [one for part in parts for one in alternatives(part)]
        case Repeat(body=body, low=0, high=1):
            return [Sequence(()), *alternatives(body)]
        case Sequence(parts=parts):
            return [Sequence(row) for row in product(*map(alternatives, parts))]
    return [node]


def valuations(
    language: Language, expression: Expression, length: int
) -> Iterator[Mapping[str, int]]:
    """Yield the values of the exponents with which a word may have at most this length.

    Exponents that neither occur in the expression nor are compared get no value.
    """
    constants = [c.right for c in language.constraints if isinstance(c.right, int)]
    most = length + max([0, *constants]) + len(language.variables) + _largest_offset(language)
    least = least_values(language)
    pairs = [c for c in language.constraints if isinstance(c.right, str)]
    compared = {name for c in pairs for name in (c.left, str(c.right))}
    relevant = {*variables_of(expression), *compared}

    def assign(values: dict[str, int], names: list[str]) -> Iterator[Mapping[str, int]]:
        if not names:
            yield values
            return
        name, *rest = names
        high = language.bounds(name)[1]
        for value in range(least[name], min(most, high if high is not None else most) + 1):
            more = {**values, name: value}
            if shortest(expression, {**least, **more}) > length:
                break  # words only get longer with greater values
            known = [c for c in pairs if c.left in more and c.right in more]
            if all(constraint.holds(more) for constraint in known):
                yield from assign(more, rest)

    yield from assign({}, [name for name in language.variables if name in relevant])


def least_values(language: Language) -> dict[str, int]:
    """Return a lower bound for each exponent, including the bounds that comparisons imply."""
    least = {name: max(language.bounds(name)[0], 0) for name in language.variables}
    for _ in range(len(least) + 1):
        for constraint in language.constraints:
            one, other = constraint.left, constraint.right
            if isinstance(other, str):
                more = int(constraint.sign in "<>")
                if constraint.sign in (">", ">=", "=="):
                    least[one] = max(least[one], least[other] + more)
                if constraint.sign in ("<", "<=", "=="):
                    least[other] = max(least[other], least[one] + more)
    return least


def _largest_offset(language: Language) -> int:
    powers = (node for node in walk(language.expression) if isinstance(node, Power))
    return max((max(0, -power.exponent.constant) for power in powers), default=0)


def shortest(node: Expression, values: Mapping[str, int]) -> int:
    """Return a lower bound for the length of the expression's words."""
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
    """Return the positions where a match of the expression that begins at ``start`` can end."""
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
