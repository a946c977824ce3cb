"""Counting reward automata: Definition 1.1 (CRA) and Definition 1.2 (CCRA)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple, Self

from cranium.automata.alphabet import Alphabet, AnyLabel, parse_word
from cranium.automata.formula import Formula
from cranium.automata.labelled_program import LabelledProgram
from cranium.automata.program import SILENT_LIMIT, CounterProgram, as_names
from cranium.automata.reward import RewardFunction
from cranium.automata.rules import (
    check_decrements,
    check_determinism,
    check_names,
    check_reset,
    check_silent_loops,
)
from cranium.automata.satisfiability import find_label
from cranium.automata.trace import Experience, Step, Trace
from cranium.automata.transition import Configuration, Transition, zero_test
from cranium.errors import (
    LabelError,
    Path,
    Place,
    RewardError,
    RunError,
    shorten,
)

__all__ = ["CountingRewardAutomaton", "Size"]


class Size(NamedTuple):
    """The size of a machine: |U|, |F|, the number of transitions, and k."""

    states: int
    terminal: int
    transitions: int
    counters: int


class CountingRewardAutomaton(LabelledProgram):
    """A k-counter counting reward automaton ⟨U, F, Σ, Δ, δ, λ, u₀⟩.

    A machine is immutable, and checked when it is made: see ``docs/semantics.md`` for the rules.
    With k = 0 it is a reward machine; with constant rewards only, a CCRA.

    Args:
        propositions: P, the names of the events that a label can hold.
        initial: u₀, the state in which every run begins, with all counters at zero.
        transitions: δ and λ, as :class:`~cranium.Transition` objects.
        states: U, the states that do not end the episode. Left out, they are the states that a
            transition leaves, the initial one first.
        terminal: F, the states that end the episode.
        accepting: Those terminal states that mean success.
        counters: The names of the counters.
        otherwise: What happens when no transition is enabled: ``"stay"`` (no change, reward 0),
            ``"error"``, or the name of a terminal state.
        name: What the machine is called in pictures and files.
        silent_limit: How many silent transitions may follow each other.
        places: The positions of the machine's parts in the text it was read from, for messages:
            see :meth:`place_of`.

    Example:
        The running example of the paper, A^N B C^N:

        >>> machine = CountingRewardAutomaton(
        ...     propositions=["A", "B", "C"],
        ...     counters=["n"],
        ...     initial="counting",
        ...     terminal=["done", "failed"],
        ...     accepting=["done"],
        ...     transitions=[
        ...         Transition(source="counting", guard="A & !B", change=(1,)),
        ...         Transition(source="counting", guard="B", zero_pattern="1", target="matching"),
        ...         Transition(source="counting", guard="B", zero_pattern="0", target="failed"),
        ...         Transition(source="counting", guard="C & !A & !B", target="failed"),
        ...         Transition(source="matching", guard="C", zero_pattern="1", change=(-1,)),
        ...         Transition(
        ...             source="matching", silent=True, zero_pattern="0", target="done", reward=1
        ...         ),
        ...     ],
        ... )
        >>> machine.run(["A", "A", "B", "C", "C"]).accepted
        True
    """

    __slots__ = (
        "_places",
        "accepting",
        "start",
        "terminal",
    )

    terminal: tuple[str, ...]
    accepting: tuple[str, ...]
    start: Configuration
    """The configuration in which a run begins, after any silent transitions at reset."""

    def __init__(
        self,
        *,
        propositions: Iterable[str],
        initial: str,
        transitions: Iterable[Transition],
        states: Iterable[str] | None = None,
        terminal: Iterable[str] = (),
        accepting: Iterable[str] = (),
        counters: Iterable[str] = (),
        otherwise: str = "stay",
        name: str = "",
        silent_limit: int = SILENT_LIMIT,
        places: Mapping[Path, Place] | None = None,
    ) -> None:
        alphabet = Alphabet(as_names(propositions))
        self.terminal = as_names(terminal)
        transitions = list(transitions)
        self._set_up(
            name=name,
            initial=initial,
            states=self.implied_states(initial, self.terminal, transitions)
            if states is None
            else states,
            ends=self.terminal,
            counters=counters,
            transitions=transitions,
            silent_limit=silent_limit,
        )
        self.accepting = as_names(accepting)
        self._set_up_reading(alphabet, self.terminal, self.accepting, otherwise)
        self._places: dict[Path, Place] = dict(places or {})
        check_names(self)
        check_decrements(self)
        check_determinism(self, self._overlap)
        check_silent_loops(self)
        self.start = check_reset(self)
        self._seal()

    @staticmethod
    def implied_states(
        initial: str, terminal: Sequence[str], transitions: Iterable[Transition]
    ) -> tuple[str, ...]:
        """Return the default for U: the states that a transition leaves, the initial one first.

        Any other name that is not terminal, the initial state's included, is taken for misspelt.

        Example:
            >>> walk = [Transition(source="v", target="u"), Transition(source="u", target="v")]
            >>> CountingRewardAutomaton.implied_states("u", ["end"], walk)
            ('u', 'v')
        """
        ends = set(terminal)
        left = dict.fromkeys(t.source for t in transitions if t.source not in ends)
        first = [initial] if initial in left or not left else []
        return tuple(dict.fromkeys([*first, *left]))

    # Properties

    @property
    def is_constant(self) -> bool:
        """Whether every reward is a number, which makes this a CCRA (Definition 1.2).

        Example:
            >>> import cranium
            >>> cranium.library.load("anbcn").is_constant
            True
        """
        return not any(isinstance(t.reward, RewardFunction) for t in self.transitions)

    @property
    def is_reward_machine(self) -> bool:
        """Whether it has no counters and no silent transitions.

        Example:
            >>> import cranium
            >>> cranium.library.load("mail-delivery").is_reward_machine
            True
        """
        return not self.counters and not any(t.silent for t in self.transitions)

    @property
    def size(self) -> Size:
        """The numbers of states, terminal states, transitions and counters.

        Example:
            >>> import cranium
            >>> cranium.library.load("office").size
            Size(states=3, terminal=2, transitions=10, counters=2)
        """
        return Size(len(self.states), len(self.terminal), len(self.transitions), len(self.counters))

    # Running

    def run(
        self,
        word: str | Iterable[AnyLabel],
        experiences: Iterable[Experience] | None = None,
    ) -> Trace:
        """Run the machine on a word, until the word ends or a terminal state is reached.

        Args:
            word: Labels: names, collections of names, ``()`` for the empty label; or text such as
                ``"A A {B, C} {}"``.
            experiences: One (s, a, s′) for each label, for machines with reward functions.

        Example:
            >>> import cranium
            >>> trace = cranium.library.load("anbcn").run(["A", (), "B", "C"])
            >>> trace.accepted, trace.total_reward
            (True, 1.0)
        """
        # What has no order is no word: the order of a set is another one in every process.
        if not isinstance(word, Iterable) or isinstance(word, bytes | Mapping | Set):
            raise LabelError(f"a word is text or a sequence of labels, not {shorten(word)}")
        labels = parse_word(word) if isinstance(word, str) else list(word)
        bits = [self.alphabet.label(label) for label in labels]
        triples = None if experiences is None else tuple(experiences)
        configuration, steps = self.start, []
        try:
            for label in bits:
                if configuration.state in self._ends:
                    break
                # Both are known to be right, so what was never met before is not checked again.
                known = self._steps.get(configuration)
                step = known.get(label) if known else None
                if step is None:
                    step = self._advance(configuration, label, zero_test(configuration.counters))
                    self._cache_step(configuration, label, step)
                configuration = step.configuration
                steps.append(step)
        except RunError as problem:
            problem.trace = self._trace(bits, steps, triples)
            raise
        if triples is not None and len(triples) < len(steps):
            raise RewardError(
                f"{len(steps)} labels were read, but {len(triples)} experiences given"
            )
        return self._trace(bits, steps, triples)

    def place_of(self, *path: str | int) -> Place | None:
        """Return the position of a part of the machine in the text that it was read from.

        Args:
            path: The part, as keys and indices of the file format, such as ``("counters", 0)``.

        Returns:
            The position, or None if the machine was not read from a text.

        Example:
            >>> import cranium
            >>> str(cranium.library.load("anbcn").place_of("counters", 0))
            'library:anbcn:14:12'
        """
        return self._places.get(path)

    # Implementation

    def _trace(
        self, bits: list[int], steps: list[Step], triples: tuple[Experience, ...] | None
    ) -> Trace:
        last = steps[-1].configuration if steps else self.start
        return Trace(
            word=tuple(bits),
            start=self.start,
            steps=tuple(steps),
            ended=self.is_terminal(last),
            succeeded=self.is_accepting(last),
            experiences=triples,
        )

    # Checks, copies and comparison

    def _overlap(self, one: Formula, other: Formula) -> str | None:
        names = find_label(one, other)
        return (
            None if names is None else f"label {self.alphabet.format(self.alphabet.label(names))}"
        )

    def replace(self, **changes: Any) -> Self:
        """Return a copy of this machine with some arguments of its constructor changed.

        The copy is checked like any new machine. A reward machine stays one, so it takes neither
        counters nor a silent limit; :meth:`~cranium.RewardMachine.as_cra` converts it first.
        Positions in the original file (:meth:`place_of`) are kept for what does not change.

        Args:
            changes: Arguments of the constructor by name, such as ``initial="u1"``.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> strict = machine.replace(name="strict", otherwise="failed")
            >>> strict.run([()]).configurations[-1].state, machine.otherwise
            ('failed', 'stay')
        """
        kept = {p: at for p, at in self._places.items() if not p or p[0] not in changes}
        return super().replace(**{"places": kept, **changes})

    def _arguments(self) -> dict[str, Any]:
        return {**self._definition(), "places": self._places}

    def _definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "propositions": self.propositions,
            "counters": self.counters,
            "states": self.states,
            "initial": self.initial,
            "terminal": self.terminal,
            "accepting": self.accepting,
            "otherwise": self.otherwise,
            "transitions": self.transitions,
            "silent_limit": self.silent_limit,
        }

    def __eq__(self, other: object) -> bool:
        # A reward machine equals the counting reward automaton with the same definition.
        if not isinstance(other, CountingRewardAutomaton):
            return NotImplemented
        return self is other or self._definition() == other._definition()

    __hash__ = CounterProgram.__hash__

    def __repr__(self) -> str:
        size = self.size
        return (
            f"<{type(self).__name__} {self.name or self.initial!r}: {size.states} states, "
            f"{size.terminal} terminal, {size.transitions} transitions, {size.counters} counters>"
        )
