"""Training in any Gymnasium environment: it steps in Python, and updates are compiled."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from cranium._runtime.interrupt import held
from cranium.aamdp.encoding import DictEncoding
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.counterfactual.wrapper_checks import Guard, check_reward, check_told
from cranium.errors import CraniumError, WorldError
from cranium.learners.deep.agent import DeepAgent
from cranium.learners.deep.config import ActorConfig, DeepConfig
from cranium.learners.deep.counterfactual import Transitions, counterfactual_batch
from cranium.learners.deep.dqn import DQN
from cranium.learners.deep.exploration import StaticRule
from cranium.learners.deep.machine import JaxMachine, to_device
from cranium.learners.deep.method import Method
from cranium.learners.deep.policy import scale_action
from cranium.learners.episode_log import EpisodeLog, Floats
from cranium.learners.evaluation import Evaluation, LiveEvaluator
from cranium.learners.memory_limit import check_memory
from cranium.learners.run import CHUNK, LearnerRun
from cranium.learners.tabular import kernels
from cranium.tables.pay import pay
from cranium.worlds.tabular import call_reward_function

__all__ = ["LiveDeepRun"]

Array = jax.Array


class LiveDeepRun(LearnerRun[DeepAgent]):
    """A training run in an environment that steps in Python."""

    path = "python"

    def __init__(
        self,
        env: gym.Env[Any, Any],
        product: AutomatonAugmentedMDP,
        agent: DeepAgent,
        evaluator: LiveEvaluator,
        seed: int,
        log: bool = False,
    ) -> None:
        _check(env, product, agent)
        self.guard = Guard(env, product)
        self.env, self.product, self.agent, self.evaluator = env, product, agent, evaluator
        self.seed: int | None = seed
        self.ends = [0.0] * 4  # as in kernels.advance
        self.log = EpisodeLog(wanted=log)
        self.rows: dict[frozenset[str], int] = {}
        self.seen_counters = np.zeros(0, bool)
        self._grow()
        width = int(agent.encoding.width)
        params = agent.method.init_params(agent.params_rng(), width, self.machine)
        self.learner = agent.method.init(jax.tree.map(to_device, params), self.machine)
        self.replay = self._allocate_replay(agent.config.replay, width)
        self.observation: Any = None  # of the ground environment; None between episodes
        self.features = np.zeros(width, np.float32)

    def _allocate_replay(self, capacity: int, width: int) -> Transitions[NDArray[Any]]:
        size = 2 * capacity * width * np.dtype(np.float32).itemsize
        what = f"{capacity:,} transitions with {width:,} features each"
        check_memory(what, size, fix="store fewer (replay=…), or use smaller observations")
        action = self.agent.method.zero_action()
        extras = 1 + len(self.agent.tables.space.reward_functions)
        return Transitions(
            np.zeros((capacity, width), np.float32),
            np.zeros((capacity, *action.shape), action.dtype),
            np.zeros((capacity, width), np.float32),
            np.zeros(capacity, np.int32),
            np.zeros(capacity, bool),
            np.zeros((capacity, extras), np.float32),
            np.zeros(capacity, np.int32),
        )

    def learn(self, steps: int) -> int:
        """Take up to so many samples, and return a status."""
        for _ in range(min(steps, CHUNK)):
            self._step()
            if self.agent.tables.position[kernels.SAMPLES] % self.agent.config.train_every == 0:
                self._update()
        return kernels.RUNNING if np.isfinite(self.learner.loss) else kernels.NOT_FINITE

    def _step(self) -> None:
        """Take one sample."""
        position, space = self.agent.tables.position, self.agent.tables.space
        if self.observation is None:
            observation, _ = self.env.reset(seed=self.seed)
            self.guard.begin()
            self.seed = None
            self._encode(observation)
            position[kernels.CONFIGURATION], position[kernels.AGE] = space.start, 0
            self.seen_counters[self.agent.tables.arrays.counters[space.start]] = True
        x = int(position[kernels.CONFIGURATION])
        action = self._act(x)
        before, features = self.product.ground, self.features
        ground_action = self._ground_action(action)
        observation, reward, terminated, truncated, info = self.env.step(ground_action)
        self.guard.step(reward, terminated, truncated)
        check_told(info)
        self._encode(observation)
        label = self._label_row(info["label"])
        then = space.step(label, x)
        if self.size != (len(space), len(space.labels)):
            self._grow()
        if not (terminated or truncated):  # as in kernels.note
            self.seen_counters[self.agent.tables.arrays.counters[then]] = True
        self.guard.check_configuration(space.decode(then))
        extra = self._extra(before, ground_action, info)
        arrays = self.agent.tables.arrays
        at = label, x
        check_reward(float(reward), float(pay(arrays.reward[at], arrays.function[at], extra)))
        slot = int(position[kernels.SAMPLES]) % len(self.replay.label)
        ended = bool(terminated and info["ground_terminated"])
        new = (features, action, self.features, label, ended, extra, x)
        for array, value in zip(self.replay, new, strict=True):
            array[slot] = value
        position[kernels.SAMPLES] += 1
        position[kernels.AGE] += 1
        position[kernels.CONFIGURATION] = then
        self.ends[3] += float(reward)
        if terminated or truncated:
            self._end_episode(info)

    def _encode(self, observation: Any) -> None:
        """Take over the ground part of an observation, and compute its features."""
        if type(self.product.encoding) is DictEncoding:
            self.observation = observation["ground"]
        else:
            self.observation = self.product.encoding.decode(observation)[0]
        self.features = self.agent.encoding.encode_ground(self.observation)

    def _act(self, x: int) -> Any:
        """Choose an action to explore with."""
        config, rng = self.agent.config, self.agent.rng
        samples = int(self.agent.tables.position[kernels.SAMPLES])
        if isinstance(config, ActorConfig) and samples < config.warmup:
            return rng.uniform(-1, 1, self.agent.method.size).astype(np.float32)
        if isinstance(config, DeepConfig):
            rule = self.agent.method.rule
            if rule is not None:
                return self._follow(rule, x)
            if rng.random() < self.exploration:
                return int(rng.integers(self.agent.method.actions))
        with held():
            given = (self.learner, self.machine, self.features, x)
            greedy = np.asarray(_greedy(*given, method=self.agent.method))
        if isinstance(config, ActorConfig):
            noise = config.noise * rng.normal(size=greedy.shape)
            return np.clip(greedy + noise, -1, 1).astype(np.float32)
        return int(greedy)

    def _follow(self, rule: StaticRule, x: int) -> int:
        """Draw an action from the probabilities of an exploration rule."""
        with held():
            given = (self.learner.params, self.machine, self.features, x)
            values = np.asarray(_values(*given, method=self.agent.method))
        return rule.choose_in_python(values, self.exploration, self.agent.rng.random())

    def _ground_action(self, action: Any) -> Any:
        """Convert an action to the action space of the environment."""
        space: Any = self.agent.actions
        if isinstance(space, gym.spaces.Discrete):
            return int(action) + int(space.start)
        return scale_action(action, space.low, space.high)

    def _label_row(self, label: frozenset[str]) -> int:
        """Return the row of a label in the tables; a new label is added."""
        if label not in self.rows:
            self.rows[label] = self.agent.tables.space.add_label(label)
        return self.rows[label]

    def _grow(self) -> None:
        """Take over the labels and configurations that were added to the space."""
        tables = self.agent.tables
        tables.grow()
        self.size = (len(tables.space), len(tables.space.labels))
        self.machine = self.agent.machine()
        seen = np.zeros(len(self.machine.ending), bool)
        seen[: len(self.seen_counters)] = self.seen_counters
        self.seen_counters = seen

    def _extra(self, before: Any, action: Any, info: dict[str, Any]) -> NDArray[np.float64]:
        """Return the ground reward, if it is added, and the value of each reward function."""
        functions = self.agent.tables.space.reward_functions
        if len(functions) >= self.replay.extra.shape[1]:
            self._widen(1 + len(functions))
        extra = np.zeros(self.replay.extra.shape[1])
        if self.product.add_ground_reward:
            extra[0] = info["ground_reward"]
        for number, function in enumerate(functions):
            extra[1 + number] = call_reward_function(function, before, action, self.product.ground)
        return extra

    def _widen(self, width: int) -> None:
        """Compute what newly added reward functions pay for the transitions stored so far."""
        replay, features = self.replay, self.agent.encoding.features
        there = replay.extra.shape[1]
        wide = np.zeros((len(replay.label), width), np.float32)
        wide[:, :there] = replay.extra
        functions = self.agent.tables.space.reward_functions
        size = min(int(self.agent.tables.position[kernels.SAMPLES]), len(wide))
        for slot in range(size):
            before, after = (
                features.decode(stored[slot])
                for stored in (replay.observation, replay.next_observation)
            )
            action = self._ground_action(replay.action[slot])
            for number in range(there - 1, width - 1):
                wide[slot, 1 + number] = call_reward_function(
                    functions[number], before, action, after
                )
        self.replay = replay._replace(extra=wide)

    def _update(self) -> None:
        """Learn from a counterfactual batch of the replay buffer."""
        agent = self.agent
        samples = int(agent.tables.position[kernels.SAMPLES])
        if samples < agent.config.warmup:
            return
        size = min(samples, len(self.replay.label))
        drawn = agent.rng.integers(size, size=agent.config.batch)
        real = Transitions(*(array[drawn] for array in self.replay))
        method = agent.method
        wanted = method.batch * method.sampling.randoms
        u = agent.rng.random(wanted + method.update_randoms, np.float32)
        given = (self.seen_counters, agent.rates, samples, u[:wanted], u[wanted:])
        with held():
            self.learner = _update(self.learner, self.machine, real, *given, method=method)

    def _end_episode(self, info: dict[str, Any]) -> None:
        episodes, successes, overflows, earned = self.ends
        success = self.guard.success
        self.log.add(int(self.agent.tables.position[kernels.SAMPLES]), earned, success)
        self.ends = [episodes + 1, successes + success, overflows + info["overflow"], 0.0]
        self.observation = None

    def logged(self, first: int = 0) -> Floats:
        """Return the log of the episodes from this number on, if there is one: [E, 3]."""
        return self.log.rows(first)

    def error(self, status: int) -> CraniumError | None:  # noqa: ARG002
        """Return nothing: the product raises the machine's errors itself."""
        return None

    def evaluate(self, *, optimum: bool = False, confirm: bool = False) -> Evaluation:
        """Evaluate the greedy policy in some episodes."""
        return self.evaluator.evaluate_policy(self.policy(), optimum=optimum, confirm=confirm)

    def policy(self) -> Any:
        """Return the greedy policy."""
        return self.agent.policy(self.learner)


def _check(env: gym.Env[Any, Any], product: AutomatonAugmentedMDP, agent: DeepAgent) -> None:
    if env.observation_space != product.observation_space or env.action_space != agent.actions:
        raise WorldError(
            "a wrapper around the product changes its observations or actions",
            fix="put it around the environment, inside the product",
        )


def _identity(observation: Array) -> Array:
    """Return the features of what the replay buffer stores: here, these are stored."""
    return observation


@partial(jax.jit, static_argnames=("method",))
def _greedy(
    learner: Any, machine: JaxMachine, features: Array, x: Array, *, method: Method[Any, Any, Any]
) -> Array:
    return method.greedy_action(learner, machine, features, x)


@partial(jax.jit, static_argnames=("method",))
def _values(params: Any, machine: JaxMachine, features: Array, x: Array, *, method: DQN) -> Array:
    return method.values(params, machine, features, x)


@partial(jax.jit, static_argnames=("method",))
def _update(
    learner: Any,
    machine: JaxMachine,
    real: Transitions[Array],
    seen_counters: Array,
    rates: Any,
    samples: Array,
    for_configurations: Array,
    for_method: Array,
    *,
    method: Method[Any, Any, Any],
) -> Any:
    chosen = (seen_counters, machine, method.sampling, for_configurations)
    batch = counterfactual_batch(real, _identity, *chosen)
    return method.update(learner, machine, batch, rates, jnp.int32(samples), for_method)
