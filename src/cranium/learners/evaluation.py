"""What a policy is worth: greedy, apart from training, for each instance of the task."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.planning import HORIZON, find_product, model_of, solve
from cranium.aamdp.product import AutomatonAugmentedMDP, shortest_horizon
from cranium.aamdp.tabular_product import TabularProduct
from cranium.errors import (
    InvalidArgumentError,
    PolicyError,
    RunError,
    SpaceError,
    WorldError,
    check_count,
    shorten,
)
from cranium.learners.policy import Policy
from cranium.worlds.finite import FiniteWorld
from cranium.worlds.point import PointWorld

__all__ = ["Evaluation", "Examiner", "LiveExaminer", "TabularExaminer", "evaluate", "examiner_for"]

Instances = Mapping[str, Mapping[str, Any]]
Floats = NDArray[np.float64]
SHOWN = 50
"""How many instances are shown one by one, at most."""


@dataclass(frozen=True)
class Evaluation:
    """What a policy does: one entry for each of I instances of the task.

    Attributes:
        instances: What they are called.
        success: How likely the policy succeeds. [I]
        returns: Its expected return. [I]
        lengths: How many steps it takes. [I]
        values: Its expected discounted return; without a horizon if the optimum is known. [I]
        exact: Whether these are the true numbers, or averages over episodes.
        optimum: The greatest discounted return that is possible, if it is known. [I]

    Example:
        >>> import cranium, gymnasium
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=(1, 2))
        >>> result = cranium.train(env, "cql", steps=40_000)
        >>> print(result.evaluation)
        A once     1.0000 success, 17.00 steps, value 0.8515 of at most 0.8515
        A 2 times  1.0000 success, 21.00 steps, value 0.8179 of at most 0.8179
    """

    instances: tuple[str, ...]
    success: Floats
    returns: Floats
    lengths: Floats
    values: Floats
    exact: bool
    optimum: Floats | None = None

    @property
    def gap(self) -> Floats | None:
        """How much less than the optimum the policy earns: [I]."""
        return None if self.optimum is None else self.optimum - self.values

    def is_solved(self, gap: float | None = None) -> bool:
        """Whether it succeeds in every instance, and earns at most ``gap`` less than the best."""
        good = bool((self.success > 1 - 1e-9).all())
        if gap is None or not good:
            return good
        if self.gap is None:
            raise InvalidArgumentError(
                "the gap to the optimum is known for finite worlds and a discount below 1 only",
                fix="leave gap out",
            )
        return bool((self.gap <= gap + 1e-9).all())

    @property
    def solved(self) -> bool:
        """Whether it succeeds in every instance."""
        return self.is_solved()

    def __str__(self) -> str:
        if len(self.instances) > SHOWN:
            best = "" if self.optimum is None else f" of at most {self.optimum.mean():.4f}"
            return (
                f"{len(self.instances)} instances: {self.success.mean():.4f} success on average, "
                f"{self.success.min():.4f} at worst, {self.lengths.mean():.2f} steps, "
                f"value {self.values.mean():.4f}{best}"
            )
        width = max(len(name) for name in self.instances)
        lines = [
            f"{name:<{width}}  {self.success[i]:.4f} success, {self.lengths[i]:.2f} steps"
            + f", value {self.values[i]:.4f}"
            + ("" if self.optimum is None else f" of at most {self.optimum[i]:.4f}")
            for i, name in enumerate(self.instances)
        ]
        return "\n".join(lines)


def evaluate(
    env: gym.Env[Any, Any],
    policy: Policy,
    *,
    instances: Instances | None = None,
    episodes: int = 10,
    seed: int = 0,
    discount: float | None = None,
) -> Evaluation:
    """Follow a policy, exactly where the world is finite, else for some episodes.

    Args:
        env: The product, perhaps with wrappers around it.
        policy: What was learned.
        instances: Names, and the options of ``reset`` that make the instance, such as
            ``{"three": {"times": {"A": 3}}}``. Left out, those of the world: its starts.
        episodes: How many episodes for each instance, where the world is not finite.
        seed: For them.
        discount: γ, for the discounted return; left out, what the policy was trained with, or 0.99.

    Example:
        >>> import cranium, gymnasium
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=(1, 2))
        >>> policy = cranium.train(env, "cql", steps=40_000).policy
        >>> evaluate(env, policy, instances={"two": {"times": {"A": 2}}}).lengths
        array([21.])
    """
    check_instances(instances)
    if discount is None:
        config = policy.about.get("config")
        told = config.get("discount") if isinstance(config, Mapping) else None
        discount = float(told) if isinstance(told, int | float) and 0 <= told <= 1 else 0.99
    model = listed(env)
    examiner: Examiner
    if model is not None:
        examiner = TabularExaminer(env, model, instances, discount)
    else:
        examiner = LiveExaminer(env, instances, episodes, seed, discount)
    return examiner.examine(policy, optimum=True)


LISTED = 10_000
"""How many configurations a product may have, to be listed without being asked for."""


def listed(
    env: gym.Env[Any, Any], *, counter_limit: int | None = None, most: int = LISTED
) -> TabularProduct | None:
    """The product as arrays, or None if it cannot be made into arrays, or is too large."""
    try:
        product = find_product(env, transparent=True)
        return model_of(product, counter_limit=counter_limit, max_configurations=most)
    except (WorldError, SpaceError, RunError):
        return None


def check_instances(instances: Instances | None) -> None:
    """Accept names with options of ``reset``."""
    good = isinstance(instances, Mapping) and all(
        isinstance(options, Mapping) for options in instances.values()
    )
    if instances is not None and not good:
        raise InvalidArgumentError(
            f'instances are names with options, such as {{"three": {{"mail": 3}}}}, not '
            f"{shorten(instances)}"
        )


class Examiner(ABC):
    """Evaluates policies of one product."""

    @abstractmethod
    def examine(self, policy: Policy, *, optimum: bool = False) -> Evaluation:
        """What a policy does in each instance."""


class TabularExaminer(Examiner):
    """Follows policies exactly, in the arrays of a finite product."""

    def __init__(
        self,
        env: gym.Env[Any, Any],
        model: TabularProduct,
        instances: Instances | None,
        discount: float,
    ) -> None:
        product = find_product(env)
        self.model = model
        self.discount = discount
        self.horizon = min(shortest_horizon(env, product.horizon) or HORIZON, HORIZON)
        self.starts = _starts(product, model, instances)
        self._optimal: Floats | None = None

    def examine(self, policy: Policy, *, optimum: bool = False) -> Evaluation:
        """What a policy does in each instance."""
        model = self.model
        from cranium.aamdp.kernels import ANY

        count = getattr(policy, "num_actions", "continuous")
        if count != model.world.num_actions:
            raise PolicyError(
                f"the policy has {count} actions, but the world {model.world.num_actions}"
            )
        table = policy.actions(model.world.observations, model.space.configurations, ANY)
        chosen = table[model.world.observation[model.state], model.configuration]
        return self.examine_actions(chosen, policy, optimum=optimum)

    def examine_actions(
        self, chosen: NDArray[np.int64], policy: Policy | None = None, *, optimum: bool = False
    ) -> Evaluation:
        """The same for actions that were chosen already, one for each pair."""
        from cranium.aamdp.kernels import ANY, follow

        model = self.model
        arrays = (model.first, model.next_pair, model.probability, model.reward, model.success)
        if policy is not None and (chosen < ANY).any():
            self._ask(policy, chosen)
        safe = np.maximum(chosen, ANY)
        starts = self.starts.values()
        span = (self.horizon, self.discount, 0.0)
        found = [follow(*arrays, safe, start, *span) for start in starts]
        returns, success, lengths, values = np.array(found).T
        best = self._best() if optimum else None
        if best is not None:  # the optimum knows no horizon, so neither does what is compared to it
            longer = (HORIZON, self.discount, 1e-12)
            values = np.array([follow(*arrays, safe, start, *longer)[3] for start in starts])
        return Evaluation(
            tuple(self.starts), success, returns, lengths, values, exact=True, optimum=best
        )

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

    def _best(self) -> Floats | None:
        """V* at each start; None with a discount of 1, where it need not be finite, or of 0."""
        if self._optimal is None and 0 < self.discount < 1:
            value = solve(self.model, discount=self.discount, horizon=self.horizon).value
            self._optimal = np.array([start @ value for start in self.starts.values()])
        return self._optimal


def _starts(
    product: AutomatonAugmentedMDP, model: TabularProduct, instances: Instances | None
) -> dict[str, Floats]:
    """How likely each pair begins an episode, for each instance."""
    base: Any = product.unwrapped
    if instances is None and isinstance(base, FiniteWorld):
        instances = base.instances()
    if not instances:
        found = {}
        for pair in np.flatnonzero(model.initial):
            one = np.zeros(model.num_pairs)
            one[pair] = 1.0
            found[str(model.world.states[model.state[pair]])] = one
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


class LiveExaminer(Examiner):
    """Runs episodes in an environment."""

    def __init__(
        self,
        env: gym.Env[Any, Any],
        instances: Instances | None,
        episodes: int,
        seed: int,
        discount: float,
    ) -> None:
        self.env = env
        self.product = find_product(env)
        base = env.unwrapped
        own = base.instances() if isinstance(base, FiniteWorld | PointWorld) else {}
        self.instances = instances or own or {"any": {}}
        self.episodes = check_count("episodes", episodes)
        self.seed = seed
        self.discount = discount

    def examine(self, policy: Policy, *, optimum: bool = False) -> Evaluation:  # noqa: ARG002
        """What a policy does in each instance; the optimum is not known."""
        rng = np.random.default_rng(self.seed)
        found = []
        for options in self.instances.values():
            runs = [
                self._episode(policy, self.seed + number, dict(options), rng)
                for number in range(self.episodes)
            ]
            found.append(np.mean(runs, axis=0))
        returns, success, lengths, values = np.array(found).T
        return Evaluation(tuple(self.instances), success, returns, lengths, values, exact=False)

    def _episode(
        self, policy: Policy, seed: int, options: dict[str, Any], rng: np.random.Generator
    ) -> tuple[float, float, float, float]:
        product = self.product
        observation, _ = self.env.reset(seed=seed, options=options)
        total, value, weight, length = 0.0, 0.0, 1.0, 0
        while length < HORIZON:
            ground, _ = product.encoding.decode(observation)
            action = policy(ground, product.configuration, rng)
            observation, reward, terminated, truncated, info = self.env.step(action)
            total, value = total + float(reward), value + weight * float(reward)
            weight *= self.discount
            length += 1
            if terminated or truncated:
                return total, float(info["success"]), float(length), value
        return total, 0.0, float(length), value


def examiner_for(
    env: gym.Env[Any, Any],
    evaluation_env: gym.Env[Any, Any] | None,
    instances: Instances | None,
    episodes: int,
    seed: int,
    discount: float,
) -> LiveExaminer:
    """Evaluates in an environment of its own, so that training does not notice."""
    if evaluation_env is None:
        try:
            evaluation_env = copy.deepcopy(env)
        except Exception as problem:  # whatever a foreign environment holds
            raise InvalidArgumentError(
                f"the environment cannot be copied for evaluation ({shorten(str(problem))})",
                fix="give evaluation_env, a second one of its kind",
            ) from None
    return LiveExaminer(evaluation_env, instances, episodes, seed, discount)
