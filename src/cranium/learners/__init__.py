"""Learners: agents that can see inside the reward."""

from cranium.learners.agent import Agent, AgentPolicy, Problem, ResumableAgent, Sample
from cranium.learners.callbacks import Callback, TrainingProgress
from cranium.learners.config import (
    AgentConfig,
    LearnerConfig,
    OptionsConfig,
    PlannerConfig,
    TabularConfig,
)
from cranium.learners.deep.config import ActorConfig, DeepConfig
from cranium.learners.deep.protocols import Network, NetworkInput, Optimiser
from cranium.learners.episode_log import Streak
from cranium.learners.evaluation import Evaluation, evaluate
from cranium.learners.exploration import Boltzmann, EpsilonGreedy, Exploration, Optimism
from cranium.learners.policy import Policy
from cranium.learners.registry import LEARNERS, Learner, register
from cranium.learners.result import TrainingResult
from cranium.learners.schedules import Schedule, Visits
from cranium.learners.shaping import machine_values
from cranium.learners.training import train, train_seeds

__all__ = [
    "LEARNERS",
    "ActorConfig",
    "Agent",
    "AgentConfig",
    "AgentPolicy",
    "Boltzmann",
    "Callback",
    "DeepConfig",
    "EpsilonGreedy",
    "Evaluation",
    "Exploration",
    "Learner",
    "LearnerConfig",
    "Network",
    "NetworkInput",
    "Optimiser",
    "Optimism",
    "OptionsConfig",
    "PlannerConfig",
    "Policy",
    "Problem",
    "ResumableAgent",
    "Sample",
    "Schedule",
    "Streak",
    "TabularConfig",
    "TrainingProgress",
    "TrainingResult",
    "Visits",
    "evaluate",
    "machine_values",
    "register",
    "train",
    "train_seeds",
]
