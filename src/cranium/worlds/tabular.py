"""Finite worlds as arrays."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.errors import InvalidArgumentError, SpaceError, WorldError, shorten
from cranium.worlds.finite import Events, FiniteWorld
from cranium.worlds.observations import hashable, kept

__all__ = ["TabularWorld", "enumerate_env"]

MAX_STATES = 1_000_000
Labelling = Callable[[Any, Any, Any], Iterable[str]]


@dataclass(frozen=True)
class TabularWorld:
    """A finite world: S states, A actions, O observations, and K outcomes of all pairs together.

    The outcomes of taking action a in state s are those from ``first[s * A + a]`` up to
    ``first[s * A + a + 1]``.

    Attributes:
        first: Where the outcomes of each pair begin. [S·A + 1]
        next_state: Where an outcome leads. [K]
        probability: How likely it is, given the pair. [K]
        label: Its events, as an index into ``labels``. [K]
        terminated: Whether it ends the episode. [K]
        reward: The world's own reward. [K]
        initial: How likely an episode begins in each state. [S]
        observation: Which observation is made in each state. [S]
        labels: The labels that occur.
        states: What each state is called.
        observations: What is seen with each observation.
        num_actions: A.

    Example:
        >>> from cranium.worlds import LetterEnv
        >>> world = TabularWorld.of(LetterEnv.experiment(1))
        >>> world.num_states, world.num_actions, len(world.labels)
        (107, 4, 5)
    """

    first: NDArray[np.int32] = field(repr=False)
    next_state: NDArray[np.int32] = field(repr=False)
    probability: NDArray[np.float64] = field(repr=False)
    label: NDArray[np.int32] = field(repr=False)
    terminated: NDArray[np.bool_] = field(repr=False)
    reward: NDArray[np.float64] = field(repr=False)
    initial: NDArray[np.float64] = field(repr=False)
    observation: NDArray[np.int32] = field(repr=False)
    labels: tuple[Events, ...]
    states: tuple[Hashable, ...] = field(repr=False)
    observations: tuple[Any, ...] = field(repr=False)
    num_actions: int

    @property
    def num_states(self) -> int:
        """S."""
        return len(self.states)

    @property
    def is_deterministic(self) -> bool:
        """Whether every action has one outcome."""
        return len(self.next_state) == len(self.first) - 1

    @classmethod
    def of(cls, world: FiniteWorld, labelling: Labelling | None = None) -> TabularWorld:
        """List one of our own worlds, from its model; with its own events, or a labelling."""
        draft = _Draft(world.action_space.n)  # type: ignore[attr-defined]
        draft.begin(world.initial({}))

        def label(state: Any, action: int, after: Any) -> Events:
            if labelling is None:
                return world.label(state, action, after)
            return frozenset(labelling(world.observe(state), action, world.observe(after)))

        for state in draft.unvisited():
            for action in range(draft.num_actions):
                draft.pair(
                    (o.probability, o.state, label(state, action, o.state), o.terminated, 0.0)
                    for o in world.outcomes(state, action)
                )
        return draft.finish(world.observe)

    @classmethod
    def from_model(cls, env: gym.Env[Any, Any], labelling: Labelling) -> TabularWorld:
        """List an environment that has Gymnasium's ``env.unwrapped.P``, as the toy-text ones do.

        Example:
            >>> env = gym.make("FrozenLake-v1")
            >>> goal = lambda s, a, s2: {"goal"} if s2 == 15 else ()
            >>> TabularWorld.from_model(env, goal).num_states
            16
        """
        base: Any = env.unwrapped
        if not hasattr(base, "P"):
            raise WorldError(
                f"{type(base).__name__} has no model P", fix="use enumerate_env(env, state_key=…)"
            )
        draft = _Draft(int(base.action_space.n))
        chances = np.asarray(base.initial_state_distrib, dtype=float)
        draft.begin([(float(p), s) for s, p in enumerate(chances) if p > 0])
        for state in draft.unvisited():
            for action in range(draft.num_actions):
                draft.pair(
                    (
                        float(p),
                        int(s2),
                        frozenset(labelling(state, action, int(s2))),
                        bool(d),
                        float(r),
                    )
                    for p, s2, r, d in base.P[state][action]
                    if p > 0
                )
        return draft.finish(lambda state: state)

    def verify(
        self,
        env: gym.Env[Any, Any],
        labelling: Labelling | None = None,
        *,
        state_key: Callable[[gym.Env[Any, Any], Any], Hashable] | None = None,
        steps: int = 1000,
        seed: int = 0,
    ) -> int:
        """Walk about at random in the live environment, and compare every step with the table.

        Args:
            env: The environment that the table was made from.
            labelling: Its events; left out, the world's own.
            state_key: What tells the states apart: of the environment and the observation.
            steps: How many steps to take.
            seed: For the walk.

        Returns:
            How many steps agreed; the first that does not raises :class:`WorldError`.
        """
        number = {state: index for index, state in enumerate(self.states)}
        key = state_key or _state_key(env)
        random = np.random.default_rng(seed)
        observation, _ = env.reset(seed=seed)
        observation, state = kept(observation), key(env, observation)
        for step in range(steps):
            if state not in number:
                raise WorldError(f"the table does not have the state {shorten(state)}")
            action = int(random.integers(self.num_actions))
            after_seen, reward, terminated, truncated, _ = env.step(action)
            events = _events(env, labelling, observation, action, after_seen)
            after = key(env, after_seen)
            found = (after, events, terminated, float(reward))
            pair = number[state] * self.num_actions + action
            known = [
                (
                    self.states[self.next_state[o]],
                    self.labels[self.label[o]],
                    bool(self.terminated[o]),
                    float(self.reward[o]),
                )
                for o in range(self.first[pair], self.first[pair + 1])
            ]
            if found not in known:
                raise WorldError(
                    f"in step {step}, action {action} in {shorten(state)} led to {shorten(found)}, "
                    f"but the table knows {shorten(known)}"
                )
            observation, state = kept(after_seen), after
            if terminated or truncated:
                observation, _ = env.reset()
                observation, state = kept(observation), key(env, observation)
        return steps


class _Draft:
    """A table while it is being made: states are numbered in the order in which they are met."""

    def __init__(self, num_actions: int) -> None:
        self.num_actions = int(num_actions)
        self.numbers: dict[Hashable, int] = {}
        self.starts: dict[int, float] = {}
        self.labels: dict[Events, int] = {}
        self.first = [0]
        self.outcomes: list[tuple[int, float, int, bool, float]] = []

    def number(self, state: Hashable) -> int:
        if state not in self.numbers and len(self.numbers) >= MAX_STATES:
            raise SpaceError(
                f"the world has more than {MAX_STATES:,} states", fix="use a coarser state_key"
            )
        return self.numbers.setdefault(state, len(self.numbers))

    def begin(self, starts: Iterable[tuple[float, Hashable]]) -> None:
        for probability, state in starts:
            number = self.number(state)
            self.starts[number] = self.starts.get(number, 0.0) + probability

    def unvisited(self) -> Iterable[Any]:
        """The states in order, those that are met on the way included."""
        states = list(self.numbers)
        index = 0
        while index < len(self.numbers):
            if index == len(states):
                states = list(self.numbers)
            yield states[index]
            index += 1

    def pair(self, outcomes: Iterable[tuple[float, Hashable, Events, bool, float]]) -> None:
        joint: dict[tuple[int, int, bool, float], float] = {}
        for probability, state, events, terminated, reward in outcomes:
            label = self.labels.setdefault(events, len(self.labels))
            key = (self.number(state), label, terminated, reward)
            joint[key] = joint.get(key, 0.0) + probability
        for (state_number, label, terminated, reward), probability in joint.items():
            self.outcomes.append((state_number, probability, label, terminated, reward))
        self.first.append(len(self.outcomes))

    def finish(self, observe: Callable[[Any], Any]) -> TabularWorld:
        initial = np.zeros(len(self.numbers))
        for number, probability in self.starts.items():
            initial[number] = probability
        seen: dict[Hashable, int] = {}
        observations: list[Any] = []
        observation = np.zeros(len(self.numbers), np.int32)
        for state, number in self.numbers.items():
            view = observe(state)
            key = hashable(view)
            if key not in seen:
                seen[key] = len(seen)
                observations.append(view)
            observation[number] = seen[key]
        columns = list(zip(*self.outcomes, strict=True)) or [(), (), (), (), ()]
        return TabularWorld(
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
        )


def enumerate_env(
    env: gym.Env[Any, Any],
    labelling: Labelling | None = None,
    *,
    state_key: Callable[[gym.Env[Any, Any], Any], Hashable] | None = None,
    starts: int = 100,
    repeats: int = 3,
    seed: int = 0,
) -> TabularWorld:
    """List a finite, deterministic environment by trying every action in every state.

    The environment is copied, so that every state can be returned to. Starts may be random: they
    are sampled. Actions may not be: each is tried several times, with other random numbers.

    Args:
        env: The environment, with discrete actions.
        labelling: L(s, a, s′) on observations; left out, the world's own events.
        state_key: What tells states apart: of the environment and the observation; by default the
            observation.
        starts: How often to reset it, to learn where episodes begin.
        repeats: How often to try each action in each state.
        seed: For the resets and the trials.

    Example:
        >>> from cranium.worlds import LetterEnv
        >>> world = enumerate_env(LetterEnv.experiment(1), state_key=lambda env, _: env.state)
        >>> world.num_states
        107
    """
    if not isinstance(env.action_space, gym.spaces.Discrete):
        raise WorldError(f"only discrete actions can be listed, not {env.action_space}")
    key = state_key or _state_key(env)
    base = int(env.action_space.start)
    draft = _Draft(int(env.action_space.n))
    random = np.random.default_rng(seed)
    snapshots: dict[Hashable, tuple[gym.Env[Any, Any], Any]] = {}
    counts: dict[Hashable, int] = {}
    for index in range(starts):
        observation, _ = env.reset(seed=seed + index)
        state = key(env, observation)
        if state not in snapshots:
            snapshots[state] = copy.deepcopy(env), kept(observation)
        counts[state] = counts.get(state, 0) + 1
    draft.begin((count / starts, state) for state, count in counts.items())
    for state in draft.unvisited():
        here, observation = snapshots[state]
        for action in range(draft.num_actions):
            found = None
            for _ in range(repeats):
                trial = copy.deepcopy(here)
                trial.unwrapped.np_random = np.random.default_rng(random.integers(2**63))
                seen, reward, terminated, _, _ = trial.step(base + action)
                events = _events(trial, labelling, observation, action, seen)
                outcome = (1.0, key(trial, seen), events, terminated, float(reward))
                if found is not None and found != outcome:
                    raise WorldError(
                        f"action {action} in {shorten(state)} led to {shorten(found[1:])} and to "
                        f"{shorten(outcome[1:])}: the environment is not deterministic, or "
                        "state_key does not tell its states apart",
                        fix="use TabularWorld.from_model if it has P, or a finer state_key",
                    )
                found = outcome
                snapshots.setdefault(outcome[1], (trial, kept(seen)))
            assert found is not None
            draft.pair([found])
    views = {state: observation for state, (_, observation) in snapshots.items()}
    return draft.finish(views.__getitem__)


def _state_key(env: gym.Env[Any, Any]) -> Callable[[gym.Env[Any, Any], Any], Hashable]:
    if isinstance(env.unwrapped, FiniteWorld):
        return lambda env, _: env.unwrapped.state  # type: ignore[attr-defined]
    return lambda _, observation: hashable(observation)


def _events(
    env: gym.Env[Any, Any], labelling: Labelling | None, before: Any, action: Any, after: Any
) -> Events:
    if labelling is not None:
        return frozenset(labelling(before, action, after))
    events = getattr(env.unwrapped, "events", None)
    if events is None:
        raise InvalidArgumentError(
            f"{type(env.unwrapped).__name__} names no events of its own", fix="give a labelling"
        )
    return frozenset(events)
