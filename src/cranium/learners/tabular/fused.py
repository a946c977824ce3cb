"""Training in a finite world: the whole loop compiled, one call for many samples."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from gymnasium.utils import seeding

from cranium.aamdp.kernels import ANY
from cranium.aamdp.labelling import LabelReport
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.aamdp.tabular_product import TabularProduct
from cranium.errors import CraniumError, UnsoundLabelsWarning
from cranium.learners.episode_log import EpisodeLog, Floats
from cranium.learners.evaluation import Evaluation, TabularEvaluator
from cranium.learners.policy import Policy
from cranium.learners.run import LearnerRun
from cranium.learners.saved_state import SavedState, generator_data, restore_generator
from cranium.learners.space_state import restore_space
from cranium.learners.tabular import kernels
from cranium.learners.tabular.agent import TabularAgent
from cranium.learners.tabular.arrays import LearnerTables
from cranium.learners.tabular.state import restore_tables, save_tables
from cranium.worlds.tabular import TabularWorld

__all__ = ["TabularRun"]

CHUNK = 20_000
"""How many samples are taken at most before Ctrl-C is heard and progress is shown."""


class TabularRun(LearnerRun[TabularAgent]):
    """One run in a finite world."""

    path = "compiled"

    def __init__(
        self,
        product: AutomatonAugmentedMDP,
        model: TabularProduct,
        agent: TabularAgent,
        evaluator: TabularEvaluator,
        seed: int,
        log: bool = False,
    ) -> None:
        self.product = product
        self.model = model
        self.agent = agent
        self.evaluator = evaluator
        self.world = _world(product, model, agent.tables)
        for number, seen in enumerate(model.world.observations):
            agent.add_observation(number, seen)
        self.ends = np.zeros(4)
        self.log = EpisodeLog(wanted=log, room=CHUNK)  # an episode has at least one sample
        # What a live environment draws after reset(seed=seed).
        self.nature = seeding.np_random(seed)[0]
        tables = agent.tables
        draw = kernels.in_python(kernels.draw)
        starts = self.world.start_cumulative
        first, start = draw(starts, 0, len(starts), self.nature), int(tables.space.start)
        tables.position[kernels.STATE] = self.world.starts[first]
        tables.position[kernels.CONFIGURATION] = start
        tables.follow(start)
        self.rows = model.world.observation[model.state]
        # The learner has no number for a configuration beyond its own counter limit.
        places = {x: number for number, x in enumerate(tables.space.configurations)}
        numbers = np.array([places.get(x, -1) for x in model.space.configurations])
        self.columns = np.maximum(numbers, 0)[model.configuration]
        beyond = numbers[model.configuration] < 0
        self.beyond = beyond if beyond.any() else None

    def learn(self, steps: int) -> int:
        """Take up to so many samples; returns a status."""
        self.log.empty(int(self.ends[0]))
        more = (self.nature, self.ends, self.log.ring)
        return self.agent.run(self.world, min(steps, CHUNK), *more)

    def logged(self, first: int = 0) -> Floats:
        """Return the log of the episodes from this one on, if it is wanted: [E, 3]."""
        self.log.empty(int(self.ends[0]))
        return self.log.rows(first)

    def error(self, status: int) -> CraniumError | None:
        """Return the error of a negative status, if it is one of the machine or of a rule."""
        return self.agent.tables.error(status)

    def evaluate(
        self,
        *,
        optimum: bool = False,
        confirm: bool = False,  # noqa: ARG002 - what is exact needs no confirmation
    ) -> Evaluation:
        """Evaluate the greedy policy exactly; where nothing is known, it acts at random."""
        best = np.argmax(self.agent.values()[self.rows, self.columns], axis=1)
        known = self.agent.known()
        if known is not None:
            best = np.where(known[self.rows, self.columns], best, ANY)
        return self.evaluator.evaluate_actions(best, optimum=optimum, beyond=self.beyond)

    def policy(self) -> Policy:
        """Return the learned policy."""
        world = self.model.world
        space = self.agent.tables.space
        return Policy(
            self.agent.values(everything=True)[:, : len(space)].copy(),
            world.observations,
            tuple(space.configurations),
            self.product.automaton,
            world.first_action,
            observation_space=self.product.env.observation_space,
        )

    def save_state(self, saved: SavedState) -> None:
        """Add the tables, what was learned, and both random generators."""
        save_tables(self.agent.tables, saved, self.agent.tables.room)
        self.agent.save_state(saved)
        saved.data["nature"] = generator_data(self.nature)

    def restore_state(self, saved: SavedState) -> None:
        """Go on with the tables, what was learned, and the random generators."""
        tables = self.agent.tables
        restore_space(tables.space, saved)
        restore_tables(tables, saved, tables.room, len(self.world.observation))
        self.agent.restore_state(saved)
        restore_generator(self.nature, saved.data["nature"])


def warn_if_unsound(product: AutomatonAugmentedMDP, world: TabularWorld) -> None:
    """Warn if a label is no function of (s, a, s′): relabelled transitions are then unsound."""
    known = frozenset(product.automaton.propositions)
    names = {label & known: number for number, label in enumerate(world.labels)}
    labels = np.array([names[label & known] for label in world.labels])[world.label]
    state, action = np.divmod(world.pair, world.num_actions)
    seen, after = world.observation[state], world.observation[world.next_state]
    steps = np.stack([seen, action, after, labels], axis=1)
    kinds = np.unique(steps, axis=0)
    again = np.flatnonzero((np.diff(kinds[:, :3], axis=0) == 0).all(axis=1))
    if again.size:
        s, a, t, one = kinds[again[0]]
        both = tuple(world.labels[label] & known for label in (one, kinds[again[0] + 1, 3]))
        found = (world.observations[s], int(a) + world.first_action, world.observations[t], both)
        warnings.warn(LabelReport.unsoundness(found), UnsoundLabelsWarning, stacklevel=4)


def _cumulative(world: TabularWorld) -> Floats:
    """The cumulative probabilities of each pair, added in the order that a live world uses."""
    total = world.probability.copy()
    place = np.arange(len(total)) - world.first[world.pair]  # among the outcomes of the pair
    order = np.argsort(place, kind="stable")
    for here in np.split(order, np.cumsum(np.bincount(place)))[1:]:
        total[here] += total[here - 1]
    return total


def _world(product: AutomatonAugmentedMDP, model: TabularProduct, tables: LearnerTables) -> Any:
    world, space = model.world, tables.space
    known = frozenset(product.automaton.propositions)
    rows = [space.label_index(label & known) for label in world.labels]
    extra = np.zeros((len(world.next_state), 1 + len(space.reward_functions)))
    if product.add_ground_reward:
        extra[:, 0] = world.reward
    for number, function in enumerate(space.reward_functions):
        extra[:, 1 + number] = [world.pay(function, k) for k in range(len(extra))]
    starts = np.flatnonzero(world.initial)
    return kernels.WorldArrays(
        world.first,
        world.next_state,
        _cumulative(world),
        np.array(rows, np.int32)[world.label],
        world.terminated,
        extra,
        starts.astype(np.int32),
        np.cumsum(world.initial[starts]),
        world.observation,
    )
