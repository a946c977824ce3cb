"""A table of a world against the live environment, by random walks."""

from __future__ import annotations

from collections.abc import Hashable
from math import log, sqrt
from typing import Any

import gymnasium as gym
import numpy as np

from cranium.errors import WorldError, check_count, shorten
from cranium.worlds.observations import hashable, kept
from cranium.worlds.tabular import (
    Labelling,
    StateKey,
    TabularWorld,
    default_key,
    events_after_step,
)

__all__ = ["Walk"]

RESETS = 200
EPISODE = 100
"""After how many steps the walk begins anew, even if nothing has ended."""
_Seen = tuple[Hashable, frozenset[str], bool, float]


class Walk:
    """A random walk that compares every step with a table."""

    def __init__(
        self,
        world: TabularWorld,
        env: gym.Env[Any, Any],
        labelling: Labelling | None,
        state_key: StateKey | None,
        seed: int,
    ) -> None:
        self.world = world
        self.env = env
        self.labelling = labelling
        self.key = state_key or default_key(env)
        self.seed = seed
        self.random = np.random.default_rng(seed)
        self.numbers = {state: index for index, state in enumerate(world.states)}
        self.starts: dict[int, int] = {}
        self.counts: dict[int, dict[_Seen, int]] = {}

    def run(self, steps: int) -> int:
        """Take so many steps; the first that disagrees raises."""
        check_count("steps", steps)
        self._check_sums()
        for number in range(max(RESETS, steps // 5)):
            here = self._begin(self.seed if number == 0 else None)
        left = EPISODE
        for step in range(steps):
            if left == 0:
                here, left = self._begin(), EPISODE
            here, over = self._step(step, *here)
            left = 0 if over else left - 1
        self._check_frequencies()
        return steps

    def _check_sums(self) -> None:
        world = self.world
        sums = np.bincount(world.pair, world.probability, len(world.first) - 1)
        wrong = np.flatnonzero((np.abs(sums - 1) > 1e-9) & (np.diff(world.first) > 0))
        if wrong.size:
            state, action = divmod(int(wrong[0]), world.num_actions)
            raise WorldError(
                f"the outcomes of action {action} in {shorten(world.states[state])} have "
                f"probabilities that sum to {sums[wrong[0]]:g}"
            )
        if abs(world.initial.sum() - 1) > 1e-9:
            raise WorldError(f"the starts have probabilities that sum to {world.initial.sum():g}")

    def _begin(self, seed: int | None = None) -> tuple[int, Any]:
        observation, _ = self.env.reset(seed=seed)
        number = self._number(observation)
        if not self.world.initial[number]:
            state = self.world.states[number]
            raise WorldError(f"the table does not begin in {shorten(state)}, the environment did")
        self.starts[number] = self.starts.get(number, 0) + 1
        return number, kept(observation)

    def _number(self, observation: Any) -> int:
        state = self.key(self.env, observation)
        number = self.numbers.get(state)
        if number is None:
            raise WorldError(f"the table does not have the state {shorten(state)}")
        known = self.world.observations[self.world.observation[number]]
        if hashable(known) != hashable(observation):
            raise WorldError(
                f"in {shorten(state)} the environment shows {shorten(observation)}, but the table "
                f"{shorten(known)}"
            )
        return number

    def _step(self, step: int, number: int, before: Any) -> tuple[tuple[int, Any], bool]:
        world = self.world
        action = int(self.random.integers(world.num_actions))
        called = action + world.first_action
        after, reward, terminated, truncated, _ = self.env.step(called)
        events = events_after_step(self.env, self.labelling, before, called, after)
        found = (self.key(self.env, after), events, bool(terminated), float(reward))
        row = number * world.num_actions + action
        if found not in (known := self._known(row)):
            raise WorldError(
                f"in step {step}, action {called} in {shorten(world.states[number])} led to "
                f"{shorten(found)}, but the table knows {shorten(list(known))}"
            )
        counts = self.counts.setdefault(row, {})
        counts[found] = counts.get(found, 0) + 1
        return (self._number(after), kept(after)), bool(terminated or truncated)

    def _known(self, row: int) -> dict[_Seen, float]:
        world = self.world
        known: dict[_Seen, float] = {}
        for o in range(world.first[row], world.first[row + 1]):
            state, events = world.states[world.next_state[o]], world.labels[world.label[o]]
            outcome = (state, events, bool(world.terminated[o]), float(world.reward[o]))
            known[outcome] = known.get(outcome, 0.0) + float(world.probability[o])
        return known

    def _check_frequencies(self) -> None:
        starts = {n: float(self.world.initial[n]) for n in np.flatnonzero(self.world.initial)}
        self._compare("an episode began in", starts, self.starts, self.world.states.__getitem__)
        for row, counts in self.counts.items():
            state, action = divmod(row, self.world.num_actions)
            what = f"action {action} in {shorten(self.world.states[state])} led to"
            self._compare(what, self._known(row), counts, lambda outcome: outcome)

    def _compare(self, what: str, known: Any, counts: Any, name: Any) -> None:
        total = sum(counts.values())
        slack = sqrt(log(2e9) / (2 * total))  # Hoeffding: chance breaks it once in 10⁹ times
        for outcome, probability in known.items():
            share = counts.get(outcome, 0) / total
            if abs(share - probability) > slack:
                raise WorldError(
                    f"{what} {shorten(name(outcome))} in {share:.0%} of {total} times, but the "
                    f"table says {probability:.0%}"
                )
