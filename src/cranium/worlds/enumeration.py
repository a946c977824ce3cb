"""Any finite, deterministic environment as arrays, by trying every action in every state."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from cranium.errors import WorldError, shorten
from cranium.worlds.finite import Events, FiniteWorld
from cranium.worlds.observations import kept
from cranium.worlds.tabular import (
    Draft,
    Labelling,
    StateKey,
    TabularWorld,
    default_key,
    events_after_step,
)

__all__ = ["enumerate_env"]


def enumerate_env(
    env: gym.Env[Any, Any],
    labelling: Labelling | None = None,
    *,
    state_key: StateKey | None = None,
    starts: int = 100,
    repeats: int = 3,
    verify: int = 1000,
    seed: int = 0,
) -> TabularWorld:
    """List a finite, deterministic environment by trying every action in every state.

    The environment is copied, so that every state can be returned to; one that cannot be copied is
    reset, and led there again. Starts may be random: they are sampled, so their probabilities are
    estimates. Actions may not be: each is tried several times, with other random numbers. In the
    end random walks compare the table with the environment, which also finds state that is hidden.

    Args:
        env: The environment, with discrete actions.
        labelling: L(s, a, s′) on observations; left out, the world's own events.
        state_key: What tells states apart: of the environment and the observation; by default the
            observation.
        starts: How often to reset it, to learn where episodes begin.
        repeats: How often to try each action in each state.
        verify: How many random steps to compare in the end; 0 for none.
        seed: For the resets and the trials.

    Example:
        >>> from cranium.worlds import LetterEnv
        >>> world = enumerate_env(LetterEnv.experiment(1), state_key=lambda env, _: env.state)
        >>> world.num_states
        107
    """
    found = _Enumeration(env, labelling, state_key, repeats, seed)
    world = found.run(starts)
    if verify:
        live = found.begin(seed)
        world.verify(live, labelling, state_key=state_key, steps=verify, seed=seed)
    return world


def is_limited(env: gym.Env[Any, Any]) -> bool:
    """Whether one of Gymnasium's time limits is around an environment."""
    while isinstance(env, gym.Wrapper):
        if isinstance(env, gym.wrappers.TimeLimit):
            return True
        env = env.env
    return False


class _Place(NamedTuple):
    """A way back to a state: a copy of the environment, or a seed and the actions after it."""

    env: gym.Env[Any, Any] | None
    seed: int
    actions: tuple[int, ...]
    seen: Any


class _Enumeration:
    def __init__(
        self,
        env: gym.Env[Any, Any],
        labelling: Labelling | None,
        state_key: StateKey | None,
        repeats: int,
        seed: int,
    ) -> None:
        self.draft = Draft(env.action_space)
        if state_key is None and not isinstance(env.unwrapped, FiniteWorld):
            check_finite(env.observation_space, "state_key=lambda env, observation: …")
        self.labelling = labelling
        self.key = state_key or default_key(env)
        self.repeats = repeats
        self.seed = seed
        self.random = np.random.default_rng(seed)
        self.places: dict[Hashable, _Place] = {}
        self.limited = is_limited(env)
        self.alive: set[Hashable] = set()
        try:
            self.env = copy.deepcopy(env)  # the caller's own stays as it is
            self.copies = True
        except Exception:  # whatever a foreign environment holds: locks, windows, connections
            self.env, self.copies = env, False

    def begin(self, seed: int) -> gym.Env[Any, Any]:
        """An environment that can be walked about in."""
        self.env.reset(seed=seed)
        return self.env

    def run(self, starts: int) -> TabularWorld:
        counts: dict[Hashable, int] = {}
        for index in range(starts):
            observation, _ = self.env.reset(seed=self.seed + index)
            state = self.key(self.env, observation)
            self._remember(state, self.env, self.seed + index, (), observation)
            self.alive.add(state)
            counts[state] = counts.get(state, 0) + 1
        waiting, tried = list(counts), {}
        while waiting:
            state = waiting.pop()
            if state in tried:
                continue
            tried[state] = [self._try(state, action) for action in range(self.draft.num_actions)]
            waiting += [found[1] for found in tried[state] if found[1] in self.alive]
        self.draft.begin((count / starts, state) for state, count in counts.items())
        for state in self.draft.unvisited():
            for action in range(self.draft.num_actions):
                # A state that is only reached at the end is not left again.
                self.draft.pair([tried[state][action]] if state in tried else [])
        return self.draft.finish(lambda state: self.places[state].seen)

    def _try(self, state: Hashable, action: int) -> tuple[float, Hashable, Events, bool, float]:
        place = self.places[state]
        called = action + self.draft.first_action
        found = None
        for _ in range(self.repeats):
            trial = self._return_to(place)
            seen, reward, terminated, truncated, _ = trial.step(called)
            if truncated and not self.limited:
                raise WorldError(
                    f"the environment cut an episode off by itself, after action {called} in "
                    f"{shorten(state)}: what it does depends on the time",
                    fix="let the product's horizon cut episodes off",
                )
            events = events_after_step(trial, self.labelling, place.seen, called, seen)
            outcome = (1.0, self.key(trial, seen), events, bool(terminated), float(reward))
            if found is not None and found != outcome:
                raise WorldError(
                    f"action {called} in {shorten(state)} led to {shorten(found[1:])} and to "
                    f"{shorten(outcome[1:])}: the environment is not deterministic, or state_key "
                    "does not tell its states apart",
                    fix="use TabularWorld.from_model if it has P, or a finer state_key",
                )
            found = outcome
            after = (*place.actions, called)
            self._remember(outcome[1], trial, place.seed, after, seen, alive=not terminated)
            if not terminated:
                self.alive.add(outcome[1])
        assert found is not None
        return found

    def _remember(
        self,
        state: Hashable,
        env: gym.Env[Any, Any],
        seed: int,
        actions: tuple[int, ...],
        seen: Any,
        *,
        alive: bool = True,
    ) -> None:
        # What is left of an ended episode cannot be gone on with: a living one takes its place.
        if state not in self.places or (alive and state not in self.alive):
            snapshot = copy.deepcopy(env) if self.copies else None
            self.places[state] = _Place(snapshot, seed, actions, kept(seen))

    def _return_to(self, place: _Place) -> gym.Env[Any, Any]:
        if place.env is not None:
            trial = copy.deepcopy(place.env)
            trial.unwrapped.np_random = np.random.default_rng(self.random.integers(2**63))
            return trial
        self.env.reset(seed=place.seed)
        for action in place.actions:
            self.env.step(action)
        return self.env


def check_finite(space: gym.Space[Any], fix: str) -> None:
    """Refuse observations that are not finitely many."""
    if isinstance(space, gym.spaces.Box) and not np.issubdtype(space.dtype, np.integer):
        raise WorldError(
            f"observations in {space} are not finitely many",
            fix=f"say what tells them apart: {fix}",
        )
