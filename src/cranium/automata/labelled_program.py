"""Counter programs that read labels: δ and λ, and the steps that a label causes.

:class:`LabelledProgram` computes one step at a time. :class:`~cranium.CountingRewardAutomaton` adds
the checks of a definition, whole runs, copies and comparison.
"""

from __future__ import annotations

from typing import Any, NoReturn

from cranium.automata.alphabet import Alphabet, AnyLabel
from cranium.automata.program import CounterProgram
from cranium.automata.reward import Reward, add_rewards
from cranium.automata.trace import Step
from cranium.automata.transition import Configuration, Transition, zero_test
from cranium.errors import (
    EpisodeEndedError,
    InvalidArgumentError,
    InvalidNameError,
    NoTransitionError,
    RunError,
    UnsettledError,
    shorten,
)

__all__ = ["LabelledProgram"]

MAX_CACHED_STEPS = 1 << 16
MAX_CACHED_FIRED = 64
"""The greatest number of transitions in a step that is cached: a long silent run takes memory."""
_CACHED_LABELS = frozenset({int, str, tuple, frozenset})
"""The types of labels that are looked up as they are. Others may equal one of these without being a
label: 1.0 == 1, and would be found or not depending on what was asked before."""


class LabelledProgram(CounterProgram):
    """A counter program whose transitions read labels, with rewards and terminal states."""

    __slots__ = (
        "_ends",
        "_num_cached",
        "_readings",
        "_steps",
        "_successes",
        "alphabet",
        "otherwise",
    )

    alphabet: Alphabet
    otherwise: str

    def _set_up_reading(
        self,
        alphabet: Alphabet,
        terminal: tuple[str, ...],
        accepting: tuple[str, ...],
        otherwise: str,
    ) -> None:
        self.alphabet = alphabet
        self.otherwise = otherwise
        self._ends, self._successes = frozenset(terminal), frozenset(accepting)
        # A step depends on nothing but the configuration and the label, so it is cached.
        self._steps: dict[Configuration, dict[Any, Step]] = {}
        self._num_cached = [0]
        self._readings: dict[tuple[str, str, int], Transition | None] = {}

    @property
    def propositions(self) -> tuple[str, ...]:
        """P, in order.

        Example:
            >>> import cranium
            >>> cranium.library.load("anbcn").propositions
            ('A', 'B', 'C')
        """
        return self.alphabet.propositions

    def is_terminal(self, where: Configuration | str) -> bool:
        """Whether the episode is over in a configuration, or in a state given by its name.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> machine.is_terminal(Configuration("failed", (2,))), machine.is_terminal("done")
            (True, True)
            >>> machine.is_terminal("dnoe")
            Traceback (most recent call last):
            cranium.errors.UnknownNameError: no such state: 'dnoe'
              fix: did you mean 'done'? known: counting, matching, done, failed
        """
        return self._state_of(where) in self._ends

    def is_accepting(self, where: Configuration | str) -> bool:
        """Whether the episode ended with success in a configuration, or in a state by its name.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> machine.is_accepting(Configuration("failed", (2,))), machine.is_accepting("done")
            (False, True)
        """
        return self._state_of(where) in self._successes

    def transition(
        self, state: str, label: AnyLabel | None, zeros: str
    ) -> tuple[str, tuple[int, ...]] | None:
        """δ(u, σ, Z(c)): the next state and the change of the counters.

        ``label=None`` is ε: then the answer is None where no silent transition is enabled. Where
        :meth:`step` reads no label (in a terminal state, or where a silent transition is enabled),
        this raises the same error.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> machine.transition("matching", "C", "1"), machine.transition("matching", None, "0")
            (('matching', (-1,)), ('done', (0,)))
        """
        found = self._find(state, label, zeros)
        if found is not None:
            return found.target, found.change
        if label is None:
            return None
        target = state if self.otherwise == "stay" else self.otherwise
        return target, (0,) * self.num_counters

    def reward(self, state: str, label: AnyLabel | None, zeros: str) -> Reward:
        """λ(u, σ, Z(c)): the reward, or reward function, of one transition.

        Example:
            >>> import cranium
            >>> cranium.library.load("anbcn").reward("matching", None, "0")
            1.0
        """
        found = self._find(state, label, zeros)
        return 0.0 if found is None else found.reward

    def step(self, configuration: Configuration, label: AnyLabel) -> Step:
        """Read one label, and return the next configuration, the reward and the fired transitions.

        The reward is a number, or a function of (s, a, s′) if one of the transitions has one.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> step = machine.step(Configuration("matching", (1,)), "C")
            >>> print(step.configuration, step.reward, [t.number for t in step.fired])
            ⟨done, 0⟩ 1.0 [5, 7]
        """
        if label.__class__ in _CACHED_LABELS:
            try:
                return self._steps[configuration][label]
            except (KeyError, TypeError):
                pass
        return self._compute_step(configuration, label)

    def fire(self, transition: Transition, configuration: Configuration) -> Step:
        """Take a transition, whether it is enabled or not, and the silent ones after it.

        Example:
            >>> import cranium
            >>> machine = cranium.library.load("anbcn")
            >>> print(machine.fire(machine.transitions[4], Configuration("matching", (1,))).reward)
            1.0
        """
        fired = [transition]
        try:
            after = self.apply(transition, configuration)
            if after.state in self._silent:
                for silent, settled in self.silent_run(after):
                    fired.append(silent)
                    after = settled
        except RunError as problem:
            problem.fired = (*fired, *problem.fired)
            raise
        reward = add_rewards([t.reward for t in fired]) if len(fired) > 1 else transition.reward
        return Step(after, reward, tuple(fired))

    def _state_of(self, where: Configuration | str) -> str:
        """Return the name of a state, given by itself or in a configuration, and check it."""
        if where.__class__ is Configuration:  # nearly always; learners ask this all the time
            state: object = where[0]
            if state.__class__ is str and state in self._outgoing:
                return where[0]
        state = where
        if not isinstance(where, str):
            try:
                state, _ = where
            except (TypeError, ValueError):
                raise InvalidArgumentError(
                    f"a configuration or the name of a state is needed, not {shorten(where)}"
                ) from None
        return self.check_state(state)

    def _compute_step(self, configuration: Configuration, label: AnyLabel) -> Step:
        configuration = self.check_configuration(configuration)
        bits = self.alphabet.label(label)
        key = label if label.__class__ in _CACHED_LABELS else bits
        known = self._steps.get(configuration)
        if known is not None and bits in known:
            step = known[bits]
            if key is bits:
                return step
        else:
            zeros = zero_test(configuration.counters)
            self._check_reads(configuration.state, zeros, configuration)
            step = self._advance(configuration, bits, zeros)
        self._cache_step(configuration, key, step)
        return step

    def _cache_step(self, configuration: Configuration, key: object, step: Step) -> None:
        if len(step.fired) > MAX_CACHED_FIRED:
            return
        if self._num_cached[0] >= MAX_CACHED_STEPS:
            self._steps.clear()
            self._num_cached[0] = 0
        self._num_cached[0] += 1
        self._steps.setdefault(configuration, {})[key] = step

    def _advance(self, configuration: Configuration, bits: int, zeros: str) -> Step:
        """Read a label in a configuration without silent transitions; both are valid."""
        reading = self._reading(configuration.state, bits, zeros)
        if reading is None:
            return self._otherwise(configuration, bits)
        return self.fire(reading, configuration)

    def _check_reads(self, state: str, zeros: str, where: object) -> None:
        """Check that the state is not terminal and that no silent transition is enabled."""
        if state in self._ends:
            raise EpisodeEndedError(
                f"the state {state!r} is terminal: the episode is over",
                fix="begin a new run at machine.start",
            )
        if state in self._silent and self.select(state, zeros)[0]:
            raise UnsettledError(
                f"no label can be read in {where}: a silent transition is enabled",
                fix="step from machine.start, or from a configuration that step() returned",
            )

    def _reading(self, state: str, bits: int, zeros: str) -> Transition | None:
        try:
            return self._readings[state, zeros, bits]
        except KeyError:
            _, candidates = self.select(state, zeros)
            alphabet = self.alphabet
            found = next((t for t in candidates if t.guard.evaluate(bits, alphabet)), None)
            if len(self._readings) >= MAX_CACHED_STEPS:
                self._readings.clear()
            self._readings[state, zeros, bits] = found
            return found

    def _find(self, state: str, label: AnyLabel | None, zeros: str) -> Transition | None:
        self.check_state(state)
        fits = isinstance(zeros, str) and len(zeros) == self.num_counters
        if not fits or zeros.strip("01"):
            raise InvalidNameError(
                f"Z(c) has one of 0 and 1 for each of {self.num_counters} counters, "
                f"not {shorten(zeros)}"
            )
        if label is None:
            return self.select(state, zeros)[0]
        bits = self.alphabet.label(label)
        self._check_reads(state, zeros, f"{state!r} with zero pattern [{zeros}]")
        found = self._reading(state, bits, zeros)
        if found is None and self.otherwise == "error":
            self._no_transition(state, bits, zeros)
        return found

    def _otherwise(self, configuration: Configuration, bits: int) -> Step:
        if self.otherwise == "stay":
            return Step(configuration, 0.0, ())
        if self.otherwise == "error":
            self._no_transition(configuration.state, bits, zero_test(configuration.counters))
        return Step(Configuration(self.otherwise, configuration.counters), 0.0, ())

    def _no_transition(self, state: str, bits: int, zeros: str) -> NoReturn:
        raise NoTransitionError(
            f"no transition of {state!r} is enabled on {self.alphabet.format(bits)}"
            + (f" with zero pattern [{zeros}]" if zeros else ""),
            fix="add one, or use otherwise: stay",
        )
