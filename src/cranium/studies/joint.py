"""A study that consists of several, with one folder, one manifest and one figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cranium.experiments.local_engine import Engine
from cranium.experiments.manifest import StudyManifest, list_rows
from cranium.experiments.records import Store
from cranium.experiments.runner import RunCallback, RunResult
from cranium.experiments.trial import FunctionTrial, Job
from cranium.studies.folder import run_in_folder

__all__ = ["JointStudy", "Part", "Trials"]


class Part(Protocol):
    """A part of a joint study: a :class:`Study`, for example."""

    def jobs(self, store: Store) -> list[Job]:
        """All trials that are known, given the results in the store."""


@dataclass(frozen=True)
class Trials:
    """Trials that call functions: a part of a study that trains nothing.

    Args:
        trials: The trials.
        seeds: The number of seeds.

    Example:
        >>> trial = FunctionTrial("sizes", "CRA", "N = 1", function="builtins:dict")
        >>> [job.seed for job in Trials([trial], seeds=2).jobs(Store(Path("nowhere")))]
        [0, 1]
    """

    trials: Sequence[FunctionTrial]
    seeds: int = 1

    def jobs(self, _store: Store) -> list[Job]:
        """All trials with their seeds."""
        return [Job(trial, seed) for trial in self.trials for seed in range(self.seeds)]


@dataclass(frozen=True)
class JointStudy:
    """Several studies in one folder, with a figure of their own.

    Args:
        name: The name.
        parts: Returns the parts that are known, given the results in the store: a part may depend
            on what another one has found.
        measure: The name of the measure; its title, if there is a ``measure_field``.
        measure_field: The field of results with the measure; empty for measures of Cranium.
        lower_is_better: Whether a lower value of that field is better.
        seeds: The number of seeds that are reported.
        steps: The greatest budget.
        is_quick: Whether it is a quick version.
        shown: How it is shown: attributes of the :class:`StudyManifest` from ``title`` on.

    Example:
        >>> trial = FunctionTrial("sizes", "CRA", "N = 1", function="builtins:dict",
        ...                       settings={"states": 3}, fields={"states": "size"})
        >>> study = JointStudy("sizes", lambda store: [Trials([trial])], measure="states",
        ...                    measure_field="states", shown={"title": "The size of machines"})
        >>> study.manifest(Store(Path("nowhere"))).heading
        'The size of machines'
    """

    name: str
    parts: Callable[[Store], Sequence[Part]]
    measure: str = field(default="samples_to_solve", kw_only=True)
    measure_field: str = field(default="", kw_only=True)
    lower_is_better: bool = field(default=True, kw_only=True)
    seeds: int = field(default=1, kw_only=True)
    steps: int = field(default=1, kw_only=True)
    is_quick: bool = field(default=False, kw_only=True)
    shown: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def jobs(self, store: Store) -> list[Job]:
        """All trials that are known, given the results in the store.

        Example:
            >>> JointStudy("nothing", lambda store: []).jobs(Store(Path("nowhere")))
            []
        """
        return [job for part in self.parts(store) for job in part.jobs(store)]

    def manifest(self, store: Store) -> StudyManifest:
        """What the study consists of, as far as it is known.

        Example:
            >>> JointStudy("nothing", lambda store: []).manifest(Store(Path("nowhere"))).rows
            ()
        """
        told = dict.fromkeys(getattr(part, "tuning", "") for part in self.parts(store))
        return StudyManifest(
            self.name,
            self.measure,
            measure_field=self.measure_field,
            lower_is_better=self.lower_is_better,
            steps=self.steps,
            seeds=self.seeds,
            tuning=" ".join(each for each in told if each),
            rows=list_rows(self.jobs(store)),
            is_quick=self.is_quick,
            **self.shown,
        )

    def run(
        self,
        folder: Path,
        engine: Engine,
        *,
        retry_failed: bool = False,
        callback: RunCallback | None = None,
    ) -> RunResult:
        """Run the trials that have no record yet: see :func:`run_in_folder`.

        Example:
            >>> import tempfile
            >>> from cranium.experiments import LocalEngine
            >>> trial = FunctionTrial("sizes", "CRA", "N = 1", function="builtins:dict")
            >>> study = JointStudy("sizes", lambda store: [Trials([trial], seeds=2)])
            >>> study.run(Path(tempfile.mkdtemp()), LocalEngine(1)).ran
            2
        """
        return run_in_folder(self, folder, engine, retry_failed=retry_failed, callback=callback)
