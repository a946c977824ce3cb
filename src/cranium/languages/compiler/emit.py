"""Emission: convert the deterministic machine into an automaton with guards and zero patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from cranium.automata.alphabet import MAX_NAME, check_identifier
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.formula import And, Formula, Not, Or, Proposition
from cranium.automata.reward_machine import RewardMachine
from cranium.automata.satisfiability import is_satisfiable
from cranium.automata.transition import Transition
from cranium.errors import InvalidNameError, LanguageError
from cranium.languages.compiler.budget import Budget
from cranium.languages.compiler.determinise import Machine, Move, Zeros
from cranium.languages.compiler.ir import Counter
from cranium.languages.syntax import Language

__all__ = ["emit"]


def emit(
    language: Language,
    machine: Machine,
    counters: tuple[Counter, ...],
    budget: Budget,
    *,
    reward: float,
    failure_reward: float,
    name: str,
) -> CountingRewardAutomaton:
    """Convert the deterministic machine into an automaton."""
    for state, moves in enumerate(machine.moves):
        budget.spend(5 * len(moves) ** 2 + len(moves) * len(machine.possible[state]))
    return _Emission(language, machine, counters, budget, reward, failure_reward).automaton(name)


class _Emission:
    def __init__(
        self,
        language: Language,
        machine: Machine,
        counters: tuple[Counter, ...],
        budget: Budget,
        reward: float,
        failure_reward: float,
    ) -> None:
        self.budget = budget
        self.letters = language.letters
        bound = dict(language.bindings)
        self.meaning = {x: bound.get(x, Proposition(x)) for x in self.letters}
        for letter, formula in bound.items():
            if not is_satisfiable(self._only(letter)):
                raise LanguageError(
                    f"the letter {letter} can never happen alone: it means {formula}",
                    fix="check the with clause: a label with two letters fails the task",
                )
        self.machine = machine
        self.counters = counters
        self.reward = reward
        self.failure_reward = failure_reward
        ends = machine.accepts[0]
        if _includes_all_zero(ends):
            raise LanguageError(
                "the task is complete before anything happens: the empty word is in the language",
                fix="ask for at least one event",
            )
        if not any(machine.accepts):
            raise LanguageError("no word is in the language", fix="check the intersections (&)")
        self.always = [found == machine.possible[s] for s, found in enumerate(machine.accepts)]
        self.names = self._name_states()

    def automaton(self, name: str) -> CountingRewardAutomaton:
        transitions: list[Transition] = []
        for state in range(len(self.machine.moves)):
            if not self.always[state]:
                transitions += self._transitions(state)
        names = sorted({p for f in self.meaning.values() for p in f.propositions})
        order = [x for x in self.letters if x in names] + [
            p for p in names if p not in self.letters
        ]
        fails = any(t.target == "failed" for t in transitions)
        definition = {
            "name": name,
            "propositions": order,
            "initial": self.names[0],
            "states": [n for s, n in enumerate(self.names) if not self.always[s]],
            "terminal": ["done", "failed"] if fails else ["done"],
            "accepting": ["done"],
            "transitions": transitions,
        }
        if not self.counters:
            return RewardMachine(**definition)  # type: ignore[arg-type]
        return CountingRewardAutomaton(**definition, counters=self._counter_names())  # type: ignore[arg-type]

    def _transitions(self, state: int) -> list[Transition]:
        """Return the transitions that read a letter, then those that fail, then silent success."""
        machine, source = self.machine, self.names[state]
        found = [
            Transition(
                source=source, target="done", silent=True, zero_pattern=pattern, reward=self.reward
            )
            for pattern in self._patterns(machine.accepts[state])
        ]
        groups: dict[tuple[str, tuple[tuple[Counter, int], ...], int], list[Zeros]] = {}
        for move in machine.moves[state]:
            key = (move.letter, tuple(sorted(move.changes)), move.target)
            groups.setdefault(key, []).append(move.zeros)
        reading = []
        for (letter, changes, target), outcomes in groups.items():
            ends = self.always[target]
            change = tuple(dict(changes).get(c, 0) for c in self.counters)
            reading += [
                Transition(
                    source=source,
                    target="done" if ends else self.names[target],
                    guard=self._only(letter),
                    zero_pattern=pattern,
                    change=change,
                    reward=self.reward if ends else 0.0,
                )
                for pattern in self._patterns(outcomes)
            ]
        return [*reading, *self._failures(state), *found]

    def _failures(self, state: int) -> list[Transition]:
        """Return the transitions to ``failed``, grouped by the letters that are allowed."""
        machine = self.machine
        groups: dict[frozenset[str], list[Zeros]] = {}
        for zeros in sorted(machine.possible[state]):
            if zeros not in machine.accepts[state]:
                allowed = frozenset(m.letter for m in machine.moves[state] if m.zeros == zeros)
                groups.setdefault(allowed, []).append(zeros)
        found = []
        for allowed, outcomes in groups.items():
            guard = self._wrong(allowed)
            if guard is not None:
                found += [
                    Transition(
                        source=self.names[state],
                        target="failed",
                        guard=guard,
                        zero_pattern=pattern,
                        reward=self.failure_reward,
                    )
                    for pattern in self._patterns(outcomes)
                ]
        return found

    # Guards

    def _only(self, letter: str) -> Formula:
        """Return the guard that this letter occurs and no other."""
        others = [Not(self.meaning[x]) for x in self.letters if x != letter]
        return And(self.meaning[letter], *others) if others else self.meaning[letter]

    def _wrong(self, allowed: frozenset[str]) -> Formula | None:
        """Return the guard of failure: at least one letter, but not exactly one allowed letter."""
        wrong: list[Formula] = [self.meaning[x] for x in self.letters if x not in allowed]
        right = [self.meaning[x] for x in self.letters if x in allowed]
        for index, one in enumerate(right[:-1]):
            rest = right[index + 1 :]
            wrong.append(And(one, Or(*rest) if len(rest) > 1 else rest[0]))
        if not wrong:
            return None
        return wrong[0] if len(wrong) == 1 else Or(*wrong)

    # Zero patterns

    def _patterns(self, outcomes: Iterable[Zeros]) -> list[str]:
        """Return zero patterns for a set of outcomes, merged in pairs as long as possible."""
        patterns = {
            "".join(
                "*" if c not in dict(zeros) else "1" if dict(zeros)[c] else "0"
                for c in self.counters
            )
            for zeros in outcomes
        }
        while (pair := self._mergeable_pair(patterns)) is not None:
            one, other = pair
            patterns -= {one, other}
            patterns.add("".join(a if a == b else "*" for a, b in zip(one, other, strict=True)))
        return sorted(patterns, reverse=True)

    def _mergeable_pair(self, patterns: set[str]) -> tuple[str, str] | None:
        """Return the first two patterns that differ in exactly one counter, as 0 and 1; or None."""
        flipped = {"0": "1", "1": "0"}
        for one in sorted(patterns):
            self.budget.spend(1 + len(one))
            others = (
                one[:i] + flipped[test] + one[i + 1 :] for i, test in enumerate(one) if test != "*"
            )
            if (other := min((o for o in others if o in patterns), default=None)) is not None:
                return one, other
        return None

    # Names

    def _counter_names(self) -> list[str]:
        names: list[str] = []
        for counter in self.counters:
            base = _counter_base(counter.variable.partition(".")[0])
            name, number = base, 2
            while name in names or name in self.letters:
                name, number = f"{base}{number}", number + 1
            names.append(name)
        return names

    def _name_states(self) -> list[str]:
        """Name each state after the letters that can come next."""
        names: list[str] = []
        taken: set[str] = {"done", "failed"}
        following: dict[str, int] = {}  # the next number to try for each name
        for state, moves in enumerate(self.machine.moves):
            if self.always[state]:
                names.append("done")
                continue
            base = _list_awaited(moves, self.letters)
            name, number = base, following.get(base, 2)
            while name in taken:
                name, number = f"{base} ({number})", number + 1
            following[base] = number
            taken.add(name)
            names.append(name)
        return names


def _counter_base(variable: str) -> str:
    """Return a valid name for the counter of an exponent, in lower case."""
    base = "_".join(re.findall(r"[^\W_]+", variable)).lower()[: MAX_NAME - 10]
    for name in (base, f"n_{base}".rstrip("_")):
        with suppress(InvalidNameError):  # the exponent _1 is valid, the counter 1 is not
            check_identifier("counter", name)
            return name
    return "n"


def _list_awaited(moves: Sequence[Move], letters: Sequence[str]) -> str:
    awaited = [x for x in letters if any(m.letter == x for m in moves)]
    if len(awaited) > 5:
        awaited = [*awaited[:4], f"{len(awaited) - 4} others"]
    return "await " + (
        " or ".join([", ".join(awaited[:-1]), awaited[-1]])
        if len(awaited) > 1
        else (awaited or ["nothing"])[0]
    )


def _includes_all_zero(ends: Iterable[Zeros]) -> bool:
    return any(not any(up for _, up in zeros) for zeros in ends)
