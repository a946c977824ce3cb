"""When two machines reward alike, and the smallest reward machine among those that do."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.formula import And, Constant, Formula, Not, Or, Proposition
from cranium.automata.outcomes import Outcome, Outcomes
from cranium.automata.satisfiability import are_equivalent, find_label
from cranium.automata.transition import Configuration
from cranium.errors import CounterRuleError, shorten

__all__ = ["Equivalence", "FormulaClasses", "equivalent"]

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

    Breadth-first search over pairs of configurations: exact if there are at most ``bound`` pairs
    (without counters they are pairs of states), otherwise the answer holds for all words that
    stay among the pairs explored. A proposition that only one machine knows is ignored by the
    other.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("anbcn")
        >>> bool(equivalent(machine, machine.__class__(**machine._definition()), bound=100))
        True
        >>> difference = equivalent(machine, cranium.unroll(machine, counter_limit=1))
        >>> difference.word, difference.reason
        ((('A',), ('A',)), "the first goes on in 'counting', the second ends in 'overflow'")
    """
    if isinstance(bound, bool) or not isinstance(bound, int) or bound < 1:
        raise CounterRuleError(f"the bound is a number of pairs, not {shorten(bound)}")
    left, right = Outcomes(one), Outcomes(other)
    start = (one.start, other.start)
    parents: dict[Pair, tuple[Pair, frozenset[str]] | None] = {start: None}
    queue = deque([start])
    explored = 0
    while queue:
        if explored >= bound:
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
                return Equivalence(False, True, word, reason, explored)
            if a.step is None or b.step is None or one.is_terminal(a.step.configuration):
                continue
            after = (a.step.configuration, b.step.configuration)
            if after not in parents:
                parents[after] = here, label
                queue.append(after)
    return Equivalence(True, True, None, "no difference", explored)


def _difference(
    one: CountingRewardAutomaton, a: Outcome, other: CountingRewardAutomaton, b: Outcome
) -> str:
    """How two outcomes of the same label differ, or nothing."""
    if a.step is None or b.step is None:
        if type(a.error) is type(b.error):
            return ""
        return f"the first {_says(one, a)}, the second {_says(other, b)}"
    if a.step.reward != b.step.reward:
        return f"the first pays {a.step.reward}, the second {b.step.reward}"
    ends = (one.is_terminal(a.step.configuration), other.is_terminal(b.step.configuration))
    wins = (one.is_accepting(a.step.configuration), other.is_accepting(b.step.configuration))
    if ends[0] == ends[1] and wins[0] == wins[1]:
        return ""
    return f"the first {_says(one, a)}, the second {_says(other, b)}"


def _says(machine: CountingRewardAutomaton, outcome: Outcome) -> str:
    if outcome.step is None:
        return f"stops with {type(outcome.error).__name__}"
    state = outcome.step.configuration.state
    if not machine.is_terminal(outcome.step.configuration):
        return f"goes on in {state!r}"
    success = " with success" if machine.is_accepting(outcome.step.configuration) else ""
    return f"ends{success} in {state!r}"


def _word(
    parents: dict[Pair, tuple[Pair, frozenset[str]] | None], pair: Pair
) -> tuple[tuple[str, ...], ...]:
    word: list[tuple[str, ...]] = []
    while (step := parents[pair]) is not None:
        pair, label = step
        word.insert(0, tuple(sorted(label)))
    return tuple(word)


class FormulaClasses:
    """Numbers for formulas, the same for equivalent ones.

    Each proposition gets a fixed column of random bits, so that a formula evaluated on columns is a
    fingerprint: different fingerprints prove a difference, and equal ones are settled by SAT.

    Example:
        >>> from cranium.automata.parser import parse_formula
        >>> classes = FormulaClasses()
        >>> classes.of(parse_formula("!(A & B)")) == classes.of(parse_formula("!A | !B"))
        True
    """

    BITS = 256

    def __init__(self) -> None:
        self._columns: dict[str, int] = {}
        self._buckets: dict[int, list[tuple[Formula, int]]] = {}
        self._known: dict[Formula, int] = {}

    def of(self, formula: Formula) -> int:
        """The number of the formula's class."""
        if formula not in self._known:
            bucket = self._buckets.setdefault(self._fingerprint(formula), [])
            same = (number for known, number in bucket if are_equivalent(known, formula))
            number = next(same, len(self._known))
            bucket.append((formula, number))
            self._known[formula] = number
        return self._known[formula]

    def _fingerprint(self, formula: Formula) -> int:
        everything = (1 << self.BITS) - 1
        match formula:
            case Proposition(name=name):
                if name not in self._columns:
                    self._columns[name] = random.Random(name).getrandbits(self.BITS)  # noqa: S311
                return self._columns[name]
            case Constant():
                return everything if formula.value else 0
            case Not():
                return everything ^ self._fingerprint(formula.operands[0])
        columns = [self._fingerprint(operand) for operand in formula.operands]
        result = columns[0]
        for column in columns[1:]:
            result = result & column if isinstance(formula, And) else result | column
        return result


def any_of(formulas: Iterable[Formula]) -> Formula:
    """The disjunction of one or more formulas."""
    unique = list(dict.fromkeys(formulas))
    return unique[0] if len(unique) == 1 else Or(*unique)
