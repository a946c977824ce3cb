"""Worlds whose dynamics are written down: what can happen, how likely, and which events it causes.

The environment samples from this model, and :mod:`cranium.worlds.tabular` lists it, so both are
the same world by construction.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import fsum, isfinite
from typing import Any, NamedTuple, Self

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.errors import InvalidArgumentError, LabelError, WorldError, check_count, shorten
from cranium.worlds.observations import kept

__all__ = [
    "FiniteWorld",
    "Outcome",
    "as_events",
    "as_probabilities",
    "check_options",
    "check_probabilities",
    "check_span",
    "supply",
]

State = Hashable
Events = frozenset[str]
Observation = NDArray[np.int64]


class Outcome(NamedTuple):
    """One thing that an action may lead to: how likely, where, and whether the episode ends.

    Example:
        >>> Outcome(0.5, (3, 4))
        Outcome(probability=0.5, state=(3, 4), terminated=False)
    """

    probability: float
    state: State
    terminated: bool = False


MAX_MOVES = 1 << 16
GREATEST = 2**31 - 1
"""The greatest number of times that an event can be asked for."""
WIDEST = 1000
"""How far apart the least and the greatest of a drawn number may be: all of them are listed."""
SLACK = 1e-9
"""How far the sum of probabilities may be from 1, because of rounding."""
ROUGH = 5e-7
"""The same for probabilities in single precision, which are then divided by their sum."""


class FiniteWorld(gym.Env[Observation, np.int64]):
    """A finite world: a ground environment without rewards of its own.

    Attributes:
        state: The state that it is in.
        events: The events of the last step.
        vocabulary: All events that can happen.
        action_names: What the actions are called; None if they are only numbers.

    Example:
        A coin that is tossed:

        >>> class Coin(FiniteWorld):
        ...     vocabulary = ("heads",)
        ...     action_space = gym.spaces.Discrete(1)
        ...     observation_space = gym.spaces.MultiDiscrete([2])
        ...     def initial(self, options):
        ...         return [(1.0, 0)]
        ...     def outcomes(self, state, action):
        ...         return [Outcome(0.5, 0), Outcome(0.5, 1)]
        ...     def label(self, state, action, after):
        ...         return frozenset({"heads"} if after else ())
        ...     def observe(self, state):
        ...         return np.array([state])
        >>> coin = Coin()
        >>> coin.reset(seed=1)[0], coin.step(0)[0], coin.events
        (array([0]), array([1]), frozenset({'heads'}))
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012
    vocabulary: tuple[str, ...]
    action_names: tuple[str, ...] | None = None
    state: Any
    events: Events

    def __init__(self, render_mode: str | None = None) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise InvalidArgumentError(
                f"a render mode is one of {', '.join(self.metadata['render_modes'])}, "
                f"not {shorten(render_mode)}"
            )
        self.render_mode = render_mode
        self.events = frozenset()
        self.state = None
        self._moves: dict[tuple[Any, int], tuple[list[float], list[Any]]] = {}
        self._starts: tuple[list[float], list[Any]] | None = None
        self._labels: dict[Events, Events] = {frozenset(): self.events}

    # The model

    @abstractmethod
    def initial(self, options: Mapping[str, Any]) -> Sequence[tuple[float, State]]:
        """The states in which an episode may begin, and how likely each is."""

    @abstractmethod
    def outcomes(self, state: Any, action: int) -> Sequence[Outcome]:
        """What an action may lead to."""

    @abstractmethod
    def label(self, state: Any, action: int, after: Any) -> Events:
        """The events of a transition: L(s, a, s′)."""

    @abstractmethod
    def observe(self, state: Any) -> Observation:
        """What the agent sees of a state."""

    @property
    def follows_model(self) -> bool:
        """Whether it does what the model says: a subclass may step in another way."""
        kind = type(self)
        return kind.step is FiniteWorld.step and kind.reset is FiniteWorld.reset

    def instances(self) -> Mapping[str, Mapping[str, Any]]:
        """What the task is asked for: names, and the options of ``reset`` that make the instance.

        Empty if every start is one.
        """
        return {}

    def twin(self) -> Self:
        """A second world with the same model, whose steps do not change the state of this one.

        Caches are not copied. The objects that the model consists of are shared.
        """
        other = copy.copy(self)
        other.state, other.events = None, frozenset()
        other._moves, other._starts, other._labels = {}, None, {frozenset(): other.events}
        return other

    # The environment

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; ``options`` can fix what is random (see the world)."""
        super().reset(seed=seed)
        if options or self._starts is None:
            named = self.initial(options or {})
            chances = as_probabilities([probability for probability, _ in named], "the starts")
            starts: dict[Any, float] = {}  # a state that is named twice is one, as in the table
            for probability, (_, state) in zip(chances, named, strict=True):
                starts[state] = starts.get(state, 0.0) + probability
            found = list(starts.values()), list(starts)
            if not options:
                self._starts = found
        else:
            found = self._starts
        self.state = found[1][self._choose(found[0])]
        self.events = frozenset()
        return self.observe(self.state), {}

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Do something; the world itself rewards nothing."""
        # What was worked out is known to be allowed; True and 1.0 would be found as 1.
        known = self._moves.get((self.state, action)) if type(action) is int else None
        chances, found = known or self._work_out(action)
        self.state, self.events, seen, terminated = found[self._choose(chances)]
        return kept(seen), 0.0, terminated, False, {}

    def _work_out(self, wanted: Any) -> tuple[list[float], list[Any]]:
        """What an action can lead to: the model does not change, so it is asked once."""
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
            f"the outcomes of action {action} in {shorten(state)}",
        )
        found = [
            (o.state, self._label(state, action, o.state), self.observe(o.state), o.terminated)
            for o in outcomes
        ]
        if len(self._moves) >= MAX_MOVES:
            self._moves.clear()
        self._moves[state, action] = chances, found
        return self._moves[state, action]

    def _label(self, state: Any, action: int, after: Any) -> Events:
        """The events of a transition, the same object for the same events: found more quickly."""
        events = self.label(state, action, after)
        return self._labels.setdefault(events, events)

    def _choose(self, probabilities: list[float]) -> int:
        """Draw one, always with one random number: compiled loops draw the same from a seed."""
        drawn, total = self.np_random.random(), 0.0
        for index, probability in enumerate(probabilities[:-1]):
            total += probability
            if total > drawn:
                return index
        return len(probabilities) - 1


def check_probabilities(chances: Iterable[float], what: str, *, slack: float = SLACK) -> None:
    """Refuse probabilities that are not a distribution.

    Example:
        >>> check_probabilities([0.5, 0.3], "the starts")
        Traceback (most recent call last):
        cranium.errors.WorldError: the starts have probabilities that sum to 0.8
          fix: probabilities are numbers from 0 to 1 that sum to 1
    """
    every, fix = list(chances), "probabilities are numbers from 0 to 1 that sum to 1"
    for chance in every:
        try:
            good = isfinite(chance) and chance >= 0
        except (TypeError, OverflowError):
            good = False
        if not good:
            raise WorldError(f"{what} have the probability {shorten(chance)}", fix=fix)
    if abs(fsum(every) - 1) > slack:
        raise WorldError(f"{what} have probabilities that sum to {fsum(every):.10g}", fix=fix)


def as_probabilities(chances: Iterable[float], what: str) -> list[float]:
    """A probability distribution; whatever is none is refused.

    Numbers in single precision hardly ever sum to 1: they are divided by their sum.

    Example:
        >>> as_probabilities(np.array([0.1, 0.9], np.float32), "the starts")
        [0.10000000372529039, 0.8999999962747096]
    """
    every = list(chances)
    check_probabilities(every, what, slack=ROUGH)
    total = fsum(every)
    exact = abs(total - 1) <= SLACK
    return [float(chance) if exact else float(chance) / total for chance in every]


def as_events(found: Any) -> Events:
    """The events that a labelling function returned: a name, or a collection of names.

    Example:
        >>> as_events("mail"), as_events([])
        (frozenset({'mail'}), frozenset())
    """
    if isinstance(found, str):
        return frozenset({str(found)})
    try:
        names: frozenset[Any] = frozenset({None} if isinstance(found, Mapping) else found)
    except TypeError:
        names = frozenset({None})
    if not all(isinstance(name, str) for name in names):
        raise LabelError(
            f"a labelling returns the names of events, not {shorten(found)}",
            fix="return () when nothing happened, and names such as {'mail'} otherwise",
        )
    return names


def check_span(value: Any, what: str, most: str) -> tuple[int, int]:
    """A number that is fixed, or drawn between two: its least and its greatest value.

    Example:
        >>> check_span(3, "the mail", "the most mail"), check_span((1, 5), "mail", "most mail")
        ((3, 3), (1, 5))
    """
    low, high = value if isinstance(value, tuple | list) and len(value) == 2 else (value, value)
    check_count(what, low)
    check_count(most, high, least=low)
    if high > GREATEST:
        raise InvalidArgumentError(f"{most} is at most {GREATEST:,}, not {shorten(high)}")
    if high - low > WIDEST:
        raise InvalidArgumentError(
            f"{what} is drawn from {WIDEST + 1:,} numbers at most, not from {high - low + 1:,}"
        )
    return low, high


def supply(
    name: str, span: tuple[int, int] | None, options: Mapping[str, Any], things: str
) -> Sequence[int]:
    """How much of something an episode may begin with.

    Args:
        name: What it is called in the options of ``reset``.
        span: The least and the greatest number of the world; None if it never runs out.
        options: Those of ``reset``, which may fix the number.
        things: What is counted, for messages.

    Example:
        >>> list(supply("mail", (1, 3), {}, "items of mail"))
        [1, 2, 3]
        >>> list(supply("mail", (1, 3), {"mail": 2}, "items of mail"))
        [2]
    """
    if span is None:
        if name in options:
            raise InvalidArgumentError(
                f"the {name} of this world never runs out",
                fix=f"make the world with {name}={shorten(options[name])}",
            )
        return (0,)
    low, high = check_span(options.get(name, span), f"the {name}", f"the most {name}")
    if high > span[1]:
        raise InvalidArgumentError(
            f"there are at most {span[1]} {things}, not {high}",
            fix=f"make the world with {name}=({span[0]}, {high})",
        )
    return range(low, high + 1)


def check_options(options: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse options of ``reset`` that a world does not have."""
    for name in options:
        if name not in known:
            raise InvalidArgumentError(
                f"no such option for reset: {shorten(name)}", fix=f"known: {', '.join(known)}"
            )
