"""A study: a definition that can be run, resumed, read and reported."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cranium.errors import InvalidArgumentError, RecordError
from cranium.experiments.contrasts import describe_best
from cranium.experiments.local_engine import Engine, LocalEngine
from cranium.experiments.ray_engine import RayEngine
from cranium.experiments.results import StudyResults, format_table, read_study
from cranium.experiments.runner import RunCallback, RunResult
from cranium.figures.curves import check_picture
from cranium.figures.page import write_report
from cranium.figures.study import draw_study_figure
from cranium.studies.definition import StudyDefinition
from cranium.studies.folder import run_in_folder
from cranium.studies.tracking import TrackedPlan, Trackers, pack_trackers

__all__ = ["Study"]

FolderPath = str | os.PathLike[str]


@dataclass(frozen=True)
class Study(StudyDefinition):
    """An experiment: every learner on every problem, with several seeds.

    A study is a value: nothing runs before :meth:`run`, and the same study always has the same
    trials. The record of a trial is found by a hash of everything that it depends on: the problem,
    the learner and its code, all settings with their defaults, and the budget. What is done is not
    done again, and what was changed is.

    Args:
        name: The name of the study.
        problems: By name: a Gymnasium id; a pair of a world (an id, or a function that makes it)
            and a task (an automaton, a file, ``library:NAME`` or a language); or a function that
            makes the product.
        learners: By name: an id, such as ``"cql"``; an agent of your own, or its class; a trainer,
            such as ``cranium.sb3.agent(…)``; a pair of one of these and settings; or a
            :class:`~cranium.studies.Method`, which also has problems, tuning or a budget of its
            own.
        seeds: The number of seeds: 0, 1, 2, …
        steps: The budget of samples of each trial.
        measure: What is compared: ``"samples_to_solve"``, ``"final_success"``, ``"final_return"``,
            ``"area_under_curve"``, ``"wall_time"``, ``"cpu_time"``, a field of ``record``, or a
            function of the :class:`~cranium.learners.TrainingResult`.
        lower_is_better: Whether a lower value of a measure of your own is better.
        tune: A search for settings, such as ``cranium.Grid(learning_rate=[0.1, 0.5])``, on seeds of
            its own.
        until: ``"solved"`` stops each trial when its task is solved. By default it does if samples
            until solved are measured; ``"budget"`` uses the whole budget in any case; a number
            stops it after so many successful training episodes in a row.
        evaluate_every: The number of samples between two evaluations of the greedy policy.
        record: More fields of the results, by name: a function of the result and the environment,
            or a :class:`~cranium.studies.Recorded`, which also says what it returns.
        log: Whether the result has a log of the training episodes for these functions.
        trial_memory: The most memory that a trial may use, such as ``"4 GB"``, or a number of
            bytes. Python and the libraries count, too; so do processes that the trial starts. A
            trial that uses more is ended and recorded as failed, and the others go on.
        trial_time: The longest that a trial may take, such as ``"30 min"``, or a number of seconds;
            likewise. A trial is the same with other limits.

    Example:
        >>> import tempfile
        >>> study = Study(
        ...     "letters",
        ...     problems={"N = 1": ("Letter", "A B C D"), "any N": "cranium/Letter-anbcdn-v0"},
        ...     learners={"CQL": "cql", "planner": "planner"},
        ...     seeds=2, steps=20_000,
        ... )
        >>> len(study.trials)
        8
    """

    _places: list[Path] = field(default_factory=list, init=False, repr=False, compare=False)

    def run(
        self,
        folder: FolderPath,
        engine: Literal["local", "ray"] | Engine = "local",
        *,
        workers: int | None = None,
        address: str | None = None,
        retry_failed: bool = False,
        callback: RunCallback | None = None,
        track: Trackers = None,
    ) -> RunResult:
        """Run the trials that have no record yet, and write each record at once.

        Ctrl-C, or the end of this process, loses only the trials that are running: the same call
        goes on. Several processes may run the same study in the same folder.

        Args:
            folder: The folder of the records.
            engine: ``"local"``: processes on this machine; ``"ray"``: a Ray cluster; or an engine.
            workers: The number of trials that run at once; by default one for each core.
            address: The address of the Ray cluster.
            retry_failed: Whether trials that failed are tried again.
            callback: Hooks that are called while it runs.
            track: A tracker, or several: ``"tensorboard:DIR"``, ``"wandb:PROJECT"``,
                ``"mlflow:DIR"``, ``"csv:FILE"``, or a class or function that makes a
                :class:`~cranium.experiments.Tracker`. Each trial is a run of its own. Trackers
                change no result, and are not part of the key of a trial.

        Example:
            >>> import tempfile
            >>> study = Study("letters", {"one": ("Letter", "A B C D")}, {"planner": "planner"},
            ...               seeds=2, steps=2_000)
            >>> folder = tempfile.mkdtemp()
            >>> study.run(folder, workers=1).ran, study.run(folder, workers=1).ran
            (2, 0)
        """
        where = Path(folder)
        self._described  # noqa: B018 - what cannot be made is an error before anything is written
        packed = pack_trackers(track, self.name)
        self._places.append(where)
        if engine == "local":
            engine = LocalEngine(workers)
        elif engine == "ray":
            engine = RayEngine(address, workers)
        elif isinstance(engine, str):
            raise InvalidArgumentError(f"no such engine: {engine!r}", fix="known: local, ray")
        with engine as started:
            plan = self if packed is None else TrackedPlan(self, packed)
            return run_in_folder(plan, where, started, retry_failed=retry_failed, callback=callback)

    def results(self, folder: FolderPath | None = None) -> StudyResults:
        """The results so far. They are read with the manifest in the folder.

        Args:
            folder: The folder of the records; by default that of the last :meth:`run`.

        Example:
            >>> study = Study("a", {"b": ("Letter", "A B")}, {"c": "cql"}, seeds=2, steps=100)
            >>> study.results()
            Traceback (most recent call last):
            cranium.errors.InvalidArgumentError: the study 'a' was not run by this process
              fix: run it, or name the folder of its records
        """
        where = self._places[-1] if folder is None and self._places else folder
        if where is None:
            raise InvalidArgumentError(
                f"the study {self.name!r} was not run by this process",
                fix="run it, or name the folder of its records",
            )
        found = read_study(Path(where))
        if found.config.heading not in (self.name, f"{self.name}, quick run"):
            raise RecordError(f"{where} holds {found.config.heading}, not {self.name}")
        return found

    def table(self, folder: FolderPath | None = None) -> str:
        """The results as a table in plain text, and how probably the best learner is better.

        Example:
            >>> import tempfile
            >>> study = Study("letters", {"any N": "cranium/Letter-anbcdn-v0"},
            ...               {"planner": "planner"}, seeds=2, steps=2_000, evaluate_every=20)
            >>> _ = study.run(tempfile.mkdtemp(), workers=1)
            >>> print(study.table())  # doctest: +ELLIPSIS
            method   case   solved  IQM  95 % interval  median  mean  deviation
            planner  any N  2 of 2  ...
        """
        found = self.results(folder)
        return "\n".join(filter(None, [format_table(found), describe_best(found)]))

    def figure(self, path: FolderPath, folder: FolderPath | None = None) -> None:
        """Draw the learning curves and the measure into a ``.svg`` or ``.png`` file.

        Example:
            >>> import tempfile
            >>> study = Study("a", {"b": ("Letter", "A B")}, {"c": "cql"}, seeds=2, steps=100)
            >>> folder = Path(tempfile.mkdtemp())
            >>> _ = study.run(folder, workers=1)
            >>> study.figure(folder / "curves.svg")
            >>> (folder / "curves.svg").exists()
            True
        """
        draw_study_figure(self.results(folder), check_picture(path))

    def report(self, path: FolderPath, folder: FolderPath | None = None) -> None:
        """Write a page with figures, tables, tuning and settings.

        Example:
            >>> import tempfile
            >>> study = Study("a", {"b": ("Letter", "A B")}, {"c": "cql"}, seeds=2, steps=100)
            >>> folder = Path(tempfile.mkdtemp())
            >>> _ = study.run(folder, workers=1)
            >>> study.report(folder / "page.html")
            >>> "<figure" in (folder / "page.html").read_text()
            True
        """
        write_report([self.results(folder)], Path(path))
