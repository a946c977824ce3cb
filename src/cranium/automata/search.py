"""Reachability: a bounded search that finds, and an abstraction that excludes.

With counters, whether a state can be reached is undecidable in general. The search proves that
something can happen; the abstraction, which forgets everything about a counter but whether it is
zero, proves that something cannot. What neither proves is "not found within the bound".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.formula import Formula
from cranium.automata.satisfiability import find_label
from cranium.automata.successors import Successors
from cranium.automata.transition import Configuration, Transition, zero_test
from cranium.errors import NoTransitionError, RunError

__all__ = ["Abstraction", "SearchResult", "abstract", "explore"]

MAX_ABSTRACT = 50_000
MAX_FIRED = 200_000
MAX_SHOWN = 30  # labels of a word in a message


@dataclass(slots=True)
class SearchResult:
    """The result of a bounded breadth-first search over configurations.

    Attributes:
        machine: The machine that was searched.
        complete: Whether every reachable configuration was visited: then all answers are exact.
        parents: Each configuration that was reached → where from, and on which labels.
        passed: The states that were reached, those between silent transitions included.
        fired: The numbers of the transitions that fired.
        troubles: The first configuration, labels and error of each way to fail.
        edges: Each configuration that was visited → those that follow it.
    """

    machine: CountingRewardAutomaton
    complete: bool = True
    parents: dict[Configuration, tuple[Configuration, Formula] | None] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    fired: set[int] = field(default_factory=set)
    troubles: dict[tuple[object, ...], tuple[Configuration, Formula, RunError]] = field(
        default_factory=dict
    )
    edges: dict[Configuration, list[Configuration]] = field(default_factory=dict)

    def record(self, fired: Iterable[Transition]) -> None:
        """Record the transitions that fired, and the states that they led to."""
        for transition in fired:
            self.fired.add(transition.number)
            self.passed.add(transition.target)

    def word_to(self, configuration: Configuration, *then: Formula) -> str:
        """Return a word that leads to a configuration, followed by labels that satisfy formulas."""
        backwards = list(reversed(then))
        while (parent := self.parents[configuration]) is not None:
            configuration, guard = parent
            backwards.append(guard)
        guards = backwards[::-1]
        alphabet = self.machine.alphabet
        labels = [alphabet.label(find_label(guard) or ()) for guard in guards[-MAX_SHOWN:]]
        left_out = len(guards) - len(labels)
        shown = " ".join(map(alphabet.format, labels))
        return f"({left_out} labels, then) {shown}" if left_out else shown or "the empty word"

    def reaching(self, targets: Iterable[str]) -> set[Configuration]:
        """Return the explored configurations from which an explored path reaches a target."""
        wanted = set(targets)
        before: dict[Configuration, list[Configuration]] = {}
        for source, following in self.edges.items():
            for target in following:
                before.setdefault(target, []).append(source)
        found = {c for c in self.parents if c.state in wanted}
        queue = deque(found)
        while queue:
            for source in before.get(queue.popleft(), ()):
                if source not in found:
                    found.add(source)
                    queue.append(source)
        return found


def explore(machine: CountingRewardAutomaton, bound: int) -> SearchResult:
    """Visit at most ``bound`` configurations, nearest first; all of them if there are no counters.

    Example:
        >>> import cranium
        >>> found = explore(cranium.library.load("anbcn"), bound=50)
        >>> found.complete, sorted(found.passed)
        (False, ['counting', 'done', 'failed', 'matching'])
    """
    found = SearchResult(machine)
    successors = Successors(machine)
    _, silent = machine.settle(Configuration(machine.initial, (0,) * machine.num_counters))
    found.passed.add(machine.initial)
    found.record(silent)
    found.parents[machine.start] = None
    queue = deque([machine.start])
    work = 0
    while queue:
        if machine.counters and (len(found.edges) >= bound or work > MAX_FIRED):
            found.complete = False
            break
        here = queue.popleft()
        following = found.edges.setdefault(here, [])
        for guard, step, error in successors.of(here):
            if step is None:
                assert error is not None
                found.troubles.setdefault(_kind(error, here), (here, guard, error))
                found.record(error.fired)
                continue
            work += len(step.fired)
            found.record(step.fired)
            after = step.configuration
            if machine.is_terminal(after):  # what the counters are does not matter any more
                after = Configuration(after.state, (0,) * machine.num_counters)
            found.passed.add(after.state)
            following.append(after)
            if after not in found.parents:
                found.parents[after] = here, guard
                queue.append(after)
    return found


def _kind(error: RunError, where: Configuration) -> tuple[object, ...]:
    """What makes two troubles the same one."""
    if isinstance(error, NoTransitionError):
        return NoTransitionError, where.state, zero_test(where.counters)
    return type(error), where.state


@dataclass(slots=True)
class Abstraction:
    """The states of a machine with its counters reduced to zero or not zero.

    Attributes:
        states: The states that may be reached; every other one cannot.
        fired: The numbers of the transitions that may fire; every other one cannot.
        edges: Each abstract configuration → those that may follow it.
    """

    states: set[str]
    fired: set[int]
    edges: dict[tuple[str, str], set[tuple[str, str]]]

    def states_reaching(self, targets: Iterable[str]) -> set[str]:
        """Return the states from which a target may be reached; from all others it cannot."""
        before: dict[str, set[str]] = {}
        for source, following in self.edges.items():
            for target in following:
                before.setdefault(target[0], set()).add(source[0])
        found = {state for state in targets if state in self.states}
        queue = deque(found)
        while queue:
            more = before.get(queue.popleft(), set()) - found
            found |= more
            queue.extend(more)
        return found


def abstract(machine: CountingRewardAutomaton) -> Abstraction | None:
    """Explore the zero/not-zero abstraction; None if even that is too large.

    Example:
        >>> import cranium
        >>> sorted(abstract(cranium.library.load("anbcn")).states)
        ['counting', 'done', 'failed', 'matching']
    """
    successors = Successors(machine)
    start = (machine.initial, "0" * machine.num_counters)
    result = Abstraction(set(), set(), {})
    queue = deque([start])
    seen = {start}
    while queue:
        if len(seen) > MAX_ABSTRACT:
            return None
        state, zeros = here = queue.popleft()
        result.states.add(state)
        following = result.edges.setdefault(here, set())
        if state in machine.terminal:
            continue
        silent, _ = machine.select(state, zeros)
        reading, rest = successors.choices(state, zeros)
        for transition in [silent] if silent else reading:
            result.fired.add(transition.number)
            if 2 ** sum(step < 0 for step in transition.change) > MAX_ABSTRACT:
                return None
            following.update(_after(transition, zeros))
        if rest is not None and not silent and machine.otherwise in machine.terminal:
            following.add((machine.otherwise, zeros))
        queue.extend(following - seen)
        seen |= following
    return result


def _after(transition: Transition, zeros: str) -> list[tuple[str, str]]:
    """The abstract configurations after a transition: a counter that loses may reach zero."""
    choices = [
        "1" if step > 0 else "01" if step < 0 else zero
        for zero, step in zip(zeros, transition.change, strict=True)
    ]
    return [(transition.target, "".join(choice)) for choice in product(*choices)]
