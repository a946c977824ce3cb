"""PointWorld: a point in the unit square, with round regions whose entering is an event.

It is no finite world: for learners that approximate. Its dynamics are the functions of
:mod:`cranium.worlds.plane`, which a compiled loop can use as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import dist
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.arguments import check_choice, check_number
from cranium.errors import InvalidArgumentError, UnknownNameError, shorten
from cranium.worlds import plane
from cranium.worlds.arguments import (
    PlaneAction,
    as_action_vector,
    as_range,
    check_options,
    check_point,
)
from cranium.worlds.grid import MOVES
from cranium.worlds.protocols import Events, Instances

__all__ = ["PointWorld", "Region"]

Times = int | tuple[int, int] | None
Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
EMPTY = "empty"
FOR_EVER = -1
MAIL = (1, 5)
GAP = 1e-6  # between regions: positions have single precision


@dataclass(frozen=True)
class Region:
    """A disc in the unit square.

    Attributes:
        event: The event of entering it.
        centre: Its centre.
        radius: Its radius.
        times: The number of events before it is used up: a number, or the least and the
            greatest of a number that is drawn anew (uniformly) in every episode; None for ever.
        then: The event of entering it when it is used up.

    Example:
        >>> key, door = Region("key", (0.2, 0.2), 0.05, times=1), Region("door", (0.8, 0.8))
        >>> PointWorld([key, door]).vocabulary
        ('key', 'door', 'empty')
    """

    event: str
    centre: tuple[float, float]
    radius: float = 0.15
    times: Times = None
    then: str = EMPTY


class PointWorld(gym.Env[Floats, Any]):
    """A point that moves in the unit square; entering a region is an event.

    A step enters a region if it begins outside and ends inside. Staying inside, leaving and passing
    through are no events; to have an event again one leaves and comes back. Regions do not overlap,
    so one event happens in a step at most, and it is a function of the observed (s, a, s′).

    Args:
        regions: The regions; by default A, B, a mail room that runs out, and a person.
        mail: The amount of mail in the default regions: a number, or the
            least and the greatest of a number that is drawn in every episode; None for ever.
        actions: ``"continuous"`` is the velocity, each part from −1 to 1 (clipped);
            ``"discrete"`` is right, left, up, down at full speed.
        speed: The length of a step with an action of 1.
        noise: The standard deviation of what chance adds to each part of a step.
        start: The position at the start of an episode; None for any, drawn uniformly.
        observation: The position, and for each region that runs out: with ``"offers"`` whether
            anything is left there (1 or 0), with ``"markov"`` the share that is left. The label is
            a function of both; only the second foretells when a drawn number runs out.
        render_mode: ``"ansi"`` or ``"rgb_array"``.

    ``reset(options={"times": {"mail": 3}})`` fixes how often regions give an event in that episode,
    ``{"start": (0.5, 0.5)}`` where it begins.

    Attributes:
        vocabulary: All events that can happen; V of them.
        events: The events of the last step.
        position: The position of the point, float32 ``[2]``; None before the first episode.
        left: The remaining number of events of each region, int32 ``[R]``; −1 for ever.
        centres: float32 ``[R, 2]``.
        radii: float32 ``[R]``.
        event_index: The number of each region's event in the vocabulary, int32 ``[R]``.
        then_index: The same for its event when it is used up, int32 ``[R]``; −1 if it never is.
        least: The least number of times that is drawn, int32 ``[R]``; −1 for ever.
        most: The greatest, int32 ``[R]``; −1 for ever.
        limited: The regions that run out, int32 ``[L]``.
        scale: The divisors of their numbers in an observation, float32 ``[L]``.
        moves: The discrete actions as continuous ones, float32 ``[4, 2]``.
        action_names: The names of the actions.
        start: float32 ``[2]``, or None for a uniform one.

    Example:
        >>> env = PointWorld(mail=1)
        >>> env.reset(seed=0)[0]
        array([0.5, 0.5, 1. ], dtype=float32)
        >>> for _ in range(2):  # to the mail room, and into it
        ...     observation, *_ = env.step([-1, 1])
        >>> observation.round(2), env.events
        (array([0.3, 0.7, 0. ], dtype=float32), frozenset({'mail'}))
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 10}  # noqa: RUF012
    action_names = tuple(MOVES)

    def __init__(
        self,
        regions: Sequence[Region] | None = None,
        *,
        mail: Times = MAIL,
        actions: Literal["continuous", "discrete"] = "continuous",
        speed: float = 0.1,
        noise: float = 0.0,
        start: tuple[float, float] | None = (0.5, 0.5),
        observation: Literal["offers", "markov"] = "offers",
        render_mode: str | None = None,
    ) -> None:
        check_choice("actions are", actions, ("continuous", "discrete"))
        check_choice("an observation is", observation, ("offers", "markov"))
        if render_mode is not None:
            check_choice("a render mode is", render_mode, self.metadata["render_modes"])
        if regions is not None and mail != MAIL:
            raise InvalidArgumentError(
                f"mail={mail!r} is for the regions that are there by default",
                fix=f"give it to the region: Region('mail', (0.2, 0.8), times={mail!r})",
            )
        self.regions = _default(mail) if regions is None else _check_regions(regions)
        self.speed = check_number("the speed", speed, 0.0, 1.0, above=True)
        self.noise = check_number("the noise", noise, 0.0, 1.0)
        self.start = (
            None if start is None else np.array(check_point("the start", start), np.float32)
        )
        self.view = observation
        self.render_mode = render_mode
        self._make_arrays()
        high = np.ones(2 + len(self.limited), np.float32)
        self.observation_space = spaces.Box(0 * high, high)
        self.action_space: spaces.Space[Any] = (
            spaces.Discrete(len(self.moves))
            if actions == "discrete"
            else spaces.Box(-1.0, 1.0, (2,), np.float32)
        )
        self.events: Events = frozenset()
        self.position: Floats | None = None
        self.left: Ints = self.most.copy()

    def _make_arrays(self) -> None:
        regions = self.regions
        names = [r.event for r in regions] + [r.then for r in regions if r.times is not None]
        self.vocabulary: tuple[str, ...] = tuple(dict.fromkeys(names))
        # The last is for the number −1: nothing happened.
        self._labels = (*(frozenset({name}) for name in self.vocabulary), frozenset[str]())
        index = self.vocabulary.index
        spans = [(FOR_EVER,) * 2 if r.times is None else _span(r.times) for r in regions]
        self.centres: Floats = np.array([r.centre for r in regions], np.float32)
        self.radii: Floats = np.array([r.radius for r in regions], np.float32)
        self.event_index: Ints = np.array([index(r.event) for r in regions], np.int32)
        then = [-1 if r.times is None else index(r.then) for r in regions]
        self.then_index: Ints = np.array(then, np.int32)
        self.least: Ints = np.array([low for low, _ in spans], np.int32)
        self.most: Ints = np.array([high for _, high in spans], np.int32)
        self.limited: Ints = np.flatnonzero(self.most != FOR_EVER).astype(np.int32)
        full = self.most[self.limited]
        self.scale: Floats = (full if self.view == "markov" else full**0).astype(np.float32)
        across = [(right, -down) for down, right in MOVES.values()]  # y grows upwards
        self.moves: Floats = np.array(across, np.float32)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The arguments that the dynamics, the events and the observations depend on.

        Example:
            >>> PointWorld(speed=0.2).parameters["speed"]
            0.2
        """
        spans = zip(self.least.tolist(), self.most.tolist(), strict=True)
        return {
            "regions": [
                (r.event, r.centre, r.radius, span, r.then)
                for r, span in zip(self.regions, spans, strict=True)
            ],
            "speed": self.speed,
            "noise": self.noise,
            "start": self.start,
            "observation": self.view,
        }

    def instances(self) -> Instances:
        """Return an instance for each way of drawing the numbers of events.

        Example:
            >>> list(PointWorld(mail=(1, 3)).instances())
            ['mail once', 'mail 2 times', 'mail 3 times']
        """
        spans: dict[str, set[int]] = {}
        for region in self.regions:
            if region.times is not None:
                low, high = _span(region.times)
                span = set(range(low, high + 1))
                spans[region.event] = spans.get(region.event, span) & span
        return {
            ", ".join(
                f"{name} once" if count == 1 else f"{name} {count} times"
                for name, count in zip(spans, counts, strict=True)
            ): {"times": dict(zip(spans, counts, strict=True))}
            for counts in product(*map(sorted, spans.values()))
            if spans
        }

    # The environment

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Start an episode; ``options`` can fix what is random."""
        super().reset(seed=seed)
        options = options or {}
        check_options(options, ("times", "start"))
        least, most = self._spans(options.get("times", {}))
        start = self.start
        if options.get("start") is not None:
            start = np.array(check_point("the start", options["start"]), np.float32)
        if start is None:
            start = self.np_random.random(2, np.float32)
        self.position = start.copy()
        self.left = self.np_random.integers(least, most, dtype=np.int32, endpoint=True)
        self.events = frozenset()
        return self._observe(), {}

    def step(self, action: PlaneAction) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Move. The ground reward is 0, and the world never terminates."""
        before = self.position
        if before is None:
            raise InvalidArgumentError("the episode has not begun", fix="call reset() first")
        velocity = as_action_vector(action, self.action_space, self.moves)
        slip = self.np_random.normal(0.0, self.noise, 2).astype(np.float32) if self.noise else 0.0
        self.position = plane.move(before, velocity, self.speed, slip)
        found = plane.find_entered(before, self.position, self.centres, self.radii)
        self.left, event = plane.take_event(self.left, found, self.event_index, self.then_index)
        self.events = self._labels[event]
        return self._observe(), 0.0, False, False, {}

    def render(self) -> str | NDArray[np.uint8] | None:
        """The square as text (``"ansi"``) or as an image (``"rgb_array"``)."""
        if self.render_mode is None or self.position is None:
            return None
        names = [
            region.then if left == 0 else region.event
            for region, left in zip(self.regions, self.left, strict=True)
        ]
        paint = plane.render_text if self.render_mode == "ansi" else plane.render_image
        return paint(names, self.centres, self.radii, self.position)

    def _observe(self) -> Floats:
        seen: Floats = plane.observe(self.position, self.left, self.limited, self.scale)
        return seen

    def _spans(self, fixed: Any) -> tuple[Ints, Ints]:
        """The least and the greatest number of times, with those that an episode is given."""
        if not isinstance(fixed, Mapping):
            raise InvalidArgumentError(
                f"times are given as {{event: number}}, not {shorten(fixed)}"
            )
        known = dict.fromkeys(self.regions[i].event for i in self.limited)
        least, most = self.least.copy(), self.most.copy()
        for name, times in fixed.items():
            if name not in known:
                raise UnknownNameError.of("event that runs out", name, known)
            low, high = _span(times)
            for i in self.limited:
                if self.regions[i].event == name:
                    if high > most[i]:
                        raise InvalidArgumentError(
                            f"{name} is had at most {most[i]} times, not {high}",
                            fix=f"make the region with times=({least[i]}, {high})",
                        )
                    least[i], most[i] = low, high
        return least, most


def _default(mail: Times) -> tuple[Region, ...]:
    # No border is a multiple of the speed away from the start: rounding would decide on entering.
    return _check_regions(
        (
            Region("A", (0.2, 0.2)),
            Region("B", (0.8, 0.2)),
            Region("mail", (0.2, 0.8), times=mail),
            Region("person", (0.8, 0.8)),
        )
    )


def _check_regions(regions: Any) -> tuple[Region, ...]:
    if not isinstance(regions, Sequence) or not regions:
        raise InvalidArgumentError(f"regions are a list with one at least, not {shorten(regions)}")
    for region in regions:
        if not isinstance(region, Region):
            raise InvalidArgumentError(
                f"a region is a Region, not {shorten(region)}", fix="Region('mail', (0.2, 0.8))"
            )
        for name in (region.event, region.then):
            if not isinstance(name, str) or not name:
                raise InvalidArgumentError(f"an event is a name, not {shorten(name)}")
        check_point(f"the centre of {region.event}", region.centre)
        check_number(f"the radius of {region.event}", region.radius, 0.0, 1.0, above=True)
        if region.times is not None:
            _span(region.times)
            if region.then == region.event:
                raise InvalidArgumentError(
                    f"{region.event} is used up and still gives {region.then!r}",
                    fix="give it another event: then='empty'",
                )
    for one, other in combinations(regions, 2):
        if dist(one.centre, other.centre) < one.radius + other.radius + GAP:
            raise InvalidArgumentError(
                f"the regions {one.event} at {one.centre} and {other.event} at {other.centre} "
                "overlap",
                fix="make them smaller, or move them apart: one event happens in a step at most",
            )
    return tuple(regions)


def _span(times: Any) -> tuple[int, int]:
    what = "how often an event is had"
    return as_range(times, what, f"{what} at most")
