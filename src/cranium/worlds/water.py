"""WaterWorld: an agent among coloured balls that bounce; touching a colour is an event.

Karpathy's WaterWorld as the reward-machine literature uses it (Toro Icarte et al.). It is no finite
world: for learners that approximate. Its dynamics are the functions of :mod:`cranium.worlds.pond`,
which a compiled loop can use as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import dist, pi, radians
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.arguments import check_choice, check_count, check_number
from cranium.errors import InvalidArgumentError, UnknownNameError, shorten
from cranium.worlds import pond
from cranium.worlds.arguments import PlaneAction, as_action_vector, check_options, check_point
from cranium.worlds.balls import COUNTS, LAYOUTS, Ball, colours_of, list_colours
from cranium.worlds.grid import MOVES
from cranium.worlds.protocols import Events

__all__ = ["WaterWorld"]

Floats = NDArray[np.float32]
GAP = 3  # radii: so far away from the agent balls are drawn; two are a touch
CROWDED = 0.95  # of the pond: with more of it taken, a free place might not be found
TRIES = 1000  # which all fail with a probability below 0.95^1000


class WaterWorld(gym.Env[Floats, Any]):
    """An agent that accelerates among balls; touching one is the event of its colour.

    All are discs of one radius in the unit square. Walls reflect the balls and the agent alike, so
    that no speed is lost; balls pass through each other and through the agent. A step touches a
    ball if it begins apart and ends in contact: staying in contact is no event, and to touch a ball
    again the agent leaves it first. Several balls can be touched in one step, and the label is the
    set of their colours; it is a function of the observed (s, a, s′).

    Args:
        balls: The number of balls of each colour, or the balls themselves; by default two of each
            of six colours, which is the pond of the literature.
        layout: The name of balls in given places: ``"pair"``, ``"corners"`` or ``"ring"``.
        layout_seed: Draw the places of the balls once, from this seed; None for every episode anew.
        moving: Whether balls move; those that stand still are easier to learn.
        actions: ``"discrete"`` is nothing, or a push to the right, left, up or down;
            ``"continuous"`` is the push, each part from −1 to 1 (clipped).
        radius: The radius of the agent and of every ball. The pond is the unit: where radius and
            speeds are twice as large, it is half as large.
        speed: The speed of the balls per step.
        thrust: The change of the agent's velocity by an action of 1; there is no friction.
        top_speed: The agent's greatest speed in each direction.
        start: The agent's position at the start of an episode, at rest; None for any, drawn
            so that it touches no ball.
        observation: The agent's place and velocity, and of each ball its velocity (if it moves) and
            with ``"relative"`` the way to it, with ``"absolute"`` its place. Velocities are shares
            of the greatest.
        render_mode: ``"ansi"`` or ``"rgb_array"``.

    ``reset(options={"start": (0.5, 0.5)})`` fixes where the agent begins in that episode,
    ``{"layout_seed": 3}`` the seed of the balls, ``{"balls": [Ball("red", (0.2, 0.2)), …]}`` the
    balls themselves, with the colours of this world in their order.

    Attributes:
        vocabulary: The colours; C of them.
        events: The colours that were touched in the last step.
        colours: The colour of each ball; B of them.
        position: The position of the agent, float32 ``[2]``; None before the first episode.
        velocity: Its velocity, float32 ``[2]``.
        places: The positions of the balls, float32 ``[B, 2]``.
        velocities: Their velocities, float32 ``[B, 2]``.
        layout: The places and velocities with which the balls begin, if that is fixed.
        paint: Whether each ball has each colour, bool ``[B, C]``.
        moves: The discrete actions as continuous ones, float32 ``[5, 2]``.
        action_names: The names of the actions.

    Example:
        >>> env = WaterWorld(layout="pair", moving=False, radius=0.1, thrust=0.05, top_speed=0.1)
        >>> env.reset(seed=0)[0].round(2)
        array([ 0.5 ,  0.5 ,  0.  ,  0.  , -0.28,  0.  ,  0.28,  0.  ], dtype=float32)
        >>> observation, *_ = env.step(1)  # a push to the right, and on into the green ball
        >>> observation, *_ = env.step(0)
        >>> observation.round(2), env.events
        (array([ 0.6 ,  0.5 ,  0.5 ,  0.  , -0.38,  0.  ,  0.18,  0.  ],
              dtype=float32), frozenset({'green'}))
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 20}  # noqa: RUF012
    action_names = ("nothing", *MOVES)

    def __init__(
        self,
        balls: Mapping[str, int] | Sequence[Ball] | None = None,
        *,
        layout: str | None = None,
        layout_seed: int | None = None,
        moving: bool = True,
        actions: Literal["discrete", "continuous"] = "discrete",
        radius: float = 0.0375,
        speed: float = 0.0075,
        thrust: float = 0.0075,
        top_speed: float = 0.0225,
        start: tuple[float, float] | None = (0.5, 0.5),
        observation: Literal["relative", "absolute"] = "relative",
        render_mode: str | None = None,
    ) -> None:
        check_choice("actions are", actions, ("discrete", "continuous"))
        check_choice("an observation is", observation, ("relative", "absolute"))
        if render_mode is not None:
            check_choice("a render mode is", render_mode, self.metadata["render_modes"])
        if not isinstance(moving, bool):
            raise InvalidArgumentError(f"moving is true or false, not {shorten(moving)}")
        self.moving, self.view, self.render_mode = moving, observation, render_mode
        self.radius = check_number("the radius", radius, 0.0, 0.25, above=True)
        # A step that is no longer than the pond is reflected once at most.
        width = 1 - 2 * self.radius
        self.speed = check_number("the speed of the balls", speed, 0.0, width, above=True)
        self.thrust = check_number("the thrust", thrust, 0.0, 2 * width, above=True)
        self.top_speed = check_number("the top speed", top_speed, 0.0, width, above=True)
        self.start = None if start is None else self._place("the start", start)
        self._take_balls(_chosen(balls, layout), layout_seed)
        self._make_spaces(actions)
        self.events: Events = frozenset()
        self.position: Floats | None = None
        self.velocity: Floats = np.zeros(2, np.float32)
        self.places: Floats = np.zeros((len(self.colours), 2), np.float32)
        self.velocities: Floats = self.places.copy()

    def _take_balls(
        self, balls: Mapping[str, int] | Sequence[Ball], layout_seed: int | None
    ) -> None:
        """Set the colours, and the positions of the balls if they are fixed."""
        self.layout: tuple[Floats, Floats] | None = None
        if isinstance(balls, Mapping):
            self.colours = list_colours(balls)
            if self.crowd > CROWDED:
                raise self._too_crowded()
            if layout_seed is not None:
                self.layout = self._draw_seeded(layout_seed)
        elif layout_seed is None:
            self.colours = colours_of(balls)
            self.layout = self._arrays(balls)
        else:
            raise InvalidArgumentError(
                f"layout_seed={layout_seed!r} draws places for balls that have theirs",
                fix="say how many there are of each colour: {'red': 1, 'green': 1}",
            )
        if self.crowd > CROWDED:
            raise self._too_crowded()
        self.vocabulary: tuple[str, ...] = tuple(dict.fromkeys(self.colours))
        same = [[colour == name for name in self.vocabulary] for colour in self.colours]
        self.paint: NDArray[np.bool_] = np.array(same)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The arguments that the dynamics, the events and the observations depend on.

        Example:
            >>> WaterWorld(speed=0.01).parameters["speed"]
            0.01
        """
        return {
            "balls": self.colours,
            "layout": self.layout,
            "moving": self.moving,
            "radius": self.radius,
            "speed": self.speed,
            "thrust": self.thrust,
            "top speed": self.top_speed,
            "start": self.start,
            "observation": self.view,
        }

    def _make_spaces(self, actions: str) -> None:
        low, high = np.float32(self.radius), np.float32(1 - self.radius)
        near, far = (low - high, high - low) if self.view == "relative" else (low, high)
        moving, count = [1.0] * 2 if self.moving else [], len(self.colours)
        least: list[Any] = [low, low, -1, -1, *[near, near, *np.negative(moving)] * count]
        most: list[Any] = [high, high, 1, 1, *[far, far, *moving] * count]
        self.observation_space = spaces.Box(np.array(least, np.float32), np.array(most, np.float32))
        across = [(right, -down) for down, right in MOVES.values()]  # y grows upwards
        self.moves: Floats = np.array([(0, 0), *across], np.float32)
        self.action_space: spaces.Space[Any] = (
            spaces.Discrete(len(self.moves))
            if actions == "discrete"
            else spaces.Box(-1.0, 1.0, (2,), np.float32)
        )

    # The environment

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Start an episode; ``options`` can fix what is random."""
        super().reset(seed=seed)
        options = options or {}
        check_options(options, ("start", "balls", "layout_seed"))
        start, layout = self.start, self._choose_balls(options)
        if options.get("start") is not None:
            start = self._place("the start", options["start"])
        if start is None:
            taken = [] if layout is None else [(place, GAP) for place in layout[0]]
            start = self._free(self.np_random, taken)
        if layout is None:
            layout = self._draw_balls(self.np_random, start)
        self.position, self.velocity = start.copy(), np.zeros(2, np.float32)
        self.places, self.velocities = (part.copy() for part in layout)
        self.events = frozenset()
        return self._observe(), {}

    def step(self, action: PlaneAction) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Accelerate and move. The ground reward is 0, and the world never terminates."""
        position = self.position
        if position is None:
            raise InvalidArgumentError("the episode has not begun", fix="call reset() first")
        push = as_action_vector(action, self.action_space, self.moves)
        before = pond.relative_position(position, self.places)
        pushed = pond.accelerate(self.velocity, push, self.thrust, self.top_speed)
        self.position, self.velocity = pond.glide(position, pushed, self.radius)
        self.places, self.velocities = pond.glide(self.places, self.velocities, self.radius)
        after = pond.relative_position(self.position, self.places)
        found = pond.find_colours(pond.find_touched(before, after, self.radius), self.paint)
        self.events = frozenset(self.vocabulary[i] for i in np.flatnonzero(found))
        return self._observe(), 0.0, False, False, {}

    def render(self) -> str | NDArray[np.uint8] | None:
        """The pond as text (``"ansi"``) or as an image (``"rgb_array"``)."""
        if self.render_mode is None or self.position is None:
            return None
        if self.render_mode == "ansi":
            return pond.render_text(self.colours, self.places, self.radius, self.position)
        balls = (self.colours, self.places, self.velocities)
        return pond.render_image(*balls, self.radius, self.position, self.velocity)

    def _observe(self) -> Floats:
        relative = self.view == "relative" and self.position is not None
        balls = pond.relative_position(self.position, self.places) if relative else self.places
        flow = self.velocities if self.moving else None
        seen: Floats = pond.observe(
            self.position, self.velocity, balls, flow, self.top_speed, self.speed
        )
        return seen

    # Where everything is

    def _place(self, what: str, value: Any) -> Floats:
        return np.array(check_point(what, value, self.radius), np.float32)

    def _arrays(self, balls: Iterable[Ball]) -> tuple[Floats, Floats]:
        """The places and velocities of balls, float32 ``[B, 2]``."""
        places = [self._place(f"the place of a {ball.colour} ball", ball.place) for ball in balls]
        return np.array(places), self._flow([radians(ball.heading) for ball in balls])

    def _flow(self, angles: Any) -> Floats:
        speed = self.speed if self.moving else 0.0
        flow = speed * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        return flow.astype(np.float32)

    def _choose_balls(self, options: Mapping[str, Any]) -> tuple[Floats, Floats] | None:
        """The balls of an episode, as far as they are fixed."""
        balls, seed = options.get("balls"), options.get("layout_seed")
        if balls is not None and seed is not None:
            raise InvalidArgumentError(
                "balls and layout_seed both say where the balls are", fix="give one of them"
            )
        if seed is not None:
            return self._draw_seeded(seed)
        if balls is None:
            return self.layout
        if colours_of(balls) != self.colours:
            raise InvalidArgumentError(
                f"the balls of this world are {', '.join(self.colours)}, "
                f"not {', '.join(colours_of(balls))}",
                fix="give balls of these colours, in this order",
            )
        return self._arrays(balls)

    def _draw_seeded(self, seed: int) -> tuple[Floats, Floats]:
        check_count("layout_seed", seed, least=0)
        return self._draw_balls(np.random.default_rng(seed), self.start)

    def _draw_balls(self, rng: np.random.Generator, start: Floats | None) -> tuple[Floats, Floats]:
        """Places that are free and headings, drawn uniformly."""
        taken = [] if start is None else [(start, GAP)]
        for _ in self.colours:
            taken.append((self._free(rng, taken), 2))
        places = [place for place, _ in taken[-len(self.colours) :]]
        return np.array(places), self._flow(rng.uniform(0, 2 * pi, len(places)))

    def _free(self, rng: np.random.Generator, taken: Sequence[tuple[Floats, int]]) -> Floats:
        """A place that is so many radii away from those that are taken."""
        for _ in range(TRIES):
            place = rng.uniform(self.radius, 1 - self.radius, 2).astype(np.float32)
            if all(dist(place, other) > gap * self.radius for other, gap in taken):
                return place
        raise self._too_crowded()

    @property
    def crowd(self) -> float:
        """Return the greatest share of the pond that is occupied when something is placed."""
        if self.layout is None:  # the last ball, wherever the others are
            discs = GAP**2 + 4 * (len(self.colours) - 1)
            return discs * pi * self.radius**2 / (1 - 2 * self.radius) ** 2
        if self.start is not None:
            return 0.0
        marks = np.linspace(self.radius, 1 - self.radius, 50)
        grid = np.stack(np.meshgrid(marks, marks), axis=-1).reshape(-1, 2)
        apart = np.linalg.norm(grid[:, None] - self.layout[0], axis=-1) > GAP * self.radius
        return 1 - float(apart.all(axis=1).mean())

    def _too_crowded(self) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"{len(self.colours)} balls and an agent of the radius {self.radius:g} are too many to "
            "be strewn about",
            fix="take fewer or smaller ones, or say where they are: [Ball('red', (0.2, 0.2)), …]",
        )


def _chosen(
    balls: Mapping[str, int] | Sequence[Ball] | None, layout: str | None
) -> Mapping[str, int] | Sequence[Ball]:
    """The balls that were given, those of a layout, or those of the literature."""
    if layout is None:
        return COUNTS if balls is None else balls
    if balls is not None:
        raise InvalidArgumentError(
            f"the layout {shorten(layout)} says which balls there are",
            fix="give balls or a layout, not both",
        )
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise UnknownNameError.of("layout", layout, LAYOUTS)
    return LAYOUTS[layout]
