"""A plan as a nondeterministic machine with counters: places, and the steps between them.

While it is built, an edge reads a letter, or lies *before* a letter (and may test counters), or
lies *after* one (and changes counters). Put together, a step reads exactly one letter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, product
from typing import Literal, NamedTuple, TypeVar

from cranium.errors import LanguageError
from cranium.languages.syntax import (
    Both,
    Choice,
    Counted,
    Counter,
    Expression,
    Letter,
    Repeat,
    Sequence,
    Shuffle,
    Skips,
)
from cranium.languages.work import Work

__all__ = ["Network", "Step", "build_network"]

MAX_PLACES = 20_000
T = TypeVar("T")

Tests = Mapping[Counter, bool]
"""Which counters must be above zero (True) or zero (False)."""
Changes = Mapping[Counter, int]
When = Literal["first", "last"]
"""Whether a repetition is counted with its first letter or with its last."""


class _Edge(NamedTuple):
    kind: Literal["before", "letter", "after"]
    target: int
    letter: str = ""
    tests: tuple[tuple[Counter, bool], ...] = ()
    changes: tuple[tuple[Counter, int], ...] = ()


class Step(NamedTuple):
    """Reading one letter: under which tests, with which changes, to where."""

    letter: str
    tests: frozenset[tuple[Counter, bool]]
    changes: frozenset[tuple[Counter, int]]
    target: int


@dataclass(slots=True)
class Network:
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


def build_network(
    plan: Expression,
    when: Mapping[int, When],
    rename: Mapping[Counter, Counter],
    work: Work | None = None,
) -> Network:
    """Build the machine of a plan.

    Args:
        plan: The planned expression.
        when: For each counted part, by its number in reading order, when it is counted; ``"last"``
            unless it says otherwise.
        rename: Counters that share another counter.
        work: What may still be spent.

    Example:
        >>> from cranium.languages import parse_language
        >>> from cranium.languages.plan import make_plan
        >>> network = build_network(make_plan(parse_language("A B")).expression, {}, {})
        >>> [step.letter for step in network.steps[network.start]]
        ['A']
    """
    sketch = _Sketch(when, rename, work or Work())
    start = sketch.place()
    end = sketch.build(plan, start)
    return _folded(_joined(sketch, start, end))


class _Sketch:
    """Places and edges while they are being drawn."""

    def __init__(
        self, when: Mapping[int, When], rename: Mapping[Counter, Counter], work: Work
    ) -> None:
        self.when = when
        self.work = work
        self.rename = rename
        self.edges: dict[int, list[_Edge]] = {}
        self.blocks = count()

    def place(self) -> int:
        _check_places(len(self.edges))
        self.work.spend()
        number = len(self.edges)
        self.edges[number] = []
        return number

    def pass_to(self, source: int, target: int, tests: Tests | None = None) -> None:
        self.edges[source].append(_Edge("before", target, tests=tuple((tests or {}).items())))

    def build(self, node: Expression, start: int) -> int:
        """Draw an expression from a place; the place where it ends."""
        match node:
            case Letter(name=name):
                end = self.place()
                self.edges[start].append(_Edge("letter", end, letter=name))
                return end
            case Sequence(parts=parts):
                for part in parts:
                    start = self.build(part, start)
                return start
            case Choice(parts=parts):
                end = self.place()
                for part in parts:
                    inner = self.place()
                    self.pass_to(start, inner)
                    self.pass_to(self.build(part, inner), end)
                return end
            case Repeat():
                return self._repeat(node, start)
            case Counted():
                return self._counted(node, start)
            case Shuffle() | Both():
                return self._side_by_side(node, start)
        raise AssertionError(node)

    def _repeat(self, node: Repeat, start: int) -> int:
        for _ in range(node.low):
            start = self.build(node.body, start)
        end = self.place()
        if node.high is None:
            loop, inner = self.place(), self.place()
            self.pass_to(start, loop)
            self.pass_to(loop, inner)
            self.pass_to(self.build(node.body, inner), loop)
            self.pass_to(loop, end)
            return end
        self.pass_to(start, end)
        for _ in range(node.high - node.low):
            inner = self.place()
            self.pass_to(start, inner)
            start = self.build(node.body, inner)
            self.pass_to(start, end)
        return end

    def _counted(self, node: Counted, start: int) -> int:
        when = self.when.get(next(self.blocks), "last")
        end = self.place()
        zero: Tests = {self._name(c): False for c in node.empty}
        full = dict(node.until)
        shown = next((self._name(c) for c, skip in node.add if not skip and c not in full), None)
        # A counter shows whether there was a repetition. What no counter shows is drawn apart: the
        # first repetitions if they are counted otherwise, or must be there, or may be the last.
        edges = [skip for _, skip in (*node.add, *node.take, *node.drain)]
        edges += [until for _, until in node.until]
        hidden = 0 if node.low == 1 and shown else node.low
        apart = max([hidden, *edges]) if node.high is None else node.high
        for number in range(apart):
            if number >= node.low:
                self.pass_to(start, end, zero)
            once = self.place()
            self._repetition(node, number, start, once, when)
            start = once
        if node.high is not None:
            self.pass_to(start, end, zero)
            return end
        loop = self.place()
        self.pass_to(start, loop)
        self._repetition(node, apart, loop, loop, when)
        self.pass_to(loop, end, {**zero, shown: True} if shown and apart < node.low else zero)
        return end

    def _repetition(self, node: Counted, number: int, source: int, target: int, when: When) -> None:
        """Draw a repetition that has so many before it, once for each way to drain."""

        def now(counters: Skips) -> list[Counter]:
            return [self._name(c) for c, skip in counters if skip <= number]

        full = {self._name(c) for c, until in node.until if until <= number}
        steps = {c: 1 for c in now(node.add) if c not in full}
        steps |= dict.fromkeys(now(node.take), -1)
        draining = now(node.drain)
        for above in product([True, False], repeat=len(draining)):
            tests = dict(zip(draining, above, strict=True))
            changes = steps | {c: -1 for c, up in tests.items() if up}
            inner = self.place()
            needed = tuple(
                {**tests, **{c: True for c, step in changes.items() if step < 0}}.items()
            )
            early = tuple(changes.items()) if when == "first" else ()
            self.edges[source].append(_Edge("before", inner, "", needed, early))
            end = self.build(node.unit, inner)
            if when == "first":
                self.pass_to(end, target)
            else:
                self.edges[end].append(_Edge("after", target, "", (), tuple(changes.items())))

    def _name(self, counter: Counter) -> Counter:
        return self.rename.get(counter, counter)

    # Two things at once

    def _side_by_side(self, node: Shuffle | Both, start: int) -> int:
        """Draw parts that go on at the same time, as the product of their machines."""
        parts = []
        for part in node.parts:
            sketch = _Sketch(self.when, self.rename, self.work)
            sketch.blocks = self.blocks
            begin = sketch.place()
            parts.append(_joined(sketch, begin, sketch.build(part, begin)))
        move = _together if isinstance(node, Both) else _apart
        first = tuple(part.start for part in parts)
        known = {first: start}
        queue = [first]
        end = self.place()
        while queue:
            here = queue.pop()
            for step, after in move(parts, here):
                if after not in known:
                    known[after] = self.place()
                    queue.append(after)
                self._draw_step(known[here], step, known[after])
            for tests in _ends_together(parts, here):
                self.edges[known[here]].append(_Edge("before", end, "", tuple(tests)))
        return end

    def _draw_step(self, source: int, step: Step, target: int) -> None:
        inner = self.place()
        self.edges[source].append(
            _Edge("before", inner, "", tuple(step.tests), tuple(step.changes))
        )
        self.edges[inner].append(_Edge("letter", target, step.letter))


Places = tuple[int, ...]


def _apart(parts: list[Network], here: Places) -> Iterator[tuple[Step, Places]]:
    """One part reads a letter, the others wait."""
    for index, (part, place) in enumerate(zip(parts, here, strict=True)):
        for step in part.steps[place]:
            yield step, (*here[:index], step.target, *here[index + 1 :])


def _together(parts: list[Network], here: Places) -> Iterator[tuple[Step, Places]]:
    """All parts read the same letter."""
    choices = [part.steps[place] for part, place in zip(parts, here, strict=True)]
    for steps in product(*choices):
        if len({step.letter for step in steps}) == 1:
            tests = frozenset().union(*(step.tests for step in steps))
            changes: dict[Counter, int] = {}
            for step in steps:
                changes = _sum(changes, step.changes)
            if _consistent(tests):
                joint = Step(steps[0].letter, tests, frozenset(changes.items()), 0)
                yield joint, tuple(step.target for step in steps)


def _ends_together(parts: list[Network], here: Places) -> Iterator[frozenset[tuple[Counter, bool]]]:
    ways = [part.accepting[place] for part, place in zip(parts, here, strict=True)]
    for tests in product(*ways):
        joint: frozenset[tuple[Counter, bool]] = frozenset().union(*tests)
        if _consistent(joint):
            yield joint


def _consistent(tests: frozenset[tuple[Counter, bool]]) -> bool:
    return len({counter for counter, _ in tests}) == len(tests)


# From edges to steps


def _joined(sketch: _Sketch, start: int, end: int) -> Network:
    steps: dict[int, list[Step]] = {}
    accepting: dict[int, list[frozenset[tuple[Counter, bool]]]] = {}
    queue = [start]
    while queue:
        place = queue.pop()
        if place in steps:
            continue
        found = dict.fromkeys(_steps_from(sketch, place))
        steps[place] = list(found)
        accepting[place] = [
            frozenset(tests.items()) for inner, tests, _ in _before(sketch, place) if inner == end
        ]
        queue += [step.target for step in found]
    network = Network(start, steps, accepting)
    _trim(network)
    _find_live(network)
    return network


def _before(
    sketch: _Sketch, place: int
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
        sketch.work.spend()
        yield here, tests, changes
        for edge in sketch.edges[here]:
            if edge.kind == "before" and all(tests.get(c, want) == want for c, want in edge.tests):
                more = {**tests, **dict(edge.tests)}
                stack.append((edge.target, more, _sum(changes, edge.changes)))


def _steps_from(sketch: _Sketch, place: int) -> Iterator[Step]:
    for here, tests, changes in _before(sketch, place):
        for edge in sketch.edges[here]:
            if edge.kind == "letter":
                for target, later in _after(sketch, edge.target):
                    total = _sum(changes, later.items())
                    kept = frozenset((c, m) for c, m in total.items() if m)
                    # What is taken with the last letter was there with the first: say so.
                    needed = frozenset((c, True) for c, m in total.items() if m < 0)
                    wanted = frozenset(tests.items()) | needed
                    if _consistent(wanted):
                        yield Step(edge.letter, wanted, kept, target)


def _after(sketch: _Sketch, place: int) -> Iterator[tuple[int, dict[Counter, int]]]:
    """The places where a letter leads, with the changes that are made after it.

    A repetition that is complete is counted at once: the way on is behind the count.
    """
    stack: list[tuple[int, dict[Counter, int]]] = [(place, {})]
    while stack:
        here, changes = stack.pop()
        goes_on = False
        for inner in _plainly_reached(sketch, here):
            edges = sketch.edges[inner]
            goes_on = goes_on or not edges
            for edge in edges:
                if edge.kind == "after":
                    stack.append((edge.target, _sum(changes, edge.changes)))
                else:
                    goes_on = goes_on or edge.kind == "letter" or bool(edge.tests or edge.changes)
        if goes_on:
            yield here, changes


def _plainly_reached(sketch: _Sketch, place: int) -> set[int]:
    """The places that are reached without a letter, a test or a change."""
    found = {place}
    stack = [place]
    while stack:
        for edge in sketch.edges[stack.pop()]:
            plain = edge.kind == "before" and not edge.tests and not edge.changes
            if plain and edge.target not in found:
                found.add(edge.target)
                stack.append(edge.target)
    return found


def _sum(changes: Mapping[Counter, int], more: object) -> dict[Counter, int]:
    result = dict(changes)
    for counter, step in more:  # type: ignore[attr-defined]
        result[counter] = result.get(counter, 0) + step
    return result


def _trim(network: Network) -> None:
    """Keep only the places from which, counters aside, a word can end."""
    before: dict[int, set[int]] = {}
    for place, steps in network.steps.items():
        for step in steps:
            before.setdefault(step.target, set()).add(place)
    useful = {place for place, ways in network.accepting.items() if ways}
    queue = list(useful)
    while queue:
        for place in before.get(queue.pop(), ()):
            if place not in useful:
                useful.add(place)
                queue.append(place)
    for place in list(network.steps):
        kept = [s for s in network.steps[place] if s.target in useful]
        network.steps[place] = kept
        if place not in useful and place != network.start:
            del network.steps[place], network.accepting[place]


def _find_live(network: Network) -> None:
    live = {
        place: {
            c for ways in (*network.accepting[place], *(s.tests for s in steps)) for c, _ in ways
        }
        for place, steps in network.steps.items()
    }
    before: dict[int, list[int]] = {place: [] for place in network.steps}
    for place, steps in network.steps.items():
        for target in {step.target for step in steps}:
            before[target].append(place)
    queue = list(network.steps)
    while queue:
        place = queue.pop()
        for source in before[place]:
            if not live[place] <= live[source]:
                live[source] |= live[place]
                queue.append(source)
    network.live = {place: frozenset(found) for place, found in live.items()}


def _folded(network: Network) -> Network:
    """Let places stand for the values of the counters that have finitely many."""
    used = {c for steps in network.steps.values() for step in steps for c, _ in step.changes}
    if not any(counter.bounded for counter in used):
        return network
    start = (network.start, frozenset[tuple[Counter, int]]())
    numbers = {start: 0}
    queue = [start]
    folded = Network(0, {}, {})
    while queue:
        here = queue.pop()
        place, values = here[0], dict(here[1])
        steps = []
        for step in network.steps[place]:
            if not _allowed(step.tests, values):
                continue
            after = _sum(values, ((c, m) for c, m in step.changes if c.bounded))
            kept = frozenset(
                (c, m) for c, m in after.items() if m and c in network.live[step.target]
            )
            target = (step.target, kept)
            if target not in numbers:
                _check_places(len(numbers))
                numbers[target] = len(numbers)
                queue.append(target)
            steps.append(
                Step(step.letter, _unbounded(step.tests), _unbounded(step.changes), numbers[target])
            )
        folded.steps[numbers[here]] = list(dict.fromkeys(steps))
        folded.accepting[numbers[here]] = [
            _unbounded(tests) for tests in network.accepting[place] if _allowed(tests, values)
        ]
    _trim(folded)
    _find_live(folded)
    return folded


def _allowed(tests: frozenset[tuple[Counter, bool]], values: Mapping[Counter, int]) -> bool:
    return all((values.get(c, 0) > 0) == up for c, up in tests if c.bounded)


def _unbounded(found: frozenset[tuple[Counter, T]]) -> frozenset[tuple[Counter, T]]:
    return frozenset((c, x) for c, x in found if not c.bounded)


def _check_places(count: int) -> None:
    if count >= MAX_PLACES:
        raise LanguageError(
            f"the language needs more than {MAX_PLACES:,} places",
            fix="use smaller numbers, or fewer alternatives",
        )
