"""Prepare a training: check the arguments, list the world, and build the loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from cranium.aamdp.planning import find_product, tabulate_product
from cranium.aamdp.product import AutomatonAugmentedMDP, shortest_horizon
from cranium.aamdp.tabular_product import TabularProduct
from cranium.arguments import check_count
from cranium.errors import InvalidArgumentError, RunError, SpaceError
from cranium.io import format_path
from cranium.learners.agent import Agent, AgentFactory
from cranium.learners.builder import RunBuilder
from cranium.learners.callbacks import Callback, Callbacks, check_callbacks, check_every
from cranium.learners.checkpoints import (
    EVALUATE_EVERY,
    Checkpoint,
    CheckpointFile,
    check_place,
    evaluations_of,
    read_checkpoint,
)
from cranium.learners.config import LearnerConfig
from cranium.learners.deep.config import NetworkConfig
from cranium.learners.episode_log import Streak
from cranium.learners.evaluation import (
    LISTED,
    Instances,
    LiveEvaluator,
    TabularEvaluator,
    check_instances,
    listed,
    live_evaluator,
)
from cranium.learners.fingerprint import fingerprint
from cranium.learners.keeper import Keeper, resume_loop
from cranium.learners.live_evaluation import named_seeds
from cranium.learners.loop import Loop, RunMetadata, Until
from cranium.learners.registry import choose_config, learner_name
from cranium.learners.run import Run
from cranium.learners.training_arguments import (
    check_gap,
    check_machine,
    check_network,
    check_path,
    check_until,
)
from cranium.learners.training_identity import check_identity, training_identity
from cranium.worlds.tabular import TabularWorld

__all__ = ["generators", "prepare_loop"]

MOST_LISTED = 2_000_000
"""The greatest number of pairs of a task that is made into a table for evaluation only."""


def generators(seed: int) -> tuple[np.random.Generator, int]:
    """The random generator of the agent, and the seed with which the environment is reset.

    Example:
        >>> generators(0)[1] == generators(0)[1] != generators(1)[1]
        True
    """
    seeds = np.random.SeedSequence(seed).spawn(2)  # by position: the agent's, the world's
    return np.random.default_rng(seeds[0]), int(seeds[1].generate_state(1)[0])


def prepare_loop(
    env: gym.Env[Any, Any],
    learner: str | Agent[Any, Any] | AgentFactory,
    *,
    steps: int,
    seed: int,
    until: Until = None,
    gap: float | None = None,
    config: LearnerConfig | None = None,
    counter_limit: int | None = None,
    path: str = "auto",
    evaluate_every: int | None = None,
    instances: Instances | None = None,
    evaluation_env: gym.Env[Any, Any] | None = None,
    evaluation_episodes: int = 10,
    discretise: Callable[[Any], Any] | None = None,
    log: bool = False,
    callbacks: Iterable[Callback] = (),
    every: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Loop:
    """Check the arguments and build the training loop."""
    check_count("steps", steps)
    check_count("seed", seed, least=0)
    called = check_callbacks(callbacks)
    check_every(every, called or checkpoint)
    known = None if resume is None else read_checkpoint(resume)
    if checkpoint is not None:
        check_place(checkpoint, resume)
    if counter_limit is not None:
        check_count("the counter limit", counter_limit, least=0)
    check_instances(instances)
    check_until(until, log)
    check_path(path)
    chosen = choose_config(learner, config, settings)
    product = find_product(env)
    name = learner_name(learner)
    check_machine(name, chosen, product)
    network = isinstance(chosen, NetworkConfig)
    if isinstance(chosen, NetworkConfig):
        check_network(name, chosen, env, discretise, steps)
    agent, world_seed = generators(seed)
    looks = named_seeds(seed, "evaluation while training")
    model, limited = _model(env, counter_limit, discretise, path=path, network=network)
    # To act with a network takes longer than to learn, and without a horizon an evaluation goes on
    # for a thousand steps an episode.
    slow = model is None and (network or shortest_horizon(env, product.horizon) is None)
    interval = _interval(steps, evaluate_every, known, slow)
    check_gap(gap, model, chosen.discount)
    seen = product.env.observation_space if discretise is None else None
    logs = log or isinstance(until, Streak)
    logged = logs or bool(called)
    make = RunBuilder(name, chosen, env, counter_limit, agent, seen, logged, path)
    exact: TabularEvaluator | None = None
    if model is not None:
        exact = TabularEvaluator(env, model, instances, chosen.discount, without_optimum=limited)
        if gap is not None:
            exact.require_optimum()  # not after all samples were drawn

    def live() -> LiveEvaluator:
        told = (instances, evaluation_episodes, looks, chosen.discount)
        return live_evaluator(env, evaluation_env, *told)

    run: Run = make.run(env, model, exact, live, discretise, world_seed)
    about = _metadata(name, chosen, seed, env, None if model is None else model.world)
    group = Callbacks(called, every or interval)
    loop = Loop(run, steps, interval, until, gap, about, group, log=logs)
    if checkpoint is not None or known is not None:
        more = {
            "counter_limit": counter_limit,
            "gap": gap,
            "instances": instances,
            "evaluation_env": None if evaluation_env is None else type(evaluation_env.unwrapped),
            "evaluation_episodes": evaluation_episodes,
            "discretise": discretise,
        }
        identity = _identity(loop, product, more)
        if checkpoint is not None:
            loop.keeper = Keeper(loop, CheckpointFile(checkpoint, identity))
        if known is not None:
            check_identity(format_path(known.path), known.identity, identity)
            resume_loop(loop, known)
    return loop


def _interval(steps: int, evaluate_every: int | None, known: Checkpoint | None, slow: bool) -> int:
    """The number of samples between two evaluations."""
    if evaluate_every is not None:
        return check_count("evaluate_every", evaluate_every)
    if known is not None:
        return evaluations_of(known)  # however many samples are wanted now
    return max(steps // (10 if slow else 100), 1)


def _metadata(
    learner: str,
    config: LearnerConfig,
    seed: int,
    env: gym.Env[Any, Any],
    world: TabularWorld | None,
) -> RunMetadata:
    product = find_product(env)
    names = (type(product.unwrapped).__name__, product.automaton.name or "the task")
    told = (lambda: fingerprint(env, world), product.encoding)
    return RunMetadata(learner, config, seed, *names, *told)


def _identity(
    loop: Loop, product: AutomatonAugmentedMDP, more: Mapping[str, object]
) -> dict[str, str]:
    """What a checkpoint of this training is of."""
    about = loop.about
    arguments = {
        "learner": about.learner,
        "seed": about.seed,
        "path": loop.run.path,
        EVALUATE_EVERY: loop.every,
        "log": loop.log,
        **more,
    }
    return training_identity(about.config, product.automaton, about.world(), arguments)


def _model(
    env: gym.Env[Any, Any],
    counter_limit: int | None,
    discretise: Any,
    *,
    path: str,
    network: bool = False,
) -> tuple[TabularProduct | None, str | None]:
    """Return the product as arrays, or None if the environment is to step in Python.

    The arrays have the product's counter limit, not the learner's, because the task of the product
    is what is evaluated. If these would be too large, they have the learner's limit, and the second
    value says why the optimum is not known.
    """
    product = find_product(env)
    most = product.counter_limit
    if counter_limit is not None and most is not None and counter_limit > most:
        raise InvalidArgumentError(
            f"the product has the counter limit {most}, which is less than {counter_limit}",
            fix=f"make it with cranium.product(…, counter_limit={counter_limit})",
        )
    if path == "compiled" and network:
        from cranium.learners.deep.continuous_worlds import BUILDERS

        if isinstance(product.unwrapped, tuple(BUILDERS)):
            return None, None  # it steps inside the loop without being listed
    if path == "compiled" and discretise is not None:
        raise InvalidArgumentError("only the path in Python discretises observations")
    if path == "python" or discretise is not None:
        return None, None
    if path == "compiled":
        model = tabulate_product(find_product(env, transparent=True), counter_limit=counter_limit)
        return _whole(product, model)
    found = listed(env, counter_limit=counter_limit)
    return (None, None) if found is None else _whole(product, found)


def _whole(
    product: AutomatonAugmentedMDP, model: TabularProduct
) -> tuple[TabularProduct, str | None]:
    """The arrays with the product's counter limit, if a counter can pass the learner's."""
    limit = model.space.counter_limit
    if limit == product.counter_limit or not model.space.has_overflow:
        return model, None
    try:
        whole = TabularProduct.of(
            model.world,
            product.automaton,
            counter_limit=product.counter_limit,
            add_ground_reward=product.add_ground_reward,
            max_configurations=max(min(MOST_LISTED // model.world.num_states, LISTED), 1),
        )
    except (SpaceError, RunError) as problem:
        return model, (
            f"the task without the learner's counter limit cannot be listed ({problem.message}): "
            "episodes that pass the limit count as failures, and the optimum is not known"
        )
    return whole, None
