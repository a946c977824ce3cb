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
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.arguments import check_memory
from cranium.errors import CraniumError, WorldError
from cranium.learners.deep.agent import DeepAgent
from cranium.learners.deep.config import ActorConfig, DeepConfig
from cranium.learners.deep.counterfactual import Transitions, counterfactual_batch
from cranium.learners.deep.dqn import DQN
from cranium.learners.deep.exploration import StaticRule
from cranium.learners.deep.machine import JaxMachine, to_device
from cranium.learners.deep.method import Method
from cranium.learners.deep.policy import ActorPolicy, NetworkPolicy, scale_action
from cranium.learners.deep.state import restore_replay, restore_tree, save_replay, save_tree
from cranium.learners.evaluation import Evaluation, LiveEvaluator
from cranium.learners.run import CHUNK, LearnerRun
from cranium.learners.saved_state import SavedState, generator_data, restore_generator
from cranium.learners.space_state import restore_space
from cranium.learners.stepper import EnvironmentStepper
from cranium.learners.tabular import kernels
from cranium.learners.tabular.state import restore_tables, save_tables
from cranium.worlds.tabular import call_reward_function

__all__ = ["LiveDeepRun"]

Array = jax.Array


class LiveDeepRun(EnvironmentStepper, LearnerRun[DeepAgent]):
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
        super().__init__(env, product, agent.tables.space, seed, log=log)
        self.agent, self.evaluator = agent, evaluator
        self.seen_counters = np.zeros(0, bool)
        self._grow()
        width = int(agent.encoding.width)
        params = agent.method.init_params(agent.params_rng(), width, self.machine)
        self.learner = agent.method.init(jax.tree.map(to_device, params), self.machine)
        self.replay = self._allocate_replay(agent.config.replay, width)
        self.running = False  # whether an episode is under way
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
            self._sample()
            if self.agent.tables.position[kernels.SAMPLES] % self.agent.config.train_every == 0:
                self._update()
        return kernels.RUNNING if np.isfinite(self.learner.loss) else kernels.NOT_FINITE

    def _sample(self) -> None:
        """Take one sample and store it in the replay buffer."""
        tables, space = self.agent.tables, self.space
        position = tables.position
        if not self.running:
            self.features = self.agent.encoding.encode_ground(self.reset())
            self.running = True
            position[kernels.CONFIGURATION], position[kernels.AGE] = space.start, 0
            self.seen_counters[tables.arrays.counters[space.start]] = True
        action, before = self._act(self.current), self.features
        taken = self.step(self._ground_action(action))
        self.features = self.agent.encoding.encode_ground(taken.next_observation)
        if self.size != (len(space), len(space.labels)):
            self._grow()
        self.running = not (taken.terminated or taken.truncated)
        if self.running:  # as in kernels.note
            self.seen_counters[tables.arrays.counters[taken.next_configuration]] = True
        if len(taken.extra) > self.replay.extra.shape[1]:
            self._widen(len(taken.extra))
        slot = tables.samples % len(self.replay.label)
        new = (before, action, self.features, taken.label, taken.ground_terminated)
        for array, value in zip(self.replay, (*new, 0.0, taken.configuration), strict=True):
            array[slot] = value
        self.replay.extra[slot, : len(taken.extra)] = taken.extra
        position[kernels.SAMPLES] += 1
        position[kernels.AGE] += 1
        position[kernels.CONFIGURATION] = taken.next_configuration

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

    def _grow(self) -> None:
        """Take over the labels and configurations that were added to the space."""
        tables = self.agent.tables
        tables.grow()
        self.size = (len(tables.space), len(tables.space.labels))
        self.machine = self.agent.machine()
        seen = np.zeros(len(self.machine.ending), bool)
        seen[: len(self.seen_counters)] = self.seen_counters
        self.seen_counters = seen

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

    def error(self, status: int) -> CraniumError | None:  # noqa: ARG002
        """Return nothing: the product raises the machine's errors itself."""
        return None

    def evaluate(self, *, optimum: bool = False, confirm: bool = False) -> Evaluation:
        """Evaluate the greedy policy in some episodes."""
        policy: Any = self.policy()  # it has what an evaluation uses of a Policy
        return self.evaluator.evaluate_policy(policy, optimum=optimum, confirm=confirm)

    def policy(self) -> NetworkPolicy | ActorPolicy:
        """Return the greedy policy."""
        return self.agent.policy(self.learner)

    @property
    def is_between_episodes(self) -> bool:
        """Whether the next sample begins an episode."""
        return not self.running

    def save_state(self, saved: SavedState) -> None:
        """Add the network, the optimiser, the replay buffer, and the random generators."""
        save_tables(self.agent.tables, saved, 1)
        save_tree(saved, "learner", self.learner)
        save_replay(saved, self.replay, self.samples)
        saved.arrays["seen_counters"] = self.seen_counters.copy()
        saved.data["rng"] = generator_data(self.agent.rng)
        self.save_world(saved)
        self.evaluator.save_state(saved)

    def restore_state(self, saved: SavedState) -> None:
        """Go on with the network and the replay buffer of another run."""
        agent, tables, space = self.agent, self.agent.tables, self.space
        restore_space(space, saved)
        restore_tables(tables, saved, 1, 1)
        self._grow()
        self.learner = restore_tree(saved, "learner", self.learner)
        self.replay = restore_replay(
            saved,
            self._allocate_replay(agent.config.replay, int(agent.encoding.width)),
            self.samples,
            labels=len(space.labels),
            configurations=len(space),
            actions=getattr(agent.method, "actions", None),
        )
        shape = self.seen_counters.shape
        self.seen_counters = saved.array("seen_counters", np.bool_, shape).copy()
        restore_generator(agent.rng, saved.data["rng"])
        self.restore_world(saved)
        self.steps_taken = self.samples
        self.evaluator.restore_state(saved)


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
