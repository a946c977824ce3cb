"""Emission: the deterministic machine as an automaton with guards, zero patterns and names."""

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
    """Convert the deterministic machine to an automaton."""
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
                    fix="look at the with clause: a label with two letters fails",
                )
        self.machine = machine
        self.counters = counters
        self.reward = reward
        self.failure_reward = failure_reward
        ends = machine.accepts[0]
        if _holds_at_zero(ends):
            raise LanguageError(
                "the task is complete before anything happens: the empty word is in the language",
                fix="ask for at least one event",
            )
        if not any(machine.accepts):
            raise LanguageError("no word is in the language", fix="look at what & leaves of it")
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
        """Silent success, then what each letter does, then what fails."""
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
        others = [Not(self.meaning[x]) for x in self.letters if x != letter]
        return And(self.meaning[letter], *others) if others else self.meaning[letter]

    def _wrong(self, allowed: frozenset[str]) -> Formula | None:
        """Some letter, but not exactly one that is allowed."""
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
        """As few zero patterns as merging pairs gives, for a set of outcomes of the tests."""
        patterns = {
            "".join(
                "*" if c not in dict(zeros) else "1" if dict(zeros)[c] else "0"
                for c in self.counters
            )
            for zeros in outcomes
        }
        while (pair := self._pair(patterns)) is not None:
            one, other = pair
            patterns -= {one, other}
            patterns.add("".join(a if a == b else "*" for a, b in zip(one, other, strict=True)))
        return sorted(patterns, reverse=True)

    def _pair(self, patterns: set[str]) -> tuple[str, str] | None:
        """The first two patterns that differ in one test only, and that both ways."""
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
        """What is awaited: the letters that can come next."""
        names: list[str] = []
        taken: set[str] = {"done", "failed"}
        following: dict[str, int] = {}  # the next number to try for each name
        for state, moves in enumerate(self.machine.moves):
            if self.always[state]:
                names.append("done")
                continue
            base = _listed(moves, self.letters)
            name, number = base, following.get(base, 2)
            while name in taken:
                name, number = f"{base} ({number})", number + 1
            following[base] = number
            taken.add(name)
            names.append(name)
        return names


def _counter_base(variable: str) -> str:
    """A counter's name from an exponent's: in small letters, and one that counters may have."""
    base = "_".join(re.findall(r"[^\W_]+", variable)).lower()[: MAX_NAME - 10]
    for name in (base, f"n_{base}".rstrip("_")):
        with suppress(InvalidNameError):  # _1 is an exponent, and 1 no counter
            check_identifier("counter", name)
            return name
    return "n"


def _listed(moves: Sequence[Move], letters: Sequence[str]) -> str:
    awaited = [x for x in letters if any(m.letter == x for m in moves)]
    if len(awaited) > 5:
        awaited = [*awaited[:4], f"{len(awaited) - 4} others"]
    return "await " + (
        " or ".join([", ".join(awaited[:-1]), awaited[-1]])
        if len(awaited) > 1
        else (awaited or ["nothing"])[0]
    )


def _holds_at_zero(ends: Iterable[Zeros]) -> bool:
    return any(not any(up for _, up in zeros) for zeros in ends)
