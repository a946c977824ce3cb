"""Which words are in a language, decided slowly and obviously on the syntax tree.

This is the oracle that compiled machines are tested against. It shares no code with the compiler:
it tries every value of the exponent variables that could matter, and then every way to match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

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

__all__ = ["accepts_labels", "is_member", "near_misses", "shortest_words", "words"]

MAX_LENGTH = 60
MAX_MORE = 12  # how much longer than the shortest word a word is looked for


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
        len(letters) in _ends(language.expression, letters, 0, values)
        for values in _valuations(language, len(letters))
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


def words(language: Language, max_length: int) -> Iterator[tuple[str, ...]]:
    """The words of the language up to a length, shortest first, each once.

    Example:
        >>> from cranium.languages import parse_language
        >>> [" ".join(word) for word in words(parse_language("A^N (B | C)"), 3)]
        ['A B', 'A C', 'A A B', 'A A C']
    """
    found: set[tuple[str, ...]] = set()
    for values in _valuations(language, max_length):
        found |= _generate(language.expression, values, max_length)
    yield from sorted(found, key=lambda word: (len(word), word))


def shortest_words(language: Language, most: int = 5) -> list[tuple[str, ...]]:
    """The shortest words of the language, as many as there are up to a reasonable length.

    Example:
        >>> from cranium.languages import parse_language
        >>> [" ".join(word) for word in shortest_words(parse_language("A^N B C^N"), most=2)]
        ['A B C', 'A A B C C']
    """
    found: list[tuple[str, ...]] = []
    for length in range(1, MAX_LENGTH):
        found = list(words(language, length))
        if len(found) >= most or (found and length >= len(found[0]) + MAX_MORE):
            break
    return found[:most]


def near_misses(language: Language, max_length: int, most: int = 10) -> list[tuple[str, ...]]:
    """Words that are almost in the language, but not: one letter more, less, other, or swapped.

    Example:
        >>> from cranium.languages import parse_language
        >>> [" ".join(word) for word in near_misses(parse_language("A B"), 2, most=3)]
        ['B', 'A', 'B A']
    """
    found: dict[tuple[str, ...], None] = {}
    for word in words(language, max_length):
        for other in _changed(word, language.letters):
            if other not in found and not is_member(language, other):
                found[other] = None
                if len(found) == most:
                    return list(found)
    return list(found)


def _changed(word: tuple[str, ...], letters: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for i in range(len(word)):
        yield word[:i] + word[i + 1 :]
    for i in range(len(word) - 1):
        yield (*word[:i], word[i + 1], word[i], *word[i + 2 :])
    for i in range(len(word)):
        yield word[: i + 1] + word[i:]
    for i, letter in product(range(len(word)), letters):
        yield (*word[:i], letter, *word[i + 1 :])
    for letter in letters:
        yield (*word, letter)


def _valuations(language: Language, length: int) -> Iterator[Mapping[str, int]]:
    """Every assignment of the variables that a word of this length could need."""
    constants = [c.right for c in language.constraints if isinstance(c.right, int)]
    most = length + max([0, *constants]) + len(language.variables) + _largest_offset(language)
    ranges = []
    for variable in language.variables:
        low, high = language.bounds(variable)
        ranges.append(range(low, min(most, high if high is not None else most) + 1))
    for values in product(*ranges):
        chosen = dict(zip(language.variables, values, strict=True))
        if all(constraint.holds(chosen) for constraint in language.constraints):
            yield chosen


def _largest_offset(language: Language) -> int:
    powers = (node for node in walk(language.expression) if isinstance(node, Power))
    return max((max(0, -power.exponent.constant) for power in powers), default=0)


def _ends(
    node: Expression, word: tuple[str, ...], start: int, values: Mapping[str, int]
) -> frozenset[int]:
    """Where a match of the expression that begins at ``start`` can end."""
    match node:
        case Letter(name=name):
            return frozenset({start + 1} if word[start : start + 1] == (name,) else ())
        case Sequence(parts=parts):
            ends = frozenset({start})
            for part in parts:
                ends = frozenset(e for middle in ends for e in _ends(part, word, middle, values))
            return ends
        case Choice(parts=parts):
            return frozenset(e for part in parts for e in _ends(part, word, start, values))
        case Both(parts=parts):
            all_ends = [_ends(part, word, start, values) for part in parts]
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
        ends = frozenset(e for middle in ends for e in _ends(body, word, middle, values))
    found = set(ends)
    more = (high - low) if high is not None else len(word) + 1
    for _ in range(more):
        ends = frozenset(e for middle in ends for e in _ends(body, word, middle, values)) - found
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
            len(share) in _ends(part, share, 0, values)
            for part, share in zip(parts, shares, strict=True)
        ):
            found.add(end)
    return frozenset(found)


Words = set[tuple[str, ...]]


def _generate(node: Expression, values: Mapping[str, int], room: int) -> Words:
    """The words of an expression that have at most ``room`` letters."""
    match node:
        case Letter(name=name):
            return {(name,)} if room >= 1 else set()
        case Sequence(parts=parts):
            found: Words = {()}
            for index, part in enumerate(parts):
                later = sum(_shortest(after, values) for after in parts[index + 1 :])
                found = _joined(found, part, values, room - later)
            return found
        case Choice(parts=parts):
            return {word for part in parts for word in _generate(part, values, room)}
        case Both(parts=parts):
            return set.intersection(*(_generate(part, values, room) for part in parts))
        case Shuffle(parts=parts):
            found = {()}
            for part in parts:
                others = _generate(part, values, room)
                pairs = product(found, others)
                found = {w for a, b in pairs if len(a) + len(b) <= room for w in _interleaved(a, b)}
            return found
        case Power(body=body, exponent=exponent):
            count = exponent.value(values)
            return set() if count < 0 else _repeated(body, count, count, values, room)
        case Repeat(body=body, low=low, high=high):
            return _repeated(body, low, high, values, room)
    raise AssertionError(node)


def _shortest(node: Expression, values: Mapping[str, int]) -> int:
    """A length that no word of the expression is shorter than."""
    match node:
        case Letter():
            return 1
        case Sequence(parts=parts) | Shuffle(parts=parts):
            return sum(_shortest(part, values) for part in parts)
        case Choice(parts=parts):
            return min(_shortest(part, values) for part in parts)
        case Both(parts=parts):
            return max(_shortest(part, values) for part in parts)
        case Power(body=body, exponent=exponent):
            return max(0, exponent.value(values)) * _shortest(body, values)
        case Repeat(body=body, low=low):
            return low * _shortest(body, values)
    raise AssertionError(node)


def _joined(before: Words, part: Expression, values: Mapping[str, int], room: int) -> Words:
    if not before:
        return set()
    after = _generate(part, values, room - min(map(len, before)))
    return {a + b for a in before for b in after if len(a) + len(b) <= room}


def _repeated(
    body: Expression, low: int, high: int | None, values: Mapping[str, int], room: int
) -> Words:
    current: Words = {()}
    for _ in range(low):
        current = _joined(current, body, values, room)
        if not current:
            return set()
    found = set(current)
    for _ in range(high - low if high is not None else room + 1):
        current = _joined(current, body, values, room) - found
        if not current:
            break
        found |= current
    return found


def _interleaved(one: tuple[str, ...], other: tuple[str, ...]) -> Words:
    if not one or not other:
        return {one + other}
    return {(one[0], *rest) for rest in _interleaved(one[1:], other)} | {
        (other[0], *rest) for rest in _interleaved(one, other[1:])
    }
