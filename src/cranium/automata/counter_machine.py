"""Counter machines that accept words: Section 2 and Appendix A of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cranium.automata.alphabet import Alphabet
from cranium.automata.formula import Formula, Proposition
from cranium.automata.program import SILENT_LIMIT, CounterProgram, as_names
from cranium.automata.rules import check_decrements, check_determinism, check_silent_loops
from cranium.automata.transition import Configuration, Transition, zero_test
from cranium.errors import AutomatonError, UnknownNameError, WordSyntaxError, shorten

__all__ = ["CounterMachine", "CounterMachineRun"]


@dataclass(frozen=True, slots=True)
class CounterMachineRun:
    """The run of a counter machine on a word.

    Attributes:
        accepted: Whether it read the whole word and was then in an accepting state with all
            counters at zero.
        configurations: The start and the configuration after each symbol that it could read.
        read: How many symbols it could read.
    """

    accepted: bool
    configurations: tuple[Configuration, ...]
    read: int


class CounterMachine(CounterProgram):
    """A k-counter counter machine ⟨Q, F, Σ, δ, q₀⟩ that accepts or rejects words of symbols.

    It accepts a word if, after the last symbol (and any silent transitions after that), it is in an
    accepting state with all counters at zero. Where δ has no value, the word is rejected.

    Args:
        symbols: Σ, the input alphabet.
        initial: q₀.
        accepting: F.
        transitions: δ. The guard of a transition is one symbol; silent ones (ε) have none.
        states: Q; left out, all states that occur.
        counters: The names of the counters.
        name: What the machine is called.
        silent_limit: How many silent transitions may follow each other.

    Example:
        The worked example of Appendix A, A^N B^N on the word A A B B:

        >>> machine = CounterMachine(
        ...     symbols=["A", "B"],
        ...     counters=["n"],
        ...     initial="u0",
        ...     accepting=["u1"],
        ...     transitions=[
        ...         Transition(source="u0", guard="A", zero_pattern="0", change=(1,)),
        ...         Transition(source="u0", guard="A", zero_pattern="1", change=(1,)),
        ...         Transition(source="u0", guard="B", zero_pattern="1", target="u1", change=(-1,)),
        ...         Transition(source="u1", guard="B", zero_pattern="1", change=(-1,)),
        ...     ],
        ... )
        >>> print(*machine.run("AABB").configurations)
        ⟨u0, 0⟩ ⟨u0, 1⟩ ⟨u0, 2⟩ ⟨u1, 1⟩ ⟨u1, 0⟩
        >>> machine.accepts("AABB"), machine.accepts("AAB"), machine.accepts("ABB")
        (True, False, False)
    """

    __slots__ = ("accepting", "symbols")

    symbols: tuple[str, ...]
    accepting: tuple[str, ...]

    def __init__(
        self,
        *,
        symbols: Iterable[str],
        initial: str,
        accepting: Iterable[str],
        transitions: Iterable[Transition],
        states: Iterable[str] | None = None,
        counters: Iterable[str] = (),
        name: str = "",
        silent_limit: int = SILENT_LIMIT,
    ) -> None:
        self.symbols = Alphabet(as_names(symbols)).propositions
        self.accepting = as_names(accepting)
        transitions = list(transitions)
        occurring = (state for t in transitions for state in (t.source, t.target))
        self._set_up(
            name=name,
            initial=initial,
            states=dict.fromkeys([initial, *occurring]) if states is None else states,
            ends=(),
            counters=counters,
            transitions=transitions,
            silent_limit=silent_limit,
        )
        for state in self.accepting:
            if state not in self.states:
                raise UnknownNameError.of("state for 'accepting'", state, self.states)
        self._check_guards()
        check_decrements(self)
        check_determinism(self, _same_symbol)
        check_silent_loops(self)
        self._seal()

    def accepts(self, word: Iterable[str]) -> bool:
        """Whether the word is in the machine's language.

        Example:
            >>> machine = CounterMachine(
            ...     symbols=["A"], initial="odd", accepting=["even"],
            ...     transitions=[
            ...         Transition(source="odd", guard="A", target="even"),
            ...         Transition(source="even", guard="A", target="odd"),
            ...     ],
            ... )
            >>> machine.accepts("A"), machine.accepts("AA")
            (True, False)
        """
        return self.run(word).accepted

    def run(self, word: Iterable[str]) -> CounterMachineRun:
        """Read a word, given as a sequence of symbols (or as text, one letter a symbol).

        Example:
            >>> machine = CounterMachine(
            ...     symbols=["A"], initial="odd", accepting=["even"],
            ...     transitions=[
            ...         Transition(source="odd", guard="A", target="even"),
            ...         Transition(source="even", guard="A", target="odd"),
            ...     ],
            ... )
            >>> machine.run("AA").read
            2
        """
        symbols = list(word)
        for symbol in symbols:
            if symbol not in self.symbols:
                raise WordSyntaxError(
                    f"no such symbol: {shorten(symbol)}", fix=f"known: {', '.join(self.symbols)}"
                )
        configuration = Configuration(self.initial, (0,) * self.num_counters)
        passed = [configuration]
        for symbol in symbols:
            settled, _ = self.settle(configuration)
            _, reading = self.select(settled.state, zero_test(settled.counters))
            found = next((t for t in reading if t.guard == Proposition(symbol)), None)
            if found is None:
                return CounterMachineRun(False, tuple(passed), len(passed) - 1)
            configuration = self.apply(found, settled)
            passed.append(configuration)
        return CounterMachineRun(self._accepts_from(configuration), tuple(passed), len(symbols))

    def _accepts_from(self, configuration: Configuration) -> bool:
        if self._is_accepting(configuration):
            return True
        return any(self._is_accepting(after) for _, after in self.silent_run(configuration))

    def _is_accepting(self, configuration: Configuration) -> bool:
        return configuration.state in self.accepting and not any(configuration.counters)

    def _check_guards(self) -> None:
        for transition in self.transitions:
            if transition.silent:
                continue
            if not isinstance(transition.guard, Proposition):
                raise AutomatonError(
                    f"{transition.where} of a counter machine reads one symbol, "
                    f"not the formula {transition.guard}",
                    place=transition.place,
                    fix="use CountingRewardAutomaton for guards that are formulas",
                )
            if transition.guard.name not in self.symbols:
                where = f"{transition.where}: "
                raise UnknownNameError.of("symbol", transition.guard.name, self.symbols, where)
            if transition.reward != 0:
                raise AutomatonError(f"{transition.where} of a counter machine pays no reward")

    def _definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "symbols": self.symbols,
            "counters": self.counters,
            "states": self.states,
            "initial": self.initial,
            "accepting": self.accepting,
            "transitions": self.transitions,
            "silent_limit": self.silent_limit,
        }


def _same_symbol(one: Formula, other: Formula) -> str | None:
    return f"symbol {one}" if one == other else None
