"""Evaluate policies: without exploration, for each instance of the task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.planning import HORIZON, find_product, solve, tabulate_product
from cranium.aamdp.product import AutomatonAugmentedMDP, shortest_horizon
from cranium.aamdp.tabular_product import TabularProduct
from cranium.errors import (
    CraniumError,
    InvalidArgumentError,
    PolicyError,
    RunError,
    SpaceError,
    WorldError,
    shorten,
)
from cranium.learners.evaluation_result import (
    Evaluation,
    Evaluator,
    Floats,
    Instances,
    check_instances,
)
from cranium.learners.live_evaluation import LiveEvaluator, live_evaluator
from cranium.learners.policy import Policy
from cranium.worlds.protocols import FiniteWorld, instances_of

__all__ = [
    "Evaluation",
    "Evaluator",
    "Instances",
    "LiveEvaluator",
    "TabularEvaluator",
    "check_instances",
    "evaluate",
    "listed",
    "live_evaluator",
]

Ints = NDArray[np.int64]
CHEAP = 1_000_000_000
"""The greatest number of outcomes that value iteration visits if ``gap`` was not given."""
UNDECIDED = 1e-12
"""The greatest probability that an episode goes on at which it counts as finished."""


def evaluate(
    env: gym.Env[Any, Any],
    policy: Policy,
    *,
    instances: Instances | None = None,
    episodes: int = 10,
    seed: int = 0,
    discount: float | None = None,
) -> Evaluation:
    """Evaluate a policy: exactly in a finite world, otherwise by running episodes.

    Args:
        env: The product, perhaps with wrappers around it.
        policy: What was learned.
        instances: Names, and the options of ``reset`` that make the instance, such as
            ``{"three": {"times": {"A": 3}}}``. Left out, those of the world: its starts.
        episodes: How many episodes for each instance, where the world is not finite.
        seed: For these episodes. A training with the same seed uses other random numbers.
        discount: γ, for the discounted return; left out, what the policy was trained with, or 0.99.

    Example:
        >>> import cranium, gymnasium
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=(1, 2))
        >>> policy = cranium.train(env, "cql", steps=40_000).policy
        >>> evaluate(env, policy, instances={"two": {"times": {"A": 2}}}).lengths
        array([21.])
    """
    if not callable(policy):
        raise InvalidArgumentError(
            f"a policy is what cranium.train(…).policy is, not {shorten(policy)}",
            fix="of cranium.solve(env) take success_rate, expected_length and start_value, which "
            "are its own evaluation",
        )
    check_instances(instances)
    if discount is None:
        config = getattr(policy, "about", {}).get("config")
        told = config.get("discount") if isinstance(config, Mapping) else None
        discount = float(told) if isinstance(told, int | float) and 0 <= told <= 1 else 0.99
    model = listed(env, max_states=LISTED_STATES)
    evaluator: Evaluator
    if model is not None:
        evaluator = TabularEvaluator(env, model, instances, discount)
    else:
        evaluator = LiveEvaluator(env, instances, episodes, seed, discount)
    return evaluator.evaluate_policy(policy, optimum=True)


LISTED = 10_000
"""How many configurations a product may have, to be listed without being asked for."""
LISTED_STATES = 150_000
"""How many states a world may have, for that: to list them takes some seconds."""
MOST_ASKED = 4_000_000
"""For how many observations and configurations at once a policy is asked."""


def listed(
    env: gym.Env[Any, Any],
    *,
    counter_limit: int | None = None,
    most: int = LISTED,
    max_states: int | None = None,
) -> TabularProduct | None:
    """Return the product as arrays, or None if it cannot be enumerated or is too large."""
    try:
        product = find_product(env, transparent=True)
        return tabulate_product(
            product, counter_limit=counter_limit, max_configurations=most, max_states=max_states
        )
    except (WorldError, SpaceError, RunError):
        return None


class TabularEvaluator(Evaluator):
    """Evaluates policies exactly, in the arrays of a finite product.

    Args:
        env: The product, perhaps with wrappers around it.
        model: The product as arrays, with the product's own counter limit.
        instances: As for :func:`evaluate`.
        discount: γ.
        without_optimum: The reason why the optimum of the task is not known, if it is not.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        model: TabularProduct,
        instances: Instances | None,
        discount: float,
        *,
        without_optimum: str | None = None,
    ) -> None:
        product = find_product(env)
        self.model = model
        self.discount = discount
        self.horizon = shortest_horizon(env, model.world.limit_horizon(product.horizon))
        self.starts = _starts(product, model, instances)
        self.without_optimum = without_optimum
        self._optimal: Floats | None = None

    def evaluate_policy(
        self,
        policy: Policy,
        *,
        optimum: bool = False,
        confirm: bool = False,  # noqa: ARG002 - what is exact needs no confirmation
    ) -> Evaluation:
        """Evaluate a policy in each instance."""
        model = self.model
        count = getattr(policy, "num_actions", "continuous")
        if count != model.world.num_actions:
            raise PolicyError(
                f"the policy has {count} actions, but the world {model.world.num_actions}"
            )
        named = getattr(policy, "first_action", model.world.first_action)
        if named != model.world.first_action:
            raise PolicyError(
                f"the policy calls its first action {named}, but the world calls it "
                f"{model.world.first_action}"
            )
        return self.evaluate_actions(self._chosen(policy), policy, optimum=optimum)

    def _chosen(self, policy: Policy) -> NDArray[np.int64]:
        """Ask a policy for its action in each pair, in parts that fit into tables. [P]."""
        from cranium.aamdp.kernels import ANY

        model = self.model
        seen, known = model.world.observations, model.space.configurations
        observation = model.world.observation[model.state]
        chosen = np.empty(model.num_pairs, np.int64)
        rows = max(MOST_ASKED // len(known), 1)
        for first in range(0, len(seen), rows):
            part = np.flatnonzero((observation >= first) & (observation < first + rows))
            table = policy.actions(seen[first : first + rows], known, ANY)
            chosen[part] = table[observation[part] - first, model.configuration[part]]
        return chosen

    def evaluate_actions(
        self,
        chosen: NDArray[np.int64],
        policy: Policy | None = None,
        *,
        optimum: bool = False,
        beyond: NDArray[np.bool_] | None = None,
    ) -> Evaluation:
        """Evaluate actions that were already chosen, one for each pair.

        Args:
            chosen: The actions, counted from 0. [P]
            policy: The policy that chose them; it raises its error where it has no action.
            optimum: Whether to compute the optimum, if that is cheap.
            beyond: The pairs beyond the counter limit of the learner. It has learned nothing about
                them, and an episode that reaches one counts as a failure. [P]
        """
        from cranium.aamdp.kernels import ANY, follow

        model = self.model
        if policy is not None and (chosen < ANY).any():
            self._ask(policy, chosen)
        safe, after = np.maximum(chosen, ANY), model.next_pair
        if beyond is not None:
            after = np.where((after >= 0) & beyond[after], -1, after)
        arrays = (model.first, after, model.probability, model.reward)
        starts, span = self.starts.values(), (self.horizon or HORIZON, self.discount, 0.0)
        found = [follow(*arrays, model.success, safe, start, *span) for start in starts]
        returns, success, lengths, values = np.array([each[:4] for each in found]).T
        notes = self._unfinished(found)
        exact = not notes
        if beyond is not None:
            lost = after != model.next_pair
            notes += _lost([follow(*arrays, lost, safe, start, *span)[1] for start in starts])
        best = self._best() if optimum else None
        if best is not None:
            values, cut = self._values(arrays, safe)
            exact, notes = exact and not cut, notes + cut
        elif optimum and self.without_optimum is not None:
            notes.append(self.without_optimum)
        told = (success, returns, lengths, values)
        sampled = model.world.sampled
        exact = exact and sampled is None
        more: dict[str, Any] = {"sampled": sampled, "notes": tuple(notes)}
        return Evaluation(tuple(self.starts), *told, exact, best, **more)

    def _values(
        self, arrays: tuple[Ints, Ints, Floats, Floats], chosen: Ints
    ) -> tuple[Floats, list[str]]:
        """The discounted returns without a horizon, as for the optimum, and notes about them."""
        from cranium.aamdp.kernels import ENDLESS, follow

        span = (ENDLESS, self.discount, 1e-12)
        success, starts = self.model.success, self.starts.values()
        found = [follow(*arrays, success, chosen, start, *span) for start in starts]
        values = np.array([each.value for each in found])
        if all(each.is_complete for each in found):
            return values, []
        steps = min(each.steps for each in found)
        return values, [f"the values are computed from the first {steps:,} steps only"]

    def _unfinished(self, found: list[Any]) -> list[str]:
        """Notes about episodes that were not followed to their end."""
        if self.horizon is None:
            left = [each.left for each in found]
            if max(left) <= UNDECIDED:
                return []
            return [
                f"{_share(left)} were cut off after {HORIZON:,} steps, because the product has no "
                "horizon (give cranium.product(…, horizon=…))"
            ]
        if all(each.is_complete for each in found):
            return []
        steps = min(each.steps for each in found)
        return [f"only the first {steps:,} of the {self.horizon:,} steps were evaluated"]

    def _ask(self, policy: Policy, chosen: NDArray[np.int64]) -> None:
        """Walk where the policy leads; where it has no answer, its own error is raised."""
        model, actions = self.model, self.model.world.num_actions
        waiting = list(np.flatnonzero(sum(self.starts.values())))
        seen = set(waiting)
        while waiting:
            pair = int(waiting.pop())
            if chosen[pair] < -1:
                policy.number(model.world.observations[model.world.observation[model.state[pair]]])
                policy.place(model.space.decode(int(model.configuration[pair])))
            taken = range(actions) if chosen[pair] < 0 else [int(chosen[pair])]
            for action in taken:
                row = pair * actions + action
                for after in model.next_pair[model.first[row] : model.first[row + 1]]:
                    if after >= 0 and after not in seen:
                        seen.add(after)
                        waiting.append(after)

    def _best(self, *, needed: bool = False) -> Floats | None:
        """V* at each start; None with a discount of 1, with which it may be infinite, or of 0.

        If it is not known, or would take long and is not needed, ``without_optimum`` says why.
        """
        if self._optimal is None and self.without_optimum is None and 0 < self.discount < 1:
            sweeps = max(CHEAP // max(len(self.model.next_pair), 1), 100_000 if needed else 1)
            try:
                found = solve(self.model, discount=self.discount, horizon=1, max_sweeps=sweeps)
            except CraniumError as problem:
                self.without_optimum = f"the optimum is not known: {problem.message}"
                return None
            self._optimal = np.array([start @ found.value for start in self.starts.values()])
        return self._optimal

    def require_optimum(self) -> None:
        """Compute the optimum, or raise an error that says why it is not known."""
        if self._best(needed=True) is None:
            raise InvalidArgumentError(
                f"there is no gap to measure: {self.without_optimum or 'the optimum is not known'}",
                fix="leave gap out",
            )


def _share(parts: list[float]) -> str:
    """The share of episodes in words, given the share in each instance."""
    if min(parts) > 1 - UNDECIDED:
        return "all episodes"
    if len(parts) == 1:
        return f"{parts[0]:.2%} of the episodes"
    return f"up to {max(parts):.2%} of the episodes of an instance"


def _lost(parts: list[float]) -> list[str]:
    if not max(parts):
        return []
    return [
        f"{_share(parts)} passed the counter limit of the learner, and count as failures "
        "(train with a greater counter_limit)"
    ]


def _starts(
    product: AutomatonAugmentedMDP, model: TabularProduct, instances: Instances | None
) -> dict[str, Floats]:
    """How likely each pair begins an episode, for each instance."""
    base: object = product.unwrapped
    if instances is None and isinstance(base, FiniteWorld):
        instances = instances_of(base)
    if not instances:
        found: dict[str, Floats] = {}
        for pair in np.flatnonzero(model.initial):
            one = np.zeros(model.num_pairs)
            one[pair] = 1.0
            name = model.world.name(int(model.state[pair]))
            found[f"{name} (start {len(found) + 1})" if name in found else name] = one
        return found
    if not isinstance(base, FiniteWorld):
        raise InvalidArgumentError(
            f"the starts of {type(base).__name__} cannot be chosen", fix="leave instances out"
        )
    names: dict[str, Floats] = {}
    for name, options in instances.items():
        names[name] = np.zeros(model.num_pairs)
        for probability, state in base.initial(options):
            if state not in model.world.states:
                raise InvalidArgumentError(
                    f"the instance {shorten(name)} begins in {shorten(state)}, which this world "
                    "never does"
                )
            names[name][model.pair(state, product.automaton.start)] += probability
    return names
