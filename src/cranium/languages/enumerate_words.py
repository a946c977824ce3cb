"""Enumeration of the words of a language, shortest first, and of near misses.

It works on the syntax tree, as membership does, and shares no code with the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations, count, islice, product
from typing import NamedTuple

from cranium.languages.membership import (
    alternatives,
    is_member,
    least_values,
    match_ends,
    shortest,
    valuations,
)
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
    walk,
)

__all__ = ["near_misses", "shortest_words", "words"]

MAX_EXCESS = 30
"""``shortest_words`` searches lengths up to this much above the lower bound of the length."""
MAX_LENGTH = 10_000
"""``shortest_words`` lists no longer words. The shortest word of A^10000^10000 would not fit."""
MAX_NODES = 1_000_000
"""The number of syntax tree nodes that ``shortest_words`` visits. Each assignment of values to the
exponents visits one tree, and many exponents have more assignments than can be tried."""

Word = tuple[str, ...]
Parts = tuple[Expression, ...]


def words(language: str | Language, max_length: int) -> Iterator[Word]:
    """Yield the words of the language up to a length, shortest first, each once.

    The words are computed lazily.

    Example:
        >>> from cranium.languages import parse_language
        >>> [" ".join(word) for word in words(parse_language("A^N (B | C)"), 3)]
        ['A B', 'A C', 'A A B', 'A A C']
    """
    language = as_language(language)
    start = shortest(language.expression, least_values(language))
    for length in range(start, max_length + 1):
        yield from _words_of(_searches(language, length))


def shortest_words(language: str | Language, most: int = 5) -> list[Word]:
    """Return the shortest words of the language, within limits on the length and on the search.

    Words of more than 10,000 letters are not listed. Fewer than ``most`` words are returned if the
    search would have to try very many values of the exponents.

    Example:
        >>> from cranium.languages import parse_language
        >>> [" ".join(word) for word in shortest_words(parse_language("A^N B C^N"), most=2)]
        ['A B C', 'A A B C C']
    """
    language = as_language(language)
    start = shortest(language.expression, least_values(language))
    if start > MAX_LENGTH:
        return []
    searches = (
        one for length in range(start, start + MAX_EXCESS) for one in _searches(language, length)
    )
    limited = islice(searches, MAX_NODES // sum(1 for _ in walk(language.expression)))
    return list(islice(_words_of(limited), most))


def near_misses(language: str | Language, max_length: int, most: int = 10) -> list[Word]:
    """Return words outside the language that differ from one of its words by a single edit.

    An edit removes, doubles, replaces, appends or swaps letters.

    Example:
        >>> from cranium.languages import parse_language
        >>> [" ".join(word) for word in near_misses(parse_language("A B"), 2, most=3)]
        ['B', 'A', 'B A']
    """
    language = as_language(language)
    found: list[Word] = []
    tried: set[Word] = set()  # in A^1000, removing any letter gives the same word
    for word in words(language, max_length):
        for other in _edits(word, language.letters):
            if other in tried:
                continue
            tried.add(other)
            if not is_member(language, other):
                found.append(other)
                if len(found) == most:
                    return found
    return found


def _edits(word: Word, letters: Word) -> Iterator[Word]:
    """Yield the words that one edit gives."""
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


class _Search(NamedTuple):
    """A search for words of one length, with fixed values of the exponents."""

    expression: Expression
    values: Mapping[str, int]
    length: int


def _searches(language: Language, length: int) -> Iterator[_Search]:
    for one in alternatives(language.expression):
        for values in valuations(language, one, length):
            yield _Search(one, values, length)


def _words_of(searches: Iterable[_Search]) -> Iterator[Word]:
    yield from _Distinct(
        word
        for expression, values, length in searches
        for word in _Enumerator(values, length).words(expression, length)
    )


class _Distinct:
    """The distinct words of an iterator, computed lazily and cached for further iterations."""

    def __init__(self, source: Iterator[Word]) -> None:
        self.source = source
        self.found: dict[Word, None] = {}
        self.listed: list[Word] = []

    def __iter__(self) -> Iterator[Word]:
        for index in count():
            while index == len(self.listed):
                word = next(self.source, None)
                if word is None:
                    return
                if word not in self.found:
                    self.found[word] = None
                    self.listed.append(word)
            yield self.listed[index]


class _Enumerator:
    """Enumerates the words of expressions, for fixed values of the exponents and up to a length."""

    def __init__(self, values: Mapping[str, int], max_length: int) -> None:
        self.values = values
        self.max_length = max_length
        self.known_lengths: dict[int, frozenset[int]] = {}
        self.cache: dict[tuple[int, ...], _Distinct] = {}

    def words(self, node: Expression, size: int) -> Iterable[Word]:
        """Return the words of an expression with ``size`` letters."""
        if size not in self.lengths(node):
            return ()
        return self.cached((id(node), size), lambda: self._words(node, size))

    def cached(self, key: tuple[int, ...], source: Callable[[], Iterator[Word]]) -> _Distinct:
        if key not in self.cache:
            self.cache[key] = _Distinct(source())
        return self.cache[key]

    def _words(self, node: Expression, size: int) -> Iterator[Word]:
        match node:
            case Letter(name=name):
                yield (name,)
            case Sequence(parts=parts):
                sizes = tuple(self.lengths(part) for part in parts)
                yield from self._concatenation(id(node), parts, sizes, size)
            case Choice(parts=parts):
                for part in parts:
                    yield from self.words(part, size)
            case Both(parts=parts):
                yield from self._intersection(parts, size)
            case Shuffle(parts=parts):
                yield from self._shuffle(parts, size)
            case Power(body=body, exponent=exponent):
                times = exponent.value(self.values)
                yield from self._repeat(node, body, times, times, size)
            case Repeat(body=body, low=low, high=high):
                yield from self._repeat(node, body, low, high, size)

    def _intersection(self, parts: Parts, size: int) -> Iterator[Word]:
        for word in self.words(parts[0], size):
            if all(size in match_ends(part, word, 0, self.values) for part in parts[1:]):
                yield word

    def _shuffle(self, parts: Parts, size: int) -> Iterator[Word]:
        if len(parts) == 1:
            yield from self.words(parts[0], size)
            return
        for own in sorted(self.lengths(parts[0])):
            for word in self.words(parts[0], own):
                for rest in self._shuffle(parts[1:], size - own):
                    yield from _interleavings(word, rest)

    def _repeat(
        self, node: Expression, body: Expression, low: int, high: int | None, size: int
    ) -> Iterator[Word]:
        """Yield repetitions of the body, without empty ones, which add no letters."""
        sizes = self.lengths(body)
        least = 0 if 0 in sizes else low
        for times in range(least, min(size, size if high is None else high) + 1):
            yield from self._concatenation(id(node), (body,) * times, (sizes - {0},) * times, size)

    def _concatenation(
        self, owner: int, parts: Parts, sizes: tuple[frozenset[int], ...], size: int
    ) -> Iterator[Word]:
        """Yield the concatenations of the parts; ``sizes`` holds the lengths of each part."""
        if not parts:
            yield from [()] if size == 0 else []
            return
        row = _Concatenation(self, owner, parts, sizes)
        if size in row.lengths(0, len(parts)):
            yield from row.words(0, len(parts), size)

    # Lengths

    def lengths(self, node: Expression) -> frozenset[int]:
        """Return the possible lengths of the words of an expression; for ``&``, a superset."""
        if id(node) not in self.known_lengths:
            self.known_lengths[id(node)] = self._lengths(node)
        return self.known_lengths[id(node)]

    def _lengths(self, node: Expression) -> frozenset[int]:
        match node:
            case Letter():
                return frozenset({1} if self.max_length else ())
            case Sequence(parts=parts) | Shuffle(parts=parts):
                found = frozenset({0})
                for part in parts:
                    found = self.sums(found, self.lengths(part))
                return found
            case Choice(parts=parts):
                return frozenset().union(*map(self.lengths, parts))
            case Both(parts=parts):
                return frozenset.intersection(*map(self.lengths, parts))
            case Power(body=body, exponent=exponent):
                times = exponent.value(self.values)
                return frozenset() if times < 0 else self._times(body, times, times)
            case Repeat(body=body, low=low, high=high):
                return self._times(body, low, high)
        raise AssertionError(node)

    def _times(self, body: Expression, low: int, high: int | None) -> frozenset[int]:
        sizes = self.lengths(body)
        found = frozenset({0})
        for _ in range(low):
            found = self.sums(found, sizes)
            if not found:
                return found
        for done in count(low):
            more = found | self.sums(found, sizes)
            if done == high or more == found:
                return found
            found = more
        raise AssertionError

    def sums(self, some: frozenset[int], others: frozenset[int]) -> frozenset[int]:
        return frozenset(a + b for a in some for b in others if a + b <= self.max_length)


class _Concatenation:
    """Consecutive parts, halved recursively: a thousand parts need only ten nested calls."""

    def __init__(
        self, enumerator: _Enumerator, owner: int, parts: Parts, sizes: tuple[frozenset[int], ...]
    ) -> None:
        self.enumerator = enumerator
        self.owner = owner
        self.parts = parts
        self.sizes = sizes
        self.known_lengths: dict[tuple[int, int], frozenset[int]] = {}

    def lengths(self, start: int, end: int) -> frozenset[int]:
        """Return the possible lengths of the words of ``parts[start:end]``."""
        if end - start == 1:
            return self.sizes[start]
        if (start, end) not in self.known_lengths:
            middle = (start + end) // 2
            halves = self.lengths(start, middle), self.lengths(middle, end)
            self.known_lengths[start, end] = self.enumerator.sums(*halves)
        return self.known_lengths[start, end]

    def words(self, start: int, end: int, size: int) -> Iterable[Word]:
        """Return the words of ``parts[start:end]`` with ``size`` letters."""
        if end - start == 1:
            return self.enumerator.words(self.parts[start], size)
        key = (self.owner, len(self.parts), start, end, size)
        return self.enumerator.cached(key, lambda: self._halves(start, end, size))

    def _halves(self, start: int, end: int, size: int) -> Iterator[Word]:
        middle = (start + end) // 2
        for own in sorted(self.lengths(start, middle), reverse=True):
            if size - own in self.lengths(middle, end):
                for word in self.words(start, middle, own):
                    for rest in self.words(middle, end, size - own):
                        yield word + rest


def _interleavings(one: Word, other: Word) -> Iterator[Word]:
    size = len(one) + len(other)
    for positions in combinations(range(size), len(one)):
        first, second = iter(one), iter(other)
        taken = set(positions)
        yield tuple(next(first if index in taken else second) for index in range(size))
