"""Build a training run: the agent, its tables, and the environment in which it acts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from cranium.aamdp.planning import find_product
from cranium.aamdp.product import shortest_horizon
from cranium.aamdp.tabular_product import TabularProduct
from cranium.counterfactual.sets import Current, configuration_set
from cranium.errors import InvalidArgumentError, WorldError, shorten
from cranium.learners.agent import Agent, Problem
from cranium.learners.agent_run import AgentRun
from cranium.learners.config import (
    AgentConfig,
    LearnerConfig,
    OptionsConfig,
    PlannerConfig,
    TabularConfig,
)
from cranium.learners.deep.config import NetworkConfig
from cranium.learners.evaluation import LiveEvaluator, TabularEvaluator
from cranium.learners.run import Run
from cranium.learners.stepper import EnvironmentStepper
from cranium.tables.space import MOST_LISTED, open_space

__all__ = ["RunBuilder"]


class RunBuilder:
    """Builds the run of a learner in an environment."""

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

    def run(
        self,
        env: gym.Env[Any, Any],
        model: TabularProduct | None,
        exact: TabularEvaluator | None,
        live: Callable[[], LiveEvaluator],
        discretise: Callable[[Any], Any] | None,
        seed: int,
    ) -> Run:
        """Build the run: in arrays if the world was listed, otherwise in Python."""
        if isinstance(self.config, AgentConfig):
            return self.agent_run(env, self.config, exact, live, seed)
        if model is not None and exact is not None:
            return self.tabular(model, exact, seed)
        return self.live(env, live(), discretise, seed)

    def tabular(self, model: TabularProduct, evaluator: TabularEvaluator, seed: int) -> Run:
        """Build a run in arrays, compiled."""
        from cranium.learners.tabular.fused import TabularRun, warn_if_unsound

        self.horizon = model.world.limit_horizon(self.horizon)
        chosen = configuration_set(getattr(self.config, "configurations", "current"))
        if not isinstance(chosen, Current) or isinstance(self.config, OptionsConfig):
            warn_if_unsound(self.product, model.world)
        automaton, space = self.product.automaton, model.space
        if self.counter_limit is not None:
            space = open_space(automaton, self.counter_limit)
        elif isinstance(self.config, PlannerConfig):  # it must not know what can happen here
            space = open_space(automaton, self.product.counter_limit, MOST_LISTED)
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

    def live(
        self,
        env: gym.Env[Any, Any],
        evaluator: LiveEvaluator,
        discretise: Callable[[Any], Any] | None,
        seed: int,
    ) -> Run:
        """Build a run in an environment that steps in Python."""
        from cranium.learners.tabular.live import LiveRun

        given = self.counter_limit is not None
        limit = self.counter_limit if given else self.product.counter_limit
        if given and limit != self.product.counter_limit:
            raise InvalidArgumentError(
                f"the product has the counter limit {self.product.counter_limit}, not {limit}",
                fix=f"make it with cranium.product(…, counter_limit={limit})",
            )
        space = open_space(self.product.automaton, limit, None if given else MOST_LISTED)
        actions = int(getattr(env.action_space, "n", 1))
        if isinstance(self.config, NetworkConfig):
            growing = not space.has_overflow
            agent = self._agent(space, actions, 1, growing=growing)
            return self._live_network(env, agent, evaluator, seed)
        agent = self._agent(space, actions, 64)
        return LiveRun(env, self.product, agent, evaluator, seed, discretise, self.logs)

    def agent_run(
        self,
        env: gym.Env[Any, Any],
        config: AgentConfig,
        exact: TabularEvaluator | None,
        live: Callable[[], LiveEvaluator],
        seed: int,
    ) -> AgentRun:
        """Build the run of an agent that is not one of ours; it steps in Python."""
        if self.path == "compiled":
            raise InvalidArgumentError(f"{self.learner} is stepped in Python", fix="leave path out")
        if isinstance(config.agent, Agent) and not isinstance(config.agent, type):
            agent: Agent[Any, Any] = config.agent
            problem = getattr(agent, "problem", None)
            if not isinstance(problem, Problem):
                raise InvalidArgumentError(
                    f"{self.learner} has no attribute `problem`",
                    fix="give the class, or keep the Problem with which the agent was made",
                )
        else:
            problem = Problem.of(env, seed=self.rng, counter_limit=self.counter_limit)
            agent = config.agent(problem, **config.settings)
            if not isinstance(agent, Agent):
                raise InvalidArgumentError(
                    f"{self.learner} made {shorten(agent)}, which is no agent",
                    fix="an agent has the methods act, observe, policy and save",
                )
        stepper = EnvironmentStepper(env, self.product, problem.space, seed, log=self.logs)
        return AgentRun(agent, problem, stepper, exact, live)

    def _live_network(
        self, env: gym.Env[Any, Any], agent: Any, evaluator: LiveEvaluator, seed: int
    ) -> Run:
        from cranium.learners.deep.continuous_worlds import build_continuous_world
        from cranium.learners.deep.fused import FusedRun
        from cranium.learners.deep.live import LiveDeepRun

        fused = self.path != "python" and not agent.growing
        world = build_continuous_world(env, agent.tables) if fused else None
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
