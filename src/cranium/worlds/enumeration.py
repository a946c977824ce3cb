"""Any finite, deterministic environment as arrays, by trying every action in every state."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from cranium.errors import WorldError, check_count, shorten
from cranium.worlds.draft import Draft
from cranium.worlds.finite import Events, FiniteWorld
from cranium.worlds.observations import kept
from cranium.worlds.sampling import Generator, Sampling, draws, generators, reseed
from cranium.worlds.tabular import (
    Labelling,
    StateKey,
    TabularWorld,
    default_key,
    events_after_step,
)
from cranium.worlds.verification import Clock, Walk, lifted_limits, time_limit

__all__ = ["confirm", "enumerate_env", "farthest"]

RANDOM_TRIES = 50
"""How often an action is tried in a state, at most, if random numbers are drawn there."""
MORE_TRIES = 3_000
"""How many such tries there are at most, all together."""
LONGEST = 10_000
"""How many steps the longest walk takes, unless the horizon is known."""
FARTHEST = 100_000
"""How many it takes at most, if the environment has a limit of its own that says so."""
HINTS = ("max_steps", "_max_episode_steps", "max_episode_steps", "max_episode_length", "time_limit")
"""What environments call a limit of their own: where to look, not what to believe."""


def enumerate_env(
    env: gym.Env[Any, Any],
    labelling: Labelling | None = None,
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
    estimates. Actions may not be: each is tried several times, with other random numbers in every
    generator that the environment holds. Where it draws some, each is tried up to 50 times.

    In the end random walks compare the table with the environment, which also finds state that is
    hidden. Some of them make episodes last for as long as they can: an environment that cuts every
    episode off after the same number of steps gets that as its ``horizon``; one that ends, or cuts
    off, by anything else that it hides is refused.

    All of this is sampled, not proved: ``sampled`` of the table says what it rests on. A clock that
    strikes after more than ``longest`` steps, or an outcome that never happened, is not in it.

    Args:
        env: The environment, with discrete actions.
        labelling: L(s, a, s′) on observations; left out, the world's own events.
        state_key: What tells states apart: of the environment and the observation; by default the
            observation.
        starts: How often to reset it, to learn where episodes begin.
        repeats: How often to try each action in each state.
        verify: How many random steps to compare in the end, besides the long walks; 0 for none.
        longest: How many steps the longest walk takes at most; by default 10,000, or more if the
            environment says that it has a greater limit.
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
    limit, span = time_limit(env), longest or farthest(env)
    with lifted_limits(found.env):
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


def confirm(
    world: TabularWorld,
    env: gym.Env[Any, Any],
    labelling: Labelling | None,
    *,
    steps: int,
    longest: int | None = None,
) -> TabularWorld:
    """Compare a table with its environment, and add when that cuts episodes off by itself.

    Example:
        >>> lake = gym.make("FrozenLake-v1").unwrapped
        >>> goal = lambda s, a, s2: "goal" if s2 == 15 else ()
        >>> table = TabularWorld.from_model(lake, goal)
        >>> confirm(table, lake, goal, steps=100, longest=100).horizon is None
        True
    """
    clock = Clock()
    Walk(world, env, labelling, None, 0, clock).run(steps, longest or farthest(env))
    return replace(world, horizon=clock.cut)


def farthest(env: gym.Env[Any, Any]) -> int:
    """How many steps to walk at most, so that a clock of the environment's own is seen.

    Example:
        >>> farthest(gym.make("FrozenLake-v1"))
        10000
    """
    base: Any = env.unwrapped
    hints = [getattr(base, name, None) for name in HINTS]
    hints.append(getattr(base.spec, "max_episode_steps", None))
    numbers = [hint + 1 for hint in hints if isinstance(hint, int | np.integer)]
    return min(FARTHEST, max([LONGEST, *numbers]))


class _Place(NamedTuple):
    """A way back to a state: a copy of the environment, or a seed and the actions after it."""

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
        self.rng = np.random.default_rng(seed)
        self.places: dict[Hashable, _Place] = {}
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
        # Breadth first: no state is left later than it can be, so a clock strikes in none before
        # it must.
        waiting, tried = deque(counts), {}
        while waiting:
            state = waiting.popleft()
            if state in tried:
                continue
            tried[state] = [self._try(state, action, self.repeats) for action in self.draft.actions]
            waiting += [found[1] for found in tried[state] if found[1] in self.alive]
        self.random_tries = min(RANDOM_TRIES, MORE_TRIES // max(1, len(self.random)))
        for state, action in list(self.random):
            known = tried[state][action - self.draft.first_action]
            self._try(state, action, self.random_tries - self.repeats, known)
        self.draft.begin((count / starts, state) for state, count in counts.items())
        for state in self.draft.unvisited():
            for action in range(self.draft.num_actions):
                # A state that is only reached at the end is not left again.
                self.draft.pair([tried[state][action]] if state in tried else [])
        return self.draft.finish(lambda state: self.places[state].seen)

    def sampling(self, world: TabularWorld, starts: int) -> Sampling:
        """What the table rests on."""
        pairs = int((np.diff(world.first) > 0).sum())
        more = max(self.random_tries, self.repeats) if self.random else 0
        told = (len(self.random), more, starts, self.steps, self.longest)
        return Sampling(self.repeats, pairs, *told)

    def _try(self, state: Hashable, action: int, times: int, found: _Tried | None = None) -> _Tried:
        """What an action leads to, the same every time."""
        place = self.places[state]
        for _ in range(times):
            trial = self._return_to(place)
            before = draws(self.watched)
            seen, reward, terminated, truncated, _ = trial.step(action)
            if draws(self.watched) != before:
                self.random[state, action] = None
            if truncated or not terminated:
                self.clock.see(len(place.actions) + 1, truncated=bool(truncated))
            events = events_after_step(trial, self.labelling, place.seen, action, seen)
            outcome = (1.0, self.key(trial, seen), events, bool(terminated), float(reward))
            if found is not None and found != outcome:
                raise WorldError(
                    f"action {action} in {shorten(state)} led to {shorten(found[1:])} and to "
                    f"{shorten(outcome[1:])}: the environment is not deterministic, or state_key "
                    "does not tell its states apart",
                    fix="use TabularWorld.from_model if it has P, or a finer state_key",
                )
            found = outcome
            alive, after = not (terminated or truncated), (*place.actions, action)
            self._remember(outcome[1], trial, place.seed, after, seen, alive=alive)
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
        # What is left of an ended episode cannot be gone on with: a living one takes its place.
        if state not in self.places or (alive and state not in self.alive):
            snapshot = copy.deepcopy(env) if self.copies else None
            held = [] if snapshot is None else generators(snapshot)
            self.places[state] = _Place(snapshot, seed, actions, kept(seen), held)

    def _return_to(self, place: _Place) -> gym.Env[Any, Any]:
        """An environment in a state, which draws other random numbers than ever before."""
        if place.env is not None:
            copies: dict[int, Any] = {}
            trial = copy.deepcopy(place.env, copies)
            self.watched = [copies.get(id(one), one) for one in place.generators]
            # What a copy shares with others goes on by itself.
            own = [one for one in self.watched if not any(one is g for g in place.generators)]
        else:
            trial = self.env
            trial.reset(seed=place.seed)
            for action in place.actions:
                trial.step(action)
            self.watched = own = generators(trial)
        for one in own:
            reseed(one, int(self.rng.integers(2**63)))
        trial.unwrapped.np_random = np.random.default_rng(self.rng.integers(2**63))
        self.watched.append(trial.unwrapped.np_random)
        return trial


def check_finite(space: gym.Space[Any], fix: str) -> None:
    """Refuse observations that are not finitely many."""
    if isinstance(space, gym.spaces.Box) and not np.issubdtype(space.dtype, np.integer):
        raise WorldError(
            f"observations in {space} are not finitely many",
            fix=f"say what tells them apart: {fix}",
        )
