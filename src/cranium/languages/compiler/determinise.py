"""Determinisation: the subset construction with counters, or the reason why it is impossible.

A state is the set of places where the machine could be. They share the counters, so every way to
read a letter must change the counters that matter in the same way; where two ways do not, the
language is refused, with two words that need them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from typing import NamedTuple

from cranium.errors import LanguageError
from cranium.languages.compiler.budget import Budget
from cranium.languages.compiler.ir import Counter
from cranium.languages.compiler.nfa import Nfa, Step

__all__ = ["AmbiguityError", "Machine", "Move", "above_after", "determinise"]

MAX_STATES = 5000
MAX_TESTED = 8
SEARCH = 400_000
MAX_TRIES = 10
MAX_POSSIBLE = 50_000
FOR_PREFIXES = "add an end event (finally done), or reward the first completion (first=True)"
FOR_AMBIGUITY = "put an event between the parts that begin alike"

Places = frozenset[int]
Zeros = tuple[tuple[Counter, bool], ...]
"""Which of the counters that a state tests are above zero."""


class AmbiguityError(LanguageError):
    """Two ways to read a word count differently; another way of counting may do better."""

    def to_language_error(self) -> LanguageError:
        """Return the error for users, once no way of counting has worked."""
        error = LanguageError(self.message, fix=self.fix)
        error.words = self.words
        return error


class Move(NamedTuple):
    """The effect of a letter in a state, for one result of its zero tests."""

    letter: str
    zeros: Zeros
    changes: tuple[tuple[Counter, int], ...]
    target: int


@dataclass(slots=True)
class Machine:
    """A deterministic machine with counters; state 0 is the initial one.

    Attributes:
        moves: What the letters do in each state; a letter that is missing is in no word here.
        accepts: The outcomes of the zero tests with which a word ends in a state.
        tested: The counters that a state tests.
        possible: The outcomes of those tests with which the state can be reached, once known.
    """

    moves: list[list[Move]]
    accepts: list[set[Zeros]]
    tested: list[tuple[Counter, ...]]
    possible: list[set[Zeros]] = field(default_factory=list)


def determinise(
    nfa: Nfa, *, first: bool, explain: bool = True, budget: Budget | None = None
) -> Machine:
    """Make the machine deterministic.

    Args:
        nfa: The nondeterministic machine.
        first: Whether a word ends as soon as it can. If not, a word that can end and go on is
            refused, because the end could not be seen when it happens.
        explain: Whether to look for two words that show why counting is not clear.
        budget: The steps that compilation may still take.
    """
    return _Construction(nfa, first, explain, budget or Budget()).run()


class _Construction:
    def __init__(self, nfa: Nfa, first: bool, explain: bool, budget: Budget) -> None:
        self.nfa = nfa
        self.budget = budget
        self.first = first
        self.explain = explain
        self.left = SEARCH
        self.numbers: dict[Places, int] = {}
        self.queue: deque[Places] = deque()
        self.machine = Machine([], [], [])
        self.possible: dict[Places, set[frozenset[tuple[Counter, bool]]]] = {}

    def run(self) -> Machine:
        self.explore()
        self.number(frozenset({self.nfa.start}))
        while self.queue:
            self.visit(self.queue.popleft())
        return self.machine

    def number(self, places: Places) -> int:
        if places not in self.numbers:
            if len(self.numbers) >= MAX_STATES:
                raise _too_many_states()
            self.numbers[places] = len(self.numbers)
            self.machine.moves.append([])
            self.machine.accepts.append(set())
            self.machine.tested.append(())
            self.queue.append(places)
        return self.numbers[places]

    def visit(self, places: Places) -> None:
        number = self.numbers[places]
        tested = _tested(self.nfa, places)
        self.machine.tested[number] = tested
        for zeros in self._outcomes(places, tested):
            self.budget.spend(self._size(places))
            enabled = _enabled(self.nfa, places, dict(zeros))
            if _ends(self.nfa, places, dict(zeros)):
                self.machine.accepts[number].add(zeros)
                continue
            for letter, steps in enabled.items():
                changes = _agreed(self.nfa, steps)
                if not isinstance(changes, _Clash):  # or it never happens: see explore
                    target = self.number(frozenset(step.target for step in steps))
                    self.machine.moves[number].append(
                        Move(letter, zeros, tuple(changes.items()), target)
                    )

    def explore(self) -> None:
        """Find which counters may be above zero together in each state, and report clashes.

        It forgets everything about a counter but whether it is zero, so what is not found never
        happens.
        """
        start = (frozenset({self.nfa.start}), frozenset[Counter]())
        seen = {start}
        queue = deque([start])
        while queue:
            places, above = queue.popleft()
            outcome = _Outcome(dict.fromkeys(above, 1))
            live = frozenset().union(*(self.nfa.live[place] for place in places))
            zeros = tuple((c, c in above) for c in sorted(live))
            self.possible.setdefault(places, set()).add(frozenset(zeros))
            self.budget.spend(self._size(places))
            enabled = _enabled(self.nfa, places, outcome)
            if _ends(self.nfa, places, outcome):
                if enabled and not self.first:
                    self._refuse_prefix(places, zeros)
                continue
            for steps in enabled.values():
                changes = _agreed(self.nfa, steps)
                if isinstance(changes, _Clash):
                    self._refuse_ambiguity(places, zeros, changes)
                    continue
                # In order, so that which clash is reported does not depend on hashing.
                new = [after for after in self._after(steps, above, changes) if after not in seen]
                if len(seen) + len(new) > MAX_POSSIBLE:
                    raise _too_many_states()
                seen.update(new)
                queue.extend(new)

    def _size(self, places: Places) -> int:
        """The cost of visiting a state: its steps, and the live counters after them."""
        nfa = self.nfa
        return sum(
            1 + len(step.tests) + len(nfa.live[step.target])
            for place in places
            for step in nfa.steps[place]
        )

    def _after(
        self, steps: list[Step], above: frozenset[Counter], changes: dict[Counter, int]
    ) -> Iterator[tuple[Places, frozenset[Counter]]]:
        """The state after the steps, with each set of counters that may be above zero then."""
        places = frozenset(step.target for step in steps)
        live = frozenset().union(*(self.nfa.live[place] for place in places))
        for after in above_after(above, live, changes, self.budget):
            yield places, after

    def _outcomes(self, places: Places, tested: tuple[Counter, ...]) -> list[Zeros]:
        """The outcomes of the tests: all, if they are few, so that more states are alike."""
        if len(tested) <= MAX_TESTED:
            signs = product([False, True], repeat=len(tested))
            return [tuple(zip(tested, one, strict=True)) for one in signs]
        known = (dict(outcome) for outcome in self.possible.get(places, ()))
        return sorted({tuple((c, found[c]) for c in tested) for found in known})

    # Why not: two words

    def _refuse_prefix(self, places: Places, zeros: Zeros) -> None:
        for word, counters in islice(self._ways_to(places, zeros), MAX_TRIES):
            longer = next(self._continuations(places, counters), None)
            if longer is not None:
                raise _clash(
                    LanguageError,
                    "the task may be complete and yet go on, so its end cannot be seen",
                    (word, (*word, *longer)),
                    FOR_PREFIXES,
                )
        raise LanguageError(
            "it cannot be shown that the task is complete only when nothing can follow",
            fix=FOR_PREFIXES,
        )

    def _continuations(
        self, places: Places, counters: dict[Counter, int]
    ) -> Iterator[tuple[str, ...]]:
        """How words go on that could end here: at least one letter more."""
        for letter, steps in _enabled(self.nfa, places, _Outcome(counters)).items():
            for step in steps:
                after = _changed(counters, dict(step.changes))
                rest = next(self._completions(frozenset({step.target}), after), None)
                if rest is not None:
                    yield (letter, *rest)

    def _refuse_ambiguity(self, places: Places, zeros: Zeros, clash: _Clash) -> None:
        name = clash.counter.variable.partition(".")[0]
        tries = MAX_TRIES if self.explain else 0
        for word, counters in islice(self._ways_to(places, zeros), tries):
            one, other = (
                [
                    (*word, step.letter, *rest)
                    for rest in islice(
                        self._completions(
                            frozenset({step.target}), _changed(counters, dict(step.changes))
                        ),
                        2,
                    )
                ]
                for step in (clash.one, clash.other)
            )
            pair = next(((x, y) for x in one for y in other if x != y), None)
            if pair is not None:
                raise _clash(
                    AmbiguityError,
                    f"after {' '.join((*word, clash.one.letter))} the exponent {name} could have "
                    "been counted in two ways, and one counter cannot hold both",
                    pair,
                    FOR_AMBIGUITY,
                )
        raise AmbiguityError(
            f"the exponent {name} could be counted in two ways that begin alike", fix=FOR_AMBIGUITY
        )

    def _ways_to(
        self, places: Places, zeros: Zeros
    ) -> Iterator[tuple[tuple[str, ...], dict[Counter, int]]]:
        """Words that lead to a state with these outcomes of the zero tests, shortest first."""
        start: _Held = (frozenset({self.nfa.start}), frozenset())
        parents: dict[_Held, tuple[_Held, str] | None] = {start: None}
        queue = deque([start])
        while queue and self.left > 0:
            here = queue.popleft()
            counters = dict(here[1])
            self.left -= 1 + self._size(here[0]) + len(counters)
            outcome = _Outcome(counters)
            if here[0] == places and all(outcome[c] == up for c, up in zeros):
                yield _word_to(parents, here), counters
            for letter, steps in _enabled(self.nfa, here[0], outcome).items():
                changes = _agreed(self.nfa, steps)
                if isinstance(changes, _Clash):
                    continue
                after = _changed(counters, changes)
                held = (
                    frozenset(step.target for step in steps),
                    frozenset((c, v) for c, v in after.items() if v),
                )
                if held not in parents:
                    parents[held] = here, letter
                    queue.append(held)

    def _completions(
        self, places: Places, counters: dict[Counter, int]
    ) -> Iterator[tuple[str, ...]]:
        """Words that complete the task from here, shortest first, by trying all ways."""
        begin = frozenset((c, v) for c, v in counters.items() if v)
        queue: deque[tuple[int, frozenset[tuple[Counter, int]], tuple[str, ...]]]
        queue = deque((place, begin, ()) for place in places)
        seen = {(place, begin) for place in places}
        given: set[tuple[str, ...]] = set()
        while queue and self.left > 0:
            place, values, word = queue.popleft()
            now = dict(values)
            self.left -= 1 + len(word) // 8 + len(self.nfa.steps[place]) * (1 + len(now))

            def fits(tests: frozenset[tuple[Counter, bool]], now: dict[Counter, int] = now) -> bool:
                return all((now.get(c, 0) > 0) == up for c, up in tests)

            if any(map(fits, self.nfa.accepting[place])) and word not in given:
                given.add(word)
                yield word
            for step in self.nfa.steps[place]:
                if fits(step.tests):
                    after = _changed(now, dict(step.changes))
                    key = (step.target, frozenset((c, v) for c, v in after.items() if v))
                    if key not in seen and min(after.values(), default=0) >= 0:
                        seen.add(key)
                        queue.append((*key, (*word, step.letter)))


def above_after(
    above: frozenset[Counter],
    live: Iterable[Counter],
    changes: Mapping[Counter, int],
    budget: Budget,
) -> Iterator[frozenset[Counter]]:
    """Which of the live counters may be above zero after a change: each set that is possible."""
    sure = {c for c in live if changes.get(c, 0) > 0 or (c in above and not changes.get(c))}
    doubtful = sorted(c for c in live if changes.get(c, 0) < 0)
    budget.spend(2 ** len(doubtful) * (1 + len(sure)))
    for signs in product([True, False], repeat=len(doubtful)):
        more = {c for c, up in zip(doubtful, signs, strict=True) if up}
        yield frozenset(sure | more)


_Held = tuple[Places, frozenset[tuple[Counter, int]]]
"""A set of places, and the counters that are not zero."""


class _Outcome(dict[Counter, bool]):
    """Whether each counter is above zero, from their values."""

    def __init__(self, counters: Mapping[Counter, int]) -> None:
        super().__init__({c: value > 0 for c, value in counters.items()})

    def __missing__(self, counter: Counter) -> bool:
        return False


class _Clash(NamedTuple):
    """Two ways to read a letter that change a counter differently."""

    one: Step
    other: Step
    counter: Counter


def _tested(nfa: Nfa, places: Places) -> tuple[Counter, ...]:
    """The counters that decide what happens in a state."""
    found: set[Counter] = set()
    for place in places:
        for tests in (*nfa.accepting[place], *(step.tests for step in nfa.steps[place])):
            found.update(counter for counter, _ in tests)
    return tuple(sorted(found))


def _enabled(nfa: Nfa, places: Places, outcome: Mapping[Counter, bool]) -> dict[str, list[Step]]:
    """The steps that the tests allow, by letter."""
    found: dict[str, list[Step]] = {}
    for place in sorted(places):
        for step in nfa.steps[place]:
            if all(outcome[c] == up for c, up in step.tests):
                found.setdefault(step.letter, []).append(step)
    return found


def _ends(nfa: Nfa, places: Places, outcome: Mapping[Counter, bool]) -> bool:
    return any(
        all(outcome[c] == up for c, up in tests)
        for place in places
        for tests in nfa.accepting[place]
    )


def _agreed(nfa: Nfa, steps: list[Step]) -> dict[Counter, int] | _Clash:
    """The changes that all ways make to the counters that matter to them, or two that differ."""
    agreed: dict[Counter, tuple[int, Step]] = {}
    for step in steps:
        changes = dict(step.changes)
        for counter in sorted(nfa.live[step.target]):
            change = changes.get(counter, 0)
            known, other = agreed.setdefault(counter, (change, step))
            if known != change:
                return _Clash(other, step, counter)
    return {counter: change for counter, (change, _) in agreed.items() if change}


def _too_many_states() -> LanguageError:
    return LanguageError(
        f"the machine would have more than {MAX_STATES:,} states",
        fix="use smaller numbers, or fewer alternatives",
    )


def _changed(counters: dict[Counter, int], changes: dict[Counter, int]) -> dict[Counter, int]:
    return {c: counters.get(c, 0) + changes.get(c, 0) for c in {*counters, *changes}}


def _word_to(parents: dict[_Held, tuple[_Held, str] | None], held: _Held) -> tuple[str, ...]:
    word: list[str] = []
    while (step := parents[held]) is not None:
        held, letter = step
        word.insert(0, letter)
    return tuple(word)


def _clash(
    kind: type[LanguageError], message: str, words: tuple[tuple[str, ...], ...], fix: str
) -> LanguageError:
    shown = " and ".join(repr(" ".join(word)) for word in words)
    error = kind(f"{message}: {shown} are both in the language", fix=fix)
    error.words = words
    return error
