"""The tracker that logs to MLflow."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cranium.errors import CraniumError, FileAccessError, InvalidArgumentError, MissingExtraError
from cranium.experiments.trackers.protocol import RunDescription, Scalars, Status

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

__all__ = ["MlflowStore"]

STATUS = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
MOST_PARAMETERS = 100
"""How many parameters MLflow takes at once."""
MOST_CHARACTERS = 500
"""The longest value that every version of MLflow takes."""


@dataclass(frozen=True, init=False)
class MlflowStore:
    """A store of MLflow: a folder, or a URI such as ``sqlite:///runs.db`` or ``http://host:5000``.

    In a folder, runs are in the database ``mlflow.db``. The experiment in MLflow is called like the
    study, or like the task.

    Attributes:
        uri: The URI of the store.
    """

    uri: str

    def __init__(self, where: str | os.PathLike[str]) -> None:
        told = os.fspath(where)
        is_uri = "://" in told or told.startswith("sqlite:")
        uri = told if is_uri else f"sqlite:///{Path(told).absolute() / 'mlflow.db'}"
        object.__setattr__(self, "uri", uri)

    def prepare(self, group: str, /) -> None:
        """Check that MLflow is installed, and make the database and the experiment."""
        database = self.uri.removeprefix("sqlite:///")
        if database != self.uri:
            try:
                Path(database).parent.mkdir(parents=True, exist_ok=True)
            except OSError as problem:
                raise FileAccessError(
                    f"cannot make the folder of {database}: {problem.strerror or problem}",
                    fix="name another one after mlflow:",
                ) from None
        try:
            find_experiment(make_client(self.uri), group)
        except CraniumError:
            raise
        except Exception as problem:
            raise InvalidArgumentError(
                f"MLflow cannot use {self.uri}: {' '.join(str(problem).split())[:300]}",
                fix="name a folder, or a URI that MLflow knows, after mlflow:",
            ) from problem

    def __call__(self) -> _MlflowRun:
        """Make the tracker of a run."""
        return _MlflowRun(self.uri)


class _MlflowRun:
    def __init__(self, uri: str) -> None:
        self.client = make_client(uri)

    def begin(self, run: RunDescription) -> None:
        experiment = find_experiment(self.client, run.group)
        tags = {f"cranium.{name}": str(value) for name, value in run.metadata.items()}
        made = self.client.create_run(experiment, run_name=run.title, tags=tags)
        self.id: str = made.info.run_id
        from mlflow.entities import Param

        told = [
            Param(name, str(value)[:MOST_CHARACTERS])
            for name, value in {**run.metadata, **run.settings}.items()
        ]
        for first in range(0, len(told), MOST_PARAMETERS):
            self.client.log_batch(self.id, params=told[first : first + MOST_PARAMETERS])

    def log(self, samples: int, values: Scalars) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        found = [Metric(name, value, now, samples) for name, value in values.items()]
        self.client.log_batch(self.id, metrics=found)

    def end(self, status: Status, summary: Scalars) -> None:
        if summary:
            found = {f"result/{name}": value for name, value in summary.items()}
            self.log(int(summary.get("samples", 0)), found)
        self.client.set_terminated(self.id, STATUS[status])


def find_experiment(client: MlflowClient, name: str) -> str:
    """The id of an experiment of MLflow, which is made if it is not there."""
    found = client.get_experiment_by_name(name)
    made: str = client.create_experiment(name) if found is None else found.experiment_id
    return made


def make_client(uri: str) -> MlflowClient:
    """A client for a store; MLflow's global settings are not changed."""
    try:
        from mlflow.tracking import MlflowClient

        if uri.startswith("sqlite:"):
            import alembic
            import sqlalchemy

            del alembic, sqlalchemy
    except ImportError:
        raise MissingExtraError.of(
            "MLflow needs mlflow-skinny, SQLAlchemy and alembic, which are not all installed",
            "mlflow",
            "track into csv:FILE",
        ) from None
    return MlflowClient(tracking_uri=uri)
