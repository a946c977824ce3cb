"""Labelling functions L(s, a, s′): which events a transition of the environment causes."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import gymnasium as gym
import numpy as np

from cranium.aamdp.persistent_events import PersistentEvent, PersistentEventDetector
from cranium.arguments import check_count
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import (
    InvalidArgumentError,
    LabelError,
    PersistentEventWarning,
    UnknownNameError,
    UnsoundLabelsWarning,
    shorten,
)
from cranium.worlds.observations import copy_observation, observation_key
from cranium.worlds.protocols import (
    Events,
    LabellingFunction,
    Observation,
    World,
    as_events,
    as_world,
)
from cranium.worlds.verification import EPISODE

__all__ = [
    "LabelReport",
    "Labelling",
    "check_labelling",
    "labelling",
    "labelling_from_cells",
    "rising_edges",
]


class Labelling:
    """A labelling function with a declared vocabulary.

    Because the vocabulary is declared, a name that is not in it is a mistake and refused, and a
    name that the automaton does not use is not.

    Example:
        >>> goal = Labelling(lambda s, a, s2: {"goal"} if s2 == 15 else (), events=["goal"])
        >>> goal(14, 2, 15)
        frozenset({'goal'})
    """

    def __init__(self, function: LabellingFunction, events: Iterable[str]) -> None:
        check_labelling_function(function)
        if isinstance(events, str):
            raise InvalidArgumentError(f"the events are a list of names, not {shorten(events)}")
        self.function = function
        self.events = tuple(dict.fromkeys(events))
        self._known = frozenset(self.events)
        self.__module__ = getattr(function, "__module__", __name__)

    def __call__(self, observation: Observation, action: object, after: Observation) -> Events:
        """Return the events of a transition, checked against the vocabulary."""
        events = as_events(self.function(observation, action, after))
        if not events <= self._known:
            strange = sorted(map(str, events - self._known))[0]
            unknown = UnknownNameError.of("event of this labelling", strange, self.events)
            raise LabelError(unknown.message, fix=unknown.fix)
        return events

    def __reduce__(self) -> str | tuple[object, ...]:
        # A decorated function is found under its own name, which now stands for the labelling.
        name = getattr(self.function, "__qualname__", "")
        found: Any = sys.modules.get(self.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else (Labelling, (self.function, self.events))


def labelling(*events: str) -> Callable[[LabellingFunction], Labelling]:
    """Declare the events of a labelling function.

    Example:
        >>> @labelling("left", "right")
        ... def ends(observation, action, after):
        ...     return "left" if after[0] < -1 else "right" if after[0] > 1 else ()
        >>> ends([0.0], 0, [1.5])
        frozenset({'right'})
    """
    if not events or not all(isinstance(event, str) for event in events):
        raise InvalidArgumentError(
            f"name the events: @labelling('mail', 'coffee'), not {shorten(events)}"
        )
    return lambda function: Labelling(function, events)


def labelling_from_cells(cells: Mapping[Hashable, str | Iterable[str]]) -> Labelling:
    """Return the labelling of a grid, from the events on each cell (observation).

    Example:
        >>> lake = labelling_from_cells({15: "goal", (0, 1): {"mail", "door"}})
        >>> lake(14, 2, np.int64(15)), sorted(lake(None, 0, np.array([0, 1])))
        (frozenset({'goal'}), ['door', 'mail'])
    """
    names = {_cell(cell): as_events(events) for cell, events in cells.items()}
    return Labelling(_Cells(names), sorted(set().union(*names.values())))


class _Cells:
    """The events of the cell where a step ends; a class, so that it can be pickled."""

    def __init__(self, names: Mapping[Hashable, frozenset[str]]) -> None:
        self.names = names

    def __call__(self, observation: Observation, action: object, after: Observation) -> Events:  # noqa: ARG002
        return self.names.get(_cell(after), frozenset())


def rising_edges(labelling: LabellingFunction) -> LabellingFunction:
    """Make a labelling that reports an event only at the step at which it becomes true.

    A machine reads an event at every step at which it is reported. An event that describes a region
    or a posture stays true for many steps, and a task such as ``A B`` fails at the second A. The
    new labelling reports the events L(s, a, s′) without L(s, a, s): those that would not have been
    reported if the step had led back to s. This is again a function of (s, a, s′), so that
    counterfactual learning stays sound. An event that is true at reset is reported only after it
    has been false.

    Example:
        >>> near = rising_edges(lambda s, a, s2: "near" if s2 < 2 else ())
        >>> sorted(near(3, 0, 1)), sorted(near(1, 0, 1)), sorted(near(1, 0, 3))
        (['near'], [], [])
    """
    if isinstance(labelling, WorldEvents):
        raise InvalidArgumentError(
            "the events that a world names itself are not a function of (s, a, s′)",
            fix="give a labelling function of (s, a, s′)",
        )
    rising = _Rising(check_labelling_function(labelling))
    declared = getattr(labelling, "events", None)
    return rising if declared is None else Labelling(rising, declared)


class _Rising:
    """The labelling of :func:`rising_edges`; a class, so that it can be pickled."""

    def __init__(self, function: LabellingFunction) -> None:
        self.function = function

    def __call__(self, observation: Observation, action: object, after: Observation) -> Events:
        now = as_events(self.function(observation, action, after))
        return now and now - as_events(self.function(observation, action, observation))


def _cell(where: Any) -> Hashable:
    if isinstance(where, np.ndarray):
        return tuple(np.ravel(where).tolist()) if where.ndim else where.item()
    if isinstance(where, list):
        return tuple(where)
    if not isinstance(where, Hashable):
        raise LabelError(
            f"cells are numbers or rows and columns, not {shorten(where)}",
            fix="write a labelling function for observations of this kind",
        )
    return where.item() if isinstance(where, np.generic) else where


Ambiguity = tuple[Observation, object, Observation, tuple[frozenset[str], ...]]
"""An observed (s, a, s′), and the labels that it had."""


@dataclass(slots=True)
class LabelReport:
    """The result of :func:`check_labelling`: the labels of random episodes.

    Attributes:
        steps: The number of steps.
        seen: The number of occurrences of each label.
        never_seen: Propositions of the automaton that never occurred.
        unknown: Events that the automaton does not know.
        ambiguous: Observed (s, a, s′) that occurred with different labels. Counterfactual learning
            on such an observation is unsound, because the label depends on hidden state.
        persistent: Events that stay true for several steps and thereby make the task fail.

    Example:
        >>> import cranium
        >>> from cranium.worlds import LetterEnv
        >>> machine = cranium.library.load("anbcdn")
        >>> print(check_labelling(LetterEnv.experiment(1), machine, steps=100))
        100 steps
                87  {}
                 5  {C}
                 4  {B}
                 3  {D}
                 1  {A}
    """

    steps: int = 0
    seen: dict[frozenset[str], int] = field(default_factory=dict)
    never_seen: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    ambiguous: list[Ambiguity] = field(default_factory=list)
    persistent: tuple[PersistentEvent, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether every observed (s, a, s′) always had the same label."""
        return not self.ambiguous

    def __str__(self) -> str:
        lines = [f"{self.steps:,} steps"]
        ordered = sorted(self.seen.items(), key=lambda item: (-item[1], sorted(item[0])))
        for label, count in ordered:
            lines.append(f"  {count:>8,}  {{{', '.join(sorted(label))}}}")
        if self.never_seen:
            lines.append(f"never seen: {', '.join(self.never_seen)}")
        if self.unknown:
            lines.append(f"unknown to the automaton: {', '.join(self.unknown)}")
        lines += [str(found) for found in self.persistent]
        lines += [self.unsoundness(found) for found in self.ambiguous[:3]]
        return "\n".join(lines)

    @staticmethod
    def unsoundness(found: Ambiguity) -> str:
        """Describe an ambiguous transition."""
        before, action, after, labels = found
        shown = " and ".join("{" + ", ".join(sorted(label)) + "}" for label in labels)
        return (
            f"not a function of what is observed: s = {shorten(before)}, a = {action}, "
            f"s′ = {shorten(after)} had the labels {shown}; counterfactual learning on this "
            "observation is unsound"
        )


def check_labelling(
    env: gym.Env[Any, Any],
    automaton: CountingRewardAutomaton,
    labelling: LabellingFunction | None = None,
    *,
    steps: int = 10_000,
    seed: int = 0,
    warn: bool = True,
) -> LabelReport:
    """Run random episodes in an environment, and report the labels and their problems.

    It warns if an observed (s, a, s′) had different labels (:class:`UnsoundLabelsWarning`). It also
    runs the machine on the labels, and warns if an event stays true for several steps and thereby
    makes the task fail (:class:`PersistentEventWarning`). :func:`rising_edges` avoids that.

    Example:
        >>> import cranium
        >>> from cranium.worlds import LetterEnv
        >>> env = LetterEnv.experiment(1, observation="cell")
        >>> machine = cranium.library.load("anbcdn")
        >>> report = check_labelling(env, machine, steps=3000, warn=False)
        >>> report.is_sound, report.never_seen
        (False, ())
    """
    check_count("steps", steps)
    report = LabelReport()
    known: dict[Hashable, tuple[tuple[Any, Any, Any], dict[frozenset[str], None]]] = {}
    detector = PersistentEventDetector(automaton)
    for transition, events, begins in _random_steps(
        env, choose_labelling(env, labelling), steps, seed
    ):
        if begins:
            detector.begin()
        detector.read(events)
        report.steps += 1
        report.seen[events] = report.seen.get(events, 0) + 1
        key = tuple(observation_key(part) for part in transition)
        known.setdefault(key, (transition, {}))[1][events] = None
    names = frozenset().union(*report.seen)
    read = frozenset(automaton.propositions)  # other events do not matter to the machine
    report.never_seen = tuple(name for name in automaton.propositions if name not in names)
    report.unknown = tuple(sorted(names - set(automaton.propositions)))
    report.ambiguous = [
        (*transition, tuple(labels))
        for transition, labels in known.values()
        if len({label & read for label in labels}) > 1
    ]
    report.persistent = detector.findings()
    if report.persistent and warn:
        warnings.warn(str(report.persistent[0]), PersistentEventWarning, stacklevel=2)
    if report.ambiguous and warn:
        warnings.warn(report.unsoundness(report.ambiguous[0]), UnsoundLabelsWarning, stacklevel=2)
    return report


def _random_steps(
    env: gym.Env[Any, Any], label: LabellingFunction, steps: int, seed: int
) -> Iterator[tuple[tuple[Any, Any, Any], frozenset[str], bool]]:
    """Each (s, a, s′) with its events, and whether it is the first of an episode."""
    env.action_space.seed(seed)
    observation = copy_observation(env.reset(seed=seed)[0])
    begins = True
    for number in range(1, steps + 1):
        action = env.action_space.sample()
        seen, _, terminated, truncated, _ = env.step(action)
        after = copy_observation(seen)
        yield (observation, action, after), as_events(label(observation, action, after)), begins
        begins = bool(terminated or truncated or number % EPISODE == 0)
        observation = copy_observation(env.reset()[0]) if begins else after


def choose_labelling(
    env: gym.Env[Any, Any], labelling: LabellingFunction | None
) -> LabellingFunction:
    """Return the labelling that was given, or the world's own."""
    if labelling is not None:
        return check_labelling_function(labelling)
    return WorldEvents(as_world(env))


def check_labelling_function(function: object) -> LabellingFunction:
    """Check that a function can be called with (s, a, s′), and return it."""
    if not callable(function):
        raise InvalidArgumentError(
            f"a labelling is a function of (s, a, s′), not {shorten(function)}",
            fix="labelling_from_cells makes one from a dictionary of cells",
        )
    try:
        inspect.signature(function).bind(None, None, None)
    except TypeError as problem:
        raise InvalidArgumentError(
            f"a labelling is a function of (s, a, s′); called with these, this one says: {problem}",
            fix="def events(before, action, after): …",
        ) from None
    except ValueError:
        pass  # a built-in function has no signature
    return cast(LabellingFunction, function)


class WorldEvents:
    """The labelling of a world that reports its own events: those of its last step."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.events: tuple[str, ...] = tuple(world.vocabulary)

    def __call__(self, observation: Observation, action: object, after: Observation) -> Events:  # noqa: ARG002
        return self.world.events
