"""The model-based learner: the automaton is known, only the world has to be learned."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium._runtime.interrupt import held
from cranium.aamdp.features import ObservationNumbers
from cranium.errors import InvalidArgumentError, WorldError
from cranium.learners.config import PlannerConfig
from cranium.learners.planner import generalisation_kernels
from cranium.learners.planner import kernels as planning
from cranium.learners.planner import model_kernels as knowing
from cranium.learners.planner.state import restore_planner, save_planner
from cranium.learners.saved_state import SavedState
from cranium.learners.tabular import kernels, live_kernels
from cranium.learners.tabular.arrays import LearnerTables
from cranium.learners.tabular.kernels import Floats, WorldArrays
from cranium.tables.space import copy_into
from cranium.worlds.protocols import Observation

__all__ = ["Numbering", "PlannerAgent"]

Longs = NDArray[np.int64]
MAX_VECTORS = 100_000
"""How many vectors an observation space may have for guesses to be made."""


VECTORS = (gym.spaces.Discrete, gym.spaces.MultiDiscrete, gym.spaces.Box)


class Numbering:
    """Vectors of an observation space as numbers, if they are whole numbers and not too many."""

    def __init__(self, space: gym.Space[Any] | None) -> None:
        self.sizes, self.total = np.zeros(0, np.int64), 0
        if not isinstance(space, VECTORS):
            return
        with suppress(WorldError):  # fractions have no numbers
            self.numbers = ObservationNumbers(space)
            self.total = self.numbers.total
        if self.fits:
            self.sizes = np.array(self.numbers.sizes, np.int64)

    @property
    def fits(self) -> bool:
        """Whether the vectors are few enough to be numbered."""
        return 0 < self.total <= MAX_VECTORS

    def code(self, observation: Observation) -> int:
        """Return the number of a vector."""
        return self.numbers.encode(observation)


class PlannerAgent:
    """Learns a model, plans in the product, and acts greedily on optimistic values."""

    def __init__(
        self,
        tables: LearnerTables,
        config: PlannerConfig,
        rng: np.random.Generator,
        space: gym.Space[Any] | None,
        pays_more: bool,
        unsure: bool = False,
    ) -> None:
        if pays_more and config.highest_reward is None:
            raise InvalidArgumentError(
                "what was never tried must be hoped for, but the rewards are not all constants of "
                "the machine",
                fix="say what one step may pay besides them at most: highest_reward=…",
            )
        self.tables = tables
        self.config = config
        self.rng = rng
        self.first = int(tables.space.start)
        self.numbering = Numbering(space)
        self.guessing = config.generalise and self.numbering.fits and not pays_more
        self.unsure = unsure  # whether rewards may be random although their outcome is certain
        self.codes = np.zeros(0, np.int32)
        self.observed = 0  # how many observations have a code
        self.hoped = 0  # the number of configurations with an optimistic value
        self.model: Any = None
        self.plan: Any = None
        self.edges = 1 << 14
        self.guess = self._guess(self.numbering.total if self.guessing else 0)
        self._allocate(slots=64, outcomes=4, splits=4)

    # Room

    def _allocate(self, slots: int, outcomes: int, splits: int) -> None:
        """Allocate arrays of these sizes and copy what was known before."""
        _, width, actions = self.tables.arrays.q.shape
        total = self.numbering.total if self.guessing else self.tables.room
        floor = self.config.discount**self.config.patience
        numbers = np.zeros(knowing.NUMBERS, np.int64)
        numbers[knowing.UNSURE], numbers[knowing.GUESSING] = self.unsure, self.guessing
        numbers[knowing.NEEDED] = self.config.trials if self.unsure else 1
        slots = max(slots, 4 * outcomes)
        kinds = np.int32
        single = ("tried", "outcomes", "before", "action")
        several = ("after", "row", "ended", "times", "origin")
        model = knowing.Model(
            slot=np.full(total * actions, knowing.NOTHING, kinds),
            split=np.full((splits, width), knowing.NOTHING, kinds),
            **{name: np.zeros(slots, kinds) for name in single},
            **{name: np.zeros((slots, outcomes), kinds) for name in several},
            extra=np.full((slots, outcomes, len(self.tables.arrays.extra)), np.nan),
            hope=np.zeros(width),
            roots=np.zeros(total, kinds),
            numbers=numbers,
            settings=np.array(
                [self.config.discount, self.config.tolerance, floor, self.config.trials]
            ),
        )
        if self.model is not None:
            _copy(self.model, model, skip=("settings",))
        model.numbers[knowing.CROWDED] = 0
        self.model = model
        self._take_over()
        # One plan to act by, one to be judged by: how often somebody looks changes nothing.
        if self.plan is None or self.plan.stamp.shape != (total, width):
            self.plan, self.judging = self.new_plan(), self.new_plan()

    def new_plan(self) -> planning.Plan:
        """Return a plan without nodes, with the sizes of the model."""
        _, width, actions = self.tables.arrays.q.shape
        plan: planning.Plan = _plan(len(self.model.roots), width, actions, self.edges)
        return plan

    def save_state(self, saved: SavedState) -> None:
        """Add the model, the guesses, the plan and the random generator."""
        save_planner(self, saved)

    def restore_state(self, saved: SavedState) -> None:
        """Go on with a model, guesses and a plan."""
        self.grow()  # as the tables did
        restore_planner(self, saved)

    def _guess(self, total: int) -> generalisation_kernels.Guess:
        actions = self.tables.arrays.q.shape[2]
        return generalisation_kernels.Guess(
            self.numbering.sizes,
            np.zeros(len(self.numbering.sizes), np.int32),
            np.full(total * actions, generalisation_kernels.NOTHING, np.int32),
            np.full(total, generalisation_kernels.NOTHING, np.int32),
            np.full(actions, generalisation_kernels.NOTHING, np.int32),
            np.zeros(actions, np.int64),
        )

    def _take_over(self) -> None:
        """Compute optimistic values of new configurations; the plan is then out of date."""
        model, space = self.model, self.tables.space
        bonus = max(self.config.highest_reward or 0.0, 0.0)
        more = self.tables.values_of_machine(self.config.discount, bonus, first=self.hoped)
        model.hope[self.hoped : len(space)] = more
        self.hoped = len(space)
        model.numbers[knowing.STALE] = 1
        model.numbers[knowing.EMPTY] = space.labels.index(0) if 0 in space.labels else -1

    def grow(self, observations: int | None = None) -> None:
        """Make room; if there is enough, nothing is copied."""
        self.tables.grow(observations)
        if self._is_full() or not self._fits():
            self._make_room(more=1)
        else:
            self._take_over()

    def _fits(self) -> bool:
        """Whether the arrays have the sizes of the tables."""
        arrays, model = self.tables.arrays, self.model
        total = self.numbering.total if self.guessing else self.tables.room
        held = (len(model.roots), model.split.shape[1], model.extra.shape[2])
        return held == (total, arrays.q.shape[1], len(arrays.extra))

    def _make_room(self, more: int = 2) -> None:
        """Make room for more transitions."""
        slots, outcomes = self.model.after.shape
        crowded = bool(self.model.numbers[knowing.CROWDED])
        splits = self.model.split.shape[0]
        full = int(self.model.numbers[knowing.SPLITS]) == splits
        self._allocate(more * slots, outcomes * (2 if crowded else 1), splits * (2 if full else 1))

    def add_observation(self, number: int, observation: Observation) -> None:
        """Note that an observation has been given a number."""
        if number >= len(self.codes):
            self.codes = np.resize(self.codes, max(2 * number, 64))
        self.codes[number] = self.numbering.code(observation) if self.guessing else -1
        self.observed = number + 1

    # Both paths

    def run(
        self, world: WorldArrays, steps: int, nature: np.random.Generator, ends: Floats, log: Floats
    ) -> int:
        """Take so many samples in a finite world."""
        position = self.tables.position
        goal = int(position[kernels.SAMPLES]) + steps
        while True:
            left = goal - int(position[kernels.SAMPLES])
            more = (self.codes, left, self.first, self.rng, nature, ends, log)
            with held():
                status = int(planning.run(world, self.tables.machine, self.model, self.plan, *more))
            if status == planning.FULL:
                self._make_room()
            elif status == planning.NEWS:
                actions = self.tables.arrays.q.shape[2]
                planning.conclude(self.model, self.guess, self.plan, actions)
            elif status == planning.PLAN:
                observation = world.observation[position[kernels.STATE]]
                self._plan_from(int(self.codes[observation]))
            else:
                return status

    def _is_full(self) -> bool:
        model = self.model
        return bool(knowing.is_full(model.numbers, model.after, model.split))

    def _plan_from(self, seen: int) -> None:
        """Plan from the current state."""
        position = self.tables.position
        x = int(position[kernels.CONFIGURATION])
        self._look_ahead("plan", np.array([seen]), np.array([x]))
        self.model.numbers[knowing.STALE] = 0
        begins = position[kernels.AGE] == 0 and not self.model.numbers[knowing.DOUBTING]
        if begins and self.plan.value[0] <= 0 < self.model.hope[x]:
            while not knowing.doubt(self.model):
                self._make_room()
            self._plan_from(seen)

    def _look_ahead(self, name: str, seen: Longs, x: Longs) -> None:
        """Plan from the nodes ⟨seen, x⟩ on.

        What is done once for a plan need not be compiled: that would take longer than it saves.
        """
        tables = self.tables.machine
        while True:
            plan = getattr(self, name)
            plan.counts[:] = plan.counts[0] + 1, len(seen), 0
            plan.stamp[seen, x], plan.number[seen, x] = plan.counts[0], np.arange(len(seen))
            plan.nodes[: len(seen)] = seen * plan.stamp.shape[1] + x
            if planning.look_ahead(self.model, self.guess, tables, plan):
                return
            self.edges *= 8
            setattr(self, name, _resized(plan, self.edges))

    def start(self, observation: int) -> int:
        """Start an episode and return the first action."""
        position = self.tables.position
        position[kernels.STATE], position[kernels.CONFIGURATION] = observation, self.first
        position[kernels.AGE] = 0
        self.model.roots[self._code(observation)] = knowing.BEGINS
        return self._act()

    def _code(self, observation: int) -> int:
        return int(planning.code_of(self.codes, self.model.numbers, observation))

    def _act(self) -> int:
        position = self.tables.position
        seen, x = self._code(position[kernels.STATE]), int(position[kernels.CONFIGURATION])
        while self._is_full():
            self._make_room()
        plan = self.plan
        if planning.needs_plan(self.model.numbers, plan.stamp, plan.counts, seen, x):
            self._plan_from(seen)
        pick = self.rng.random()
        position[kernels.ACTION] = planning.act(self.plan, self.config.discount, seen, x, pick)
        return int(position[kernels.ACTION])

    def prepare(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def experience(self, after: int, what: int) -> int:
        """Learn from a transition; returns the next action, or a negative status."""
        row, terminated, over = live_kernels.read(what)
        position, arrays = self.tables.position, self.tables.arrays
        x = int(position[kernels.CONFIGURATION])
        then = int(arrays.next_configuration[row, x])
        if then < 0:
            return then
        seen, action = self._code(position[kernels.STATE]), int(position[kernels.ACTION])
        told = (self._code(after), row, int(terminated), arrays.extra, arrays.q.shape[2])
        planning.remember(self.model, seen, action, x, *told)
        if self.model.numbers[knowing.FIRST]:
            planning.conclude(self.model, self.guess, self.plan, arrays.q.shape[2])
        if not np.isfinite(self.plan.value[self.plan.number[seen, x]]):
            return kernels.NOT_FINITE
        position[kernels.AGE] += 1
        position[kernels.SAMPLES] += 1
        position[kernels.STATE], position[kernels.CONFIGURATION] = after, then
        return 0 if over else self._act()

    def known(self) -> NDArray[np.bool_]:
        """Return which entries the last plan covers: [O, X]."""
        codes, plan = self.codes[: self.tables.room], self.judging
        planned = plan.stamp[np.maximum(codes, 0)] == plan.counts[0]
        return np.asarray((codes >= 0)[:, None] & planned)

    def values(self, *, everything: bool = False) -> NDArray[np.float64]:
        """Return Q under the learned model, at least where the greedy policy goes: [O, X, A]."""
        arrays, roots = self.tables.arrays, self.model.roots
        wanted = (roots > 0)[:, None] & (arrays.ending == kernels.GOES_ON)
        if not everything:
            wanted &= (roots == knowing.BEGINS)[:, None] & (
                np.arange(len(arrays.ending)) == self.first
            )
        self._look_ahead("judging", *np.nonzero(wanted))
        plan, values = self.judging, self._values_of(self.judging)
        known = np.flatnonzero(self.codes[: arrays.q.shape[0]] >= 0)
        codes = self.codes[known]
        row, x = np.nonzero(plan.stamp[codes] == plan.counts[0])
        # Who asks for a policy on the way changes nothing of the one at the end.
        q = arrays.q.copy() if everything else arrays.q
        q[known[row], x] = values[plan.number[codes[row], x]]
        return q

    def _values_of(self, plan: Any) -> NDArray[np.float64]:
        """Return the action values of all nodes: [N, A]."""
        _, nodes, edges = plan.counts
        rows = nodes * plan.gain.shape[1]
        row = np.repeat(np.arange(rows), np.diff(plan.first[: rows + 1]))
        ahead = plan.share[:edges] * plan.value[plan.target[:edges]]
        total = np.bincount(row, ahead, rows).reshape(nodes, -1)
        best: NDArray[np.float64] = np.maximum(
            plan.gain[:nodes] + self.config.discount * total, plan.floor[:nodes]
        )
        return best


def _plan(total: int, width: int, actions: int, edges: int) -> Any:
    nodes = total * width
    return planning.Plan(
        np.zeros((total, width), np.int32),
        np.zeros((total, width), np.int32),
        np.zeros(nodes, np.int64),
        np.zeros(nodes),
        np.zeros((nodes, actions)),
        np.zeros((nodes, actions)),
        np.zeros(nodes * actions + 1, np.int64),
        np.zeros(edges, np.int32),
        np.zeros(edges),
        np.full(total * actions, knowing.NOTHING, np.int32),
        np.zeros(total * actions, np.int32),
        np.zeros(total, np.int32),
        np.zeros(3, np.int64),
    )


def _resized(plan: Any, edges: int) -> Any:
    return plan._replace(target=np.zeros(edges, np.int32), share=np.zeros(edges))


def _copy(old: Any, new: Any, skip: tuple[str, ...] = ()) -> None:
    """Copy arrays into larger ones of the same kind."""
    for name, before in old._asdict().items():
        if name not in skip:
            copy_into(before, getattr(new, name))
