"""Find events that stay true for several steps and thereby make a task fail.

A machine reads an event at every step at which it is true. A labelling that describes a region
("the cart is near the goal") reports it again at each step spent there, and a task such as A B then
fails at the second A. The label of each single step is right; only a run of the machine shows it.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.errors import RunError

__all__ = ["PersistentEvent", "PersistentEventDetector"]

LEAST = 3
"""The least number of failed runs for a finding: fewer may be chance."""
SHARE = 2 / 3
"""The least share of failed runs among those in which the event occurred. In a grid, an agent that
walks into a wall stays on its cell and reads the event again; this is rare, and can be avoided."""


class PersistentEvent(NamedTuple):
    """An event that stays true for several steps and thereby makes the task fail.

    Attributes:
        event: Its name.
        longest: The greatest number of steps in a row for which it was true.
        failed: The number of runs of the machine that failed because it was still true: without
            it at that step, the task would have gone on.
        runs: The number of runs of the machine in which it occurred.

    Example:
        >>> print(PersistentEvent("A", longest=7, failed=4, runs=5))
        the event 'A' was true for up to 7 steps in a row, and the machine reads it again at each of
        them: 4 of the 5 runs in which it occurred failed for that reason; to report it only at the
        step at which it becomes true, use cranium.rising_edges(labelling)
    """

    event: str
    longest: int
    failed: int
    runs: int

    def __str__(self) -> str:
        return (
            f"the event {self.event!r} was true for up to {self.longest:,} steps in a row, and the "
            f"machine reads it again at each of them: {self.failed:,} of the {self.runs:,} runs in "
            "which it occurred failed for that reason; to report it only at the step at which it "
            "becomes true, use cranium.rising_edges(labelling)"
        )


class PersistentEventDetector:
    """Run a machine on the labels of episodes, and count the failures by events that stay true.

    A run of the machine begins with each episode. After a run has ended, the next one begins at the
    first step at which no event of the step before is still true.

    Example:
        >>> import cranium
        >>> detector = PersistentEventDetector(cranium.compile_language("A B"))
        >>> for _ in range(4):
        ...     detector.begin()
        ...     for label in ("A", "A", "A", "B"):
        ...         detector.read(frozenset(label))
        >>> [tuple(found) for found in detector.findings()]
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
        """Start a new episode of the environment."""
        self._finish()
        self._here, self._before, self._lengths = self.machine.start, frozenset(), {}

    def read(self, events: frozenset[str]) -> None:
        """Read the events of the next step."""
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

    def findings(self) -> tuple[PersistentEvent, ...]:
        """The events that made the task fail, the most frequent first."""
        self._finish()
        found = [
            PersistentEvent(name, self._longest[name], failed, self._runs[name])
            for name, failed in self._failed.most_common()
        ]
        return tuple(f for f in found if f.failed >= LEAST and f.failed >= SHARE * f.runs)

    def _after(self, here: Configuration, label: frozenset[str]) -> Configuration | None:
        """The configuration after a label; None if the task has failed or can no longer succeed."""
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
