"""Trackers: TensorBoard, Weights & Biases, MLflow, CSV files, and trackers of a user's own.

A tracker follows one run: one training of one learner with one seed. It only sees numbers, and
changes none. ``cranium train … --track tensorboard:runs`` and ``Study.run(…, track=…)`` make one
for each run; in Python, :func:`track` makes a callback for :func:`cranium.train`.
"""

from cranium.experiments.trackers.callback import TrackerWarning, track
from cranium.experiments.trackers.protocol import RunDescription, Tracker, TrackerFactory
from cranium.experiments.trackers.registry import TRACKERS, find_tracker

__all__ = [
    "TRACKERS",
    "RunDescription",
    "Tracker",
    "TrackerFactory",
    "TrackerWarning",
    "find_tracker",
    "track",
]
