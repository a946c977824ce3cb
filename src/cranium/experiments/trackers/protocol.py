"""The interface of trackers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

__all__ = ["Preparing", "RunDescription", "Scalars", "Status", "Tracker", "TrackerFactory"]

Scalars = Mapping[str, float]
Status = Literal["finished", "interrupted", "failed"]
MOST_CHARACTERS = 80
"""The greatest length of a part of the name of a folder."""


@dataclass(frozen=True)
class RunDescription:
    """What a tracker is told of a run before it begins.

    Attributes:
        group: What the run belongs to: the name of the study, or of the task.
        name: The name of the run in its group: of a study, ``("small", "CQL", "seed 0")``.
        settings: The settings of the learner, defaults included.
        metadata: The learner, its seed, the environment, the task, the number of samples; of a
            study, also its problem, the key of the trial, and whether it is for tuning.

    Example:
        >>> run = RunDescription("parcels", ("5 m / fast", "CQL", "seed 0"))
        >>> run.title, run.folder
        ('5 m / fast, CQL, seed 0', 'parcels/5 m - fast/CQL/seed 0')
    """

    group: str
    name: tuple[str, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    metadata: Mapping[str, str | int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name of the run as a text."""
        return ", ".join(self.name)

    @property
    def folder(self) -> str:
        """A relative path for files of the run; other runs may have the same."""
        return "/".join(_as_file_name(part) for part in (self.group, *self.name))


def _as_file_name(text: str) -> str:
    """Replace what file systems do not allow in a name, or what has a meaning there."""
    return re.sub(r"[^\w .,=+^-]", "-", text)[:MOST_CHARACTERS].strip(" .") or "-"


class Tracker(Protocol):
    """The interface of a tracker, which follows one run.

    If a method raises an error, a :class:`TrackerWarning` says so, the run is tracked no further,
    and the training goes on.

    Example:
        >>> class Printer:
        ...     def begin(self, run):
        ...         print(run.title)
        ...     def log(self, samples, values):
        ...         print(samples, values["evaluation/success"])
        ...     def end(self, status, summary):
        ...         print(status, summary["samples_to_solve"])
        >>> import cranium, gymnasium
        >>> from cranium.experiments import track
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0", times=1)
        >>> _ = cranium.train(env, "planner", steps=60, evaluate_every=30,
        ...                   callbacks=[track(Printer)])
        planner, seed 0
        30 0.0
        60 1.0
        finished 60.0
    """

    def begin(self, run: RunDescription, /) -> None:
        """Called before the first sample."""

    def log(self, samples: int, values: Scalars, /) -> None:
        """Called after evaluations; ``samples`` never decreases.

        The values are ``evaluation/success``, ``evaluation/return`` and ``evaluation/steps`` of the
        greedy policy; ``training/episodes`` and ``training/successes`` so far,
        ``training/exploration`` and, of the episodes since the last call, ``training/return``.
        Those that are not known are left out.
        """

    def end(self, status: Status, summary: Scalars, /) -> None:
        """Called last: ``"finished"``, ``"interrupted"`` (Ctrl-C) or ``"failed"`` (by an error).

        The summary has ``samples``, ``episodes``, the final ``success`` and ``return``, and
        ``samples_to_solve`` if the task was solved; it is empty if the run has failed.
        """


TrackerFactory = Callable[[], Tracker]
"""Makes a tracker for a run: a class, or a function without arguments."""


@runtime_checkable
class Preparing(Protocol):
    """A factory that wants to be called once, before the first of several runs begins."""

    def prepare(self, group: str, /) -> None:
        """Check that runs can be tracked, and make what they share."""
