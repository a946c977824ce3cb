"""Step a product in Python, with the checks and the accounting that every learner needs."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.core import ActType
from numpy.typing import NDArray

from cranium.aamdp.encoding import DictEncoding
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.counterfactual.wrapper_checks import Guard, check_info, check_reward
from cranium.errors import InvalidArgumentError, WorldError
from cranium.learners.agent import Sample
from cranium.learners.episode_log import EpisodeLog, Floats
from cranium.learners.saved_state import SavedState, generator_data, restore_generator
from cranium.tables.pay import pay
from cranium.tables.space import ConfigurationSpace
from cranium.worlds.protocols import Observation
from cranium.worlds.tabular import call_reward_function

__all__ = ["EnvironmentStepper"]


class EnvironmentStepper:
    """Steps a product and tells what happened as a :class:`~cranium.learners.agent.Sample`.

    It refuses wrappers around the product that change its observations, rewards or ends, counts
    episodes and keeps their log.

    Args:
        env: The product, perhaps with wrappers around it.
        product: The product.
        space: The configurations as numbers. New labels and configurations are added to it.
        seed: The seed of the first reset.
        log: Whether to keep a log of the episodes.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        product: AutomatonAugmentedMDP,
        space: ConfigurationSpace,
        seed: int,
        *,
        log: bool = False,
    ) -> None:
        if env.observation_space != product.observation_space:
            raise WorldError(
                "a wrapper around the product changes its observations",
                fix="put it around the environment, inside the product",
            )
        self.guard = Guard(env, product)
        self.env = env
        self.product = product
        self.space = space
        self.seed: int | None = seed
        # The ground part of the usual observation is read directly, of others by decoding.
        self.plain = type(product.encoding) is DictEncoding
        self.rows: dict[frozenset[str], int] = {}  # labels as rows of the tables
        self.ends = [0.0] * 4  # episodes, successes, overflows; the return of the running episode
        self.log = EpisodeLog(wanted=log)
        self.steps_taken = 0
        self.ground: Observation = None
        self.current = space.start  # the real configuration

    def ground_part(self, observation: Observation) -> Observation:
        """Return the ground part of an observation of the product."""
        shown: Any = observation  # of a DictEncoding, if it is plain
        return shown["ground"] if self.plain else self.product.encoding.decode(observation)[0]

    def reset(self) -> Observation:
        """Start an episode and return the first ground observation."""
        observation, _ = self.env.reset(seed=self.seed)
        self.guard.begin()
        self.seed = None
        self.current = self.space.start
        self.ground = self.ground_part(observation)
        return self.ground

    def label_row(self, info: dict[str, Any]) -> int:
        """Return the row of a step's label in the tables; a new label gets one."""
        check_info(info)
        label = info["label"]
        if label not in self.rows:
            self.rows[label] = self.space.add_label(label)
        return self.rows[label]

    def reward_values(
        self, before: Observation, action: object, after: Observation, info: dict[str, Any]
    ) -> NDArray[np.float64]:
        """Return the ground reward, if it is added, and the value of each reward function."""
        functions = self.space.reward_functions
        extra = np.zeros(1 + len(functions))
        if self.product.add_ground_reward:
            extra[0] = info["ground_reward"]
        for number, function in enumerate(functions):
            extra[1 + number] = call_reward_function(function, before, action, after)
        return extra

    def step(self, action: ActType) -> Sample[Any, ActType]:
        """Take one step of the environment and of the machine."""
        x, ground, before = self.current, self.ground, self.product.ground
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.guard.step(reward, terminated, truncated)
        row = self.label_row(info)
        after = self.space.step(row, x)
        self.guard.check_configuration(self.space.decode(after))
        extra = self.reward_values(before, action, self.product.ground, info)
        tables = self.space.tables
        check_reward(
            float(reward), float(pay(tables.reward[row, x], tables.reward_function[row, x], extra))
        )
        self.ground, self.current = self.ground_part(observation), after
        self.steps_taken += 1
        self.ends[3] += float(reward)
        if terminated or truncated:
            self.end_episode(self.steps_taken, info)
        return Sample(
            ground,
            x,
            action,
            float(reward),
            self.ground,
            after,
            row,
            terminated,
            truncated,
            bool(terminated and info["ground_terminated"]),
            extra,
        )

    def end_episode(self, samples: int, info: dict[str, Any]) -> None:
        """Count an episode that ended after so many samples, and log it."""
        episodes, successes, overflows, earned = self.ends
        success = self.guard.success
        self.log.add(samples, earned, success)
        self.ends = [episodes + 1, successes + success, overflows + info["overflow"], 0.0]

    def check_resumable(self) -> None:
        """Refuse an environment whose random numbers a checkpoint could not hold."""
        self.world_generator()

    def save_world(self, saved: SavedState) -> None:
        """Add the random generator of the environment, which is between two episodes."""
        saved.data["world"] = generator_data(self.world_generator())

    def restore_world(self, saved: SavedState) -> None:
        """Reset the environment as at the beginning, and let its random generator go on."""
        self.reset()
        restore_generator(self.world_generator(), saved.data["world"])

    def world_generator(self) -> np.random.Generator:
        """Return the random generator of the environment, which was reset before."""
        base = self.env.unwrapped
        own = vars(base)
        found = own.get("_np_random", own.get("np_random"))
        if not isinstance(found, np.random.Generator) or generator_data(found) is None:
            raise InvalidArgumentError(
                f"{type(base).__name__} does not keep its random numbers in np_random, so a "
                "checkpoint of the training cannot go on with them",
                fix="call super().reset(seed=seed) in its reset, and draw from self.np_random",
            )
        return found

    def logged(self, first: int = 0) -> Floats:
        """Return the log of the episodes from this one on, if it is wanted: [E, 3]."""
        return self.log.rows(first)
