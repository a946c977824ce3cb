"""The reward per step of training episodes, relative to that of the optimal policy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.planning import find_product, solve
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.learners import TrainingResult
from cranium.learners.preparation import generators
from cranium.paper.multi_task import TaskSamplingEnv, find_task, recover_sampled_tasks
from cranium.paper.problems import PaperProblem

__all__ = [
    "compute_optimal_rates",
    "compute_rates",
    "compute_shortest_length",
    "find_reached",
    "name_optimal_rates",
]

EVERY = 1_000
"""The number of samples between two points of a curve of rates."""
Rates = list[tuple[int, float]]


def compute_rates(
    window: int, exploration: float, result: TrainingResult, env: gym.Env[Any, Any]
) -> Rates:
    """The reward per step in training, divided by that of the optimal policy, as a curve.

    Args:
        window: The number of training episodes of each task over which it is averaged.
        exploration: The exploration rate.
        result: The result, with a log of the training episodes.
        env: The product.
    """
    product = find_product(env)
    world = product.env
    best = compute_optimal_rates(product, result.config.discount, exploration)
    ended, earned = result.log[:, 0], result.log[:, 1]
    # If tasks are sampled, the first step of every episode samples one, and does not count.
    lengths = np.diff(ended, prepend=0) - isinstance(world, TaskSamplingEnv)
    samples = np.cumsum(lengths)
    tasks: Any = 0
    if isinstance(world, TaskSamplingEnv):
        tasks = recover_sampled_tasks(world, generators(result.seed)[1], ended)
    shares = earned / lengths / np.array(best)[tasks]
    sums = np.cumsum(np.insert(shares, 0, 0.0))
    places = np.arange(EVERY, int(lengths.sum()) + 1, EVERY)
    last = np.searchsorted(samples, places, side="right")
    first = np.maximum(last - window * len(best), 0)
    means = (sums[last] - sums[first]) / np.maximum(last - first, 1)
    return [(int(place), round(float(mean), 6)) for place, mean in zip(places, means, strict=True)]


def find_reached(
    window: int, exploration: float, reached: float, result: TrainingResult, env: gym.Env[Any, Any]
) -> int | None:
    """The samples at which the reward per step first reaches a share of the optimum."""
    rates = compute_rates(window, exploration, result, env)
    return next((samples for samples, share in rates if share >= reached), None)


def name_optimal_rates(
    exploration: float, result: TrainingResult, env: gym.Env[Any, Any]
) -> dict[str, float]:
    """The reward per step of the optimal policy, by the names of the tasks."""
    product = find_product(env)
    world = product.env
    names = world.names if isinstance(world, TaskSamplingEnv) else (product.automaton.name,)
    best = compute_optimal_rates(product, result.config.discount, exploration)
    return dict(zip(names, best, strict=True))


@lru_cache(maxsize=16)
def compute_optimal_rates(
    env: AutomatonAugmentedMDP, discount: float, exploration: float
) -> tuple[float, ...]:
    """Compute the expected reward per step of the optimal policy with ε-greedy exploration.

    There is one value for each task. If tasks are sampled, the first step of an episode, which
    samples the task, does not count.
    """
    world = env.env
    names = world.names if isinstance(world, TaskSamplingEnv) else ("",)
    skipped = int(isinstance(world, TaskSamplingEnv))
    solved = solve(env, discount=discount)
    model, size = solved.product, solved.product.num_pairs
    actions = (len(model.first) - 1) // size
    row = np.repeat(np.arange(size * actions), np.diff(model.first))
    pair, action = row // actions, row % actions
    chosen = np.where(action == solved.policy[pair], 1 - exploration, 0) + exploration / actions
    share, goes_on = model.probability * chosen, model.next_pair >= 0
    states = [model.space.decode(int(x)).state for x in model.configuration]
    task = np.array([find_task(state, names) for state in states])[pair]
    found = np.zeros(len(names))
    chance: NDArray[np.float64] = model.initial.copy()
    earned: NDArray[np.float64] = np.zeros(size)  # the reward so far, times the probability
    horizon = env.horizon or 1
    for step in range(1, horizon + 1):
        flow = chance[pair] * share
        paid = earned[pair] * share + flow * model.reward
        if step > skipped:
            over = paid if step == horizon else np.where(goes_on, 0.0, paid)
            found += np.bincount(task, over, len(found)) / (step - skipped)
        chance, earned = (
            np.bincount(model.next_pair[goes_on], each[goes_on], size).astype(float)
            for each in (flow, paid)
        )
    return tuple((found * len(found)).tolist())  # every task is as likely as the others


def compute_shortest_length(world: str, task: str) -> float:
    """Compute how many steps the optimal policy needs on average, without exploration.

    Example:
        >>> compute_shortest_length("ToroOffice", "toro-coffee")
        15.0
    """
    return float(solve(PaperProblem(world, task)(), discount=0.9).expected_length)
