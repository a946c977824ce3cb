"""Any finite, deterministic environment as arrays, by trying every action in every state."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from cranium.arguments import check_count
from cranium.errors import WorldError, shorten
from cranium.worlds.observations import copy_observation
from cranium.worlds.protocols import (
    Events,
    FiniteWorld,
    LabellingFunction,
    StateKey,
    events_after_step,
)
from cranium.worlds.sampling import Generator, Sampling, draws, generators, reseed
from cranium.worlds.table_builder import TableBuilder
from cranium.worlds.tabular import TabularWorld
from cranium.worlds.verification import Clock, Walk, default_state_key, lift_limits, time_limit

__all__ = ["enumerate_env", "longest_walk", "verify_model"]

RANDOM_TRIES = 50
"""The greatest number of tries of an action in a state, if the step draws random numbers."""
MORE_TRIES = 3_000
"""The number of such tries in total that is aimed at."""
LONGEST = 10_000
"""The length of the longest walk if the horizon is not known."""
FARTHEST = 100_000
"""The greatest length of a walk, if the environment names a time limit of its own."""
HINTS = ("max_steps", "_max_episode_steps", "max_episode_steps", "max_episode_length", "time_limit")
"""Attributes in which environments keep a time limit. They decide only how long to walk."""


def enumerate_env(
    env: gym.Env[Any, Any],
    labelling: LabellingFunction | None = None,
    *,
    state_key: StateKey | None = None,
    starts: int = 100,
    repeats: int = 3,
    verify: int = 1000,
    longest: int | None = None,
    seed: int = 0,
) -> TabularWorld:
    """List a finite, deterministic environment by trying every action in every state.

    The environment is copied, so that every state can be returned to; one that cannot be copied is
    reset, and led there again. Starts may be random: they are sampled, so their probabilities are
    estimates. Actions may not be random: each is tried several times, with new seeds for every
    random generator that the environment holds. A step that draws random numbers is tried up to 50
    times.

    At the end random walks compare the table with the environment, which also finds hidden state.
    Some of these walks make episodes as long as possible. If the environment truncates every
    episode after the same number of steps, this number is the ``horizon`` of the table. If it
    terminates or truncates episodes by any other hidden state, it is refused.

    The table is a sample, not a proof; its ``sampled`` says how much was tried. A time limit of
    more than ``longest`` steps is not found, and an outcome that never occurred is missing.

    Args:
        env: The environment, with discrete actions.
        labelling: L(s, a, s′) on observations; left out, the world's own events.
        state_key: A function of the environment and the observation that identifies the state; by
            default the observation.
        starts: The number of resets, to estimate the initial distribution.
        repeats: The number of tries of each action in each state.
        verify: The number of random steps to compare at the end, besides long walks; 0 for none.
        longest: The greatest length of a walk. The default is 10,000, or more if the environment
            names a greater time limit.
        seed: For the resets and the trials.

    Example:
        >>> from cranium.worlds import LetterEnv
        >>> world = enumerate_env(LetterEnv.experiment(1), state_key=lambda env, _: env.state)
        >>> world.num_states, world.sampled.tries
        (107, 3)
    """
    check_count("starts", starts)
    check_count("repeats", repeats)
    found = _Enumeration(env, labelling, state_key, repeats, seed)
    limit, span = time_limit(env), longest or longest_walk(env)
    with lift_limits(found.env):
        world = found.run(starts)
        if verify:
            live = found.begin(seed)
            least = span if limit is None else min(span, limit)
            walk = Walk(world, live, labelling, state_key, seed, found.clock)
            walk.run(verify, least)
            found.steps, found.longest = walk.steps, walk.longest
    limits = [one for one in (limit, found.clock.cut) if one is not None]
    sampled = found.sampling(world, starts)
    return replace(world, horizon=min(limits, default=None), sampled=sampled)


def verify_model(
    world: TabularWorld,
    env: gym.Env[Any, Any],
    labelling: LabellingFunction | None,
    *,
    steps: int,
    longest: int | None = None,
) -> TabularWorld:
    """Compare a table with its environment, and add the time limit of the environment's own.

    Example:
        >>> lake = gym.make("FrozenLake-v1").unwrapped
        >>> goal = lambda s, a, s2: "goal" if s2 == 15 else ()
        >>> table = TabularWorld.from_model(lake, goal)
        >>> verify_model(table, lake, goal, steps=100, longest=100).horizon is None
        True
    """
    clock = Clock()
    Walk(world, env, labelling, None, 0, clock).run(steps, longest or longest_walk(env))
    return replace(world, horizon=clock.cut)


def longest_walk(env: gym.Env[Any, Any]) -> int:
    """The length of a walk that is long enough to meet the environment's own time limit.

    Example:
        >>> longest_walk(gym.make("FrozenLake-v1"))
        10000
    """
    base: Any = env.unwrapped
    hints = [getattr(base, name, None) for name in HINTS]
    hints.append(getattr(base.spec, "max_episode_steps", None))
    numbers = [hint + 1 for hint in hints if isinstance(hint, int | np.integer)]
    return min(FARTHEST, max([LONGEST, *numbers]))


class _Snapshot(NamedTuple):
    """A way to return to a state: a copy of the environment, or a seed and actions."""

    env: gym.Env[Any, Any] | None
    seed: int
    actions: tuple[int, ...]
    seen: Any
    generators: list[Generator]


_Tried = tuple[float, Hashable, Events, bool, float]


class _Enumeration:
    def __init__(
        self,
        env: gym.Env[Any, Any],
        labelling: LabellingFunction | None,
        state_key: StateKey | None,
        repeats: int,
        seed: int,
    ) -> None:
        self.builder = TableBuilder(env.action_space)
        if state_key is None and not isinstance(env.unwrapped, FiniteWorld):
            check_finite(env.observation_space, "state_key=lambda env, observation: …")
        self.labelling = labelling
        self.key = state_key or default_state_key(env)
        self.repeats = repeats
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.snapshots: dict[Hashable, _Snapshot] = {}
        self.clock = Clock()
        self.watched: list[Generator] = []
        self.random: dict[tuple[Hashable, int], None] = {}  # where random numbers are drawn
        self.random_tries = 0
        self.steps = self.longest = 0
        self.alive: set[Hashable] = set()
        try:
            self.env = copy.deepcopy(env)  # the caller's own stays as it is
            self.copies = True
        except Exception:  # whatever a foreign environment holds: locks, windows, connections
            self.env, self.copies = env, False

    def begin(self, seed: int) -> gym.Env[Any, Any]:
        """Return an environment to walk in, after a reset."""
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
        # Breadth first: every state is tried as early in an episode as possible, so that a hidden
        # time limit does not disturb the tries if that can be avoided.
        waiting, tried = deque(counts), {}
        while waiting:
            state = waiting.popleft()
            if state in tried:
                continue
            tried[state] = [
                self._try(state, action, self.repeats) for action in self.builder.actions
            ]
            waiting += [found[1] for found in tried[state] if found[1] in self.alive]
        self.random_tries = min(RANDOM_TRIES, MORE_TRIES // max(1, len(self.random)))
        for state, action in list(self.random):
            known = tried[state][action - self.builder.first_action]
            self._try(state, action, self.random_tries - self.repeats, known)
        self.builder.begin((count / starts, state) for state, count in counts.items())
        for state in self.builder.unvisited():
            for action in range(self.builder.num_actions):
                # A state that is only reached at the end is not left again.
                self.builder.pair([tried[state][action]] if state in tried else [])
        return self.builder.finish(lambda state: self.snapshots[state].seen, TabularWorld)

    def sampling(self, world: TabularWorld, starts: int) -> Sampling:
        """Return how much was tried."""
        pairs = int((np.diff(world.first) > 0).sum())
        more = max(self.random_tries, self.repeats) if self.random else 0
        counts = (len(self.random), more, starts, self.steps, self.longest)
        return Sampling(self.repeats, pairs, *counts)

    def _try(self, state: Hashable, action: int, times: int, found: _Tried | None = None) -> _Tried:
        """Return the outcome of an action, which must be the same in every try."""
        snapshot = self.snapshots[state]
        for _ in range(times):
            trial = self._return_to(snapshot)
            before = draws(self.watched)
            seen, reward, terminated, truncated, _ = trial.step(action)
            if draws(self.watched) != before:
                self.random[state, action] = None
            if truncated or not terminated:
                self.clock.see(len(snapshot.actions) + 1, truncated=bool(truncated))
            events = events_after_step(trial, self.labelling, snapshot.seen, action, seen)
            outcome = (1.0, self.key(trial, seen), events, bool(terminated), float(reward))
            if found is not None and found != outcome:
                raise WorldError(
                    f"action {action} in {shorten(state)} led to {shorten(found[1:])} and to "
                    f"{shorten(outcome[1:])}: the environment is not deterministic, or state_key "
                    "does not tell its states apart",
                    fix="use TabularWorld.from_model if it has P, or a finer state_key",
                )
            found = outcome
            alive, after = not (terminated or truncated), (*snapshot.actions, action)
            self._remember(outcome[1], trial, snapshot.seed, after, seen, alive=alive)
            if alive:
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
        # An ended episode cannot be continued, so one that goes on replaces it.
        if state not in self.snapshots or (alive and state not in self.alive):
            snapshot = copy.deepcopy(env) if self.copies else None
            held = [] if snapshot is None else generators(snapshot)
            self.snapshots[state] = _Snapshot(snapshot, seed, actions, copy_observation(seen), held)

    def _return_to(self, snapshot: _Snapshot) -> gym.Env[Any, Any]:
        """Return an environment in this state, with new seeds for its random generators."""
        if snapshot.env is not None:
            copies: dict[int, Any] = {}
            trial = copy.deepcopy(snapshot.env, copies)
            self.watched = [copies.get(id(one), one) for one in snapshot.generators]
            # A generator that copies share is not reseeded: it draws new numbers anyway.
            own = [one for one in self.watched if not any(one is g for g in snapshot.generators)]
        else:
            trial = self.env
            trial.reset(seed=snapshot.seed)
            for action in snapshot.actions:
                trial.step(action)
            self.watched = own = generators(trial)
        for one in own:
            reseed(one, int(self.rng.integers(2**63)))
        trial.unwrapped.np_random = np.random.default_rng(self.rng.integers(2**63))
        self.watched.append(trial.unwrapped.np_random)
        return trial


def check_finite(space: gym.Space[Any], fix: str) -> None:
    """Check that there are finitely many observations."""
    if isinstance(space, gym.spaces.Box) and not np.issubdtype(space.dtype, np.integer):
        raise WorldError(
            f"observations in {space} are not finitely many",
            fix=f"say what tells them apart: {fix}",
        )
