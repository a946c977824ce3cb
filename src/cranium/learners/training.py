"""Training: one call for every learner and every environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

import gymnasium as gym

from cranium.aamdp.planning import find_product
from cranium.errors import InvalidArgumentError, shorten
from cranium.learners.agent import Agent, AgentFactory
from cranium.learners.callbacks import Callback, check_callbacks
from cranium.learners.checkpoints import existing, named_after
from cranium.learners.config import LearnerConfig
from cranium.learners.deep.config import NetworkConfig
from cranium.learners.evaluation import Instances
from cranium.learners.loop import Loop, Until
from cranium.learners.preparation import prepare_loop
from cranium.learners.progress import ProgressBar
from cranium.learners.registry import learner_name
from cranium.learners.result import TrainingResult
from cranium.learners.seeds_together import go_together

__all__ = ["TrainingResult", "train", "train_seeds"]


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
    callbacks: Iterable[Callback] = (),
    every: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
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
        callbacks: Functions that are called while the learner trains, to log something, to keep a
            policy, or to stop: see :class:`~cranium.learners.Callback`. They change no number.
        every: The number of samples between two calls, and two checkpoints; by default as between
            two evaluations.
        checkpoint: A file for the whole state of the training, which is written every ``every``
            samples, at the end, and after Ctrl-C. It changes no number.
        resume: A checkpoint to go on from: the result is, bit for bit, that of a training that was
            never interrupted. The other arguments must be the same, except ``steps``, ``until``,
            ``callbacks``, ``every``, ``checkpoint`` and ``progress``. It may be the file that
            ``checkpoint`` names.
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
        loop = prepare_loop(
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
            callbacks=callbacks,
            every=every,
            checkpoint=checkpoint,
            resume=resume,
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
    callbacks: Iterable[Callback] = (),
    checkpoint: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
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
        callbacks: As for :func:`train`. Each follows every seed.
        checkpoint: As for :func:`train`, with a file for each seed: of ``agent.ckpt`` that of the
            seed 3 is ``agent-seed3.ckpt``. Seeds with checkpoints learn one after the other.
        resume: The name that was given as ``checkpoint``. Seeds that have no file yet begin anew.
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
    more["callbacks"] = check_callbacks(callbacks)
    files = _files(waiting, checkpoint, resume)
    alone = checkpoint is not None or resume is not None
    results: list[TrainingResult] = []
    while waiting and not (results and results[-1].interrupted):
        with whole_compilations():
            seed = waiting.pop(0)
            loops = [prepare_loop(env, learner, steps=steps, seed=seed, **files(seed), **more)]
            if waiting and not alone and _can_be_together(loops[0]):
                told: dict[str, Any] = {"steps": steps, **more}
                loops += [prepare_loop(env, learner, seed=seed, **told) for seed in waiting]
                waiting = []
            with ProgressBar(progress, f"{learner_name(learner)} on {_name(env)}", steps) as watch:
                if len(loops) > 1:
                    go_together(loops, watch)
                else:
                    loops[0].go(watch)
            results += [loop.result() for loop in loops]
    return results


def _can_be_together(loop: Loop) -> bool:
    if not isinstance(loop.about.config, NetworkConfig):
        return False
    from cranium.learners.deep.vmap_seeds import can_be_together

    return can_be_together([loop.run])


class _SeedFiles(TypedDict):
    checkpoint: Path | None
    resume: Path | None


def _files(
    seeds: Sequence[int],
    checkpoint: str | os.PathLike[str] | None,
    resume: str | os.PathLike[str] | None,
) -> Callable[[int], _SeedFiles]:
    """The checkpoint of each seed, and the one that it goes on from, if it has one already."""
    found: dict[int, Path | None] = {}
    if resume is not None:
        names = [named_after(resume, f"seed{seed}") for seed in seeds]
        found = dict(zip(seeds, existing(names), strict=True))

    def files(seed: int) -> _SeedFiles:
        written = None if checkpoint is None else named_after(checkpoint, f"seed{seed}")
        return {"checkpoint": written, "resume": found.get(seed)}

    return files


def _name(env: gym.Env[Any, Any]) -> str:
    return find_product(env).automaton.name or "the task"
