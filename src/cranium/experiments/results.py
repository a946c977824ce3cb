"""Read the records of an experiment, group them by method and case, and export them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cranium.errors import CraniumError, FileFormatError, MissingExtraError, RecordError
from cranium.experiments.configs import (
    ExperimentConfig,
    list_experiments,
    make_config,
)
from cranium.experiments.manifest import KIND, StudyManifest
from cranium.experiments.records import Record, Store
from cranium.experiments.runner import CONFIG
from cranium.experiments.statistics import Summary, summarise
from cranium.io import read_bytes, write_bytes

__all__ = [
    "Group",
    "StudyResults",
    "export",
    "find_studies",
    "read_study",
    "summary_to_dict",
    "to_rows",
]

MOST_MANIFEST = 20_000_000
"""The size limit of ``experiment.json``, which lists the trials of a study."""
NUMBERS = ("solved", "IQM", "95 % interval", "median", "mean", "deviation")
"""The columns of tables for the statistics of a group."""
COLUMNS = (
    *("experiment", "method", "case", "seed", "status", "value", "measure"),
    *("success", "wall", "cpu", "key", "settings"),
)


@dataclass(frozen=True)
class Group:
    """The trials of one method on one case.

    Attributes:
        method: The method.
        case: The case.
        config: The config of the trials, as plain data.
        records: The records that exist, ordered by seed.
        values: The summarised value of each; None if it was not solved.
        wanted: The number of trials that the experiment has.
        parts: If the values are sums over several machines, the values of each machine.
    """

    method: str
    case: str
    config: dict[str, Any]
    records: tuple[Record, ...]
    values: tuple[float | None, ...]
    wanted: int
    parts: tuple[tuple[float | None, ...], ...] = ()

    @property
    def failed(self) -> int:
        """The number of trials that ended with an error. They are in no statistics."""
        return sum(not record.done for record in self.records)

    @cached_property
    def summary(self) -> Summary:
        """The statistics of the trials that did not fail."""
        return summarise(self.values, self.parts)

    @property
    def status(self) -> str:
        """How many trials were solved, failed, and are missing, in words."""
        text = f"{self.summary.solved} of {self.summary.run}"
        if self.failed:
            text += f", {self.failed} failed"
        lacking = self.wanted - self.summary.run - (0 if self.parts else self.failed)
        return f"{text}, {lacking} missing" if lacking > 0 and not self.failed else text


@dataclass(frozen=True)
class StudyResults:
    """The results of an experiment of the paper, or of a study.

    Attributes:
        config: The config of the experiment, or the manifest of the study.
        folder: The folder of the records.
        groups: The trials of the figure, by method and case.
        tuning: The number of tuning trials that were run.
        missing: The number of trials without a record.
        failed: The records of trials that ended with an error, tuning trials included.
    """

    config: ExperimentConfig | StudyManifest
    folder: Path
    groups: tuple[Group, ...]
    tuning: int
    missing: int
    failed: tuple[Record, ...] = ()

    def group(self, method: str, case: str) -> Group | None:
        """The group of a method and a case, if there is one."""
        found = [g for g in self.groups if (g.method, g.case) == (method, case)]
        return found[0] if found else None

    @property
    def methods(self) -> list[str]:
        """The methods, in the order in which they are run."""
        return list(dict.fromkeys(group.method for group in self.groups))


def find_studies(folder: Path) -> list[Path]:
    """Find the folders of experiments in a folder; it may be one itself.

    Example:
        >>> import tempfile
        >>> find_studies(Path(tempfile.mkdtemp()))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        cranium.errors.RecordError: there are no results in ...
    """
    if (folder / CONFIG).is_file():
        return [folder]
    order = list(list_experiments())
    found = [path.parent for path in folder.glob(f"*/{CONFIG}")]
    if not found:
        raise RecordError(
            f"there are no results in {folder}",
            fix="make some: cranium run my_study.py, or cranium reproduce letter --quick",
        )
    return sorted(found, key=lambda path: (_find_order(path.name, order), path.name))


def _find_order(name: str, order: list[str]) -> int:
    known_as = [index for index, each in enumerate(order) if name.startswith(each)]
    return known_as[0] if known_as else len(order)


def read_study(folder: Path) -> StudyResults:
    """Read the results that an experiment has so far.

    Example:
        >>> import tempfile
        >>> from cranium.experiments import ComplexityConfig, LocalEngine, run
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = run(ComplexityConfig(most=2), folder, LocalEngine(1))
        >>> read_study(folder).group("RM", "2 items of mail").records[0].result["states"]
        8
    """
    try:
        config = _read_config(folder / CONFIG)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, OSError) as problem:
        why = problem.message if isinstance(problem, CraniumError) else problem
        raise FileFormatError(
            f"{folder / CONFIG} cannot be read: {why}", fix="run the experiment again"
        ) from None
    store = Store(folder)
    jobs = config.jobs(store)
    found = {job: store.find(job) for job in jobs}
    grouped: dict[tuple[str, str], list[Any]] = {}
    for job in jobs:  # legends may share trials
        if job.trial.stage == "final":
            grouped.setdefault((job.trial.method, job.trial.case), []).append(job)
    groups = []
    for (method, case), wanted in grouped.items():
        records = tuple(r for job in wanted if (r := found[job]) is not None)
        values = tuple(config.value_of(record) for record in records if record.done)
        data = wanted[0].trial.data
        groups.append(Group(method, case, data, records, values, len(wanted)))
    missing = sum(record is None for record in found.values())
    tuning = sum(r is not None and job.trial.stage == "tuning" for job, r in found.items())
    failed = tuple(r for r in found.values() if r is not None and not r.done)
    return StudyResults(config, folder, tuple(groups), tuning, missing, failed)


def _read_config(path: Path) -> ExperimentConfig | StudyManifest:
    told = json.loads(read_bytes(path, most=MOST_MANIFEST, follow_links=False))
    kind = told.pop("experiment")
    return StudyManifest.from_data(told, path) if kind == KIND else make_config(kind, told)


def to_rows(studies: Sequence[StudyResults]) -> list[dict[str, Any]]:
    """The rows of an export: one for each trial of a figure."""
    return [
        {
            "experiment": study.folder.name,
            "method": group.method,
            "case": group.case,
            "seed": record.seed,
            "status": record.status,
            "value": study.config.value_of(record) if record.done else None,
            "measure": study.config.measure,
            "success": read_final_success(record),
            "wall": record.wall,
            "cpu": record.cpu,
            "key": record.key,
            "settings": json.dumps(record.config.get("settings", {}), sort_keys=True),
        }
        for study in studies
        for group in study.groups
        for record in group.records
    ]


def read_final_success(record: Record) -> float | None:
    """The mean success of the final greedy policy over all instances; None if not recorded."""
    # The result of a failed trial is not validated, and is ignored.
    found = record.result.get("success") if record.done else None
    return sum(found.values()) / len(found) if found else None


def export(studies: Sequence[StudyResults], path: Path) -> None:
    """Write one row for each trial, as Parquet if the path ends in ``.parquet``, else as CSV."""
    found = to_rows(studies)
    if path.suffix == ".parquet":
        write_bytes(path, _as_parquet(found))
        return
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS)
    writer.writeheader()
    writer.writerows(found)
    write_bytes(path, stream.getvalue().encode())


def _as_parquet(found: list[dict[str, Any]]) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError.of(
            "Parquet needs pyarrow, which is not installed", "parquet", "write CSV"
        ) from None
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(found), stream)
    return stream.getvalue()


def summary_to_dict(group: Group) -> dict[str, Any]:
    """Convert the statistics of a group to plain data."""
    counts = {"wanted": group.wanted, "failed": group.failed}
    return {"method": group.method, "case": group.case, **counts, **asdict(group.summary)}


def format_number(value: float | None, none: str = "–") -> str:
    """Format a number for tables.

    Example:
        >>> format_number(12345.6), format_number(None)
        ('12,346', '–')
    """
    if value is None:
        return none
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 10 else f"{value:.3g}"


def format_share(value: float | None) -> str:
    """Format a share for tables.

    Example:
        >>> format_share(2 / 3), format_share(1.0), format_share(None)
        ('0.67', '1.00', '–')
    """
    return "–" if value is None else f"{value:.2f}"


def format_summary(group: Group) -> list[str]:
    """Format the statistics of a group for tables, in the order of ``NUMBERS``."""
    s = group.summary
    middle = [format_number(s.iqm), format_interval(s), format_number(s.median)]
    return [group.status, *middle, format_number(s.mean), format_number(s.deviation)]


def format_interval(summary: Summary) -> str:
    """Format the 95 % interval for tables.

    Example:
        >>> format_interval(summarise([1, 2, 3, None]))
        '1 to ∞'
    """
    return (
        "–"
        if summary.low is None
        else f"{format_number(summary.low)} to {format_number(summary.high, '∞')}"
    )


def format_table(results: StudyResults) -> str:
    """Format the statistics of all groups as a table in plain text."""
    rows: list[tuple[str, ...]] = [("method", "case", *NUMBERS)]
    rows += [(group.method, group.case, *format_summary(group)) for group in results.groups]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
