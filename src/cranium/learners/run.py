"""The interface of a training run, which the training loop drives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranium.automata.transition import Configuration
from cranium.errors import CraniumError
from cranium.learners.episode_log import EpisodeLog
from cranium.learners.evaluation_result import Evaluation
from cranium.learners.exploration import exploration_rule
from cranium.learners.saved_state import SavedState
from cranium.learners.schedules import rate_at

if TYPE_CHECKING:
    from cranium.learners.agent import AgentPolicy

__all__ = ["CHUNK", "LearnerRun", "Run"]

CHUNK = 1_000
"""The greatest number of samples in Python before progress is shown and streaks are counted."""


class Run(Protocol):
    """One learner in one environment. ``learn`` returns a status; negative ones are errors."""

    @property
    def path(self) -> str:
        """Where the environment steps: ``"compiled"``, ``"jax"`` or ``"python"``."""

    @property
    def samples(self) -> int:
        """The number of samples so far."""

    @property
    def ends(self) -> Sequence[float] | NDArray[np.float64]:
        """Episodes, successes, overflows, and the return of the running episode."""

    @property
    def exploration(self) -> float:
        """The current exploration rate."""

    @property
    def configuration(self) -> Configuration:
        """The configuration in which the environment is."""

    def learn(self, steps: int) -> int:
        """Take up to so many samples and learn from them."""

    @property
    def log(self) -> EpisodeLog:
        """The log of the episodes, which ``logged`` brings up to date."""

    def logged(self, first: int = 0) -> NDArray[np.float64]:
        """Return the log of the episodes from this one on, if it is wanted: [E, 3]."""

    def error(self, status: int) -> CraniumError | None:
        """Return the error that a negative status stands for, if it is not a matter of numbers."""

    def evaluate(self, *, optimum: bool = False, confirm: bool = False) -> Evaluation:
        """Evaluate the greedy policy."""

    def policy(self) -> AgentPolicy[Any, Any]:
        """Return what was learned."""

    @property
    def is_between_episodes(self) -> bool:
        """Whether the state can be saved now: that of a live environment only between episodes."""

    def check_resumable(self) -> None:
        """After the first sample, refuse what a checkpoint could not hold."""

    def save_state(self, saved: SavedState) -> None:
        """Add everything that the next samples depend on, besides the counts and the log."""

    def restore_state(self, saved: SavedState) -> None:
        """Go on from a state; what is wrong with it raises one of ``npz.DAMAGES``."""


class _Tables(Protocol):
    @property
    def samples(self) -> int: ...

    @property
    def configuration(self) -> Configuration: ...


class _TablesAgent(Protocol):
    @property
    def tables(self) -> _Tables: ...

    @property
    def config(self) -> object: ...


class _CountingRun(Protocol):
    """The parts of a run that its exploration rate depends on."""

    @property
    def agent(self) -> _TablesAgent: ...

    @property
    def samples(self) -> int: ...

    @property
    def ends(self) -> Sequence[float] | NDArray[np.float64]: ...


AgentT = TypeVar("AgentT", bound=_TablesAgent)


class LearnerRun(Generic[AgentT]):
    """What runs of our own learners share: their agent knows where it is in its tables."""

    agent: AgentT

    @property
    def is_between_episodes(self) -> bool:
        """True: the state of a world that steps inside the loop can be saved at any sample."""
        return True

    def check_resumable(self) -> None:
        """Do nothing: a checkpoint can hold all of our own learners."""

    @property
    def samples(self) -> int:
        """The number of samples so far."""
        return self.agent.tables.samples

    @property
    def configuration(self) -> Configuration:
        """The configuration in which the environment is."""
        return self.agent.tables.configuration

    @property
    def exploration(self: _CountingRun) -> float:
        """The current exploration rate."""
        rule = exploration_rule(getattr(self.agent.config, "exploration", 0.0))
        return rate_at(rule.rate, self.samples, int(self.ends[0]))
