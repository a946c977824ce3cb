"""Training in any Gymnasium environment: it steps in Python, with one compiled call for each."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.counterfactual.wrapper_checks import check_info, check_reward
from cranium.errors import CraniumError, WorldError, shorten
from cranium.learners.evaluation import Evaluation, LiveEvaluator
from cranium.learners.policy import Policy
from cranium.learners.policy_files import observations_data, observations_from
from cranium.learners.run import CHUNK, LearnerRun
from cranium.learners.saved_state import SavedState
from cranium.learners.space_state import restore_space
from cranium.learners.stepper import EnvironmentStepper
from cranium.learners.tabular import kernels, live_kernels
from cranium.learners.tabular.agent import TabularAgent
from cranium.learners.tabular.state import restore_tables, save_tables
from cranium.npz import MOST_TEXT
from cranium.worlds.enumeration import check_finite
from cranium.worlds.observations import copy_observation, observation_key

__all__ = ["Discretise", "LiveRun"]

Discretise = Callable[[Any], Any]
PAID = kernels.in_python(kernels.paid)


class LiveRun(EnvironmentStepper, LearnerRun[TabularAgent]):
    """One run in a live environment."""

    path = "python"

    def __init__(
        self,
        env: gym.Env[Any, Any],
        product: AutomatonAugmentedMDP,
        agent: TabularAgent,
        evaluator: LiveEvaluator,
        seed: int,
        discretise: Discretise | None,
        log: bool = False,
    ) -> None:
        actions = env.action_space
        if not isinstance(actions, gym.spaces.Discrete):
            raise WorldError(
                f"a table needs discrete actions, not {actions}",
                fix="use td3 or ctd3, or put gymnasium.wrappers.DiscretizeAction around it",
            )
        super().__init__(env, product, agent.tables.space, seed, log=log)
        if discretise is None:
            check_finite(product.env.observation_space, "discretise=lambda observation: …")
        self.agent = agent
        self.evaluator = evaluator
        self.discretise = discretise
        self.first_action = int(actions.start)
        self.numbers: dict[Hashable, int] = {}
        self.observations: list[Any] = []
        self.happened: dict[frozenset[str], int] = {}  # labels as the agent's ``experience`` reads
        self.action = -1
        self.pays = product.add_ground_reward or not product.automaton.is_constant

    def learn(self, steps: int) -> int:  # noqa: C901, PLR0912 - in one piece, because calls cost
        """Take up to so many samples; returns a status."""
        # Everything that is used in each step is a local name: that is half of what a step costs.
        self.agent.prepare()
        step, experience, numbers, rows = (
            self.env.step,
            self.agent.experience,
            self.numbers,
            self.happened,
        )
        plain, pays = self.plain and self.discretise is None, self.pays
        if self.discretise is not None:
            numbers = {}  # an observation may look like a cell, and is in another one
        action, first = self.action, self.first_action
        product, guard, left = self.product, self.guard, self.guard.left
        for _ in range(min(steps, CHUNK)):
            if action < 0:
                action = self._reset()
                if action < 0:  # an exploration rule failed
                    return action
                left = guard.left
            called = action + first
            observation, reward, terminated, truncated, info = step(called)
            over, left = terminated or truncated, left - 1
            # Nearly always nothing has to be asked to see that the product did just this.
            if over or not left or product.steps_left != left or reward is not product.last_reward:
                guard.left = left
                guard.check(reward, terminated, truncated)
            ground: Any = observation["ground"] if plain else self.ground_part(observation)
            try:  # nearly always an array and a label that were met before
                after, what = numbers[ground.tobytes()], rows[info["label"]]
            except (AttributeError, KeyError):
                after, what = self._number(ground), self._row(info)
            if pays:
                x = int(self.agent.tables.position[kernels.CONFIGURATION])
                self._pay(called, ground, info)
            if over:
                ended = terminated and info["ground_terminated"]
                what += live_kernels.ENDED if ended else live_kernels.OVER
            action = experience(after, what)
            if action < 0:
                action = self._go_on(action, (after, what), called, ground, info)
                if action < 0:
                    return action
            if pays:
                self.ground = ground
                arrays = self.agent.tables.arrays
                check_reward(float(reward), PAID(arrays, what // live_kernels.ROW, x, arrays.extra))
            if reward:
                self.ends[3] += float(reward)
            if over:
                self._end(info)
                action = -1
        self.action, guard.left = action, left
        self._check_configuration()
        return kernels.RUNNING

    def _check_configuration(self) -> None:
        tables = self.agent.tables
        x = int(tables.position[kernels.CONFIGURATION])
        self.guard.check_configuration(tables.space.configurations[x])

    def _end(self, info: dict[str, Any]) -> None:
        """Count an episode that has ended."""
        self._check_configuration()
        self.end_episode(self.samples, info)

    def _reset(self) -> int:
        return self.agent.start(self._number(self.reset()))

    def _go_on(self, status: int, what: Any, called: int, ground: Any, info: Any) -> int:
        """Add a configuration that is new; returns the next action, or a negative status."""
        tables = self.agent.tables
        while status == kernels.UNKNOWN:
            row = live_kernels.read(what[1])[0]
            tables.space.step(row, int(tables.position[kernels.CONFIGURATION]))
            self.agent.grow()
            if self.pays:
                self._pay(called, ground, info)
            status = self.agent.experience(*what)
        return status

    def _number(self, ground: Any) -> int:
        seen = ground if self.discretise is None else self.discretise(ground)
        try:
            key = observation_key(seen)
            number = self.numbers.get(key)
        except TypeError:
            raise WorldError(
                f"discretise returns numbers, names, tuples or arrays, not {shorten(seen)}",
                fix="return something that can be a key of a dictionary",
            ) from None
        if number is None:
            number = len(self.observations)
            if number == self.agent.tables.room:
                self.agent.grow(2 * number)
            self.numbers[key] = number
            self.observations.append(copy_observation(seen))
            self.agent.add_observation(number, seen)
        if self.discretise is None and type(seen) is np.ndarray:
            self.numbers[seen.tobytes()] = number  # is found more quickly the next time
        return number

    def _row(self, info: dict[str, Any]) -> int:
        """Return a label as the agent's ``experience`` reads it; a new one gets a row."""
        check_info(info)
        label: frozenset[str] = info["label"]
        if label not in self.happened:
            self.happened[label] = live_kernels.ROW * self.label_row(info)
            self.agent.grow()
        return self.happened[label]

    def _pay(self, action: int, ground: Any, info: dict[str, Any]) -> None:
        extra = self.agent.tables.arrays.extra
        extra[:] = self.reward_values(self.ground, action, ground, info)

    def error(self, status: int) -> CraniumError | None:
        """Return the error of an exploration rule; the product raises the machine's itself."""
        return self.agent.tables.error(status)

    def evaluate(self, *, optimum: bool = False, confirm: bool = False) -> Evaluation:
        """Evaluate the greedy policy by running episodes."""
        policy = self._policy(self.agent.values()).with_unknown("random")
        return self.evaluator.evaluate_policy(policy, optimum=optimum, confirm=confirm)

    def policy(self) -> Policy:
        """Return the learned policy."""
        return self._policy(self.agent.values(everything=True))

    def _policy(self, values: NDArray[np.float64]) -> Policy:
        space = self.agent.tables.space
        return Policy(
            values[: len(self.observations), : len(space)].copy(),
            tuple(self.observations),
            tuple(space.configurations),
            self.product.automaton,
            self.first_action,
            discretise=self.discretise,
            observation_space=self.product.env.observation_space,
        )

    @property
    def is_between_episodes(self) -> bool:
        """Whether the next action begins an episode."""
        return self.action < 0

    def save_state(self, saved: SavedState) -> None:
        """Add the tables, the observations in the order of meeting, and the random generators."""
        save_tables(self.agent.tables, saved, len(self.observations))
        described, arrays = observations_data(tuple(self.observations))
        saved.data["observations"] = described
        saved.arrays.update(arrays)
        saved.data["met"] = [sorted(label) for label in self.happened]
        self.agent.save_state(saved)
        self.save_world(saved)
        self.evaluator.save_state(saved)

    def restore_state(self, saved: SavedState) -> None:
        """Go on with the tables and the observations of another run."""
        tables = self.agent.tables
        restore_space(tables.space, saved)
        seen = observations_from(saved.data["observations"], saved.arrays)
        restore_tables(tables, saved, len(seen), len(seen))
        for number, observation in enumerate(seen):
            if self.numbers.setdefault(observation_key(observation), number) != number:
                raise ValueError("an observation that is there twice")
            self.observations.append(observation)
            self.agent.add_observation(number, observation)
        self._restore_labels(saved)
        self.agent.restore_state(saved)
        self.restore_world(saved)
        self.evaluator.restore_state(saved)

    def _restore_labels(self, saved: SavedState) -> None:
        """Note which labels were met: when one is new, a set of configurations is drawn anew."""
        labels = self.space.labels
        for names in saved.items("met", MOST_TEXT):
            row = self.space.add_label(names)
            self.happened[frozenset(names)] = live_kernels.ROW * row
        if len(self.space.labels) != len(labels):
            raise ValueError("labels that were met and are not there")
