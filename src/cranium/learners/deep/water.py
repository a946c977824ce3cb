"""WaterWorld inside the compiled training loop, with the dynamics of the environment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import compress, product
from math import ceil, log, pi
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from cranium.learners.deep.machine import to_device
from cranium.learners.tabular.arrays import LearnerTables
from cranium.worlds import pond
from cranium.worlds.water import GAP, WaterWorld

__all__ = ["WaterJaxWorld", "build_water_world"]

Array = jax.Array
State = tuple[Array, Array, Array, Array]  # the agent's place and velocity, those of the balls
MAX_FAILURE = 1e-8
"""The probability that no place drawn for a ball is free; then it takes the last."""
MAX_RANDOMS, MAX_COLOURS = 10_000, 8
"""How many random numbers a reset may take, and how many colours the machine may read."""


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["paint", "bits", "rows", "moves", "start", "places", "flow"],
    meta_fields=[
        *("radius", "speed", "thrust", "top"),
        *("moving", "relative", "anywhere", "strewn", "tries"),
    ],
)
@dataclass(frozen=True)
class WaterJaxWorld:
    """A :class:`~cranium.worlds.WaterWorld` of B balls in C colours, K of which the machine reads.

    A state is the place and velocity of the agent, ``[2]`` each, and of the balls, ``[B, 2]`` each.
    """

    paint: Array  # [B, C]; whether a ball has a colour
    bits: Array  # [C]; what a colour adds to the number of a label
    rows: Array  # [2^K]; the row of each label
    moves: Array  # [5, 2]
    start: Array  # [2]
    places: Array  # [B, 2]; of the balls; if they are strewn, where they are in nobody's way
    flow: Array  # [B, 2]; their velocities, then
    radius: float
    speed: float
    thrust: float
    top: float
    moving: bool
    relative: bool
    anywhere: bool  # whether the agent begins anywhere
    strewn: bool  # whether the balls do
    tries: int  # how many places are drawn, of which the first that is free is taken: T

    @property
    def step_randoms(self) -> int:
        """The number of random numbers that a step takes: none."""
        return 0

    @property
    def reset_randoms(self) -> int:
        """The number of random numbers that a reset takes."""
        balls = self.paint.shape[0]
        return 2 * self.tries * self.anywhere + (2 * self.tries + 1) * balls * self.strewn

    @property
    def num_extras(self) -> int:
        """The length of ``extra``: no ground reward, no reward functions."""
        return 1

    def reset(self, u: Array) -> State:
        """Draw an initial state."""
        balls = self.paint.shape[0]
        angles, tries = u[: balls * self.strewn], u[balls * self.strewn :]
        drawn = self.radius + (1 - 2 * self.radius) * tries.reshape(-1, self.tries, 2)
        start, places, flow = self.start, self.places, self.flow
        if self.anywhere:
            start = self._free(drawn[0], places, GAP * self.radius)
        if self.strewn:
            places = self._strew(start, drawn[-balls:])
            headings = 2 * pi * angles[:, None]
            ways = jnp.concatenate([jnp.cos(headings), jnp.sin(headings)], axis=1)
            flow = (self.speed if self.moving else 0.0) * ways
        return start, jnp.zeros(2, jnp.float32), places, flow

    def _free(self, drawn: Array, taken: Array, gaps: Any) -> Array:
        """Return the first of the places ``[T, 2]`` that is so far from those that are taken."""
        ways = drawn[:, None] - taken
        free = (jnp.sum(ways * ways, axis=-1) > gaps * gaps).all(-1)
        found: Array = drawn[jnp.where(free.any(), jnp.argmax(free), -1)]
        return found

    def _strew(self, start: Array, drawn: Array) -> Array:
        """Draw places for the balls, one after the other, from ``[B, T, 2]``."""
        balls = drawn.shape[0]
        gaps = jnp.full(balls + 1, 2.0).at[0].set(GAP) * self.radius

        def put_ball(i: Array, taken: Array) -> Array:
            return taken.at[i + 1].set(self._free(drawn[i], taken, gaps))

        first = jnp.concatenate([start[None], self.places])
        found: Array = jax.lax.fori_loop(0, balls, put_ball, first)
        return found[1:]

    def step(self, state: State, action: Array, u: Array) -> tuple[State, Array, Array, Array]:  # noqa: ARG002
        """Take an action. The world never terminates, and has no reward of its own."""
        position, velocity, places, flow = state
        push = self.moves[action] if action.ndim == 0 else action
        before = pond.relative_position(position, places)
        pushed = pond.accelerate(velocity, push, self.thrust, self.top, jnp)
        position, velocity = pond.glide(position, pushed, self.radius, jnp)
        places, flow = pond.glide(places, flow, self.radius, jnp)
        after = pond.relative_position(position, places)
        found = pond.find_colours(
            pond.find_touched(before, after, self.radius, jnp), self.paint, jnp
        )
        row = self.rows[(found * self.bits).sum()]
        return (
            (position, velocity, places, flow),
            row,
            jnp.asarray(False),
            jnp.zeros(1, jnp.float32),
        )

    def observe(self, state: State) -> Array:
        """Return the observation of a state."""
        position, velocity, places, flow = state
        balls = pond.relative_position(position, places) if self.relative else places
        ways = flow if self.moving else None
        seen: Array = pond.observe(position, velocity, balls, ways, self.top, self.speed, jnp)
        return seen

    def features(self, observation: Array) -> Array:
        """Return the observations themselves."""
        return observation

    def all_features(self) -> None:
        """Return None: the observations cannot be listed."""


def build_water_world(
    water: WaterWorld, known: frozenset[str], tables: LearnerTables
) -> WaterJaxWorld | None:
    """Convert a world to JAX; None if there are so many balls or colours that Python is better."""
    read = [colour for colour in water.vocabulary if colour in known]
    crowd = water.crowd
    tries = ceil(log(MAX_FAILURE) / log(crowd)) if crowd else 1
    if len(read) > MAX_COLOURS or (2 * tries + 1) * len(water.colours) > MAX_RANDOMS:
        return None
    labels = product((False, True), repeat=len(read))
    rows = [tables.space.add_label(frozenset(compress(read, each))) for each in labels]
    tables.grow()
    bits = [1 << (len(read) - 1 - read.index(c)) if c in read else 0 for c in water.vocabulary]
    outside = np.full((len(water.colours), 2), -1, np.float32)
    places, flow = (outside, outside) if water.layout is None else water.layout
    return WaterJaxWorld(
        paint=to_device(water.paint),
        bits=to_device(bits, np.int32),
        rows=to_device(rows, np.int32),
        moves=to_device(water.moves),
        start=to_device(np.zeros(2, np.float32) if water.start is None else water.start),
        places=to_device(places),
        flow=to_device(flow),
        radius=water.radius,
        speed=water.speed,
        thrust=water.thrust,
        top=water.top_speed,
        moving=water.moving,
        relative=water.view == "relative",
        anywhere=water.start is None,
        strewn=water.layout is None,
        tries=tries,
    )
