"""Trials, the engines that run them, the records of their results, and statistics of these."""

from cranium.experiments import study_trial  # registers how the trials of studies are run
from cranium.experiments.local_engine import LocalEngine
from cranium.experiments.ray_engine import RayEngine
from cranium.experiments.records import DamagedRecordWarning, Record, Store
from cranium.experiments.runner import RunCallback, RunResult
from cranium.experiments.trackers import RunDescription, Tracker, track

__all__ = [
    "DamagedRecordWarning",
    "LocalEngine",
    "RayEngine",
    "Record",
    "RunCallback",
    "RunDescription",
    "RunResult",
    "Store",
    "Tracker",
    "study_trial",
    "track",
]
