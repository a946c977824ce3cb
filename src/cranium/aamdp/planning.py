"""Exact planning in the product: the oracle that every learner is measured against.

The pairs ⟨s, ⟨u, c⟩⟩ that can be reached are listed, and value iteration runs over them until the
values are within a stated distance of the optimal ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.labelling import WorldEvents
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.compiled.tables import REFUSED, UNKNOWN, GrowingSpace
from cranium.errors import InvalidArgumentError, SpaceError, WorldError, check_count, shorten
from cranium.worlds.enumeration import enumerate_env
from cranium.worlds.finite import FiniteWorld
from cranium.worlds.tabular import TabularWorld

__all__ = ["Solution", "TabularProduct", "as_tabular", "find_product", "solve"]

MAX_PAIRS = 20_000_000
HORIZON = 10_000
TRANSPARENT = {"OrderEnforcing", "PassiveEnvChecker", "RecordEpisodeStatistics", "TimeLimit"}
"""Wrappers of Gymnasium's that leave the states, the outcomes and the rewards alone."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TabularProduct:
    """The product of a finite world and an automaton: P pairs, A actions, K outcomes.

    Attributes:
        world: The world.
        space: The configurations, as numbers.
        state: The state of each pair. [P]
        configuration: The configuration of each pair. [P]
        first: Where the outcomes of each pair and action begin. [P·A + 1]
        next_pair: Where an outcome leads, -1 if it ends the episode. [K]
        probability: How likely it is. [K]
        reward: What it pays. [K]
        success: Whether it ends the episode with success. [K]
        initial: How likely an episode begins in each pair. [P]

    Example:
        >>> import cranium
        >>> from cranium.worlds import LetterEnv, TabularWorld
        >>> world = TabularWorld.of(LetterEnv.experiment(1))
        >>> model = TabularProduct.of(world, cranium.library.load("anbcdn"))
        >>> model.pair(((4, 4), (1,)), Configuration("counting", (0,)))
        0
    """

    world: TabularWorld = field(repr=False)
    space: GrowingSpace = field(repr=False)
    state: Ints = field(repr=False)
    configuration: Ints = field(repr=False)
    first: Ints = field(repr=False)
    next_pair: Ints = field(repr=False)
    probability: Floats = field(repr=False)
    reward: Floats = field(repr=False)
    success: NDArray[np.bool_] = field(repr=False)
    initial: Floats = field(repr=False)

    @classmethod
    def of(
        cls,
        world: TabularWorld,
        automaton: CountingRewardAutomaton,
        *,
        counter_limit: int | None = None,
        add_ground_reward: bool = False,
    ) -> TabularProduct:
        """List the pairs that can be reached from the start, breadth first.

        Example:
            >>> import cranium
            >>> from cranium.worlds import LetterEnv, TabularWorld
            >>> world = TabularWorld.of(LetterEnv.experiment(1))
            >>> TabularProduct.of(world, cranium.library.load("anbcdn")).num_pairs
            135
        """
        names = frozenset(automaton.propositions)
        known = [label & names for label in world.labels]
        space = GrowingSpace(automaton, known, counter_limit=counter_limit)
        rows = np.array([space.label_index(label) for label in known], dtype=np.int64)
        return _Builder(world, space, rows, add_ground_reward).build()

    @property
    def num_pairs(self) -> int:
        """P."""
        return len(self.state)

    def pair(self, state: Any, configuration: Configuration) -> int:
        """The number of a pair, by the world's name of the state."""
        found = np.array([], dtype=np.int64)
        if state in self.world.states and configuration in self.space.configurations:
            s, x = self.world.states.index(state), self.space.configurations.index(configuration)
            found = np.flatnonzero((self.state == s) & (self.configuration == x))
        if not len(found):
            raise InvalidArgumentError(f"{shorten(state)} is never reached with {configuration}")
        return int(found[0])


class _Builder:
    """Lists the product level by level, whole levels at a time."""

    def __init__(
        self, world: TabularWorld, space: GrowingSpace, rows: Ints, add_ground_reward: bool
    ) -> None:
        self.world = world
        self.space = space
        self.rows = rows
        self.add_ground_reward = add_ground_reward
        self.functions: dict[tuple[int, int, int, int], float] = {}

    def build(self) -> TabularProduct:
        world = self.world
        starts = np.flatnonzero(world.initial)
        level = self._keys(starts.astype(np.int64), np.full(len(starts), self.space.start))
        initial = world.initial[starts]
        order = [level]
        known = np.sort(level)
        parts: list[tuple[Any, ...]] = []
        while len(level):
            part = self._expand(level)
            parts.append(part)
            fresh = np.unique(part[1][part[1] >= 0])
            where = np.minimum(np.searchsorted(known, fresh), len(known) - 1)
            level = fresh[known[where] != fresh]
            known = np.union1d(known, level)
            if len(known) > MAX_PAIRS:
                raise SpaceError(
                    f"the product has more than {MAX_PAIRS:,} pairs of a state and a configuration",
                    fix="lower the counter limit",
                )
            order.append(level)
        keys = np.concatenate(order)
        ranks = np.argsort(keys)
        targets = np.concatenate([part[1] for part in parts])
        found = ranks[np.minimum(np.searchsorted(keys[ranks], targets), len(keys) - 1)]
        counts = np.concatenate([part[0] for part in parts])
        chances = np.zeros(len(keys))
        chances[: len(starts)] = initial
        return TabularProduct(
            world,
            self.space,
            keys % world.num_states,
            keys // world.num_states,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.where(targets < 0, -1, found).astype(np.int64),
            np.concatenate([part[2] for part in parts]),
            np.concatenate([part[3] for part in parts]),
            np.concatenate([part[4] for part in parts]),
            chances,
        )

    def _keys(self, states: Ints, configurations: Ints) -> Ints:
        return configurations.astype(np.int64) * self.world.num_states + states

    def _expand(self, level: Ints) -> tuple[Any, ...]:
        """All outcomes of all actions in the pairs of a level."""
        world, actions = self.world, self.world.num_actions
        states, numbers = level % world.num_states, level // world.num_states
        pairs = (states[:, None] * actions + np.arange(actions)).ravel()
        counts = (world.first[pairs + 1] - world.first[pairs]).astype(np.int64)
        ends = np.cumsum(counts)
        outcome = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
        outcome += np.repeat(world.first[pairs], counts)
        here = np.repeat(np.repeat(numbers, actions), counts)
        rows = self.rows[world.label[outcome]]
        after = self._next(rows, here)
        tables = self.space.tables
        ended = world.terminated[outcome] | tables.terminal[after]
        target = np.where(ended, -1, self._keys(world.next_state[outcome], after))
        reward = tables.reward[rows, here] + self._function_rewards(
            rows, here, outcome, pairs, counts
        )
        if self.add_ground_reward:
            reward = reward + world.reward[outcome]
        return counts, target, world.probability[outcome], reward, tables.accepting[after]

    def _next(self, rows: Ints, here: Ints) -> Ints:
        """The next configurations; what the tables do not know yet is worked out."""
        after = self.space.tables.next_configuration[rows, here]
        missing = after == UNKNOWN
        if missing.any():
            for row, x in set(zip(rows[missing].tolist(), here[missing].tolist(), strict=True)):
                self.space.step(row, x)
            after = self.space.tables.next_configuration[rows, here]
        if (refused := np.flatnonzero(after == REFUSED)).size:
            raise self.space.problems[int(rows[refused[0]]), int(here[refused[0]])]
        return after.astype(np.int64)

    def _function_rewards(
        self, rows: Ints, here: Ints, outcome: Ints, pairs: Ints, counts: Ints
    ) -> Floats | float:
        """What reward functions pay, for the observations of the states."""
        functions = self.space.tables.reward_function[rows, here]
        if (functions < 0).all():
            return 0.0
        world = self.world
        state, action = np.divmod(np.repeat(pairs, counts), world.num_actions)
        paid = np.zeros(len(rows))
        for i in np.flatnonzero(functions >= 0):
            key = (
                int(functions[i]),
                int(state[i]),
                int(action[i]),
                int(world.next_state[outcome[i]]),
            )
            if key not in self.functions:
                function = self.space.reward_functions[key[0]]
                before = world.observations[world.observation[key[1]]]
                after = world.observations[world.observation[key[3]]]
                self.functions[key] = float(function(before, key[2] + world.first_action, after))
            paid[i] = self.functions[key]
        return paid


@dataclass(frozen=True)
class Solution:
    """The optimal values and the optimal policy of a product.

    Attributes:
        product: What was solved.
        value: V* of each pair. [P]
        q: Q* of each pair and action. [P, A]
        policy: An optimal action for each pair, counted from 0: the first if there are several, or,
            with a discount of 1, where dawdling costs nothing, one that ends soonest. [P]
        discount: γ.
        tolerance: How far a value may be from the optimal one.
        sweeps: How many sweeps it took.
        start_value: V* at the start, averaged over the starts.
        expected_return: The undiscounted return of the policy, up to the horizon.
        success_rate: How likely the policy ends with success, up to the horizon.
        expected_length: How many steps it takes, up to the horizon.

    Example:
        >>> import cranium
        >>> optimum = solve(gym.make("cranium/Letter-anbcdn-v0", times=1))
        >>> optimum.q.shape, round(optimum.start_value, 4)
        ((135, 4), 0.8515)
        >>> [action for _, _, action in optimum.episodes()][:3]
        [1, 1, 2]
    """

    product: TabularProduct
    value: Floats = field(repr=False)
    q: Floats = field(repr=False)
    policy: Ints = field(repr=False)
    discount: float
    tolerance: float
    sweeps: int
    start_value: float
    expected_return: float
    success_rate: float
    expected_length: float

    def episodes(self) -> Iterator[tuple[Any, Configuration, int]]:
        """The likeliest episode of the policy: states, configurations and actions."""
        model = self.product
        here = int(np.argmax(model.initial))
        seen = set()
        while here >= 0 and here not in seen:
            seen.add(here)
            action = int(self.policy[here])
            yield (
                model.world.states[model.state[here]],
                model.space.decode(int(model.configuration[here])),
                action + model.world.first_action,
            )
            row = here * model.world.num_actions + action
            span = slice(int(model.first[row]), int(model.first[row + 1]))
            here = int(model.next_pair[span][np.argmax(model.probability[span])])


def solve(
    env: gym.Env[Any, Any] | TabularProduct,
    *,
    discount: float = 0.99,
    tolerance: float = 1e-9,
    horizon: int | None = None,
    max_sweeps: int = 100_000,
) -> Solution:
    """Solve a product exactly, by value iteration over everything that can be reached.

    Args:
        env: The product, perhaps with wrappers around it; its world must be finite.
        discount: γ, up to 1.
        tolerance: How far a value may be from the optimal one (with γ = 1: how much the last sweep
            may have changed).
        horizon: For the expected return, length and success; by default the product's, or 10,000.
        max_sweeps: After how many sweeps to give up.

    Example:
        >>> import cranium
        >>> from cranium.worlds import LetterEnv
        >>> env = cranium.product(LetterEnv.experiment(1), cranium.library.load("anbcdn"))
        >>> optimum = cranium.solve(env)
        >>> optimum.success_rate, optimum.expected_length
        (1.0, 17.0)
    """
    from cranium.aamdp.kernels import follow, soonest, value_iteration

    _check_number("a discount", discount, 1.0)
    _check_number("a tolerance", tolerance, float("inf"))
    check_count("max_sweeps", max_sweeps)
    if horizon is not None:
        check_count("the horizon", horizon)
    if isinstance(env, TabularProduct):
        model = env
    else:
        product = find_product(env, transparent=True)
        horizon = horizon or product.horizon
        model = _model_of(product)
    q = np.zeros((model.num_pairs, model.world.num_actions))
    small = tolerance * (1 - discount) / discount if discount < 1 else tolerance
    arrays = (model.first, model.next_pair, model.probability, model.reward)
    sweeps = value_iteration(*arrays, q, float(discount), small, max_sweeps)
    if sweeps < 0:
        raise WorldError(
            f"value iteration has not converged after {max_sweeps:,} sweeps",
            fix="lower the discount, or raise the tolerance",
        )
    value = q.max(axis=1)
    policy = np.argmax(q, axis=1).astype(np.int64)
    if discount == 1:
        policy = soonest(*arrays[:3], q, 10 * small, horizon or HORIZON)
    found = follow(*arrays, model.success, policy, model.initial, horizon or HORIZON)
    start = float(value @ model.initial)
    numbers = (float(number) for number in found)
    return Solution(model, value, q, policy, discount, tolerance, sweeps, start, *numbers)


def _check_number(what: str, value: object, most: float) -> None:
    if not isinstance(value, int | float) or not 0 < value <= most:
        top = "" if most == float("inf") else f" and at most {most:g}"
        raise InvalidArgumentError(f"{what} is a number above 0{top}, not {shorten(value)}")


def _model_of(product: AutomatonAugmentedMDP) -> TabularProduct:
    world = as_tabular(product)
    for label in world.labels:
        product.read_label(label)  # names that the product would refuse
    return TabularProduct.of(
        world,
        product.automaton,
        counter_limit=product.counter_limit,
        add_ground_reward=product.add_ground_reward,
    )


def find_product(env: gym.Env[Any, Any], *, transparent: bool = False) -> AutomatonAugmentedMDP:
    """The product inside the wrappers that ``gymnasium.make`` puts around it.

    Args:
        env: The environment.
        transparent: Whether to refuse wrappers that may change what it does.

    Example:
        >>> find_product(gym.make("cranium/Letter-anbcdn-v0")).automaton.name
        'A^N B C D^N'
    """
    inner: Any = env
    while not isinstance(inner, AutomatonAugmentedMDP):
        if not isinstance(inner, gym.Wrapper):
            raise InvalidArgumentError(
                f"there is no task in {shorten(env)}",
                fix="make one: cranium.product(env, automaton)",
            )
        if transparent:
            _check_transparent(inner)
        inner = inner.env
    return inner


def _check_transparent(wrapper: gym.Wrapper[Any, Any, Any, Any]) -> None:
    if type(wrapper).__name__ not in TRANSPARENT:
        raise WorldError(
            f"the wrapper {type(wrapper).__name__} may change what the world does",
            fix="take it away, or list the world with it yourself: "
            "TabularProduct.of(enumerate_env(env, …), automaton)",
        )


def as_tabular(env: AutomatonAugmentedMDP) -> TabularWorld:
    """The world of a product as arrays: from its model if it has one, else by trying everything."""
    inner: Any = env.env
    while isinstance(inner, gym.Wrapper):
        _check_transparent(inner)
        inner = inner.env
    base: gym.Env[Any, Any] = inner
    own = isinstance(env.labelling, WorldEvents)
    if isinstance(base, FiniteWorld):
        return TabularWorld.of(base, None if own else env.labelling)
    if hasattr(base, "P"):
        return TabularWorld.from_model(env.env, env.labelling)
    return enumerate_env(env.env, None if own else env.labelling)
