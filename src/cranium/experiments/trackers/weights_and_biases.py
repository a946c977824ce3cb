"""The tracker that logs to Weights & Biases."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from cranium.errors import InvalidArgumentError, MissingExtraError
from cranium.experiments.trackers.protocol import RunDescription, Scalars, Status

__all__ = ["WandbProject"]

OFFLINE = ("offline", "dryrun", "disabled")


@dataclass(frozen=True)
class WandbProject:
    """A project of Weights & Biases, as ``PROJECT`` or ``ENTITY/PROJECT``.

    With ``WANDB_MODE=offline``, runs are written into the folder ``wandb``, or that of
    ``WANDB_DIR``, and ``wandb sync`` sends them later.

    Attributes:
        project: The project.
        folder: The folder of the files of wandb.
        mode: ``"online"`` or ``"offline"``; None is what wandb chooses.
    """

    project: str
    folder: Path = field(default_factory=lambda: Path(os.environ.get("WANDB_DIR", ".")).absolute())
    mode: str | None = field(default_factory=lambda: os.environ.get("WANDB_MODE"))

    def prepare(self, _group: str, /) -> None:
        """Check that wandb is installed, and that it knows who you are."""
        wandb = _import_wandb()
        if self.mode in OFFLINE:
            return
        if wandb.setup().settings.mode in OFFLINE or wandb.api.api_key:
            return
        raise InvalidArgumentError(
            "wandb does not know your account",
            fix="wandb login, or set WANDB_MODE=offline and send the runs later with wandb sync",
        )

    def __call__(self) -> _WandbRun:
        """Make the tracker of a run."""
        return _WandbRun(self)


class _WandbRun:
    def __init__(self, project: WandbProject) -> None:
        self.project = project

    def begin(self, run: RunDescription) -> None:
        wandb, (owner, _, name) = _import_wandb(), self.project.project.rpartition("/")
        self.run = wandb.init(
            entity=owner or None,
            project=name,
            name=run.title,
            group=run.group,
            config={**run.metadata, **{f"settings/{key}": x for key, x in run.settings.items()}},
            dir=self.project.folder,
            mode=self.project.mode,
            reinit="create_new",  # several runs may go on in one process
            settings=wandb.Settings(console="off", silent=True),
        )

    def log(self, samples: int, values: Scalars) -> None:
        self.run.log(dict(values), step=samples)

    def end(self, status: Status, summary: Scalars) -> None:
        self.run.summary.update({**summary, "status": status})
        self.run.finish(exit_code=0 if status == "finished" else 1)


def _import_wandb() -> ModuleType:
    try:
        import wandb
    except ImportError:
        raise MissingExtraError.of(
            "Weights & Biases needs wandb, which is not installed", "wandb", "track into csv:FILE"
        ) from None
    module: ModuleType = wandb
    return module
