"""Exact planning in the product: the oracle that every learner is measured against.

The pairs ⟨s, ⟨u, c⟩⟩ that can be reached are listed, and value iteration runs over them until the
values are within a stated distance of the optimal ones.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from cranium.aamdp.labelling import WorldEvents
from cranium.aamdp.product import AutomatonAugmentedMDP, shortest_horizon
from cranium.aamdp.tabular_product import Floats, Ints, TabularProduct
from cranium.aamdp.wrappers import is_transparent
from cranium.arguments import check_count, check_number
from cranium.automata.transition import Configuration
from cranium.errors import InvalidArgumentError, WorldError, shorten
from cranium.tables.configurations import MAX_CONFIGURATIONS
from cranium.worlds.enumeration import enumerate_env, longest_walk, verify_model
from cranium.worlds.finite import FiniteEnv, find_model
from cranium.worlds.sampling import Sampling
from cranium.worlds.tabular import TabularWorld

__all__ = ["Solution", "find_product", "solve", "tabulate_product", "tabulate_world"]

HORIZON = 10_000
VERIFIED = 1000
"""The number of steps in which a model is compared with its environment."""
VERIFIED_OURS = 300
"""The same for a ``FiniteEnv``. Its ``step`` is ours, so that only its model can be wrong."""


@dataclass(frozen=True)
class Solution:
    """The optimal values and the optimal policy of a product.

    Attributes:
        product: The product that was solved.
        value: V* of each pair; with a discount of 1, -∞ if every policy may lose reward for ever
            from there. [P]
        q: Q* of each pair and action. [P, A]
        policy: An optimal action for each pair, counted from 0: the first if there are several, or,
            with a discount of 1, where delay costs nothing, one that ends soonest. [P]
        discount: γ.
        tolerance: The greatest distance of a value from the optimal one.
        sweeps: The number of sweeps.
        start_value: V* at the start, averaged over the starts.
        expected_return: The undiscounted return of the policy, up to the horizon.
        success_rate: The probability of success, up to the horizon.
        expected_length: The expected number of steps, up to the horizon.

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

    @property
    def sampled(self) -> Sampling | None:
        """The sampling of the world's table, if it was made by trying actions; None for a model.

        Example:
            >>> import cranium
            >>> print(solve(gym.make("cranium/Letter-anbcdn-v0", times=1)).sampled)
            None
        """
        return self.product.world.sampled

    def episodes(self) -> Iterator[tuple[Hashable, Configuration, int]]:
        """Iterate over the most likely episode: states, configurations and actions."""
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

    The values and the policy are those without a horizon. With a discount of 1 they maximise the
    total reward that is kept wherever the episode is truncated; docs/semantics.md defines it.
    If the total reward has no bound, that is an error.

    A world without a model is enumerated by trying its actions. The solution is then that of the
    resulting table, which may miss rare outcomes (``sampled``).

    Args:
        env: The product, perhaps with wrappers around it; its world must be finite.
        discount: γ, up to 1.
        tolerance: The greatest distance of a value from the optimal one (with γ = 1: the greatest
            change in the last sweep).
        horizon: For the expected return, length and success. The default is the product's, or
            10,000 if it has none. A time limit of the environment's own that is lower replaces it.
        max_sweeps: The number of sweeps after which an error is raised.

    Example:
        >>> import cranium
        >>> from cranium.worlds import LetterEnv
        >>> task = cranium.library.load("anbcdn")
        >>> env = cranium.product(LetterEnv.experiment(1), task, horizon=100)
        >>> optimum = cranium.solve(env)
        >>> optimum.success_rate, optimum.expected_length
        (1.0, 17.0)
    """
    from cranium.aamdp.kernels import follow, value_iteration

    check_number("a discount", discount, 0, 1, above=True)
    check_number("a tolerance", tolerance, 0, above=True)
    check_count("max_sweeps", max_sweeps)
    if horizon is not None:
        check_count("the horizon", horizon)
    if isinstance(env, TabularProduct):
        model = env
    else:
        product = find_product(env, transparent=True)
        horizon = horizon or shortest_horizon(env, product.horizon)
        model = tabulate_product(product, horizon=horizon)
    span = model.world.limit_horizon(horizon or HORIZON) or HORIZON
    arrays = (model.first, model.next_pair, model.probability, model.reward)
    if discount == 1:
        value, q, policy, sweeps = _solve_undiscounted(model, tolerance, max_sweeps)
    else:
        q = np.zeros((model.num_pairs, model.world.num_actions))
        small = tolerance * (1 - discount) / discount
        sweeps = value_iteration(*arrays, q, float(discount), small, max_sweeps)
        if sweeps < 0:
            raise _not_converged(max_sweeps)
        value, policy = q.max(axis=1), np.argmax(q, axis=1).astype(np.int64)
    found = follow(*arrays, model.success, policy, model.initial, span, 1.0, 0.0, at_any_cost=True)
    begins = model.initial > 0
    start = float(value[begins] @ model.initial[begins])  # elsewhere it may be infinite
    numbers = (float(number) for number in found[:3])
    return Solution(model, value, q, policy, discount, tolerance, sweeps, start, *numbers)


def _solve_undiscounted(
    model: TabularProduct, tolerance: float, max_sweeps: int
) -> tuple[Floats, Floats, Ints, int]:
    """Compute the values, Q-values, policy and number of sweeps with a discount of 1."""
    from cranium.aamdp.total_reward import total_reward

    arrays = (model.first, model.next_pair, model.probability, model.reward)
    actions = model.world.num_actions
    found = total_reward(*arrays, actions, small=tolerance, max_sweeps=max_sweeps)
    if found is None:
        raise _not_converged(max_sweeps)
    if np.isneginf(found.value[model.initial > 0]).any():
        raise WorldError(
            "with every policy the episode may go on for ever at a loss: with discount=1 the total "
            "reward has no lower bound",
            fix="use a discount below 1",
        )
    return found.value, found.q, found.policy, found.sweeps


def _not_converged(max_sweeps: int) -> WorldError:
    return WorldError(
        f"value iteration has not converged after {max_sweeps:,} sweeps",
        fix="lower the discount, or raise the tolerance",
    )


def tabulate_product(
    product: AutomatonAugmentedMDP,
    *,
    counter_limit: int | None = None,
    horizon: int | None = None,
    max_configurations: int = MAX_CONFIGURATIONS,
    max_states: int | None = None,
) -> TabularProduct:
    """Return a product as arrays. Its world must be finite.

    The counter limit is that of the product, unless one is given.
    """
    world = tabulate_world(product, horizon, max_states=max_states)
    for label in world.labels:
        product.read_label(label)  # names that the product would refuse
    return TabularProduct.of(
        world,
        product.automaton,
        counter_limit=product.counter_limit if counter_limit is None else counter_limit,
        add_ground_reward=product.add_ground_reward,
        max_configurations=max_configurations,
    )


def find_product(env: gym.Env[Any, Any], *, transparent: bool = False) -> AutomatonAugmentedMDP:
    """Find the product inside wrappers, such as those of ``gymnasium.make``.

    Args:
        env: The environment.
        transparent: Whether to refuse wrappers that may change states, rewards or termination.

    Example:
        >>> find_product(gym.make("cranium/Letter-anbcdn-v0")).automaton.name
        'A^N B C D^N'
    """
    inner = env
    while not isinstance(inner, AutomatonAugmentedMDP):
        if not isinstance(inner, gym.Wrapper):
            raise InvalidArgumentError(
                f"there is no task in {shorten(env)}",
                fix="make one: cranium.product(env, automaton)",
            )
        if transparent:
            _check_transparent(inner)
        inner = inner.env
    if transparent and not inner.is_plain:
        raise WorldError(
            f"{type(inner).__name__} may step in another way than a product, because it overrides "
            "step or reset",
            fix="use cranium.product(env, automaton), with a wrapper around env for the changes",
        )
    return inner


def _check_transparent(wrapper: gym.Wrapper[Any, Any, Any, Any]) -> None:
    if not is_transparent(wrapper):
        raise WorldError(
            f"the wrapper {type(wrapper).__name__} may change states, rewards or termination",
            fix="take it away, or list the world with it yourself: "
            "TabularProduct.of(enumerate_env(env, …), automaton)",
        )


def tabulate_world(
    env: AutomatonAugmentedMDP, horizon: int | None = None, *, max_states: int | None = None
) -> TabularWorld:
    """Return the world of a product as arrays: from its model, or by trying every action.

    The table is compared with a copy of the live world in episodes of up to ``horizon`` steps. The
    default is the product's horizon. Episodes are not longer than :func:`longest_walk`, which is
    10,000 steps for most environments. ``max_states`` is the greatest number of states that a
    finite world may have, by default a million.
    """
    inner = env.env
    while isinstance(inner, gym.Wrapper):
        _check_transparent(inner)
        inner = inner.env
    base: gym.Env[Any, Any] = inner
    labelling = None if isinstance(env.labelling, WorldEvents) else env.labelling
    model = find_model(base)
    if model is not None:
        table = TabularWorld.of(model, labelling, max_states=max_states)
        if isinstance(base, FiniteEnv):
            table.verify(base.twin(), labelling, steps=VERIFIED_OURS)
            return table
        with _walkable(env, base) as live:
            longest = _longest_episode(env, horizon)
            return verify_model(table, live, labelling, steps=VERIFIED, longest=longest)
    longest = _longest_episode(env, horizon)
    listed = isinstance(getattr(base, "P", None), dict) and hasattr(base, "initial_state_distrib")
    if listed and isinstance(base.observation_space, gym.spaces.Discrete):
        table = TabularWorld.from_model(base, env.labelling)
        with _walkable(env, base) as live:
            return verify_model(table, live, env.labelling, steps=VERIFIED, longest=longest)
    # Gymnasium's time limits are the product's.
    return enumerate_env(base, labelling, longest=longest)


def _longest_episode(env: AutomatonAugmentedMDP, horizon: int | None) -> int:
    """Return the number of steps of the longest episode in which a table is compared."""
    most = longest_walk(env)
    return min(horizon or env.horizon or most, most)


@contextmanager
def _walkable(product: AutomatonAugmentedMDP, base: Any) -> Iterator[gym.Env[Any, Any]]:
    """Return a copy of the ground environment; or itself, if it cannot be copied.

    In the second case nothing is rendered meanwhile, and an episode of the product is over.
    """
    live: gym.Env[Any, Any] | None = None
    with suppress(Exception):  # whatever a foreign environment raises
        live = copy.deepcopy(base)
    if live is not None:
        yield live
        return
    product.steps_left = 0
    mode = base.render_mode
    with suppress(AttributeError):
        base.render_mode = None
    try:
        yield base
    finally:
        with suppress(AttributeError):
            base.render_mode = mode
