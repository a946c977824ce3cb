"""The words of a language, shortest first, and words that are almost in it.

Like the oracle, and unlike the compiler, it works on the syntax tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, islice, product

from cranium.languages.membership import is_member, match_ends, shortest, valuations
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
)

__all__ = ["near_misses", "shortest_words", "words"]

MORE = 30
"""How much longer than the shortest possible word a word is looked for."""

Word = tuple[str, ...]
Parts = tuple[Expression, ...]


def words(language: Language, max_length: int) -> Iterator[Word]:
    """The words of the language up to a length, shortest first, each once.

    They come one by one: what is not asked for is not worked out.

    Example:
        >>> from cranium.languages import parse_language
        >>> [" ".join(word) for word in words(parse_language("A^N (B | C)"), 3)]
        ['A B', 'A C', 'A A B', 'A A C']
    """
    for length in range(max_length + 1):
        yield from _words_of_length(language, length)


def shortest_words(language: Language, most: int = 5) -> list[Word]:
    """The shortest words of the language, as many as there are up to a reasonable length.

    Example:
        >>> from cranium.languages import parse_language
        >>> [" ".join(word) for word in shortest_words(parse_language("A^N B C^N"), most=2)]
        ['A B C', 'A A B C C']
    """
    least = {name: language.bounds(name)[0] for name in language.variables}
    start = shortest(language.expression, least)
    found = (w for n in range(start, start + MORE) for w in _words_of_length(language, n))
    return list(islice(found, most))


def near_misses(language: Language, max_length: int, most: int = 10) -> list[Word]:
    """Words that are almost in the language, but not: one letter more, less, other, or swapped.

    Example:
        >>> from cranium.languages import parse_language
        >>> [" ".join(word) for word in near_misses(parse_language("A B"), 2, most=3)]
        ['B', 'A', 'B A']
    """
    found: dict[Word, None] = {}
    for word in words(language, max_length):
        for other in _changed(word, language.letters):
            if other not in found and not is_member(language, other):
                found[other] = None
                if len(found) == most:
                    return list(found)
    return list(found)


def _changed(word: Word, letters: Word) -> Iterator[Word]:
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


def _words_of_length(language: Language, length: int) -> Iterator[Word]:
    listers = (_Lister(values, length) for values in valuations(language, length))
    found = (w for lister in listers for w in lister.words(language.expression, length))
    yield from _Distinct(found)


class _Distinct:
    """The different words of a source, worked out when they are asked for, and kept."""

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


class _Lister:
    """The words of expressions, for fixed values of the exponents and up to a length."""

    def __init__(self, values: Mapping[str, int], room: int) -> None:
        self.values = values
        self.room = room
        self.sizes: dict[int, frozenset[int]] = {}
        self.known: dict[tuple[int, int, int], _Distinct] = {}

    def words(self, node: Expression, size: int) -> Iterable[Word]:
        """The words of an expression that have so many letters."""
        if size not in self.lengths(node):
            return ()
        return self._kept((id(node), -1, size), lambda: self._words(node, size))

    def _kept(self, key: tuple[int, int, int], source: Callable[[], Iterator[Word]]) -> _Distinct:
        if key not in self.known:
            self.known[key] = _Distinct(source())
        return self.known[key]

    def _words(self, node: Expression, size: int) -> Iterator[Word]:
        match node:
            case Letter(name=name):
                yield (name,)
            case Sequence(parts=parts):
                sizes = tuple(self.lengths(part) for part in parts)
                yield from self._in_turn(id(node), parts, sizes, size)
            case Choice(parts=parts):
                for part in parts:
                    yield from self.words(part, size)
            case Both(parts=parts):
                yield from self._in_all(parts, size)
            case Shuffle(parts=parts):
                yield from self._shuffled(parts, size)
            case Power(body=body, exponent=exponent):
                times = exponent.value(self.values)
                yield from self._repeated(node, body, times, times, size)
            case Repeat(body=body, low=low, high=high):
                yield from self._repeated(node, body, low, high, size)

    def _in_all(self, parts: Parts, size: int) -> Iterator[Word]:
        for word in self.words(parts[0], size):
            if all(size in match_ends(part, word, 0, self.values) for part in parts[1:]):
                yield word

    def _shuffled(self, parts: Parts, size: int) -> Iterator[Word]:
        if len(parts) == 1:
            yield from self.words(parts[0], size)
            return
        for own in sorted(self.lengths(parts[0])):
            for word in self.words(parts[0], own):
                for rest in self._shuffled(parts[1:], size - own):
                    yield from _interleaved(word, rest)

    def _repeated(
        self, node: Expression, body: Expression, low: int, high: int | None, size: int
    ) -> Iterator[Word]:
        """Repetitions without letters change nothing: those with letters are as many as fit."""
        sizes = self.lengths(body)
        least = 0 if 0 in sizes else low
        for times in range(least, min(size, size if high is None else high) + 1):
            yield from self._in_turn(id(node), (body,) * times, (sizes - {0},) * times, size)

    def _in_turn(
        self, owner: int, parts: Parts, sizes: tuple[frozenset[int], ...], size: int
    ) -> Iterator[Word]:
        """One part after the other, each with one of its lengths."""
        reach = [frozenset({0})]
        for one in reversed(sizes):
            reach.append(self._sums(one, reach[-1]))

        def rest_of(left: int, room: int) -> Iterator[Word]:
            part = parts[len(parts) - left]
            for own in sorted(sizes[len(parts) - left], reverse=True):
                if room - own in reach[left - 1]:
                    for word in self.words(part, own):
                        for rest in after(left - 1, room - own):
                            yield word + rest

        def after(left: int, room: int) -> Iterable[Word]:
            if not left:
                return [()]
            return self._kept((owner, left, room), lambda: rest_of(left, room))

        if size in reach[-1]:
            yield from after(len(parts), size)

    # Lengths

    def lengths(self, node: Expression) -> frozenset[int]:
        """How long the words of an expression may be; for ``&`` some of these may have none."""
        if id(node) not in self.sizes:
            self.sizes[id(node)] = self._lengths(node)
        return self.sizes[id(node)]

    def _lengths(self, node: Expression) -> frozenset[int]:
        match node:
            case Letter():
                return frozenset({1} if self.room else ())
            case Sequence(parts=parts) | Shuffle(parts=parts):
                found = frozenset({0})
                for part in parts:
                    found = self._sums(found, self.lengths(part))
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
            found = self._sums(found, sizes)
            if not found:
                return found
        for done in count(low):
            more = found | self._sums(found, sizes)
            if done == high or more == found:
                return found
            found = more
        raise AssertionError

    def _sums(self, some: frozenset[int], others: frozenset[int]) -> frozenset[int]:
        return frozenset(a + b for a in some for b in others if a + b <= self.room)


def _interleaved(one: Word, other: Word) -> Iterator[Word]:
    if not one or not other:
        yield one + other
        return
    for rest in _interleaved(one[1:], other):
        yield (one[0], *rest)
    for rest in _interleaved(one, other[1:]):
        yield (other[0], *rest)
