"""Finite worlds as arrays."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.errors import RewardError, WorldError, shorten
from cranium.worlds.arguments import TOLERANCE, check_probabilities
from cranium.worlds.observations import format_observation, observation_key
from cranium.worlds.protocols import (
    Events,
    FiniteWorld,
    LabellingFunction,
    Observation,
    RewardCallable,
    StateKey,
    as_events,
)
from cranium.worlds.sampling import Sampling
from cranium.worlds.table_builder import TableBuilder
from cranium.worlds.verification import Walk

__all__ = ["TabularWorld"]


@dataclass(frozen=True)
class TabularWorld:
    """A finite world: S states, A actions, O observations, and K outcomes of all pairs together.

    The outcomes of taking action a in state s are those from ``first[s * A + a]`` up to
    ``first[s * A + a + 1]``; there are none in a state that is only reached at the end.

    Attributes:
        first: The index of the first outcome of each pair. [S·A + 1]
        next_state: The next state of each outcome. [K]
        probability: Its probability, given the pair. [K]
        label: Its events, as an index into ``labels``. [K]
        terminated: Whether it ends the episode. [K]
        reward: The world's own reward. [K]
        initial: The probability that an episode starts in each state. [S]
        observation: The index of the observation of each state. [S]
        labels: The labels that occur.
        states: The key of each state.
        observations: The observations.
        num_actions: A.
        first_action: The environment's number of action 0.
        horizon: The number of steps after which the environment itself truncates episodes; None if
            it does not.
        sampled: The sampling of the table, if it was made by trying actions; None for a model.

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
    observations: tuple[Observation, ...] = field(repr=False)
    num_actions: int
    first_action: int = 0
    horizon: int | None = None
    sampled: Sampling | None = None

    def __post_init__(self) -> None:
        self._check_probabilities()

    def _check_probabilities(self) -> None:
        """Check that the outcomes of each pair are a distribution; a pair may have none."""
        sums = np.bincount(self.pair, self.probability, len(self.first) - 1)
        whole = (np.abs(sums - 1) <= TOLERANCE) | (np.diff(self.first) == 0)
        whole[self.pair[~(self.probability >= 0)]] = False  # NaN, too
        for row in np.flatnonzero(~whole):
            state, action = divmod(int(row), self.num_actions)
            check_probabilities(
                self.probability[self.first[row] : self.first[row + 1]].tolist(),
                f"the outcomes of action {action + self.first_action} in "
                f"{shorten(self.states[state])}",
            )
        check_probabilities(self.initial[self.initial != 0].tolist(), "the starts")

    @property
    def num_states(self) -> int:
        """S."""
        return len(self.states)

    def name(self, state: int) -> str:
        """Return the name of a state for messages: its observation, if that is also its key.

        Example:
            >>> from cranium.worlds import enumerate_env, LetterEnv
            >>> seen = lambda env, observation: tuple(observation)
            >>> enumerate_env(LetterEnv.experiment(1), state_key=seen).name(0)
            '(4, 4, 1)'
        """
        called, seen = self.states[state], self.observations[self.observation[state]]
        return format_observation(seen if observation_key(seen) == called else called)

    @cached_property
    def pair(self) -> NDArray[np.int64]:
        """The pair of a state and an action that each outcome belongs to: [K]."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    @property
    def is_deterministic(self) -> bool:
        """Whether no action has several outcomes."""
        return bool((np.diff(self.first) <= 1).all())

    def limit_horizon(self, horizon: int | None) -> int | None:
        """Return the smaller of this horizon and the environment's own (``self.horizon``).

        Example:
            >>> from dataclasses import replace
            >>> from cranium.worlds import LetterEnv
            >>> world = replace(TabularWorld.of(LetterEnv.experiment(1)), horizon=30)
            >>> world.limit_horizon(None), world.limit_horizon(20), world.limit_horizon(100)
            (30, 20, 30)
        """
        return min((h for h in (horizon, self.horizon) if h is not None), default=None)

    def pay(self, function: RewardCallable, outcome: int) -> float:
        """Return the value of a reward function of (s, a, s′) for an outcome. s is the observation.

        Example:
            >>> from cranium.worlds import LetterEnv
            >>> world = TabularWorld.of(LetterEnv.experiment(1))
            >>> world.pay(lambda before, action, after: float(after[0] - before[0]), 0)
            0.0
        """
        state, action = divmod(int(self.pair[outcome]), self.num_actions)
        before = self.observations[self.observation[state]]
        after = self.observations[self.observation[self.next_state[outcome]]]
        called = action + self.first_action
        return call_reward_function(function, before, called, after)

    @classmethod
    def of(
        cls,
        world: FiniteWorld[Any],
        labelling: LabellingFunction | None = None,
        *,
        max_states: int | None = None,
    ) -> TabularWorld:
        """List a finite world from its model, with its own events or those of a labelling.

        ``max_states`` is the greatest number of states, by default a million.

        Example:
            >>> from cranium.worlds import OfficeWorld
            >>> TabularWorld.of(OfficeWorld(mail=1)).is_deterministic
            True
        """
        builder = TableBuilder(world.action_space, max_states)
        builder.begin(world.initial({}))

        def label(state: Any, action: int, after: Any) -> Events:
            if labelling is None:
                return as_events(world.label(state, action, after))
            return as_events(labelling(world.observe(state), action, world.observe(after)))

        for state in builder.unvisited():
            for action in builder.actions:
                builder.pair(
                    (o.probability, o.state, label(state, action, o.state), o.terminated, 0.0)
                    for o in world.outcomes(state, action)
                )
        builder.check_alive()
        return builder.finish(world.observe, cls)

    @classmethod
    def from_model(cls, env: gym.Env[Any, Any], labelling: LabellingFunction) -> TabularWorld:
        """List an environment that has Gymnasium's ``env.unwrapped.P``, as the toy-text ones do.

        Example:
            >>> env = gym.make("FrozenLake-v1")
            >>> goal = lambda s, a, s2: "goal" if s2 == 15 else ()
            >>> TabularWorld.from_model(env, goal).num_states
            16
        """
        base: Any = env.unwrapped
        if not hasattr(base, "P"):
            raise WorldError(
                f"{type(base).__name__} has no model P", fix="use enumerate_env(env, state_key=…)"
            )
        if not isinstance(base.observation_space, gym.spaces.Discrete):
            raise WorldError(
                f"the states of P are numbers, but {type(base).__name__} shows "
                f"{base.observation_space}",
                fix="use enumerate_env(env, state_key=…)",
            )
        if not hasattr(base, "initial_state_distrib") or getattr(base, "fickle_passenger", False):
            raise WorldError(
                f"the model P of {type(base).__name__} is not complete",
                fix="use enumerate_env(env, state_key=…)",
            )
        builder = TableBuilder(base.action_space)
        chances = np.asarray(base.initial_state_distrib, dtype=float)
        builder.begin([(float(p), s) for s, p in enumerate(chances) if p != 0])
        for state in builder.unvisited():
            for action in builder.actions:
                builder.pair(
                    (
                        p,
                        int(s2),
                        as_events(labelling(state, action, int(s2))),
                        bool(d),
                        float(r),
                    )
                    for p, s2, r, d in _outcomes_in_model(base, state, action)
                    if p != 0  # what is no probability is refused in the end
                )
        builder.check_alive()
        return builder.finish(lambda state: state, cls)

    def verify(
        self,
        env: gym.Env[Any, Any],
        labelling: LabellingFunction | None = None,
        *,
        state_key: StateKey | None = None,
        steps: int = 1000,
        longest: int | None = None,
        seed: int = 0,
    ) -> int:
        """Compare the table with random walks in the live environment.

        Every step must be in the table, and about as frequent as the table says. Episodes may be
        truncated only after ``horizon`` steps of the table, or by Gymnasium's ``TimeLimit``.

        Args:
            env: The environment that the table was made from.
            labelling: Its events; left out, the world's own.
            state_key: A function of the environment and the observation that identifies the state.
            steps: The number of steps in short walks, of at most 100 steps each.
            longest: If it is given, take long walks, too: one of up to so many steps, and others of
                as many steps in total, or of 20,000 if that is more. They avoid the end of the
                episode, to find a hidden time limit.
            seed: For the walks.

        Returns:
            The number of steps, all of which agreed; otherwise :class:`WorldError` is raised.

        Example:
            >>> from cranium.worlds import LetterEnv
            >>> env = LetterEnv.experiment(1)
            >>> TabularWorld.of(env).verify(env, steps=500)
            500
        """
        return Walk(self, env, labelling, state_key, seed).run(steps, longest)


def _outcomes_in_model(env: Any, state: Hashable, action: int) -> Any:
    """Return the outcomes that a model P lists for an action."""
    try:
        return env.P[state][action]
    except (KeyError, IndexError, TypeError):
        raise WorldError(
            f"the model P of {type(env).__name__} does not list action {action} in state {state}",
            fix=f"P[state][action] is needed for every action in {env.action_space}",
        ) from None


def call_reward_function(
    function: RewardCallable, before: Observation, action: object, after: Observation
) -> float:
    """Call a reward function. An error says for which (s, a, s′)."""
    try:
        return float(function(before, action, after))
    except RewardError as problem:
        message, fix = problem.message, problem.fix
    except Exception as problem:  # it is asked wherever it might pay in another configuration
        message = f"a reward function failed ({type(problem).__name__}: {shorten(str(problem))})"
        fix = "let it return a number for every (s, a, s′)"
    step = f"s = {shorten(before)}, a = {action}, s′ = {shorten(after)}"
    raise RewardError(f"{message} for {step}", fix=fix)
