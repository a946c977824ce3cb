"""Evaluate policies by running episodes, if a world cannot be made into arrays."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from cranium.aamdp.planning import find_product
from cranium.aamdp.product import shortest_horizon
from cranium.aamdp.wrappers import own_time_limit
from cranium.arguments import check_count
from cranium.counterfactual.wrapper_checks import Guard
from cranium.errors import InvalidArgumentError, shorten
from cranium.learners.evaluation_result import Evaluation, Evaluator, Instances
from cranium.learners.policy import Policy
from cranium.learners.saved_state import SavedState
from cranium.worlds.protocols import instances_of

__all__ = ["CONFIRMED", "LiveEvaluator", "live_evaluator", "named_seeds"]

CONFIRMED = 100
"""How many new episodes of each instance must all succeed before a task counts as solved."""
CUT_OFF = 1_000
"""After how many steps an episode is cut off if there is no horizon."""
MOST_EVALUATIONS = 2**32 - 1
"""The greatest number of one: what a seed of NumPy's may be told by."""
LATEST = 100_000
"""The same if the environment names a time limit of its own."""


def named_seeds(seed: int, name: str) -> np.random.SeedSequence:
    """The seeds for one purpose; with the same root seed, other purposes have other seeds.

    Example:
        >>> one, other = (named_seeds(0, name) for name in ("evaluation", "training"))
        >>> one.generate_state(1) == other.generate_state(1)
        array([False])
    """
    return np.random.SeedSequence(seed, spawn_key=tuple(name.encode()))


class _Run(NamedTuple):
    """The result of one episode."""

    returns: float
    success: float
    length: float
    value: float
    is_cut: bool


class LiveEvaluator(Evaluator):
    """Evaluates policies by running episodes, with new seeds in every evaluation."""

    def __init__(
        self,
        env: gym.Env[Any, Any],
        instances: Instances | None,
        episodes: int,
        seed: int | np.random.SeedSequence,
        discount: float,
    ) -> None:
        self.env = env
        self.product = find_product(env)
        self.guard = Guard(env, self.product)
        base = env.unwrapped
        self.instances = instances or instances_of(base) or {"any": {}}
        self.episodes = check_count("episodes", episodes)
        if not isinstance(seed, np.random.SeedSequence):
            seed = named_seeds(check_count("seed", seed, least=0), "evaluation")
        self.seeds = seed
        self.evaluations = 0  # how many were made: each has seeds of its own
        self.discount = discount
        self.horizon = shortest_horizon(env, self.product.horizon)
        # What an environment calls its limit may mean something else: an episode is never cut off
        # earlier for it.
        told = min(own_time_limit(env) or 0, LATEST)
        self.longest = self.horizon or max(told, CUT_OFF)

    def evaluate_policy(
        self,
        policy: Policy,
        *,
        optimum: bool = False,  # noqa: ARG002
        confirm: bool = False,
    ) -> Evaluation:
        """Evaluate a policy in each instance; the optimum is not known.

        If all episodes succeed and ``confirm`` is true, more are run, one of each instance in turn,
        until one fails or there are ``CONFIRMED`` of each. All of them are in the averages.
        """
        drawing, acting = (np.random.default_rng(part) for part in self._next_seeds().spawn(2))
        options = [dict(each) for each in self.instances.values()]
        runs = [
            [self._episode(policy, each, drawing, acting) for _ in range(self.episodes)]
            for each in options
        ]
        good = confirm and all(run.success for each in runs for run in each)
        while good and len(runs[-1]) < CONFIRMED:
            for each, done in zip(options, runs, strict=True):
                done.append(self._episode(policy, each, drawing, acting))
                good = good and bool(done[-1].success)
        returns, success, lengths, values, _ = np.array([np.mean(each, axis=0) for each in runs]).T
        self.evaluations += 1  # not before: an evaluation that is interrupted is made anew
        return Evaluation(
            tuple(self.instances),
            success,
            returns,
            lengths,
            values,
            exact=False,
            episodes=np.array([len(each) for each in runs]),
            notes=self._notes([run for each in runs for run in each]),
        )

    def save_state(self, saved: SavedState) -> None:
        """Add how many evaluations were made."""
        saved.data["evaluations"] = self.evaluations

    def restore_state(self, saved: SavedState) -> None:
        """Go on with the seeds of the next evaluation."""
        self.evaluations = saved.whole("evaluations", 0, MOST_EVALUATIONS)

    def _next_seeds(self) -> np.random.SeedSequence:
        """The seeds of the next evaluation: those that ``spawn`` would give."""
        key = (*self.seeds.spawn_key, self.evaluations)
        return np.random.SeedSequence(self.seeds.entropy, spawn_key=key)

    def _notes(self, runs: list[_Run]) -> tuple[str, ...]:
        cut = sum(run.is_cut for run in runs)
        if not cut:
            return ()
        return (
            f"{cut:,} of {len(runs):,} episodes were cut off after {self.longest:,} steps, because "
            "the product has no horizon (give cranium.product(…, horizon=…))",
        )

    def _episode(
        self,
        policy: Policy,
        options: dict[str, Any],
        drawing: np.random.Generator,
        acting: np.random.Generator,
    ) -> _Run:
        product = self.product
        seed = int(drawing.integers(2**32))
        observation, _ = self.env.reset(seed=seed, options=options)
        self.guard.begin()
        total, value, weight, length = 0.0, 0.0, 1.0, 0
        while length < self.longest:
            ground, _ = product.encoding.decode(observation)
            action = policy(ground, product.configuration, acting)
            observation, reward, terminated, truncated, _ = self.env.step(action)
            self.guard.step(reward, terminated, truncated)
            total, value = total + float(reward), value + weight * float(reward)
            weight *= self.discount
            length += 1
            if terminated or truncated:
                return _Run(total, float(self.guard.success), length, value, is_cut=False)
        return _Run(total, 0.0, length, value, is_cut=self.horizon is None)


def live_evaluator(
    env: gym.Env[Any, Any],
    evaluation_env: gym.Env[Any, Any] | None,
    instances: Instances | None,
    episodes: int,
    seed: int | np.random.SeedSequence,
    discount: float,
) -> LiveEvaluator:
    """An evaluator with an environment of its own, so that it does not change the training."""
    if evaluation_env is None:
        try:
            evaluation_env = copy.deepcopy(env)
        except Exception as problem:  # whatever a foreign environment holds
            raise InvalidArgumentError(
                f"the environment cannot be copied for evaluation ({shorten(str(problem))})",
                fix="give evaluation_env, a second one of its kind",
            ) from None
    return LiveEvaluator(evaluation_env, instances, episodes, seed, discount)
