"""The manifest of a study: what was run, written next to its records.

Results are read with the manifest alone, so that they stay readable when the code of the study
changes, or is not there any more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from cranium.errors import FileFormatError, shorten
from cranium.experiments.measures import Measure, find_measure
from cranium.experiments.records import Record, Store
from cranium.experiments.study_trial import ListedTrial
from cranium.experiments.trial import Job

__all__ = ["KIND", "ListedRow", "StudyManifest"]

KIND = "study"
"""What ``experiment.json`` says of a study, where it names an experiment of the paper."""
FORMAT = 1
MOST_ROWS = 100_000
MOST_SEEDS = 100_000


@dataclass(frozen=True)
class ListedRow:
    """A trial with its seeds.

    Attributes:
        key: The hash of what was used.
        method: The name of the learner in the study.
        case: The name of the problem.
        stage: ``"tuning"`` or ``"final"``.
        first_seed: The first seed.
        seeds: The number of seeds.
        settings: The settings of the learner, defaults included.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")
    key: str
    method: str
    case: str
    stage: Literal["tuning", "final"]
    first_seed: int
    seeds: int
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyManifest:
    """What a study consists of, as far as it is known.

    Attributes:
        study: The name of the study.
        measure_name: The name of its measure.
        own_measure: Whether the measure is a function of the user's.
        lower_is_better: Whether a lower value of an own measure is better.
        steps: The budget of each trial.
        seeds: The number of seeds that are reported.
        tuning: How settings were chosen, in a sentence; empty if they were not.
        rows: The trials.
        is_quick: Whether it is the quick version.

    Example:
        >>> manifest = StudyManifest("parcels", "samples_to_solve", steps=1000, seeds=3)
        >>> manifest.heading, manifest.measure
        ('parcels', 'samples until solved')
    """

    __pydantic_config__ = ConfigDict(extra="forbid")
    name: ClassVar[str] = KIND

    study: str
    measure_name: str
    own_measure: bool = False
    lower_is_better: bool = False
    steps: int = 1
    seeds: int = 1
    tuning: str = ""
    rows: tuple[ListedRow, ...] = ()
    is_quick: bool = False
    format: int = FORMAT

    @property
    def heading(self) -> str:
        """The title of the study where results are shown."""
        return f"{self.study}, quick run" if self.is_quick else self.study

    @property
    def folder(self) -> str:
        """A word for links within a page."""
        return "".join(each if each.isalnum() else "-" for each in self.heading)

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants of the study that it is."""
        return ("quick",) if self.is_quick else ()

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
            self.measure_name, own=self.own_measure, lower_is_better=self.lower_is_better
        )

    def value_of(self, record: Record) -> float | None:
        """The value of a record that is summarised; None if it is censored."""
        return self._measure.read(record)

    def jobs(self, _store: Store) -> list[Job]:
        """All trials with their seeds."""
        return [job for row in self.rows for job in self.jobs_of(row)]

    def jobs_of(self, row: ListedRow) -> list[Job]:
        """The trials of a row."""
        trial = _listed(self.study, row)
        return [Job(trial, row.first_seed + number) for number in range(row.seeds)]

    def to_json(self) -> str:
        """The text of the file."""
        return json.dumps({"experiment": KIND, **asdict(self)}, indent=1, sort_keys=True) + "\n"

    @classmethod
    def from_data(cls, told: dict[str, Any], where: Path) -> StudyManifest:
        """Read what :meth:`to_json` wrote, without its first entry."""
        if told.get("format") != FORMAT:
            raise FileFormatError(
                f"{where} has format {shorten(told.get('format'))}, not {FORMAT}",
                fix="read it with the version of Cranium that wrote it",
            )
        try:
            found = TypeAdapter(cls).validate_json(json.dumps(told), strict=True)
        except (ValidationError, ValueError, RecursionError) as problem:
            raise FileFormatError(
                f"{where} is not the manifest of a study: {str(problem).splitlines()[0]}",
                fix="run the study again; what is done is kept",
            ) from None
        _check_size(found.rows, where)
        found._measure  # noqa: B018 - an unknown one is an error now
        return found


def _listed(study: str, row: ListedRow) -> ListedTrial:
    return ListedTrial(
        study, row.method, row.case, stage=row.stage, hash=row.key, settings=row.settings
    )


def _check_size(rows: Sequence[ListedRow], where: Path) -> None:
    if len(rows) > MOST_ROWS or any(not 0 < row.seeds <= MOST_SEEDS for row in rows):
        raise FileFormatError(f"{where} lists more trials than a study can have")
    if any(not row.key.isalnum() or row.first_seed < 0 for row in rows):
        raise FileFormatError(f"{where} lists a trial that cannot be")
