"""Build the table of a world."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from cranium.errors import SpaceError, WorldError, shorten
from cranium.worlds.arguments import as_probabilities
from cranium.worlds.observations import observation_key
from cranium.worlds.protocols import Events, Observation

if TYPE_CHECKING:
    from cranium.worlds.tabular import TabularWorld

__all__ = ["TableBuilder"]

MAX_STATES = 1_000_000


class TableBuilder:
    """Builds a :class:`TabularWorld`. States are numbered in the order in which they are added.

    Args:
        actions: The action space, which must be discrete.
        max_states: The greatest number of states, by default a million.
    """

    def __init__(self, actions: gym.Space[Any], max_states: int | None = None) -> None:
        if not isinstance(actions, gym.spaces.Discrete):
            raise WorldError(f"only discrete actions can be listed, not {actions}")
        self.max_states = MAX_STATES if max_states is None else max_states
        self.num_actions = int(actions.n)
        self.first_action = int(actions.start)
        self.actions = range(self.first_action, self.first_action + self.num_actions)
        self.numbers: dict[Hashable, int] = {}
        self.starts: dict[int, float] = {}
        self.alive: set[int] = set()
        self.labels: dict[Events, int] = {}
        self.first = [0]
        self.outcomes: list[tuple[int, float, int, bool, float]] = []

    def number(self, state: Hashable) -> int:
        """Return the number of a state; a new state gets the next one."""
        if state not in self.numbers and len(self.numbers) >= self.max_states:
            raise SpaceError(
                f"the world has more than {self.max_states:,} states",
                fix="use a coarser state_key",
            )
        return self.numbers.setdefault(state, len(self.numbers))

    def begin(self, starts: Iterable[tuple[float, Hashable]]) -> None:
        """Add the initial states and their probabilities."""
        every = list(starts)
        chances = as_probabilities([probability for probability, _ in every], "the starts")
        for probability, (_, state) in zip(chances, every, strict=True):
            number = self.number(state)
            self.starts[number] = self.starts.get(number, 0.0) + probability
            self.alive.add(number)

    def unvisited(self) -> Iterable[Hashable]:
        """Iterate over the states in order, including those that are added meanwhile."""
        states = list(self.numbers)
        index = 0
        while index < len(self.numbers):
            if index == len(states):
                states = list(self.numbers)
            yield states[index]
            index += 1

    def pair(self, outcomes: Iterable[tuple[float, Hashable, Events, bool, float]]) -> None:
        """Add the outcomes of the next pair of a state and an action.

        Equal outcomes are not merged: drawn in this order, they are what the environment draws with
        the same random numbers.
        """
        every = list(outcomes)
        chances = as_probabilities([one[0] for one in every], self._pair_name) if every else []
        for probability, (_, state, events, terminated, reward) in zip(chances, every, strict=True):
            label, number = self.labels.setdefault(events, len(self.labels)), self.number(state)
            self.outcomes.append((number, probability, label, terminated, reward))
            if not terminated:
                self.alive.add(number)
        self.first.append(len(self.outcomes))

    def _pair_name(self) -> str:
        """Return the name of the next pair, for messages."""
        number, action = divmod(len(self.first) - 1, self.num_actions)
        state = list(self.numbers)[number]
        return f"the outcomes of action {self.actions[action]} in {shorten(state)}"

    def check_alive(self) -> None:
        """Check that every action has an outcome in every state that an episode can reach."""
        for row in np.flatnonzero(np.diff(self.first) == 0):
            number, action = divmod(int(row), self.num_actions)
            if number in self.alive:
                state = list(self.numbers)[number]
                raise WorldError(
                    f"action {self.actions[action]} has no outcomes in {shorten(state)}",
                    fix="give every action an outcome in every state that an episode can reach; "
                    "if nothing happens, the outcome is the same state",
                )

    def finish(
        self, observe: Callable[[Hashable], Observation], table: type[TabularWorld]
    ) -> TabularWorld:
        """Return the table."""
        initial = np.zeros(len(self.numbers))
        for number, probability in self.starts.items():
            initial[number] = probability
        seen: dict[Hashable, int] = {}
        observations: list[Observation] = []
        observation = np.zeros(len(self.numbers), np.int32)
        for state, number in self.numbers.items():
            observed = observe(state)
            key = observation_key(observed)
            if key not in seen:
                seen[key] = len(seen)
                observations.append(observed)
            observation[number] = seen[key]
        columns = list(zip(*self.outcomes, strict=True)) or [(), (), (), (), ()]
        return table(
            np.array(self.first, np.int32),
            np.array(columns[0], np.int32),
            np.array(columns[1], np.float64),
            np.array(columns[2], np.int32),
            np.array(columns[3], np.bool_),
            np.array(columns[4], np.float64),
            initial,
            observation,
            tuple(self.labels),
            tuple(self.numbers),
            tuple(observations),
            self.num_actions,
            self.first_action,
        )
