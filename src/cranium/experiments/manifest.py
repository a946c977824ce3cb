"""The manifest of a study: what was run, written next to its records.

Results are read with the manifest alone, so that they stay readable when the code of the study
changes, or is not there any more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from cranium.errors import CraniumError, FileFormatError, shorten
from cranium.experiments.measures import Measure, find_measure
from cranium.experiments.records import Record, Store
from cranium.experiments.study_trial import ListedTrial, StudyTrial
from cranium.experiments.trial import FieldKind, Job, Stage
from cranium.io import read_bytes

__all__ = ["FILE", "KIND", "ListedRow", "StudyManifest", "list_rows"]

FILE = "experiment.json"
"""The name of the file."""
KIND = "study"
"""What the file says of itself."""
FORMAT = 2
MOST_BYTES = 20_000_000
"""The size limit of the file, which lists the trials."""
AGAIN = "run the study again; what is done is kept"
MOST_TRIALS = 1_000_000


@dataclass(frozen=True)
class ListedRow:
    """A trial with its seeds.

    Attributes:
        key: The hash of what was used.
        method: The name of the learner in the study.
        case: The name of the problem.
        stage: ``"first"``, ``"tuning"`` or ``"final"``: see :class:`Trial`.
        first_seed: The first seed.
        seeds: The number of seeds.
        settings: The settings that were used, defaults included.
        trained: Whether the trial is a training.
        fields: What else results contain.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")
    key: str
    method: str
    case: str
    stage: Stage
    first_seed: int
    seeds: int
    settings: dict[str, Any] = field(default_factory=dict)
    trained: bool = True
    fields: dict[str, FieldKind] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyManifest:
    """What a study consists of, as far as it is known.

    Attributes:
        study: The name of the study.
        measure_name: The name of its measure, or its title, if it is read from a field.
        measure_field: The field of results with an own measure; empty for those of Cranium.
        lower_is_better: Whether a lower value of an own measure is better.
        steps: The budget of each trial.
        seeds: The number of seeds that are reported.
        tuning: How settings were chosen, in a sentence; empty if they were not.
        rows: The trials.
        is_quick: Whether it is the quick version.
        title: The heading; by default the name.
        variants: What else tells it from others of its name, for its heading.
        figure: The name of its figure; empty for the figure that all studies have.
        place: Its place among several studies on a page.
        options: What the study was made from, as plain data.
        columns: Fields of results that tables show, if there are no samples to summarise.
        sums: Sums over cases, seed by seed, which tables show, too: the cases by the sum's name.
        command: How it is run again; empty if that is not known.

    Example:
        >>> manifest = StudyManifest("parcels", "samples_to_solve", steps=1000, seeds=3)
        >>> manifest.heading, manifest.measure
        ('parcels', 'samples until solved')
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    study: str
    measure_name: str
    measure_field: str = ""
    lower_is_better: bool = False
    steps: int = 1
    seeds: int = 1
    tuning: str = ""
    rows: tuple[ListedRow, ...] = ()
    is_quick: bool = False
    title: str = ""
    variants: tuple[str, ...] = ()
    figure: str = ""
    place: int = 100
    options: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    sums: dict[str, tuple[str, ...]] = field(default_factory=dict)
    command: str = ""
    format: int = FORMAT

    @property
    def heading(self) -> str:
        """The title of the study where results are shown."""
        quick = ("quick run",) if self.is_quick else ()
        return ", ".join((self.title or self.study, *self.variants, *quick))

    @property
    def folder(self) -> str:
        """A word for links within a page."""
        words = "-".join((self.study, *self.variants, *(["quick"] if self.is_quick else [])))
        return "".join(each if each.isalnum() else "-" for each in words)

    @property
    def measure(self) -> str:
        """The name of the quantity that is summarised."""
        return self._measure.title

    @property
    def is_lower_better(self) -> bool:
        """Whether a lower value of the measure is better."""
        return self._measure.lower_is_better

    @property
    def _measure(self) -> Measure:
        return find_measure(
            self.measure_name, field=self.measure_field, lower_is_better=self.lower_is_better
        )

    def value_of(self, record: Record) -> float | None:
        """The value of a record that is summarised; None if it is censored."""
        return self._measure.read(record)

    @cached_property
    def all_jobs(self) -> list[Job]:
        """All trials with their seeds."""
        return [job for row in self.rows for job in self.jobs_of(row)]

    def jobs(self, _store: Store) -> list[Job]:
        """All trials with their seeds."""
        return self.all_jobs

    def jobs_of(self, row: ListedRow) -> list[Job]:
        """The trials of a row."""
        trial = ListedTrial(
            self.study,
            row.method,
            row.case,
            stage=row.stage,
            fields=row.fields,
            hash=row.key,
            settings=row.settings,
            trained=row.trained,
        )
        return [Job(trial, row.first_seed + number) for number in range(row.seeds)]

    def to_data(self) -> dict[str, Any]:
        """The manifest as plain data, as JSON gives it back."""
        found: dict[str, Any] = json.loads(self.to_json())
        return found

    def to_json(self) -> str:
        """The text of the file."""
        return json.dumps({"experiment": KIND, **asdict(self)}, indent=1, sort_keys=True) + "\n"

    @classmethod
    def read(cls, path: Path) -> StudyManifest:
        """Read the file of a study.

        Raises:
            FileFormatError: It is not the manifest of a study, or that of an older version.
        """
        try:
            content = read_bytes(path, most=MOST_BYTES, follow_links=False)
        except (ValueError, OSError) as problem:
            why = problem.message if isinstance(problem, CraniumError) else problem
            raise FileFormatError(f"{path} cannot be read: {why}", fix=AGAIN) from None
        return cls.parse(content, path)

    @classmethod
    def parse(cls, content: bytes, path: Path) -> StudyManifest:
        """Read the content of the file of a study: see :meth:`read`."""
        try:
            told = json.loads(content)
        except (ValueError, RecursionError) as problem:
            raise FileFormatError(f"{path} cannot be read: {problem}", fix=AGAIN) from None
        if not isinstance(told, dict) or told.pop("experiment", None) != KIND:
            raise FileFormatError(f"{path} is not the manifest of a study", fix=AGAIN)
        if told.get("format") != FORMAT:
            raise FileFormatError(
                f"{path} has format {shorten(told.get('format'))}, not {FORMAT}",
                fix="read it with the version of Cranium that wrote it",
            )
        try:
            found = TypeAdapter(cls).validate_json(json.dumps(told), strict=True)
        except (ValidationError, ValueError, RecursionError) as problem:
            raise FileFormatError(
                f"{path} is not the manifest of a study: {_describe_first(problem)}", fix=AGAIN
            ) from None
        _check_size(found.rows, path)
        found._measure  # noqa: B018 - an unknown one is an error now
        return found


def list_rows(jobs: Sequence[Job]) -> tuple[ListedRow, ...]:
    """The rows of jobs: a row for each trial, with all its seeds.

    Example:
        >>> from cranium.experiments.trial import FunctionTrial
        >>> trial = FunctionTrial("a", "b", "c", function="builtins:dict")
        >>> [row.seeds for row in list_rows([Job(trial, 0), Job(trial, 1)])]
        [2]
    """
    rows: dict[tuple[str, ...], list[Job]] = {}
    for job in jobs:  # legends may share trials
        trial = job.trial
        rows.setdefault((trial.key, trial.method, trial.case, trial.stage), []).append(job)
    return tuple(_list_row(each) for each in rows.values())


def _list_row(jobs: Sequence[Job]) -> ListedRow:
    trial = jobs[0].trial
    return ListedRow(
        trial.key,
        trial.method,
        trial.case,
        trial.stage,
        min(job.seed for job in jobs),
        len(jobs),
        dict(getattr(trial, "settings", {})),
        isinstance(trial, StudyTrial),
        dict(trial.fields),
    )


def _describe_first(problem: Exception) -> str:
    """The first thing that is wrong in a file, and where."""
    if not isinstance(problem, ValidationError):
        return str(problem)
    first = problem.errors()[0]
    place = shorten(".".join(map(str, first["loc"])))
    return f"{place}: {first['msg'][0].lower()}{first['msg'][1:]}"


def _check_size(rows: Sequence[ListedRow], where: Path) -> None:
    if any(row.seeds < 1 for row in rows) or sum(row.seeds for row in rows) > MOST_TRIALS:
        raise FileFormatError(f"{where} lists more trials than a study can have")
    if any(not row.key.isalnum() or row.first_seed < 0 for row in rows):
        raise FileFormatError(f"{where} lists a trial that cannot be")
