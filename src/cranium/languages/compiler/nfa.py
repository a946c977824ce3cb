"""A nondeterministic machine with counters: an NFA whose steps test and change counters.

Its states are called *places* here, to tell them from the states of the deterministic machine.
While it is built, an edge reads a letter, or comes *before* a letter (and may test counters), or
comes *after* one (and changes counters). :func:`join_edges` makes steps that read one letter each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

from cranium.errors import LanguageError
from cranium.languages.compiler.budget import Budget
from cranium.languages.compiler.ir import Counter

__all__ = ["Edge", "Nfa", "Step", "join_edges"]

MAX_PLACES = 20_000
T = TypeVar("T")

Tests = Mapping[Counter, bool]
"""Which counters must be above zero (True) or zero (False)."""
Changes = Mapping[Counter, int]


class Edge(NamedTuple):
    """A part of a step, while the machine is built."""

    kind: Literal["before", "letter", "after"]
    target: int
    letter: str = ""
    tests: tuple[tuple[Counter, bool], ...] = ()
    changes: tuple[tuple[Counter, int], ...] = ()


class Step(NamedTuple):
    """A step that reads one letter: its tests, its changes and its target."""

    letter: str
    tests: frozenset[tuple[Counter, bool]]
    changes: frozenset[tuple[Counter, int]]
    target: int


@dataclass(slots=True)
class Nfa:
    """The nondeterministic machine.

    Attributes:
        start: The place where every word begins.
        steps: The steps from each place; only places from which a word can end are kept.
        accepting: The tests under which a word may end at a place, each a conjunction.
        live: The counters whose value matters at a place.
    """

    start: int
    steps: dict[int, list[Step]]
    accepting: dict[int, list[frozenset[tuple[Counter, bool]]]]
    live: dict[int, frozenset[Counter]] = field(default_factory=dict)


Edges = Mapping[int, list[Edge]]


def is_consistent(tests: frozenset[tuple[Counter, bool]]) -> bool:
    """Whether no counter has to be zero and above zero at once."""
    return len({counter for counter, _ in tests}) == len(tests)


def join_edges(edges: Edges, start: int, end: int, budget: Budget) -> Nfa:
    """Join edges to steps that read one letter each, and drop the places that lead nowhere."""
    steps: dict[int, list[Step]] = {}
    accepting: dict[int, list[frozenset[tuple[Counter, bool]]]] = {}
    queue = [start]
    letters: dict[int, list[tuple[int, dict[Counter, int]]]] = {}
    while queue:
        place = queue.pop()
        if place in steps:
            continue
        found = dict.fromkeys(_steps_from(edges, place, letters, budget))
        steps[place] = list(found)
        accepting[place] = [
            frozenset(tests.items())
            for inner, tests, _ in _before(edges, place, budget)
            if inner == end
        ]
        queue += [step.target for step in found]
    nfa = Nfa(start, steps, accepting)
    _trim(nfa)
    _find_live(nfa)
    return nfa


def _before(
    edges: Edges, place: int, budget: Budget
) -> Iterator[tuple[int, dict[Counter, bool], dict[Counter, int]]]:
    """The places that are reached before a letter, with the tests and changes on the way."""
    stack: list[tuple[int, dict[Counter, bool], dict[Counter, int]]] = [(place, {}, {})]
    seen = set()
    while stack:
        here, tests, changes = stack.pop()
        mark = (here, frozenset(tests.items()), frozenset(changes.items()))
        if mark in seen:
            continue
        seen.add(mark)
        budget.spend(1 + len(edges[here]) + 4 * (len(tests) + len(changes)))
        yield here, tests, changes
        for edge in edges[here]:
            if edge.kind == "before" and all(tests.get(c, want) == want for c, want in edge.tests):
                more = {**tests, **dict(edge.tests)}
                stack.append((edge.target, more, add_changes(changes, edge.changes)))


def _steps_from(
    edges: Edges,
    place: int,
    letters: dict[int, list[tuple[int, dict[Counter, int]]]],
    budget: Budget,
) -> Iterator[Step]:
    """The steps from a place; ``letters`` remembers where each letter leads."""
    for here, tests, changes in _before(edges, place, budget):
        for edge in edges[here]:
            if edge.kind == "letter":
                if edge.target not in letters:
                    letters[edge.target] = list(_after(edges, edge.target, budget))
                budget.spend(len(letters[edge.target]) * (1 + 2 * (len(tests) + len(changes))))
                for target, later in letters[edge.target]:
                    total = add_changes(changes, later.items())
                    kept = frozenset((c, m) for c, m in total.items() if m)
                    # What is taken with the last letter was there with the first: say so.
                    needed = frozenset((c, True) for c, m in total.items() if m < 0)
                    wanted = frozenset(tests.items()) | needed
                    if is_consistent(wanted):
                        yield Step(edge.letter, wanted, kept, target)


def _after(edges: Edges, place: int, budget: Budget) -> Iterator[tuple[int, dict[Counter, int]]]:
    """The places where a letter leads, with the changes that are made after it.

    A repetition that is complete is counted at once: the way on is behind the count.
    """
    stack: list[tuple[int, dict[Counter, int]]] = [(place, {})]
    while stack:
        here, changes = stack.pop()
        goes_on = False
        for inner in _plainly_reached(edges, here):
            there = edges[inner]
            budget.spend(1 + len(there))
            goes_on = goes_on or not there
            for edge in there:
                if edge.kind == "after":
                    stack.append((edge.target, add_changes(changes, edge.changes)))
                else:
                    goes_on = goes_on or edge.kind == "letter" or bool(edge.tests or edge.changes)
        if goes_on:
            yield here, changes


def _plainly_reached(edges: Edges, place: int) -> set[int]:
    """The places that are reached without a letter, a test or a change."""
    found = {place}
    stack = [place]
    while stack:
        for edge in edges[stack.pop()]:
            plain = edge.kind == "before" and not edge.tests and not edge.changes
            if plain and edge.target not in found:
                found.add(edge.target)
                stack.append(edge.target)
    return found


def add_changes(changes: Changes, more: Iterable[tuple[Counter, int]]) -> dict[Counter, int]:
    """Add up changes of counters."""
    result = dict(changes)
    for counter, step in more:
        result[counter] = result.get(counter, 0) + step
    return result


def _trim(nfa: Nfa) -> None:
    """Keep only the places from which, counters aside, a word can end."""
    before: dict[int, set[int]] = {}
    for place, steps in nfa.steps.items():
        for step in steps:
            before.setdefault(step.target, set()).add(place)
    useful = {place for place, ways in nfa.accepting.items() if ways}
    queue = list(useful)
    while queue:
        for place in before.get(queue.pop(), ()):
            if place not in useful:
                useful.add(place)
                queue.append(place)
    for place in list(nfa.steps):
        kept = [s for s in nfa.steps[place] if s.target in useful]
        nfa.steps[place] = kept
        if place not in useful and place != nfa.start:
            del nfa.steps[place], nfa.accepting[place]


def spread_back(live: dict[int, set[Counter]], before: Mapping[int, Iterable[int]]) -> None:
    """Make counters that are live in a place live in all places before it, too."""
    queue = list(live)
    while queue:
        here = queue.pop()
        for source in before[here]:
            if not live[here] <= live[source]:
                live[source] |= live[here]
                queue.append(source)


def _find_live(nfa: Nfa) -> None:
    live = {
        place: {c for ways in (*nfa.accepting[place], *(s.tests for s in steps)) for c, _ in ways}
        for place, steps in nfa.steps.items()
    }
    before: dict[int, list[int]] = {place: [] for place in nfa.steps}
    for place, steps in nfa.steps.items():
        for target in {step.target for step in steps}:
            before[target].append(place)
    spread_back(live, before)
    nfa.live = {place: frozenset(found) for place, found in live.items()}


def expand_bounded_counters(nfa: Nfa, budget: Budget) -> Nfa:
    """Replace the counters that have finitely many values by places, one for each value."""
    used = {c for steps in nfa.steps.values() for step in steps for c, _ in step.changes}
    if not any(counter.bounded for counter in used):
        return nfa
    start = (nfa.start, frozenset[tuple[Counter, int]]())
    numbers = {start: 0}
    queue = [start]
    expanded = Nfa(0, {}, {})
    while queue:
        here = queue.pop()
        place, values = here[0], dict(here[1])
        steps = []
        for step in nfa.steps[place]:
            budget.spend(1 + len(values) + len(step.tests) + len(step.changes))
            if not _allowed(step.tests, values):
                continue
            after = add_changes(values, ((c, m) for c, m in step.changes if c.bounded))
            kept = frozenset((c, m) for c, m in after.items() if m and c in nfa.live[step.target])
            target = (step.target, kept)
            if target not in numbers:
                check_places(len(numbers))
                numbers[target] = len(numbers)
                queue.append(target)
            steps.append(
                Step(step.letter, _unbounded(step.tests), _unbounded(step.changes), numbers[target])
            )
        expanded.steps[numbers[here]] = list(dict.fromkeys(steps))
        expanded.accepting[numbers[here]] = [
            _unbounded(tests) for tests in nfa.accepting[place] if _allowed(tests, values)
        ]
    _trim(expanded)
    _find_live(expanded)
    return expanded


def _allowed(tests: frozenset[tuple[Counter, bool]], values: Mapping[Counter, int]) -> bool:
    return all((values.get(c, 0) > 0) == up for c, up in tests if c.bounded)


def _unbounded(found: frozenset[tuple[Counter, T]]) -> frozenset[tuple[Counter, T]]:
    return frozenset((c, x) for c, x in found if not c.bounded)


def check_places(count: int) -> None:
    """Raise an error if there are too many places."""
    if count >= MAX_PLACES:
        raise LanguageError(
            f"the language needs more than {MAX_PLACES:,} places",
            fix="use smaller numbers, or fewer alternatives",
        )
