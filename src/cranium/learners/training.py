"""Training: one call for every learner and every environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from cranium.aamdp.planning import find_product, tabulate_product
from cranium.aamdp.product import AutomatonAugmentedMDP, shortest_horizon
from cranium.aamdp.tabular_product import TabularProduct
from cranium.arguments import check_count, check_number
from cranium.errors import InvalidArgumentError, RunError, SpaceError, shorten
from cranium.learners.agent import Agent, AgentFactory
from cranium.learners.builder import RunBuilder
from cranium.learners.config import LearnerConfig, TabularConfig
from cranium.learners.deep import require_jax
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
from cranium.learners.live_evaluation import named_seeds
from cranium.learners.loop import Loop, RunMetadata, TrainingResult, Until, go_together
from cranium.learners.progress import ProgressBar
from cranium.learners.registry import choose_config, learner_name
from cranium.learners.run import Run

__all__ = ["TrainingResult", "train", "train_seeds"]

MOST_SAMPLES = 2**24
MOST_LISTED = 2_000_000
"""The greatest number of pairs of a task that is made into a table for evaluation only."""


def train(
    env: gym.Env[Any, Any],
    learner: str | Agent[Any, Any] | AgentFactory = "cql",
    *,
    steps: int,
    seed: int = 0,
    until: Until = None,
    gap: float | None = None,
    config: LearnerConfig | None = None,
    counter_limit: int | None = None,
    path: Literal["auto", "compiled", "python"] = "auto",
    evaluate_every: int | None = None,
    instances: Instances | None = None,
    evaluation_env: gym.Env[Any, Any] | None = None,
    evaluation_episodes: int = 10,
    discretise: Callable[[Any], Any] | None = None,
    log: bool = False,
    progress: bool = False,
    **settings: Any,
) -> TrainingResult:
    """Learn a task.

    A finite world is made into arrays, and the whole loop runs compiled; any other environment
    steps in Python. The result says which; it is the same if transitions are relabelled with the
    same configurations. Ctrl-C returns what was learned so far.

    Args:
        env: A product, perhaps with wrappers around it.
        learner: ``"ql"``, ``"cql"``, ``"crm"``, ``"hrm"`` or ``"planner"``; with networks
            ``"dqn"``, ``"cdqn"``, ``"dcrm"``, ``"td3"`` or ``"ctd3"``; a name that was registered;
            or an agent of your own, or its class (:class:`~cranium.learners.Agent`).
        steps: How many samples to take.
        seed: The same seed gives the same result, bit for bit.
        until: When to stop earlier: ``"solved"``, a function of the evaluation (which knows the
            optimum where the world is finite), or ``Streak(100)``: so many training episodes in a
            row succeeded. That is looked at every 1,000 samples, so a few more are taken;
            ``streak_at`` of the result is exact.
        gap: How much less than the optimum a policy may earn and still be called solved.
        config: The settings of the learner, such as ``TabularConfig(discount=0.9)``.
        counter_limit: The greatest counter value of counterfactual configurations, at most the
            product's own limit. A training episode that passes it overflows. Evaluations and the
            optimum are still about the task of the product: there an episode that passes this limit
            is a failure. By default the limit is the product's. Transitions are then relabelled
            with the configurations that can occur in this world; in Python, with all if there are
            at most 2,000, and otherwise with those that were met.
        path: ``"compiled"`` or ``"python"``; ``"auto"`` compiles where that is possible.
        evaluate_every: The number of samples between two evaluations of the greedy policy. By
            default there are a hundred evaluations. In a world that is not finite there are ten, if
            the learner is a network or if episodes have no horizon.
        instances: Which instances of the task are asked for: see :func:`cranium.evaluate`.
        evaluation_env: Where to evaluate, if not in a copy (in Python).
        evaluation_episodes: The number of episodes of each instance in an evaluation (in Python),
            with new seeds in every evaluation. If all of them succeed, more are run until one fails
            or there are at least 100 of each instance. The task counts as solved only if all of
            them succeed.
        discretise: What to make of an observation, if they are not finitely many (in Python).
        log: Whether to keep a log of the training episodes, as a streak always does.
        progress: Whether to show how it goes, on standard error.
        **settings: Single settings of the learner, such as ``shaping=True``.

    Example:
        >>> import cranium
        >>> env = gym.make("cranium/Letter-anbcdn-v0", times=1)
        >>> result = cranium.train(env, "cql", steps=30_000, seed=0)
        >>> result.evaluation.solved, result.evaluation.lengths
        (True, array([17.]))
    """
    from cranium._runtime.jit import whole_compilations  # not before: Numba takes a while to load

    with whole_compilations():
        loop = _prepare(
            env,
            learner,
            steps=steps,
            seed=seed,
            until=until,
            gap=gap,
            config=config,
            counter_limit=counter_limit,
            path=path,
            evaluate_every=evaluate_every,
            instances=instances,
            evaluation_env=evaluation_env,
            evaluation_episodes=evaluation_episodes,
            discretise=discretise,
            log=log,
            **settings,
        )
        with ProgressBar(progress, f"{learner_name(learner)} on {_name(env)}", steps) as watch:
            loop.go(watch)
        return loop.result()


def train_seeds(
    env: gym.Env[Any, Any],
    learner: str | AgentFactory = "cdqn",
    *,
    steps: int,
    seeds: Iterable[int],
    progress: bool = False,
    **more: Any,
) -> list[TrainingResult]:
    """Learn a task with several seeds.

    Networks in a world that steps inside the loop learn together, in one loop over all seeds
    (``jax.vmap``): the numbers are those of :func:`train` up to rounding. That is for processors
    that one seed does not fill; on few cores, processes are faster (``cranium reproduce``). All
    others learn one after the other, exactly as with :func:`train`.

    Args:
        env: A product, perhaps with wrappers around it.
        learner: As for :func:`train`.
        steps: How many samples each takes.
        seeds: The seeds.
        progress: Whether to show how it goes, on standard error.
        **more: As for :func:`train`.

    Example:
        >>> import cranium
        >>> env = gym.make("cranium/Letter-anbcdn-v0", times=1)
        >>> results = cranium.learners.train_seeds(env, "planner", steps=500, seeds=range(3))
        >>> [(result.seed, result.evaluation.solved) for result in results]
        [(0, True), (1, True), (2, True)]
    """
    if not isinstance(seeds, Iterable):
        raise InvalidArgumentError(
            f"seeds are several numbers, not {shorten(seeds)}", fix="such as seeds=range(10)"
        )
    if "seed" in more:
        raise InvalidArgumentError("several seeds are trained", fix="give seeds=[…], not seed=…")
    from cranium._runtime.jit import whole_compilations

    waiting = list(seeds)
    results: list[TrainingResult] = []
    while waiting and not (results and results[-1].interrupted):
        with whole_compilations():
            loops = [_prepare(env, learner, steps=steps, seed=waiting.pop(0), **more)]
            if waiting and isinstance(loops[0].about.config, NetworkConfig):
                from cranium.learners.deep.vmap_seeds import can_be_together

                if can_be_together([loops[0].run]):
                    loops += [
                        _prepare(env, learner, steps=steps, seed=seed, **more) for seed in waiting
                    ]
                    waiting = []
            with ProgressBar(progress, f"{learner_name(learner)} on {_name(env)}", steps) as watch:
                if len(loops) > 1:
                    go_together(loops, watch)
                else:
                    loops[0].go(watch)
            results += [loop.result() for loop in loops]
    return results


def _name(env: gym.Env[Any, Any]) -> str:
    return find_product(env).automaton.name or "the task"


def generators(seed: int) -> tuple[np.random.Generator, int]:
    """The random generator of the agent, and the seed with which the environment is reset.

    Example:
        >>> generators(0)[1] == generators(0)[1] != generators(1)[1]
        True
    """
    seeds = np.random.SeedSequence(seed).spawn(2)  # by position: the agent's, the world's
    return np.random.default_rng(seeds[0]), int(seeds[1].generate_state(1)[0])


def _prepare(
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
    **settings: Any,
) -> Loop:
    """Check the arguments and build the training loop."""
    check_count("steps", steps)
    check_count("seed", seed, least=0)
    every = max(steps // 100, 1)
    if evaluate_every is not None:
        every = check_count("evaluate_every", evaluate_every)
    if counter_limit is not None:
        check_count("the counter limit", counter_limit, least=0)
    check_instances(instances)
    _check_until(until, log)
    if path not in ("auto", "compiled", "python"):
        raise InvalidArgumentError(f"a path is auto, compiled or python, not {shorten(path)}")
    chosen = choose_config(learner, config, settings)
    product = find_product(env)
    name = learner_name(learner)
    _check_machine(name, chosen, product)
    network = isinstance(chosen, NetworkConfig)
    if isinstance(chosen, NetworkConfig):
        _check_network(name, chosen, env, discretise, steps)
    agent, world_seed = generators(seed)
    looks = named_seeds(seed, "evaluation while training")
    model, limited = _model(env, counter_limit, discretise, path=path, network=network)
    # To act with a network takes longer than to learn, and without a horizon an evaluation goes on
    # for a thousand steps an episode.
    slow = network or shortest_horizon(env, product.horizon) is None
    if slow and model is None and evaluate_every is None:
        every = max(steps // 10, 1)
    _check_gap(gap, model, chosen.discount)
    seen = product.env.observation_space if discretise is None else None
    logs = log or isinstance(until, Streak)
    make = RunBuilder(name, chosen, env, counter_limit, agent, seen, logs, path)
    exact: TabularEvaluator | None = None
    if model is not None:
        exact = TabularEvaluator(env, model, instances, chosen.discount, without_optimum=limited)
        if gap is not None:
            exact.require_optimum()  # not after all samples were drawn

    def live() -> LiveEvaluator:
        told = (instances, evaluation_episodes, looks, chosen.discount)
        return live_evaluator(env, evaluation_env, *told)

    run: Run = make.run(env, model, exact, live, discretise, world_seed)
    known = None if model is None else model.world
    told = (lambda: fingerprint(env, known), product.encoding)
    about = RunMetadata(name, chosen, seed, *told)
    return Loop(run, steps, every, until, gap, about)


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


def _check_until(until: Any, log: Any) -> None:
    streak = isinstance(until, Streak)
    if not (until is None or streak or until == "solved" or callable(until)):
        raise InvalidArgumentError(
            f'until is "solved", a function of the evaluation, or a streak, not {shorten(until)}',
            fix="until=cranium.learners.Streak(100): so many episodes in a row succeeded",
        )
    if not isinstance(log, bool):
        raise InvalidArgumentError(f"log is true or false, not {shorten(log)}")


def _check_gap(gap: Any, model: TabularProduct | None, discount: float) -> None:
    if gap is None:
        return
    if not check_number("gap", gap) >= 0:
        raise InvalidArgumentError(f"gap is 0 or more, not {gap}")
    if model is None or not 0 < discount < 1:
        raise InvalidArgumentError(
            "the gap to the optimum is known for finite worlds and a discount between 0 and 1 only",
            fix="leave gap out",
        )


def _check_machine(learner: str, config: LearnerConfig, product: AutomatonAugmentedMDP) -> None:
    counters = product.automaton.counters
    if learner in ("crm", "hrm", "dcrm") and counters:
        instead = "cdqn" if learner == "dcrm" else "cql"
        raise InvalidArgumentError(
            f"{learner} learns on reward machines, but this machine has counters",
            fix=f"use {instead}, or the product with cranium.unroll(automaton, counter_limit=…)",
        )
    if isinstance(config, TabularConfig) and config.shaping == "published" and counters:
        raise InvalidArgumentError(
            "the published shaping is for reward machines, but this machine has counters",
            fix="use shaping=True",
        )


def _check_network(
    learner: str, config: NetworkConfig, env: gym.Env[Any, Any], discretise: Any, steps: int
) -> None:
    require_jax(learner)
    from cranium.learners.deep.agent import check_actions

    check_actions(learner, config, env.action_space)
    if steps > MOST_SAMPLES:
        raise InvalidArgumentError(
            f"networks take at most {MOST_SAMPLES:,} samples, not {steps:,}",
            fix="they count them with single precision",
        )
    if discretise is not None:
        raise InvalidArgumentError(
            f"{learner} learns from observations as they are", fix="leave discretise out"
        )
