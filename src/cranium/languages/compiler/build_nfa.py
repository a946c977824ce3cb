"""Construction of the nondeterministic machine with counters from a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, product
from math import prod
from typing import Literal

from cranium.languages.compiler.budget import Budget
from cranium.languages.compiler.ir import (
    Both,
    Choice,
    Counted,
    Counter,
    Letter,
    Node,
    Repeat,
    Sequence,
    Shuffle,
    Skips,
)
from cranium.languages.compiler.nfa import (
    Edge,
    Nfa,
    Step,
    Tests,
    add_changes,
    check_state_count,
    expand_bounded_counters,
    is_consistent,
    join_edges,
)

__all__ = ["When", "build_nfa"]

When = Literal["first", "last"]
"""Whether a repetition is counted with its first letter or with its last."""


def build_nfa(
    plan: Node,
    when: Mapping[int, When],
    rename: Mapping[Counter, Counter],
    budget: Budget | None = None,
) -> Nfa:
    """Build the nondeterministic machine of a plan.

    Args:
        plan: The planned expression.
        when: For each counted repetition, by its number in reading order, the letter at which it is
            counted; the default is ``"last"``.
        rename: The counter that replaces another one, for counters that are shared.
        budget: The steps that compilation may still take.

    Example:
        >>> from cranium.languages import parse_language
        >>> from cranium.languages.compiler.planning import make_plan
        >>> nfa = build_nfa(make_plan(parse_language("A B")).expression, {}, {})
        >>> [step.letter for step in nfa.steps[nfa.start]]
        ['A']
    """
    builder = _Builder(when, rename, budget or Budget())
    start = builder.add_state()
    end = builder.build(plan, start)
    nfa = join_edges(builder.edges, start, end, builder.budget)
    return expand_bounded_counters(nfa, builder.budget)


class _Builder:
    """The states and edges that have been added so far."""

    def __init__(
        self, when: Mapping[int, When], rename: Mapping[Counter, Counter], budget: Budget
    ) -> None:
        self.when = when
        self.budget = budget
        self.rename = rename
        self.edges: dict[int, list[Edge]] = {}
        self.blocks = count()

    def add_state(self) -> int:
        check_state_count(len(self.edges))
        self.budget.spend()
        number = len(self.edges)
        self.edges[number] = []
        return number

    def add_edge(self, source: int, target: int, tests: Tests | None = None) -> None:
        self.edges[source].append(Edge("before", target, tests=tuple((tests or {}).items())))

    def build(self, node: Node, start: int) -> int:
        """Add an expression that starts in a state, and return the state where it ends."""
        match node:
            case Letter(name=name):
                end = self.add_state()
                self.edges[start].append(Edge("letter", end, letter=name))
                return end
            case Sequence(parts=parts):
                for part in parts:
                    start = self.build(part, start)
                return start
            case Choice(parts=parts):
                end = self.add_state()
                for part in parts:
                    inner = self.add_state()
                    self.add_edge(start, inner)
                    self.add_edge(self.build(part, inner), end)
                return end
            case Repeat():
                return self._repeat(node, start)
            case Counted():
                return self._counted(node, start)
            case Shuffle() | Both():
                return self._product(node, start)
        raise AssertionError(node)

    def _repeat(self, node: Repeat, start: int) -> int:
        for _ in range(node.low):
            start = self.build(node.body, start)
        end = self.add_state()
        if node.high is None:
            loop, inner = self.add_state(), self.add_state()
            self.add_edge(start, loop)
            self.add_edge(loop, inner)
            self.add_edge(self.build(node.body, inner), loop)
            self.add_edge(loop, end)
            return end
        self.add_edge(start, end)
        for _ in range(node.high - node.low):
            inner = self.add_state()
            self.add_edge(start, inner)
            start = self.build(node.body, inner)
            self.add_edge(start, end)
        return end

    def _counted(self, node: Counted, start: int) -> int:
        when = self.when.get(next(self.blocks), "last")
        end = self.add_state()
        zero: Tests = {self._name(c): False for c in node.empty}
        full = dict(node.until)
        shown = next((self._name(c) for c, skip in node.add if not skip and c not in full), None)
        # A counter above zero shows that there was a repetition. The first repetitions are written
        # out where no counter shows them: where they change other counters than later ones, where
        # they are required, and where the repetition may end after them.
        edges = [skip for _, skip in (*node.add, *node.take, *node.drain)]
        edges += [until for _, until in node.until]
        hidden = 0 if node.low == 1 and shown else node.low
        apart = max([hidden, *edges]) if node.high is None else node.high
        for number in range(apart):
            if number >= node.low:
                self.add_edge(start, end, zero)
            once = self.add_state()
            self._repetition(node, number, start, once, when)
            start = once
        if node.high is not None:
            self.add_edge(start, end, zero)
            return end
        loop = self.add_state()
        self.add_edge(start, loop)
        self._repetition(node, apart, loop, loop, when)
        self.add_edge(loop, end, {**zero, shown: True} if shown and apart < node.low else zero)
        return end

    def _repetition(self, node: Counted, number: int, source: int, target: int, when: When) -> None:
        """Add repetition ``number``, once for each set of counters that it drains."""

        def now(counters: Skips) -> list[Counter]:
            return [self._name(c) for c, skip in counters if skip <= number]

        full = {self._name(c) for c, until in node.until if until <= number}
        steps = {c: 1 for c in now(node.add) if c not in full}
        steps |= dict.fromkeys(now(node.take), -1)
        draining = now(node.drain)
        for above in product([True, False], repeat=len(draining)):
            tests = dict(zip(draining, above, strict=True))
            changes = steps | {c: -1 for c, up in tests.items() if up}
            inner = self.add_state()
            needed = tuple(
                {**tests, **{c: True for c, step in changes.items() if step < 0}}.items()
            )
            early = tuple(changes.items()) if when == "first" else ()
            self.edges[source].append(Edge("before", inner, "", needed, early))
            end = self.build(node.unit, inner)
            if when == "first":
                self.add_edge(end, target)
            else:
                self.edges[end].append(Edge("after", target, "", (), tuple(changes.items())))

    def _name(self, counter: Counter) -> Counter:
        return self.rename.get(counter, counter)

    # Interleaving and intersection

    def _product(self, node: Shuffle | Both, start: int) -> int:
        """Add parts that are read at the same time, as the product of their machines."""
        parts = []
        for part in node.parts:
            builder = _Builder(self.when, self.rename, self.budget)
            builder.blocks = self.blocks
            begin = builder.add_state()
            parts.append(join_edges(builder.edges, begin, builder.build(part, begin), self.budget))
        move = _synchronise if isinstance(node, Both) else _interleave
        first = tuple(part.start for part in parts)
        known = {first: start}
        queue = [first]
        end = self.add_state()
        while queue:
            here = queue.pop()
            for step, after in move(parts, here, self.budget):
                if after not in known:
                    known[after] = self.add_state()
                    queue.append(after)
                self._add_step(known[here], step, known[after])
            for tests in _joint_ends(parts, here, self.budget):
                self.edges[known[here]].append(Edge("before", end, "", tuple(tests)))
        return end

    def _add_step(self, source: int, step: Step, target: int) -> None:
        inner = self.add_state()
        self.edges[source].append(Edge("before", inner, "", tuple(step.tests), tuple(step.changes)))
        self.edges[inner].append(Edge("letter", target, step.letter))


States = tuple[int, ...]
"""One state of each part."""


def _interleave(parts: list[Nfa], here: States, budget: Budget) -> Iterator[tuple[Step, States]]:
    """Yield the steps in which one part reads a letter and the others wait."""
    for index, (part, state) in enumerate(zip(parts, here, strict=True)):
        for step in part.steps[state]:
            budget.spend(len(parts))
            yield step, (*here[:index], step.target, *here[index + 1 :])


def _synchronise(parts: list[Nfa], here: States, budget: Budget) -> Iterator[tuple[Step, States]]:
    """Yield the steps in which all parts read the same letter."""
    choices = [part.steps[state] for part, state in zip(parts, here, strict=True)]
    budget.spend(prod(map(len, choices)))
    for steps in product(*choices):
        if len({step.letter for step in steps}) == 1:
            tests = frozenset().union(*(step.tests for step in steps))
            changes: dict[Counter, int] = {}
            for step in steps:
                changes = add_changes(changes, step.changes)
            if is_consistent(tests):
                joint = Step(steps[0].letter, tests, frozenset(changes.items()), 0)
                yield joint, tuple(step.target for step in steps)


def _joint_ends(
    parts: list[Nfa], here: States, budget: Budget
) -> Iterator[frozenset[tuple[Counter, bool]]]:
    ways = [part.accepting[state] for part, state in zip(parts, here, strict=True)]
    budget.spend(prod(map(len, ways)))
    for tests in product(*ways):
        joint: frozenset[tuple[Counter, bool]] = frozenset().union(*tests)
        if is_consistent(joint):
            yield joint
