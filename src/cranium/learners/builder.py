"""What a training needs: a tables, a agent, and where it acts."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from cranium.aamdp.planning import find_product
from cranium.aamdp.product import shortest_horizon
from cranium.aamdp.tabular_product import TabularProduct
from cranium.errors import (
    InvalidArgumentError,
    WorldError,
)
from cranium.learners.config import (
    IMAGINED,
    LearnerConfig,
    OptionsConfig,
    PlannerConfig,
    TabularConfig,
)
from cranium.learners.deep.config import NetworkConfig
from cranium.learners.evaluation import (
    TabularEvaluator,
)

__all__ = ["RunBuilder"]


class RunBuilder:
    """Makes a run: a tables, what learns in it, and where."""

    def __init__(
        self,
        learner: str,
        config: LearnerConfig,
        env: gym.Env[Any, Any],
        counter_limit: int | None,
        rng: np.random.Generator,
        seen: gym.Space[Any] | None,
        logs: bool,
        path: str,
    ) -> None:
        self.path = path
        self.learner = learner
        self.config = config
        self.product = find_product(env)
        self.horizon = shortest_horizon(env, self.product.horizon)
        self.counter_limit = counter_limit
        self.rng = rng
        self.seen = seen
        self.logs = logs

    def tabular(self, model: TabularProduct, evaluator: TabularEvaluator, seed: int) -> Any:
        """A run in arrays."""
        from cranium.learners.tabular.arrays import open_space
        from cranium.learners.tabular.fused import TabularRun, warn_if_unsound

        self.horizon = model.world.limit_horizon(self.horizon)
        imagines = getattr(self.config, "configurations", "") in ("seen", "reachable")
        if imagines or isinstance(self.config, OptionsConfig):
            warn_if_unsound(self.product, model.world)
        automaton, space = self.product.automaton, model.space
        if self.counter_limit is not None:
            space = open_space(automaton, self.counter_limit)
        elif isinstance(self.config, PlannerConfig):  # it must not know what can happen here
            space = open_space(automaton, self.product.counter_limit, IMAGINED)
            space = space if len(space) > 1 else model.space
        for label in model.world.labels:
            space.add_label(label & frozenset(automaton.propositions))
        networks = isinstance(self.config, NetworkConfig)  # they need no table of values
        observations = 1 if networks else len(model.world.observations)
        agent = self._agent(space, model.world.num_actions, observations)
        if networks:
            from cranium.learners.deep.fused import FiniteDeepRun

            return FiniteDeepRun(self.product, model, agent, evaluator, seed, self.logs)
        return TabularRun(self.product, model, agent, evaluator, seed, self.logs)

    def live(self, env: gym.Env[Any, Any], evaluator: Any, discretise: Any, seed: int) -> Any:
        """A run in an environment that steps in Python."""
        from cranium.learners.tabular.arrays import open_space
        from cranium.learners.tabular.live import LiveRun

        given = self.counter_limit is not None
        limit = self.counter_limit if given else self.product.counter_limit
        if given and limit != self.product.counter_limit:
            raise InvalidArgumentError(
                f"the product has the counter limit {self.product.counter_limit}, not {limit}",
                fix=f"make it with cranium.product(…, counter_limit={limit})",
            )
        space = open_space(self.product.automaton, limit, None if given else IMAGINED)
        actions = int(getattr(env.action_space, "n", 1))
        if isinstance(self.config, NetworkConfig):
            growing = not space.has_overflow
            agent = self._agent(space, actions, 1, growing=growing)
            return self._live_network(env, agent, evaluator, seed)
        agent = self._agent(space, actions, 64)
        return LiveRun(env, self.product, agent, evaluator, seed, discretise, self.logs)

    def _live_network(self, env: gym.Env[Any, Any], agent: Any, evaluator: Any, seed: int) -> Any:
        from cranium.learners.deep.continuous_worlds import continuous_world
        from cranium.learners.deep.fused import FusedRun
        from cranium.learners.deep.live import LiveDeepRun

        fused = self.path != "python" and not agent.growing
        world = continuous_world(env, agent.tables) if fused else None
        if world is not None:
            return FusedRun(agent, world, evaluator, self.logs)
        if self.path == "compiled":
            raise WorldError(
                "only finite worlds, PointWorld and WaterWorld can step inside the loop, with a "
                "limit for the counters",
                fix="leave path out, or give counter_limit=…",
            )
        return LiveDeepRun(env, self.product, agent, evaluator, seed, self.logs)

    def _agent(self, space: Any, actions: int, observations: int, *, growing: bool = False) -> Any:
        from cranium.learners.tabular.agent import QLearningAgent
        from cranium.learners.tabular.arrays import LearnerTables

        tables = LearnerTables(space, self.config, actions, self.horizon, observations)
        if isinstance(self.config, TabularConfig):
            return QLearningAgent(tables, self.config, self.rng)
        if isinstance(self.config, PlannerConfig):
            from cranium.learners.planner.agent import PlannerAgent

            product = self.product
            functions = not product.automaton.is_constant
            # The environment's reward may be random; so may a function of discretised states.
            unsure = product.add_ground_reward or (functions and self.seen is None)
            pays_more = product.add_ground_reward or functions
            given = (tables, self.config, self.rng, self.seen, pays_more)
            return PlannerAgent(*given, unsure=unsure)
        if isinstance(self.config, OptionsConfig):
            from cranium.learners.tabular.options import OptionsAgent

            return OptionsAgent(tables, self.config, self.rng)
        if isinstance(self.config, NetworkConfig):
            from cranium.learners.deep.agent import DeepAgent

            told = (tables, self.config, self.rng, self.product)
            return DeepAgent(*told, growing=growing)
        raise NotImplementedError(self.learner)
