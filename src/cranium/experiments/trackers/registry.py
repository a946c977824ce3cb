"""Trackers by name: ``tensorboard:runs``, ``csv:runs.csv``, ``my_trackers.py:make``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cranium.aamdp.environments import import_object
from cranium.errors import InvalidArgumentError, shorten
from cranium.experiments.trackers.csv_file import CsvFile
from cranium.experiments.trackers.mlflow_store import MlflowStore
from cranium.experiments.trackers.protocol import TrackerFactory
from cranium.experiments.trackers.tensorboard import TensorBoardFolder
from cranium.experiments.trackers.weights_and_biases import WandbProject

__all__ = ["TRACKERS", "find_tracker"]

TRACKERS: Mapping[str, Callable[[str], TrackerFactory]] = {
    "tensorboard": TensorBoardFolder,
    "wandb": WandbProject,
    "mlflow": MlflowStore,
    "csv": CsvFile,
}
"""The trackers that come with Cranium, by the first word of their names."""
FORMS = "tensorboard:DIR, wandb:PROJECT, mlflow:DIR, csv:FILE, or MODULE:NAME of your own"


def find_tracker(tracker: str | TrackerFactory) -> TrackerFactory:
    """Return what makes the trackers of a name; the module in the name is imported.

    Only pass names that the user gave, on the command line or in their own Python code.

    Example:
        >>> find_tracker("csv:runs.csv").path.name
        'runs.csv'
        >>> find_tracker("tensorboard")
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: no tracker is called 'tensorboard'
          fix: tensorboard:DIR, wandb:PROJECT, mlflow:DIR, csv:FILE, or MODULE:NAME of your own
    """
    if not isinstance(tracker, str):
        if not callable(tracker):
            raise InvalidArgumentError(
                f"a tracker is {shorten(tracker)}",
                fix="give a name, or a class or function that makes a tracker",
            )
        return tracker
    kind, colon, where = tracker.partition(":")
    if not colon or not where.strip():
        raise InvalidArgumentError(f"no tracker is called {shorten(tracker)}", fix=FORMS)
    if kind in TRACKERS:
        return TRACKERS[kind](where)
    found = import_object(tracker, "a tracker")
    if not callable(found):
        raise InvalidArgumentError(
            f"{tracker} is {shorten(found)}",
            fix="name a class or a function without arguments that makes a tracker",
        )
    factory: TrackerFactory = found
    return factory
