"""Environments that sample from a model: its states, the outcomes of actions, and their events.

The environment draws from the same model that :class:`~cranium.worlds.TabularWorld` lists, so the
two are the same world by construction.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Generic, Self, TypeVar

import gymnasium as gym
import numpy as np

from cranium.errors import InvalidArgumentError, shorten
from cranium.worlds.arguments import as_probabilities
from cranium.worlds.observations import copy_observation
from cranium.worlds.protocols import (
    Events,
    FiniteWorld,
    Instances,
    Outcome,
    ResetOptions,
    StateT,
    as_events,
)

__all__ = ["FiniteEnv", "find_model"]

MAX_CACHED_MOVES = 1 << 16
ObsT = TypeVar("ObsT")


class FiniteEnv(gym.Env[ObsT, np.int64], Generic[StateT, ObsT]):
    """A Gymnasium environment whose steps are drawn from the model of a subclass.

    A subclass defines the model (``initial``, ``outcomes``, ``label``, ``observe``), the vocabulary
    and the two spaces; this class adds ``reset`` and ``step``. It follows the protocol
    :class:`~cranium.worlds.FiniteWorld`. An episode draws exactly one random number at its start
    and one in every step, so that compiled training loops draw the same from the same seed. The
    ground reward is always 0.

    Attributes:
        state: The current state; None before the first ``reset``.
        events: The events of the last step.
        vocabulary: The names of all events that can happen.
        action_names: The names of the actions; None if they are only numbers.

    Example:
        A coin that is tossed:

        >>> class Coin(FiniteEnv):
        ...     vocabulary = ("heads",)
        ...     action_space = gym.spaces.Discrete(1)
        ...     observation_space = gym.spaces.MultiDiscrete([2])
        ...     def initial(self, options):
        ...         return [(1.0, 0)]
        ...     def outcomes(self, state, action):
        ...         return [Outcome(0.5, 0), Outcome(0.5, 1)]
        ...     def label(self, state, action, after):
        ...         return {"heads"} if after else ()
        ...     def observe(self, state):
        ...         return np.array([state])
        >>> coin = Coin()
        >>> coin.reset(seed=1)[0], coin.step(0)[0], coin.events
        (array([0]), array([1]), frozenset({'heads'}))
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012
    vocabulary: tuple[str, ...]
    action_names: tuple[str, ...] | None = None
    state: StateT
    events: Events

    def __init__(self, render_mode: str | None = None) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise InvalidArgumentError(
                f"a render mode is one of {', '.join(self.metadata['render_modes'])}, "
                f"not {shorten(render_mode)}"
            )
        self.render_mode = render_mode
        self._forget()

    def _forget(self) -> None:
        """Empty the caches, and go back to before the first reset."""
        self.events = frozenset()
        self.state = None  # type: ignore[assignment] # until reset, which every episode begins with
        self._moves: dict[tuple[StateT, int], _Move[StateT, ObsT]] = {}
        self._starts: tuple[list[float], list[StateT]] | None = None
        self._labels: dict[Events, Events] = {frozenset(): self.events}

    # The model

    @abstractmethod
    def initial(self, options: ResetOptions) -> Sequence[tuple[float, StateT]]:
        """Return the states in which an episode can start, each with its probability."""

    @abstractmethod
    def outcomes(self, state: StateT, action: int) -> Sequence[Outcome]:
        """Return the outcomes of an action in a state."""

    @abstractmethod
    def label(self, state: StateT, action: int, after: StateT) -> Iterable[str] | str:
        """Return the events of a transition, L(s, a, s′): a name, or a collection of names."""

    @abstractmethod
    def observe(self, state: StateT) -> ObsT:
        """Return the observation of a state."""

    @property
    def follows_model(self) -> bool:
        """Whether steps are drawn from the model: not if a subclass overrides step or reset."""
        kind = type(self)
        return kind.step is FiniteEnv.step and kind.reset is FiniteEnv.reset

    def instances(self) -> Instances:
        """Return the instances of the world, which policies are evaluated in.

        Each is a name and the options of ``reset`` that select it. None if every start is one.
        """
        return {}

    def twin(self) -> Self:
        """Return a second environment with the same model, which steps on its own.

        Caches are not copied. The objects that the model consists of are shared.
        """
        other = copy.copy(self)
        other._forget()
        return other

    # The environment

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsT, dict[str, Any]]:
        """Start an episode; ``options`` can fix what is random (see the world)."""
        super().reset(seed=seed)
        if options or self._starts is None:
            named = self.initial(options or {})
            chances = as_probabilities([probability for probability, _ in named], "the starts")
            starts: dict[StateT, float] = {}  # one that is listed twice is one, as in the table
            for probability, (_, state) in zip(chances, named, strict=True):
                starts[state] = starts.get(state, 0.0) + probability
            found = list(starts.values()), list(starts)
            if not options:
                self._starts = found
        else:
            found = self._starts
        self.state = found[1][self._draw(found[0])]
        self.events = frozenset()
        return self.observe(self.state), {}

    def step(self, action: np.int64 | int) -> tuple[ObsT, float, bool, bool, dict[str, Any]]:
        """Take an action and draw its outcome; the ground reward is 0."""
        # Cached actions are known to be valid. True and 1.0 would be found as 1.
        known = self._moves.get((self.state, action)) if type(action) is int else None
        chances, found = known or self._find_move(action)
        self.state, self.events, seen, terminated = found[self._draw(chances)]
        return copy_observation(seen), 0.0, terminated, False, {}

    def _find_move(self, wanted: np.int64 | int) -> _Move[StateT, ObsT]:
        """Ask the model for the outcomes of an action. It does not change, so it is asked once."""
        if self.state is None:
            raise InvalidArgumentError("the episode has not begun", fix="call reset() first")
        if not self.action_space.contains(wanted):
            raise InvalidArgumentError(
                f"an action of this world is in {self.action_space}, not {shorten(wanted)}"
            )
        state, action = self.state, int(wanted)
        outcomes = self.outcomes(state, action)
        chances = as_probabilities(
            [o.probability for o in outcomes],
            lambda: f"the outcomes of action {action} in {shorten(state)}",
        )
        found: list[tuple[StateT, Events, ObsT, bool]] = []
        for o in outcomes:
            after: StateT = o.state  # type: ignore[assignment] # states are of one type
            label = self._intern(as_events(self.label(state, action, after)))
            found.append((after, label, self.observe(after), o.terminated))
        if len(self._moves) >= MAX_CACHED_MOVES:
            self._moves.clear()
        self._moves[state, action] = chances, found
        return self._moves[state, action]

    def _intern(self, events: Events) -> Events:
        """Return one object for equal events, which dictionaries find faster."""
        return self._labels.setdefault(events, events)

    def _draw(self, probabilities: list[float]) -> int:
        """Draw an index, always with one random number: compiled loops draw the same."""
        drawn, total = self.np_random.random(), 0.0
        if len(probabilities) == 1:  # nearly always, and it is a tenth of a step
            return 0
        for index, probability in enumerate(probabilities[:-1]):
            total += probability
            if total > drawn:
                return index
        return len(probabilities) - 1


_Move = tuple[list[float], list[tuple[StateT, Events, ObsT, bool]]]
"""The outcomes of an action in a state: their probabilities, and for each the next state, the
events, the observation and the termination."""


def find_model(env: gym.Env[Any, Any]) -> FiniteWorld[Any] | None:
    """Return the world inside an environment if it has a model that its steps follow.

    Example:
        >>> from cranium.worlds import OfficeWorld
        >>> find_model(OfficeWorld()) is not None, find_model(gym.make("FrozenLake-v1"))
        (True, None)
    """
    base = env.unwrapped
    if isinstance(base, FiniteEnv) and not base.follows_model:
        return None
    return base if isinstance(base, FiniteWorld) else None
