"""Training on finite problems: the whole loop compiled, one call for many samples."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.planning import HORIZON, find_product, model_of
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.aamdp.tabular_product import TabularProduct
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.compiled.tables import ConfigurationSpace, GrowingSpace
from cranium.errors import InvalidArgumentError, UnknownNameError, WorldError, check_count
from cranium.learners.config import Schedule, TabularConfig, Visits
from cranium.learners.shaping import machine_potentials

__all__ = ["Evaluation", "TrainingResult", "train"]

LEARNERS = {
    "ql": TabularConfig(configurations="current"),
    "cql": TabularConfig(configurations="reachable"),
    "crm": TabularConfig(configurations="reachable"),
    "planner": TabularConfig(configurations="reachable"),
}
"""Learners by their ids: Q-learning on the product, CQL, CQL on a reward machine, model-based."""
MAX_OUTCOMES = 16
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Evaluation:
    """What the greedy policy does, exactly, from each start: one entry for each instance.

    Attributes:
        starts: The states in which an episode may begin.
        success: How likely the policy succeeds from each. [I]
        returns: Its expected return. [I]
        lengths: How many steps it takes. [I]

    Example:
        >>> env = gym.make("cranium/Letter-anbcdn-v0", times=(1, 2))
        >>> train(env, steps=40_000).evaluation.lengths
        array([17., 21.])
    """

    starts: tuple[Any, ...]
    success: Floats
    returns: Floats
    lengths: Floats

    @property
    def solved(self) -> bool:
        """Whether it succeeds from every start."""
        return bool((self.success > 1 - 1e-9).all())


@dataclass(frozen=True)
class TrainingResult:
    """What was learned, and how it went.

    Attributes:
        learner: The id of the learner.
        config: Its settings.
        seed: The seed.
        samples: How many samples were taken.
        samples_to_solve: After how many the greedy policy first solved every instance, or None.
        evaluation: The greedy policy at the end.
        curve: Samples, and the mean success of the greedy policy then. [T, 2]
        episodes: How many episodes ended while training.
        q: The values. [O, X, A]
        product: What was learned, as arrays.

    Example:
        >>> env = gym.make("cranium/Letter-anbcdn-v0", times=1)
        >>> result = train(env, "ql", steps=40_000, until_solved=True)
        >>> result.samples == result.samples_to_solve < 40_000
        True
    """

    learner: str
    config: TabularConfig
    seed: int
    samples: int
    samples_to_solve: int | None
    evaluation: Evaluation
    curve: Floats = field(repr=False)
    episodes: int
    q: Floats = field(repr=False)
    product: TabularProduct = field(repr=False)


def train(
    env: gym.Env[Any, Any],
    learner: str = "cql",
    *,
    steps: int,
    seed: int = 0,
    config: TabularConfig | None = None,
    counter_limit: int | None = None,
    evaluate_every: int | None = None,
    until_solved: bool = False,
) -> TrainingResult:
    """Learn a task in a finite world.

    Args:
        env: A product, perhaps with wrappers around it.
        learner: ``"ql"``, ``"cql"``, ``"crm"`` or ``"planner"``.
        steps: How many samples to take.
        seed: The same seed gives the same result, bit for bit.
        config: The settings; the configuration set is the learner's unless it is given here.
        counter_limit: Up to which counter values configurations are imagined that the machine can
            reach; left out, those that can happen in this world.
        evaluate_every: After how many samples the greedy policy is looked at; by default it is
            looked at a hundred times.
        until_solved: Whether to stop as soon as it solves every instance.

    Example:
        >>> env = gym.make("cranium/Letter-anbcdn-v0", times=1)
        >>> result = train(env, "cql", steps=30_000, seed=0)
        >>> result.evaluation.solved, result.evaluation.lengths
        (True, array([17.]))
    """
    if learner not in LEARNERS:
        raise UnknownNameError.of("learner", learner, LEARNERS)
    check_count("steps", steps)
    every = check_count("evaluate_every", evaluate_every or max(steps // 100, 1))
    product = find_product(env, transparent=True)
    if learner == "crm" and product.automaton.counters:
        raise InvalidArgumentError(
            "crm learns on reward machines, but this machine has counters",
            fix="use cql, or the product with cranium.unroll(automaton, counter_limit)",
        )
    chosen = config or LEARNERS[learner]
    if learner == "ql":
        chosen = replace(chosen, configurations="current")
    kind = _PlannerTraining if learner == "planner" else _Training
    return kind(product, chosen, counter_limit, seed).run(learner, steps, every, until_solved)


class _Training:
    """One run: the arrays, and the loop around the compiled loop."""

    def __init__(
        self,
        product: AutomatonAugmentedMDP,
        config: TabularConfig,
        counter_limit: int | None,
        seed: int,
    ) -> None:
        from cranium.learners import kernels

        self.kernels = kernels
        self.config = config
        self.seed = seed
        self.horizon = product.horizon or 2**31
        self.model = model_of(product)
        self.space = _space(product.automaton, self.model, counter_limit)
        # The pairs of the model, in the numbers of the space.
        known = self.model.space
        numbers = np.array([self.space.encode(known.decode(x)) for x in range(len(known))])
        self.configuration = numbers[self.model.configuration]
        self.tables = self.space.tables
        self.world = self._world(product)
        self.mind = self._mind()
        # Independent random numbers for the agent and for the world, from one root, by name.
        self.agent, self.nature = (
            np.random.default_rng(np.random.SeedSequence([seed, number])) for number in (0, 1)
        )

    def run(self, learner: str, steps: int, every: int, until_solved: bool) -> TrainingResult:
        start = int(self.space.start)
        ends = np.zeros(3)
        self.kernels.begin(self.world, self.mind, start, self.nature)
        curve, solved_at = [], None
        done = 0
        evaluation = self.evaluate()
        while done < steps:
            size = min(every, steps - done)
            status = self._learn(size, start, ends)
            if status != self.kernels.RUNNING:
                raise self._problem(status)
            done += size
            evaluation = self.evaluate()
            curve.append((done, evaluation.success.mean()))
            if evaluation.solved and solved_at is None:
                solved_at = done
            if until_solved and solved_at is not None:
                break
        return TrainingResult(
            learner,
            self.config,
            self.seed,
            done,
            solved_at,
            evaluation,
            np.array(curve),
            int(ends[0]),
            self.mind.q,
            self.model,
        )

    def _learn(self, steps: int, start: int, ends: Floats) -> int:
        args = (self.agent, self.nature, ends, self.tables.accepting)
        return int(self.kernels.run(self.world, self.mind, steps, start, *args))

    def evaluate(self) -> Evaluation:
        """Follow the greedy policy exactly, from each start."""
        from cranium.aamdp.kernels import follow

        model = self.model
        seen = model.world.observation[model.state]
        policy = np.argmax(self.mind.q[seen, self.configuration], axis=1).astype(np.int64)
        starts = np.flatnonzero(model.initial)
        found = []
        for pair in starts:
            one = np.zeros(model.num_pairs)
            one[pair] = 1.0
            arrays = (model.first, model.next_pair, model.probability, model.reward, model.success)
            found.append(follow(*arrays, policy, one, min(self.horizon, HORIZON)))
        returns, success, lengths = np.array(found).T
        names = tuple(model.world.states[model.state[pair]] for pair in starts)
        return Evaluation(names, success, returns, lengths)

    def _problem(self, status: int) -> Exception:
        position = self.mind.position
        x = self.space.decode(int(position[1]))
        if status == self.kernels.REFUSED:
            for (_, number), problem in self.space.problems.items():
                if number == position[1]:
                    problem.add_note(f"in {x}, after {position[3]:,} samples")
                    return problem
        return WorldError(f"a value became infinite or NaN in {x} after {position[3]:,} samples")

    def _world(self, product: AutomatonAugmentedMDP) -> Any:
        world = self.model.world
        known = frozenset(product.automaton.propositions)
        rows = [self.space.label_index(label & known) for label in world.labels]
        pairs = np.repeat(np.arange(len(world.first) - 1), np.diff(world.first))
        total = np.cumsum(world.probability)
        before = np.concatenate([[0.0], total])[world.first[:-1]]
        extra = np.zeros((len(world.next_state), 1 + len(self.space.reward_functions)))
        if product.add_ground_reward:
            extra[:, 0] = world.reward
        state, action = np.divmod(pairs, world.num_actions)
        for number, function in enumerate(self.space.reward_functions):
            for k in range(len(extra)):
                seen = world.observations[world.observation[state[k]]]
                after = world.observations[world.observation[world.next_state[k]]]
                extra[k, 1 + number] = function(seen, int(action[k]) + world.first_action, after)
        starts = np.flatnonzero(world.initial)
        return self.kernels.World(
            world.first,
            world.next_state,
            total - before[pairs],
            np.array(rows, np.int32)[world.label],
            world.terminated,
            extra,
            starts.astype(np.int32),
            np.cumsum(world.initial[starts]),
            world.observation,
        )

    def _mind(self) -> Any:
        tables, config = self.tables, self.config
        shape = (len(self.model.world.observations), len(self.space), self.model.world.num_actions)
        potential = np.zeros(len(self.space))
        if config.shaping:
            potential = machine_potentials(tables, config.shaping_discount)
        values = [configuration.counters for configuration in self.space.configurations]
        numbers = {value: index for index, value in enumerate(dict.fromkeys(values))}
        members = np.flatnonzero(~tables.terminal).astype(np.int32)
        kind = ("current", "seen", "reachable").index(config.configurations)
        position = np.zeros(5, np.int64)
        position[4] = len(members) if config.configurations == "reachable" else 0
        falling = isinstance(config.learning_rate, Visits)
        return self.kernels.Mind(
            np.full(shape, float(config.initial_value or 0.0)),
            np.zeros(shape if falling else (0, 0, 0), np.int32),
            np.ascontiguousarray(tables.next_configuration),
            np.ascontiguousarray(tables.reward),
            np.ascontiguousarray(tables.reward_function),
            tables.terminal.copy(),
            potential,
            np.resize(members, len(self.space)),
            np.array([numbers[value] for value in values], np.int32),
            np.zeros(len(numbers), np.bool_),
            position,
            np.array([*_rate(config.learning_rate), *_schedule(config.exploration)]),
            np.array([kind, config.discount, self.horizon], float),
        )


class _PlannerTraining(_Training):
    """The model-based learner: the same loop around another compiled one."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        from cranium.learners import planner_kernels

        self.planner = planner_kernels
        observations, _, actions = self.mind.q.shape
        pairs = observations * actions
        hope = machine_potentials(self.tables, self.config.discount)
        shape = (pairs, MAX_OUTCOMES)
        self.known = planner_kernels.Model(
            np.zeros(pairs, np.int32),
            np.zeros(pairs, np.int32),
            np.zeros(shape, np.int32),
            np.zeros(shape, np.int32),
            np.zeros(shape, np.bool_),
            np.zeros(shape, np.int32),
            np.zeros((*shape, self.world.extra.shape[1])),
            np.tile(hope, (observations, 1)),
            hope,
            np.full(observations, -1, np.int32),
            np.zeros(pairs * MAX_OUTCOMES, np.int32),
            np.zeros(pairs * MAX_OUTCOMES, np.int32),
            np.zeros(observations, np.int32),
            np.zeros(observations, np.bool_),
            np.array([0, 0, 0, 0, 1], np.int64),
            np.array([self.config.discount, 1e-4, 20.0, 30.0]),
        )

    def _learn(self, steps: int, start: int, ends: Floats) -> int:
        args = (self.agent, self.nature, ends, self.tables.accepting)
        status = self.planner.run(self.world, self.mind, self.known, steps, start, *args)
        self.planner.fill_q(self.known, self.mind)
        return int(status)


def _space(
    automaton: CountingRewardAutomaton, model: TabularProduct, counter_limit: int | None
) -> GrowingSpace:
    labels = [automaton.alphabet.names(label) for label in model.space.labels]
    if counter_limit is not None:
        return ConfigurationSpace(automaton, labels, counter_limit=counter_limit)
    space = model.space
    for x in range(len(space)):  # every label in every configuration, as far as that is known
        if not space.tables.terminal[x]:
            for row in range(len(labels)):
                space.look(row, x)
    return space


def _rate(value: float | Schedule | Visits) -> tuple[float, float, float, float]:
    if isinstance(value, Visits):
        return 2.0, value.power, 0.0, 1.0
    if isinstance(value, Schedule):
        return 1.0, value.first, value.last, float(value.over)
    return 0.0, float(value), 0.0, 1.0


def _schedule(value: float | Schedule) -> tuple[float, float, float]:
    if isinstance(value, Schedule):
        return value.first, value.last, float(value.over)
    return float(value), float(value), 1.0
