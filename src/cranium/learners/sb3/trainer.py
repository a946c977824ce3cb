"""Algorithms of Stable-Baselines3 as learners of a study."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.aamdp.encoding import Encoding
from cranium.aamdp.planning import find_product
from cranium.automata.transition import Configuration
from cranium.counterfactual.sets import AnyConfigurationSet
from cranium.errors import InvalidArgumentError, shorten
from cranium.learners.config import LearnerConfig
from cranium.learners.evaluation import (
    LISTED_STATES,
    Evaluation,
    TabularEvaluator,
    listed,
    live_evaluator,
)
from cranium.learners.live_evaluation import named_seeds
from cranium.learners.result import TrainingResult
from cranium.learners.sb3.buffers import require_sb3
from cranium.learners.sb3.builder import counterfactual
from cranium.worlds.protocols import Observation

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

__all__ = ["SB3Policy", "SB3Trainer", "agent"]

EVALUATIONS = 20
"""How often the greedy policy is evaluated by default."""


@dataclass(frozen=True)
class SB3Policy:
    """The greedy policy of a model, as evaluations and studies call policies.

    Attributes:
        model: The model of Stable-Baselines3.
        encoding: The encoding of the product that it was trained on.
    """

    model: BaseAlgorithm
    encoding: Encoding

    @property
    def num_actions(self) -> int | str:
        """The number of actions, or ``"continuous"``."""
        space = self.model.action_space
        return int(space.n) if isinstance(space, spaces.Discrete) else "continuous"

    def __call__(
        self,
        observation: Observation,
        configuration: Configuration,
        rng: np.random.Generator | None = None,
    ) -> int | NDArray[np.float32]:
        """Return the action for a ground observation and a configuration."""
        del rng  # the greedy policy is not random
        seen: Any = self.encoding.encode(observation, configuration)
        action, _ = self.model.predict(seen, deterministic=True)
        return int(action) if np.ndim(action) == 0 else np.asarray(action)

    def actions(
        self,
        observations: Sequence[Observation],
        configurations: Sequence[Configuration],
        unknown: int | None = None,
    ) -> NDArray[np.int64]:
        """Return the actions for all observations and configurations: [O, X]."""
        del unknown  # a network has an action for everything
        chosen = np.empty((len(observations), len(configurations)), np.int64)
        for column, configuration in enumerate(configurations):
            encode = self.encoding.make_encoder(configuration)
            seen: Any = [encode(observation) for observation in observations]
            is_dict = isinstance(seen[0], dict)
            batch = (
                {key: np.stack([np.asarray(one[key]) for one in seen]) for key in seen[0]}
                if (is_dict)
                else np.stack(seen)
            )
            chosen[:, column], _ = self.model.predict(batch, deterministic=True)
        return chosen


@dataclass(frozen=True)
class SB3Trainer:
    """An algorithm of Stable-Baselines3 that a study can train: see :func:`agent`."""

    algorithm: type[BaseAlgorithm]
    policy: str | None = None
    with_counterfactuals: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    relabelling: Mapping[str, Any] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """What the result depends on besides the settings that a study adds."""
        from importlib.metadata import version

        given = {name: shorten(self.settings[name]) for name in sorted(self.settings)}
        kind = "counterfactual" if self.with_counterfactuals else "plain"
        kind += "".join(f", {name} {shorten(each)}" for name, each in self.relabelling.items())
        name = f"{self.algorithm.__module__}.{self.algorithm.__qualname__}"
        versions = f"{version('stable-baselines3')}, torch {version('torch')}"
        return f"{name} {versions}, {kind}, {self.policy or 'its policy'}, {given}"

    def train(
        self,
        env: gym.Env[Any, Any],
        *,
        steps: int,
        seed: int,
        until: Literal["solved"] | None = None,
        evaluate_every: int | None = None,
        **settings: object,
    ) -> TrainingResult:
        """Train on a product, and evaluate the greedy policy as :func:`cranium.train` does."""
        product = find_product(env)
        given: dict[str, Any] = {**self.settings, **settings}
        discount = float(given.get("gamma", 0.99))
        made: Any = env
        if self.with_counterfactuals:
            made, replay = counterfactual(env, **self.relabelling)
            given = {**replay, **given}
        is_dict = isinstance(made.observation_space, spaces.Dict)
        policy = self.policy or ("MultiInputPolicy" if is_dict else "MlpPolicy")
        model: Any = self.algorithm(policy, made, seed=seed, **given)
        learned = SB3Policy(model, product.encoding)
        model_of_world = listed(env, max_states=LISTED_STATES)
        if model_of_world is not None:
            evaluator: Any = TabularEvaluator(env, model_of_world, None, discount)
        else:
            looks = named_seeds(seed, "evaluation while training")
            evaluator = live_evaluator(env, None, None, 10, looks, discount)

        def evaluate() -> Evaluation:
            found: Evaluation = evaluator.evaluate_policy(learned, optimum=True, confirm=True)
            return found

        every = max(steps // EVALUATIONS, 1) if evaluate_every is None else evaluate_every
        watch = _make_watch(evaluate, every, until)
        interrupted = False
        try:
            model.learn(steps, callback=watch)
        except KeyboardInterrupt:
            interrupted = True
        last = watch.last if watch.last_at == model.num_timesteps else evaluate()
        name = self.algorithm.__name__
        return TrainingResult(
            name,
            LearnerConfig(discount),
            seed,
            "python",
            int(model.num_timesteps),
            watch.solved_at,
            last,
            np.array(watch.curve, float).reshape(-1, 4),
            watch.episodes,
            watch.successes,
            0,
            np.zeros((0, 3)),
            None,
            interrupted,
            lambda: learned,  # type: ignore[arg-type, return-value]
        )


def _make_watch(evaluate: Any, every: int, until: Literal["solved"] | None) -> Any:
    """A callback that evaluates the policy and stops when the task is solved."""
    base: Any = importlib.import_module("stable_baselines3.common.callbacks").BaseCallback

    class Watch(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.curve: list[tuple[float, ...]] = []
            self.solved_at: int | None = None
            self.last: Evaluation | None = None
            self.last_at = -1
            self.episodes = self.successes = 0

        def _on_step(self) -> bool:
            for done, info in zip(self.locals["dones"], self.locals["infos"], strict=True):
                self.episodes += bool(done)
                self.successes += bool(done) and bool(info.get("success", False))
            if self.num_timesteps - max(self.last_at, 0) < every:
                return True
            self.last, self.last_at = evaluate(), self.num_timesteps
            found = self.last
            means = (found.success.mean(), found.returns.mean(), found.lengths.mean())
            self.curve.append((self.num_timesteps, *(float(each) for each in means)))
            if self.solved_at is None and found.is_solved(None):
                self.solved_at = self.num_timesteps
            return not (until == "solved" and self.solved_at is not None)

    return Watch()


def agent(
    algorithm: type[BaseAlgorithm],
    policy: str | None = None,
    *,
    counterfactuals: bool = True,
    counterfactual_ratio: float | None = None,
    configurations: AnyConfigurationSet | None = None,
    **settings: object,
) -> SB3Trainer:
    """An algorithm of Stable-Baselines3 as a learner of a study.

    Args:
        algorithm: Its class: DQN, SAC, TD3 or DDPG; without counterfactuals any other, too.
        policy: The policy, such as ``"MlpPolicy"``; by default the one for the observations.
        counterfactuals: Whether its replay buffer relabels transitions (:func:`counterfactual`).
        counterfactual_ratio: The probability that a transition of a batch is relabelled; by default
            that of :func:`counterfactual`.
        configurations: The configurations with which it is relabelled; the same.
        **settings: Arguments of the algorithm, such as ``learning_rate=1e-3``.

    Example:
        >>> import gymnasium
        >>> from stable_baselines3 import DQN
        >>> trainer = agent(DQN, learning_starts=10)
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
        >>> trainer.train(env, steps=40, seed=0, evaluate_every=20).curve[:, 0].tolist()
        [20.0, 40.0]
    """
    require_sb3()
    from stable_baselines3.common.base_class import BaseAlgorithm as Base

    if not (isinstance(algorithm, type) and issubclass(algorithm, Base)):
        raise InvalidArgumentError(
            f"an algorithm of Stable-Baselines3 is a class, not {shorten(algorithm)}",
            fix="such as stable_baselines3.DQN",
        )
    given = {"counterfactual_ratio": counterfactual_ratio, "configurations": configurations}
    relabelling = {name: each for name, each in given.items() if each is not None}
    if relabelling and not counterfactuals:
        raise InvalidArgumentError(
            f"{' and '.join(relabelling)} without counterfactuals",
            fix="leave out counterfactuals=False, or these settings",
        )
    return SB3Trainer(algorithm, policy, counterfactuals, settings, relabelling)
