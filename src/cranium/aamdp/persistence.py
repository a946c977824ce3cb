"""Events that stay true where the task expects moments, found by running the machine.

A machine reads every event that is true at a step, at every step. A labelling that reports a region
("the cart is near the goal") reports it again at each step spent there, and a task such as A B then
fails at the second A. Nothing is wrong with the label of any single step, so only a run shows it.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.errors import RunError

__all__ = ["EventWatch", "HeldEvent"]

LEAST = 3
"""How many runs must have failed before an event is blamed: fewer may be bad luck."""
SHARE = 2 / 3
"""In which share of the runs in which it occurred. In a grid, an agent that walks into a wall stays
on a cell, and reads it again: that happens now and then, and can be avoided."""


class HeldEvent(NamedTuple):
    """An event that stays true, and makes the task fail by that.

    Attributes:
        event: Its name.
        longest: For how many steps in a row it was true, at most.
        failed: In how many runs of the machine it made the task fail by being true for longer than
            a step: without it at the later step, the task would have gone on.
        runs: In how many runs of the machine it occurred.

    Example:
        >>> print(HeldEvent("A", longest=7, failed=4, runs=5))
        the event 'A' was true for up to 7 steps in a row, and the machine reads it once at each
        step: 4 of the 5 runs in which it occurred failed because it was still true after the step
        at which it became true; report it only at that step: cranium.rising_edges(labelling)
    """

    event: str
    longest: int
    failed: int
    runs: int

    def __str__(self) -> str:
        return (
            f"the event {self.event!r} was true for up to {self.longest:,} steps in a row, and the "
            f"machine reads it once at each step: {self.failed:,} of the {self.runs:,} runs in "
            "which it occurred failed because it was still true after the step at which it became "
            "true; report it only at that step: cranium.rising_edges(labelling)"
        )


class EventWatch:
    """Run a machine along episodes, and note when an event that stays true makes it fail.

    A run of the machine begins with an episode, and again after it has ended, as soon as no event
    is left that was true when it did.

    Example:
        >>> import cranium
        >>> watch = EventWatch(cranium.compile_language("A B"))
        >>> for _ in range(4):
        ...     watch.begin()
        ...     for label in ("A", "A", "A", "B"):
        ...         watch.read(frozenset(label))
        >>> [tuple(found) for found in watch.findings()]
        [('A', 3, 4, 4)]
    """

    def __init__(self, machine: CountingRewardAutomaton) -> None:
        self.machine = machine
        self._known = frozenset(machine.propositions)
        self._hopeless = _hopeless(machine)
        self._longest: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._runs: Counter[str] = Counter()
        self._lengths: dict[str, int] = {}
        self._before: frozenset[str] = frozenset()
        self._met: set[str] = set()
        self._here: Configuration | None = None  # None: the run has ended

    def begin(self) -> None:
        """A new episode of the environment."""
        self._finish()
        self._here, self._before, self._lengths = self.machine.start, frozenset(), {}

    def read(self, events: frozenset[str]) -> None:
        """The events of the next step."""
        label = events & self._known
        self._lengths = {name: self._lengths.get(name, 0) + 1 for name in label}
        for name, length in self._lengths.items():
            self._longest[name] = max(self._longest[name], length)
        held = label & self._before
        if self._here is None and not held:
            self._here = self.machine.start
        if self._here is not None:
            self._met |= label
            after = self._after(self._here, label)
            if after is None and held:
                self._blame(self._here, label, held)
            if after is None or self.machine.is_terminal(after):
                self._finish()
            else:
                self._here = after
        self._before = label

    def findings(self) -> tuple[HeldEvent, ...]:
        """The events to blame, the worst first."""
        self._finish()
        found = [
            HeldEvent(name, self._longest[name], failed, self._runs[name])
            for name, failed in self._failed.most_common()
        ]
        return tuple(f for f in found if f.failed >= LEAST and f.failed >= SHARE * f.runs)

    def _after(self, here: Configuration, label: frozenset[str]) -> Configuration | None:
        """Where a label leads; None if the task fails, or can never be completed any more."""
        try:
            after = self.machine.step(here, label).configuration
        except RunError:
            return None
        return None if after.state in self._hopeless else after

    def _blame(self, here: Configuration, label: frozenset[str], held: frozenset[str]) -> None:
        if self._after(here, label - held) is None:
            return  # it would have failed anyway
        alone = [name for name in held if self._after(here, label - {name}) is not None]
        self._failed.update(alone or held)

    def _finish(self) -> None:
        self._runs.update(self._met)
        self._met = set()
        self._here = None


def _hopeless(machine: CountingRewardAutomaton) -> frozenset[str]:
    """The states from which no transition leads on to success, whatever is counted.

    A task without any success never ends by itself: then they are its terminal states.
    """
    if not machine.accepting:
        return frozenset(machine.terminal)
    hopeful, before = set(machine.accepting), 0
    while len(hopeful) > before:
        before = len(hopeful)
        hopeful |= {t.source for t in machine.transitions if t.target in hopeful}
        if machine.otherwise in hopeful:
            hopeful |= set(machine.states)
    return frozenset({*machine.states, *machine.terminal} - hopeful)
