"""Run one trial: train a learner, measure a machine, or turn a description into a machine."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.planning import solve
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.aamdp.registry import find_world, make_world
from cranium.assist import RECORDED, OpenAIModel, Specification, specify
from cranium.automata.convert import unroll
from cranium.automata.equivalence import equivalent
from cranium.errors import UnsoundLabelsWarning
from cranium.experiments.multi_task import (
    TaskSamplingEnv,
    find_task,
    recover_sampled_tasks,
    unite_machines,
)
from cranium.experiments.trial import (
    ComplexityTrial,
    SpecificationTrial,
    SpecifiedTrial,
    TrainingTrial,
    run_trial,
)
from cranium.formats import library
from cranium.formats.files import dumps, loads
from cranium.learners import Schedule, Streak, TrainingResult, evaluate, train
from cranium.learners.preparation import generators

__all__ = ["compute_optimal_rates", "compute_shortest_length", "make_env", "specify_task"]

RATES_EVERY = 1_000


@run_trial.register
def _measure_size(trial: ComplexityTrial, _seed: int) -> dict[str, Any]:
    machine = loads(library.text(trial.machine))  # anew, because the time it takes is measured
    if trial.limit is not None:
        machine = unroll(machine, trial.limit)
    return {"states": len(machine.states), "transitions": len(machine.transitions)}


@run_trial.register
def _specify(trial: SpecificationTrial, seed: int) -> dict[str, Any]:
    task = specify_task(trial, seed)
    compared = equivalent(task.machine, library.load(trial.reference))
    return {
        "model": task.transcript[0].model,
        "answers": len(task.verdict.attempts),
        "plan": task.plan.model_dump(mode="json"),
        "language": str(task.language),
        "restatement": task.restatement,
        "machine": dumps(task.machine),
        "states": task.machine.size.states,
        "transitions": task.machine.size.transitions,
        "equivalent": compared.equal,
        "proved": compared.exact,
        "difference": compared.reason,
    }


def specify_task(trial: SpecificationTrial, seed: int) -> Specification:
    """Specify the task of a trial: replay the recorded conversation, or ask a model."""
    events = find_world(trial.world).events()
    if trial.model:
        model = OpenAIModel(trial.model, trial.server)
        return specify(trial.description, events, model=model, seed=seed)
    recorded = RECORDED / trial.recording
    return specify(trial.description, events, transcript=recorded, mode="replay", seed=seed)


@run_trial.register
def _train(trial: TrainingTrial, seed: int) -> dict[str, Any]:
    env = _make_trial_env(trial, trial.options)
    until: Any = Streak(trial.until) if isinstance(trial.until, int) else trial.until
    with warnings.catch_warnings():
        # The paper's observation hides what a label depends on: its flaw is what is measured.
        warnings.simplefilter("ignore", UnsoundLabelsWarning)
        result = train(
            env,
            trial.learner,
            steps=trial.steps,
            seed=seed,
            until=until,
            evaluate_every=trial.every,
            counter_limit=trial.counter_limit,
            log=trial.window is not None,
            path="compiled",
            **{name: _parse_setting(value) for name, value in trial.settings.items()},
        )
    if result.interrupted:  # a partial training is no result
        raise KeyboardInterrupt
    return {
        **_summarise_training(trial, result),
        **_evaluate_elsewhere(trial, result),
        **_compute_rates(trial, result, env),
    }


def _summarise_training(trial: TrainingTrial, result: TrainingResult) -> dict[str, Any]:
    last = result.evaluation
    found: dict[str, Any] = {
        "samples": result.samples_to_solve,
        "taken": result.samples,
        "episodes": result.episodes,
        "overflows": result.overflows,
        "success": dict(zip(last.instances, last.success.tolist(), strict=True)),
        "values": last.values.tolist(),
        "optimum": None if last.optimum is None else last.optimum.tolist(),
    }
    if trial.until is None:
        found["curve"] = result.curve[:, :3].tolist()
    if isinstance(trial.until, int):
        found["streak"] = result.streak_at
    return found


def _evaluate_elsewhere(trial: TrainingTrial, result: TrainingResult) -> dict[str, Any]:
    """Evaluate the policy in the world ``tested_on``; it acts at random where it has no values."""
    if trial.tested_on is None:
        return {}
    env = _make_trial_env(trial, trial.tested_on)
    found = evaluate(env, result.policy.with_unknown("random"))
    return {"elsewhere": dict(zip(found.instances, found.success.tolist(), strict=True))}


def _compute_rates(
    trial: TrainingTrial, result: TrainingResult, env: AutomatonAugmentedMDP
) -> dict[str, Any]:
    """The reward per step in training, divided by that of the optimal policy, as a curve."""
    if trial.window is None:
        return {}
    names, world = trial.task.split("+"), env.env
    best = compute_optimal_rates(env, result.config.discount, trial.settings["exploration"])
    ended, earned = result.log[:, 0], result.log[:, 1]
    # If tasks are sampled, the first step of every episode samples one, and does not count.
    lengths = np.diff(ended, prepend=0) - isinstance(world, TaskSamplingEnv)
    samples = np.cumsum(lengths)
    tasks: Any = 0
    if isinstance(world, TaskSamplingEnv):
        tasks = recover_sampled_tasks(world, generators(result.seed)[1], ended)
    shares = earned / lengths / np.array(best)[tasks]
    sums = np.cumsum(np.insert(shares, 0, 0.0))
    places = np.arange(RATES_EVERY, int(lengths.sum()) + 1, RATES_EVERY)
    last = np.searchsorted(samples, places, side="right")
    first = np.maximum(last - trial.window, 0)
    means = (sums[last] - sums[first]) / np.maximum(last - first, 1)
    rates = [[int(place), round(float(mean), 6)] for place, mean in zip(places, means, strict=True)]
    return {"rates": rates, "optimal rates": dict(zip(names, best, strict=True))}


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
    return float(solve(make_env(world, task, None, ()), discount=0.9).expected_length)


def _make_trial_env(trial: TrainingTrial, options: Mapping[str, Any]) -> AutomatonAugmentedMDP:
    text = trial.machine if isinstance(trial, SpecifiedTrial) else ""
    return make_env(trial.world, trial.task, trial.unroll, _freeze_options(options), text)


@lru_cache(maxsize=64)
def make_env(
    world: str,
    task: str,
    limit: int | None,
    options: tuple[tuple[str, Any], ...],
    text: str = "",
) -> AutomatonAugmentedMDP:
    """Make the product of a trial. Trials share it, because training does not change it.

    If ``text`` is given, the machine is read from it.
    """
    made = make_world(world, **dict(options))
    names = [task] if text else task.split("+")
    machine = unite_machines(
        [loads(text)] if text else [library.load(name) for name in names], names
    )
    if limit is not None:
        machine = unroll(machine, limit)
    if len(names) > 1:
        made = TaskSamplingEnv(made, names)
    return AutomatonAugmentedMDP(made, machine, horizon=find_world(world).horizon)


def _freeze_options(options: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in sorted(options.items())
    )


def _parse_setting(value: Any) -> Any:
    return Schedule(**value) if isinstance(value, dict) else value
