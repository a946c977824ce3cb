"""Training networks in any Gymnasium environment: it steps in Python, updates are compiled.

Slower than the loop in which the world steps, too, but it needs nothing of the world.
"""

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
from cranium.learners.deep.arrays import put
from cranium.learners.deep.config import ActorConfig, DeepConfig
from cranium.learners.deep.counterfactual import Replay, imagine
from cranium.learners.deep.policy import scaled
from cranium.learners.episode_log import EpisodeLog, Floats
from cranium.learners.evaluation import Evaluation, LiveEvaluator
from cranium.learners.memory_limit import check_memory
from cranium.learners.run import CHUNK, LearnerRun
from cranium.learners.schedules import rate_at
from cranium.learners.tabular import kernels
from cranium.worlds.tabular import call_reward_function

__all__ = ["LiveDeepRun"]

PAID = kernels.in_python(kernels.paid)


class LiveDeepRun(LearnerRun[DeepAgent]):
    """One run in a live environment."""

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
        self.known = np.zeros(0, bool)
        self._refresh()
        width = int(agent.encoding.width)
        weights = agent.method.weights(agent.drawing(), width, self.machine)
        self.learned = agent.method.new(jax.tree.map(put, weights), self.machine)
        self.replay = self._room(agent.config.replay, width)
        self.ground: Any = None  # None between episodes
        self.flat = np.zeros(width, np.float32)

    def _room(self, capacity: int, width: int) -> Replay:
        size = 2 * capacity * width * np.dtype(np.float32).itemsize
        what = f"{capacity:,} experiences with {width:,} features each"
        check_memory(what, size, fix="keep fewer (replay=…), or show less of the world")
        action = self.agent.method.no_action()
        extras = 1 + len(self.agent.tables.space.reward_functions)
        return Replay(
            np.zeros((capacity, width), np.float32),
            np.zeros((capacity, *action.shape), action.dtype),
            np.zeros((capacity, width), np.float32),
            np.zeros(capacity, np.int32),
            np.zeros(capacity, bool),
            np.zeros((capacity, extras), np.float32),
            np.zeros(capacity, np.int32),
        )

    def learn(self, steps: int) -> int:
        """Take up to so many samples; returns a status."""
        for _ in range(min(steps, CHUNK)):
            self._step()
            if self.agent.tables.position[kernels.SAMPLES] % self.agent.config.train_every == 0:
                self._learn()
        return kernels.RUNNING if np.isfinite(self.learned.loss) else kernels.NOT_FINITE

    def _step(self) -> None:
        """One sample."""
        position, space = self.agent.tables.position, self.agent.tables.space
        if self.ground is None:
            observation, _ = self.env.reset(seed=self.seed)
            self.guard.begin()
            self.seed = None
            self._see(observation)
            position[kernels.CONFIGURATION], position[kernels.AGE] = space.start, 0
            self.known[self.agent.tables.arrays.counters[space.start]] = True
        x = int(position[kernels.CONFIGURATION])
        action = self._act(x)
        before, flat = self.product.ground, self.flat
        called = self._called(action)
        observation, reward, terminated, truncated, info = self.env.step(called)
        self.guard.step(reward, terminated, truncated)
        check_told(info)
        self._see(observation)
        row = self._row(info["label"])
        then = space.step(row, x)
        if self.size != (len(space), len(space.labels)):
            self._refresh()
        if not (terminated or truncated):  # as tables do it: see kernels.note
            self.known[self.agent.tables.arrays.counters[then]] = True
        self.guard.check_configuration(space.decode(then))
        extra = self._extra(before, called, info)
        arrays = self.agent.tables.arrays
        check_reward(float(reward), PAID(arrays, row, x, extra))
        slot = int(position[kernels.SAMPLES]) % len(self.replay.row)
        ended = bool(terminated and info["ground_terminated"])
        new = (flat, action, self.flat, row, ended, extra, x)
        for array, value in zip(self.replay, new, strict=True):
            array[slot] = value
        position[kernels.SAMPLES] += 1
        position[kernels.AGE] += 1
        position[kernels.CONFIGURATION] = then
        self.ends[3] += float(reward)
        if terminated or truncated:
            self._end(info)

    def _see(self, observation: Any) -> None:
        if type(self.product.encoding) is DictEncoding:
            self.ground = observation["ground"]
        else:
            self.ground = self.product.encoding.decode(observation)[0]
        self.flat = self.agent.encoding.encode_ground(self.ground)

    def _act(self, x: int) -> Any:
        """An action, to explore with."""
        config, rng = self.agent.config, self.agent.rng
        samples = int(self.agent.tables.position[kernels.SAMPLES])
        if isinstance(config, ActorConfig) and samples < config.warmup:
            return rng.uniform(-1, 1, self.agent.method.size).astype(np.float32)
        if isinstance(config, DeepConfig):
            exploration = rate_at(config.exploration, samples, int(self.ends[0]))
            if rng.random() < exploration:
                return int(rng.integers(self.agent.method.actions))
        with held():
            told = (self.learned, self.machine, self.flat, x)
            greedy = np.asarray(_greedy(*told, method=self.agent.method))
        if isinstance(config, ActorConfig):
            noise = config.noise * rng.normal(size=greedy.shape)
            return np.clip(greedy + noise, -1, 1).astype(np.float32)
        return int(greedy)

    def _called(self, action: Any) -> Any:
        """An action as the environment calls it."""
        space: Any = self.agent.actions
        if isinstance(space, gym.spaces.Discrete):
            return int(action) + int(space.start)
        return scaled(action, space.low, space.high)

    def _row(self, label: frozenset[str]) -> int:
        """The row of a label; one that was never met gets one."""
        if label not in self.rows:
            self.rows[label] = self.agent.tables.space.add_label(label)
        return self.rows[label]

    def _refresh(self) -> None:
        """Take over what the space has come to hold: labels, configurations."""
        tables = self.agent.tables
        tables.grow()
        self.size = (len(tables.space), len(tables.space.labels))
        self.machine = self.agent.machine()
        known = np.zeros(len(self.machine.ending), bool)
        known[: len(self.known)] = self.known
        self.known = known

    def _extra(self, before: Any, called: Any, info: dict[str, Any]) -> NDArray[np.float64]:
        functions = self.agent.tables.space.reward_functions
        if len(functions) >= self.replay.extra.shape[1]:
            self._widen(1 + len(functions))
        extra = np.zeros(self.replay.extra.shape[1])
        if self.product.add_ground_reward:
            extra[0] = info["ground_reward"]
        for number, function in enumerate(functions):
            extra[1 + number] = call_reward_function(function, before, called, self.product.ground)
        return extra

    def _widen(self, width: int) -> None:
        """Work out what reward functions that were just met would have paid before."""
        replay, features = self.replay, self.agent.encoding.features
        there = replay.extra.shape[1]
        wide = np.zeros((len(replay.row), width), np.float32)
        wide[:, :there] = replay.extra
        functions = self.agent.tables.space.reward_functions
        size = min(int(self.agent.tables.position[kernels.SAMPLES]), len(wide))
        for slot in range(size):
            before, after = (features.decode(flat[slot]) for flat in (replay.before, replay.after))
            called = self._called(replay.action[slot])
            for number in range(there - 1, width - 1):
                wide[slot, 1 + number] = call_reward_function(
                    functions[number], before, called, after
                )
        self.replay = replay._replace(extra=wide)

    def _learn(self) -> None:
        """One update."""
        agent = self.agent
        samples = int(agent.tables.position[kernels.SAMPLES])
        if samples < agent.config.warmup:
            return
        size = min(samples, len(self.replay.row))
        drawn = agent.rng.integers(size, size=agent.config.batch)
        some = Replay(*(array[drawn] for array in self.replay))
        method = agent.method
        wanted = method.batch * method.imagining.randoms
        u = agent.rng.random(wanted + method.learning, np.float32)
        told = (self.known, agent.rates, samples, u[:wanted], u[wanted:])
        with held():
            self.learned = _improve(self.learned, self.machine, some, *told, method=method)

    def _end(self, info: dict[str, Any]) -> None:
        episodes, successes, overflows, earned = self.ends
        success = self.guard.success
        self.log.add(int(self.agent.tables.position[kernels.SAMPLES]), earned, success)
        self.ends = [episodes + 1, successes + success, overflows + info["overflow"], 0.0]
        self.ground = None

    def logged(self, first: int = 0) -> Floats:
        """Return the log of the episodes from this one on, if it is wanted: [E, 3]."""
        return self.log.rows(first)

    def error(self, status: int) -> CraniumError | None:  # noqa: ARG002
        """The product raises the machine's errors itself."""
        return None

    def evaluate(self, *, optimum: bool = False, confirm: bool = False) -> Evaluation:
        """Evaluate the greedy policy by running episodes."""
        return self.evaluator.evaluate_policy(self.policy(), optimum=optimum, confirm=confirm)

    def policy(self) -> Any:
        """Return the learned policy."""
        return self.agent.policy(self.learned)


def _check(env: gym.Env[Any, Any], product: AutomatonAugmentedMDP, agent: DeepAgent) -> None:
    if env.observation_space != product.observation_space or env.action_space != agent.actions:
        raise WorldError(
            "a wrapper around the product changes its observations or actions",
            fix="put it around the environment, inside the product",
        )


def _itself(seen: Any) -> Any:
    return seen


@partial(jax.jit, static_argnames=("method",))
def _greedy(learned: Any, machine: Any, ground: Any, x: Any, *, method: Any) -> Any:
    return method.best(learned, machine, ground, x)


@partial(jax.jit, static_argnames=("method",))
def _improve(
    learned: Any,
    machine: Any,
    some: Replay,
    known: Any,
    rates: Any,
    samples: Any,
    imagining: Any,
    learning: Any,
    *,
    method: Any,
) -> Any:
    batch = imagine(some, _itself, known, machine, method.imagining, imagining)
    return method.improve(learned, machine, batch, rates, jnp.int32(samples), learning)
