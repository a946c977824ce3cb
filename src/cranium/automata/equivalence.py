"""Equivalence of machines: the same rewards on every word."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import product

from cranium.arguments import check_count
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import reward_key
from cranium.automata.satisfiability import find_label
from cranium.automata.successors import Successor, Successors
from cranium.automata.transition import Configuration

__all__ = ["Equivalence", "equivalent"]

Pair = tuple[Configuration, Configuration]


@dataclass(frozen=True, slots=True)
class Equivalence:
    """The answer of :func:`equivalent`; it is true or false like the answer itself.

    Attributes:
        equal: Whether no difference was found.
        exact: Whether that is proved. It is for every difference, and whenever the pairs of
            configurations are finitely many and within the bound, as they are without counters.
        word: A shortest word on which the machines differ: names for each label.
        reason: How they differ on it.
        explored: How many pairs of configurations were compared.

    Example:
        >>> import cranium
        >>> one, other = cranium.library.load("anbcn"), cranium.library.load("anbcdn")
        >>> answer = cranium.equivalent(one, other)
        >>> answer.equal, answer.exact, answer.word
        (False, True, (('A', 'D'),))
    """

    equal: bool
    exact: bool
    word: tuple[tuple[str, ...], ...] | None
    reason: str
    explored: int

    def __bool__(self) -> bool:
        return self.equal


def equivalent(
    one: CountingRewardAutomaton, other: CountingRewardAutomaton, *, bound: int = 10_000
) -> Equivalence:
    """Whether two machines pay the same rewards, end, and succeed alike, on every word.

    Breadth-first search over pairs of configurations. Without counters all pairs are visited, and
    the answer is exact; so it is with counters if there are at most ``bound`` pairs. Otherwise no
    difference was found on the words that stay among the pairs explored. A proposition that only
    one machine knows is ignored by the other; reward functions are the same if they are the same
    object, and a difference between other functions is not called exact.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("anbcn")
        >>> bool(equivalent(machine, cranium.loads(cranium.dumps(machine)), bound=100))
        True
        >>> difference = equivalent(machine, cranium.unroll(machine, counter_limit=1))
        >>> difference.word, difference.reason
        ((('A',), ('A',)), "the first goes on in 'counting', the second ends in 'overflow'")
    """
    check_count("the bound", bound)
    finite = not one.counters and not other.counters
    left, right = Successors(one), Successors(other)
    start = (one.start, other.start)
    parents: dict[Pair, tuple[Pair, frozenset[str]] | None] = {start: None}
    queue = deque([start])
    explored = 0
    while queue:
        if explored >= bound and not finite:
            return Equivalence(True, False, None, f"no difference in {bound:,} pairs", explored)
        here = queue.popleft()
        explored += 1
        for a, b in product(left.of(here[0]), right.of(here[1])):
            label = find_label(a.guard, b.guard)
            if label is None:
                continue
            reason = _difference(one, a, other, b)
            if reason:
                word = (*_word(parents, here), tuple(sorted(label)))
                return Equivalence(False, not _by_functions(a, b), word, reason, explored)
            if a.step is None or b.step is None or one.is_terminal(a.step.configuration):
                continue
            after = (a.step.configuration, b.step.configuration)
            if after not in parents:
                parents[after] = here, label
                queue.append(after)
    return Equivalence(True, True, None, "no difference", explored)


def _difference(
    one: CountingRewardAutomaton, a: Successor, other: CountingRewardAutomaton, b: Successor
) -> str:
    """Describe how the successors on a label differ; the text is empty if they do not."""
    if a.step is None or b.step is None:
        if type(a.error) is type(b.error):
            return ""
        return f"the first {_says(one, a)}, the second {_says(other, b)}"
    if reward_key(a.step.reward) != reward_key(b.step.reward):
        return f"the first pays {a.step.reward}, the second {b.step.reward}"
    ends = (one.is_terminal(a.step.configuration), other.is_terminal(b.step.configuration))
    wins = (one.is_accepting(a.step.configuration), other.is_accepting(b.step.configuration))
    if ends[0] == ends[1] and wins[0] == wins[1]:
        return ""
    return f"the first {_says(one, a)}, the second {_says(other, b)}"


def _by_functions(a: Successor, b: Successor) -> bool:
    """Whether the difference is that two reward functions are not the same object."""
    if a.step is None or b.step is None:
        return False
    one, other = reward_key(a.step.reward), reward_key(b.step.reward)
    return one[1] != other[1] and bool(one[1] or other[1])


def _says(machine: CountingRewardAutomaton, successor: Successor) -> str:
    if successor.step is None:
        return f"stops with {type(successor.error).__name__}"
    state = successor.step.configuration.state
    if not machine.is_terminal(successor.step.configuration):
        return f"goes on in {state!r}"
    success = " with success" if machine.is_accepting(successor.step.configuration) else ""
    return f"ends{success} in {state!r}"


def _word(
    parents: dict[Pair, tuple[Pair, frozenset[str]] | None], pair: Pair
) -> tuple[tuple[str, ...], ...]:
    word: list[tuple[str, ...]] = []
    while (step := parents[pair]) is not None:
        pair, label = step
        word.insert(0, tuple(sorted(label)))
    return tuple(word)
