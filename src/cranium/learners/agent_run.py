"""Training an agent of a user's own: the environment steps in Python, the agent observes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cranium.automata.transition import Configuration
from cranium.errors import CraniumError, InvalidArgumentError, shorten
from cranium.learners.agent import Agent, AgentPolicy, Problem
from cranium.learners.episode_log import EpisodeLog, Floats
from cranium.learners.evaluation import Evaluation, LiveEvaluator, TabularEvaluator
from cranium.learners.policy import Policy
from cranium.learners.run import CHUNK
from cranium.learners.stepper import EnvironmentStepper

__all__ = ["AgentRun"]


class AgentRun:
    """The training of one agent.

    Args:
        agent: The agent.
        problem: Its problem.
        stepper: The environment, which shares the space of the problem.
        exact: The evaluator of tables, if the world is finite.
        live: Makes the evaluator that runs episodes, for policies that are not tables.
    """

    path = "python"
    exploration = 0.0  # the agent's own business

    def __init__(
        self,
        agent: Agent[Any, Any],
        problem: Problem,
        stepper: EnvironmentStepper,
        exact: TabularEvaluator | None,
        live: Callable[[], LiveEvaluator],
    ) -> None:
        self.agent = agent
        self.problem = problem
        self.stepper = stepper
        self.exact = exact
        self._make_live = live
        self._live: LiveEvaluator | None = None
        self.running = False  # whether an episode is under way

    @property
    def samples(self) -> int:
        """The number of samples so far."""
        return self.stepper.steps_taken

    @property
    def ends(self) -> list[float]:
        """Episodes, successes, overflows, and the return of the running episode."""
        return self.stepper.ends

    @property
    def log(self) -> EpisodeLog:
        """The log of the episodes."""
        return self.stepper.log

    @property
    def configuration(self) -> Configuration:
        """The configuration in which the environment is."""
        return self.problem.space.decode(self.stepper.current)

    def learn(self, steps: int) -> int:
        """Take up to so many samples."""
        stepper, agent = self.stepper, self.agent
        for _ in range(min(steps, CHUNK)):
            if not self.running:
                stepper.reset()
                self.running = True
            self.problem.note(stepper.current)
            action = agent.act(stepper.ground, stepper.current)
            if not stepper.env.action_space.contains(action):
                raise InvalidArgumentError(
                    f"{type(agent).__name__}.act returned {shorten(action)}, which is not in "
                    f"{stepper.env.action_space}",
                    fix="return an action of the environment",
                )
            sample = stepper.step(action)
            agent.observe(sample)
            self.running = not (sample.terminated or sample.truncated)
        return 0

    def logged(self, first: int = 0) -> Floats:
        """Return the log of the episodes from this one on, if it is wanted: [E, 3]."""
        return self.stepper.logged(first)

    def error(self, status: int) -> CraniumError | None:  # noqa: ARG002
        """Return None: errors are raised where they happen."""
        return None

    def evaluate(self, *, optimum: bool = False, confirm: bool = False) -> Evaluation:
        """Evaluate the agent's policy: exactly if it is a table in a finite world."""
        policy: Any = self.agent.policy()
        asked = {"optimum": optimum, "confirm": confirm}
        if isinstance(policy, Policy):
            policy = policy.with_unknown("random")  # what was never met is no error yet
            if self.exact is not None:
                return self.exact.evaluate_policy(policy, **asked)
        if self._live is None:
            self._live = self._make_live()
        return self._live.evaluate_policy(policy, **asked)

    def policy(self) -> AgentPolicy[Any, Any]:
        """Return what was learned."""
        return self.agent.policy()
