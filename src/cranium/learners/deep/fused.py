"""Training in worlds that step in JAX: the whole loop is compiled."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np
from gymnasium import spaces

from cranium._runtime.interrupt import held
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.aamdp.tabular_product import TabularProduct
from cranium.errors import CraniumError
from cranium.learners.deep.agent import DeepAgent
from cranium.learners.deep.finite_world import build_finite_world
from cranium.learners.deep.loop import TrainState, interact, new_train_state
from cranium.learners.deep.machine import JaxMachine, to_device
from cranium.learners.deep.method import Method
from cranium.learners.deep.policy import ActorPolicy, NetworkPolicy
from cranium.learners.deep.protocols import PyTree
from cranium.learners.deep.state import restore_replay, restore_tree, save_replay, save_tree
from cranium.learners.deep.world import JaxWorld
from cranium.learners.episode_log import EpisodeLog, Floats
from cranium.learners.evaluation import Evaluation, Evaluator, TabularEvaluator
from cranium.learners.live_evaluation import LiveEvaluator
from cranium.learners.run import LearnerRun
from cranium.learners.saved_state import SavedState
from cranium.learners.tabular import kernels
from cranium.learners.tabular.fused import TabularRun

__all__ = ["FiniteDeepRun", "FusedRun"]

Array = jax.Array

MAX_FLOATS = 1 << 26
"""How many floats an evaluation holds in memory at once, roughly."""

CHUNK = 1_000
"""The number of samples between two checks for Ctrl-C and updates of the progress bar."""


class FusedRun(LearnerRun[DeepAgent]):
    """A training run in a world that steps inside the compiled loop."""

    path = "jax"

    def __init__(
        self,
        agent: DeepAgent,
        world: JaxWorld[Any],
        evaluator: Evaluator,
        log: bool = False,
        world_state: PyTree = None,
    ) -> None:
        self.agent = agent
        self.evaluator = evaluator
        self.ends = np.zeros(4)
        self.log = EpisodeLog(wanted=log, room=CHUNK)
        self._start(world, world_state)

    def _start(self, world: JaxWorld[Any], world_state: PyTree) -> None:
        agent = self.agent
        self.world, self.machine = world, agent.machine()
        params = agent.method.init_params(agent.params_rng(), agent.encoding.width, self.machine)
        with held():
            self.state: TrainState = new_train_state(
                agent.key,
                world,
                self.machine,
                params,
                world_state,
                method=agent.method,
                capacity=agent.config.replay,
                log=CHUNK,
            )

    def learn(self, steps: int) -> int:
        """Take up to so many samples, and return a status."""
        agent = self.agent
        settings = (agent.rates, agent.horizon, np.int32(min(steps, CHUNK)))
        with held():
            state = interact(self.state, self.world, self.machine, *settings, method=agent.method)
            finite = bool(np.isfinite(np.asarray(state.learner.loss)))  # waits until it is done
        return self.adopt(state, finite=finite)

    def adopt(self, state: TrainState, *, finite: bool) -> int:
        """Continue from a train state, and return a status."""
        self.log.empty(int(self.ends[0]))
        agent, self.state = self.agent, state
        self.ends[:] = state.statistics
        if self.log.wanted:
            self.log.ring[:] = state.log[:-1]
        position = agent.tables.position
        position[kernels.SAMPLES], position[kernels.AGE] = state.samples, state.elapsed_steps
        position[kernels.CONFIGURATION] = state.configuration
        if state.is_refused:
            return kernels.REFUSED
        return kernels.RUNNING if finite else kernels.NOT_FINITE

    def logged(self, first: int = 0) -> Floats:
        """Return the log of the episodes from this number on, if there is one: [E, 3]."""
        self.log.empty(int(self.ends[0]))
        return self.log.rows(first)

    def error(self, status: int) -> CraniumError | None:
        """Return the machine's own error, if it refused a label."""
        return self.agent.tables.error(status)

    def evaluate(self, *, optimum: bool = False, confirm: bool = False) -> Evaluation:
        """Evaluate the greedy policy in some episodes."""
        policy: Any = self.policy()  # it has what an evaluation uses of a Policy
        return self.evaluator.evaluate_policy(policy, optimum=optimum, confirm=confirm)

    def policy(self) -> NetworkPolicy | ActorPolicy:
        """Return the greedy policy."""
        return self.agent.policy(self.state.learner)

    def save_state(self, saved: SavedState) -> None:
        """Add the train state: network, optimiser, replay buffer, world and key."""
        state = self.state
        save_tree(saved, "state", state._replace(replay=()))  # type: ignore[arg-type]
        save_replay(saved, state.replay, self.samples)
        if isinstance(self.evaluator, LiveEvaluator):
            self.evaluator.save_state(saved)

    def restore_state(self, saved: SavedState) -> None:
        """Go on from a train state."""
        empty: Any = self.state._replace(replay=())  # type: ignore[arg-type]
        state = restore_tree(saved, "state", empty)
        space, actions = self.agent.tables.space, self.agent.actions
        in_range = 0 <= int(state.configuration) < len(space) and int(state.elapsed_steps) >= 0
        counts = np.asarray(state.statistics, np.float64)
        if not np.array_equal(counts, saved.finite("ends", (4,))):
            raise ValueError(f"counts of episodes: {counts.tolist()}")
        if not in_range or int(state.samples) < 0 or not self.is_state(state.world_state):
            raise ValueError("a state of the world or the machine that does not exist")
        replay = restore_replay(
            saved,
            self.state.replay,
            int(state.samples),
            labels=len(space.labels),
            configurations=len(space),
            actions=int(actions.n) if isinstance(actions, spaces.Discrete) else None,
            observations=self.num_observations,
        )
        self.state = state._replace(replay=jax.tree.map(to_device, replay))
        position = self.agent.tables.position
        position[kernels.SAMPLES], position[kernels.AGE] = state.samples, state.elapsed_steps
        position[kernels.CONFIGURATION] = state.configuration
        if isinstance(self.evaluator, LiveEvaluator):
            self.evaluator.restore_state(saved)

    @property
    def num_observations(self) -> int | None:
        """The number of observations, if the replay buffer holds their numbers."""
        return None

    def is_state(self, world_state: PyTree) -> bool:
        """Whether there is such a state of the world."""
        return all(bool(np.isfinite(leaf).all()) for leaf in jax.tree.leaves(world_state))


class FiniteDeepRun(FusedRun):
    """A training run in a finite world."""

    def __init__(
        self,
        product: AutomatonAugmentedMDP,
        model: TabularProduct,
        agent: DeepAgent,
        evaluator: TabularEvaluator,
        seed: int,
        log: bool = False,
    ) -> None:
        listed = TabularRun(product, model, agent, evaluator, seed)  # type: ignore[arg-type]
        self.rows, self.columns = (
            to_device(listed.rows, np.int32),
            to_device(listed.columns, np.int32),
        )
        self.beyond = listed.beyond
        first = np.int32(agent.tables.position[kernels.STATE])
        agent.tabulate_target(len(agent.ground_features))
        world = build_finite_world(listed.world, np.array(agent.ground_features))
        self.exact, self.feature_table = evaluator, world.feature_table
        super().__init__(agent, world, evaluator, log, first)

    @property
    def num_observations(self) -> int:
        """The number of observations: the replay buffer holds their numbers."""
        return len(self.feature_table)

    def is_state(self, world_state: PyTree) -> bool:
        """Whether there is such a state of the world."""
        states: Any = self.world
        return 0 <= int(np.asarray(world_state)) < len(states.observation)

    def evaluate(
        self,
        *,
        optimum: bool = False,
        confirm: bool = False,  # noqa: ARG002 - an exact evaluation needs no confirmation
    ) -> Evaluation:
        """Evaluate the greedy policy exactly."""
        features, method = self.feature_table, self.agent.method
        most = max(1, MAX_FLOATS // (features.shape[1] + method.width(self.machine)))
        parts = []
        for first in range(0, len(self.rows), most):
            pairs = (part[first : first + most] for part in (self.rows, self.columns))
            with held():
                best = _greedy(self.state.learner, self.machine, features, *pairs, method=method)
                parts.append(np.asarray(best, np.int64))
        best = np.concatenate(parts)
        return self.exact.evaluate_actions(best, optimum=optimum, beyond=self.beyond)


@partial(jax.jit, static_argnames=("method",))
def _greedy(
    learner: Any,
    machine: JaxMachine,
    features: Array,
    rows: Array,
    columns: Array,
    *,
    method: Method[Any, Any, Any],
) -> Array:
    return method.greedy_action(learner, machine, features[rows], columns)
