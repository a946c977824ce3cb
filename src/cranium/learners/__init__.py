"""Learners: agents that can see inside the reward."""

from cranium.learners.config import Schedule, TabularConfig, Visits
from cranium.learners.shaping import machine_potentials
from cranium.learners.tabular import Evaluation, TrainingResult, train

__all__ = [
    "Evaluation",
    "Schedule",
    "TabularConfig",
    "TrainingResult",
    "Visits",
    "machine_potentials",
    "train",
]
