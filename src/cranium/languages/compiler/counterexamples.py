"""Pairs of words that show why a language has no deterministic machine with counters."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

from cranium.errors import LanguageError
from cranium.languages.compiler.ir import Counter
from cranium.languages.compiler.nfa import Nfa
from cranium.languages.compiler.subsets import (
    Clash,
    StateSet,
    ZeroTests,
    common_changes,
    enabled_steps,
    visit_cost,
)

__all__ = ["AmbiguityError", "CounterexampleSearch"]

SEARCH_BUDGET = 400_000
MAX_TRIES = 10
FIX_PREFIX = "add an end event (finally done), or reward the first completion (first=True)"
FIX_AMBIGUITY = "put an event between the parts that begin alike"

Word = tuple[str, ...]
CounterValues = frozenset[tuple[Counter, int]]
"""The counters that are not zero, with their values."""
Node = tuple[StateSet, CounterValues]

ErrorType = TypeVar("ErrorType", bound=LanguageError)


class AmbiguityError(LanguageError):
    """Two ways to read a word change a counter differently; another way of counting may work."""

    def to_language_error(self) -> LanguageError:
        """Return the error for users, once every way of counting has failed."""
        error = LanguageError(self.message, fix=self.fix)
        error.words = self.words
        return error


class CounterexampleSearch:
    """Searches for two words of the language, within a budget of steps.

    Args:
        nfa: The nondeterministic machine.
    """

    def __init__(self, nfa: Nfa) -> None:
        self.nfa = nfa
        self.left = SEARCH_BUDGET

    def prefix_error(
        self, states: StateSet, tests: tuple[tuple[Counter, bool], ...]
    ) -> LanguageError:
        """Return the error that a complete word can be continued.

        Args:
            states: The states in which the word ends.
            tests: The outcomes of the zero tests there.
        """
        for word, counters in islice(self._words_to(states, tests), MAX_TRIES):
            longer = next(self._continuations(states, counters), None)
            if longer is not None:
                return _error_with_words(
                    LanguageError,
                    "the task may be complete and yet go on, so its end cannot be seen",
                    (word, (*word, *longer)),
                    FIX_PREFIX,
                )
        return LanguageError(
            "it cannot be shown that the task is complete only when nothing can follow",
            fix=FIX_PREFIX,
        )

    def ambiguity_error(
        self, states: StateSet, tests: tuple[tuple[Counter, bool], ...], clash: Clash, explain: bool
    ) -> AmbiguityError:
        """Return the error that two steps count an exponent differently.

        Args:
            states: The states in which both steps are enabled.
            tests: The outcomes of the zero tests there.
            clash: The two steps.
            explain: Whether to search for two words that need them.
        """
        name = clash.counter.variable.partition(".")[0]
        tries = MAX_TRIES if explain else 0
        for word, counters in islice(self._words_to(states, tests), tries):
            one, other = (
                [
                    (*word, step.letter, *rest)
                    for rest in islice(
                        self._completions(
                            frozenset({step.target}), _add(counters, dict(step.changes))
                        ),
                        2,
                    )
                ]
                for step in (clash.one, clash.other)
            )
            pair = next(((x, y) for x in one for y in other if x != y), None)
            if pair is not None:
                return _error_with_words(
                    AmbiguityError,
                    f"after {' '.join((*word, clash.one.letter))} the exponent {name} could have "
                    "been counted in two ways, and one counter cannot hold both",
                    pair,
                    FIX_AMBIGUITY,
                )
        return AmbiguityError(
            f"the exponent {name} could be counted in two ways that begin alike", fix=FIX_AMBIGUITY
        )

    def _words_to(
        self, states: StateSet, tests: tuple[tuple[Counter, bool], ...]
    ) -> Iterator[tuple[Word, dict[Counter, int]]]:
        """Yield words that lead to a set of states with these zero tests, shortest first."""
        start: Node = (frozenset({self.nfa.start}), frozenset())
        parents: dict[Node, tuple[Node, str] | None] = {start: None}
        queue = deque([start])
        while queue and self.left > 0:
            node = queue.popleft()
            counters = dict(node[1])
            self.left -= 1 + visit_cost(self.nfa, node[0]) + len(counters)
            above = ZeroTests(counters)
            if node[0] == states and all(above[c] == up for c, up in tests):
                yield _word_to(parents, node), counters
            for letter, steps in enabled_steps(self.nfa, node[0], above).items():
                changes = common_changes(self.nfa, steps)
                if isinstance(changes, Clash):
                    continue
                after = _nonzero(_add(counters, changes))
                child = (frozenset(step.target for step in steps), after)
                if child not in parents:
                    parents[child] = node, letter
                    queue.append(child)

    def _continuations(self, states: StateSet, counters: dict[Counter, int]) -> Iterator[Word]:
        """Yield ways to continue a complete word by at least one letter to another complete one."""
        for letter, steps in enabled_steps(self.nfa, states, ZeroTests(counters)).items():
            for step in steps:
                after = _add(counters, dict(step.changes))
                rest = next(self._completions(frozenset({step.target}), after), None)
                if rest is not None:
                    yield (letter, *rest)

    def _completions(self, states: StateSet, counters: dict[Counter, int]) -> Iterator[Word]:
        """Yield words that complete the task from these states, shortest first."""
        start = _nonzero(counters)
        queue: deque[tuple[int, CounterValues, Word]]
        queue = deque((state, start, ()) for state in states)
        seen = {(state, start) for state in states}
        found: set[Word] = set()
        while queue and self.left > 0:
            state, values, word = queue.popleft()
            now = dict(values)
            self.left -= 1 + len(word) // 8 + len(self.nfa.steps[state]) * (1 + len(now))

            def holds(
                tests: frozenset[tuple[Counter, bool]], now: dict[Counter, int] = now
            ) -> bool:
                return all((now.get(c, 0) > 0) == up for c, up in tests)

            if any(map(holds, self.nfa.accepting[state])) and word not in found:
                found.add(word)
                yield word
            for step in self.nfa.steps[state]:
                if holds(step.tests):
                    after = _add(now, dict(step.changes))
                    key = (step.target, _nonzero(after))
                    if key not in seen and min(after.values(), default=0) >= 0:
                        seen.add(key)
                        queue.append((*key, (*word, step.letter)))


def _add(counters: dict[Counter, int], changes: dict[Counter, int]) -> dict[Counter, int]:
    return {c: counters.get(c, 0) + changes.get(c, 0) for c in {*counters, *changes}}


def _nonzero(counters: dict[Counter, int]) -> CounterValues:
    return frozenset((c, value) for c, value in counters.items() if value)


def _word_to(parents: dict[Node, tuple[Node, str] | None], node: Node) -> Word:
    word: list[str] = []
    while (step := parents[node]) is not None:
        node, letter = step
        word.insert(0, letter)
    return tuple(word)


def _error_with_words(
    kind: type[ErrorType], message: str, words: tuple[Word, Word], fix: str
) -> ErrorType:
    shown = " and ".join(repr(" ".join(word)) for word in words)
    error = kind(f"{message}: {shown} are both in the language", fix=fix)
    error.words = words
    return error
