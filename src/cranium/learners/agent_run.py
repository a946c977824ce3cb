"""Training an agent of a user's own: the environment steps in Python, the agent observes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cranium.automata.transition import Configuration
from cranium.errors import CraniumError, InvalidArgumentError, shorten
from cranium.learners.agent import Agent, AgentPolicy, Problem, ResumableAgent
from cranium.learners.episode_log import EpisodeLog, Floats
from cranium.learners.evaluation import Evaluation, LiveEvaluator, TabularEvaluator
from cranium.learners.live_evaluation import MOST_EVALUATIONS
from cranium.learners.policy import Policy
from cranium.learners.run import CHUNK
from cranium.learners.saved_state import SavedState, generator_data, restore_generator
from cranium.learners.serialisation import whole
from cranium.learners.space_state import restore_space, save_space
from cranium.learners.stepper import EnvironmentStepper

__all__ = ["AgentRun"]

AGENT = "agent_"
"""How the names of the arrays of an agent begin."""
MANY = 2**53


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

    @property
    def is_between_episodes(self) -> bool:
        """Whether the next sample begins an episode."""
        return not self.running

    def check_resumable(self) -> None:
        """Refuse an agent, or an environment, that a checkpoint could not hold."""
        self._resumable()
        self.stepper.check_resumable()

    def save_state(self, saved: SavedState) -> None:
        """Add what the agent returns as its state, its problem, and the random generators."""
        save_space(self.problem.space, saved)
        for name, array in self._resumable().state().items():
            saved.arrays[f"{AGENT}{name}"] = np.asarray(array)
        saved.data["seen"] = sorted(map(list, self.problem.seen))
        saved.data["rng"] = generator_data(self.problem.rng)
        saved.data["samples"] = self.samples
        saved.data["evaluations"] = 0 if self._live is None else self._live.evaluations
        self.stepper.save_world(saved)

    def restore_state(self, saved: SavedState) -> None:
        """Let the agent go on from its state."""
        restore_space(self.problem.space, saved)
        told = {name: array for name, array in saved.arrays.items() if name.startswith(AGENT)}
        self._resumable().restore({name.removeprefix(AGENT): told[name] for name in told})
        seen = saved.items("seen", MANY)
        self.problem.seen.update(tuple(whole(count) for count in each) for each in seen)
        restore_generator(self.problem.rng, saved.data["rng"])
        self.stepper.steps_taken = saved.whole("samples", 0, MANY)
        self.stepper.restore_world(saved)
        evaluations = saved.whole("evaluations", 0, MOST_EVALUATIONS)
        if evaluations:
            self._live = self._make_live()
            self._live.evaluations = evaluations

    def _resumable(self) -> ResumableAgent:
        if isinstance(self.agent, ResumableAgent):
            return self.agent
        raise InvalidArgumentError(
            f"{type(self.agent).__name__} has no methods state and restore, so its training cannot "
            "be resumed from a checkpoint",
            fix="add both (see cranium.learners.ResumableAgent), or leave checkpoint out",
        )
