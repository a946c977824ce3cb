"""Read the records of a study, group them by method and case, and export them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from cranium.errors import MissingExtraError, RecordError
from cranium.experiments.manifest import FILE, StudyManifest
from cranium.experiments.records import Record, Store
from cranium.experiments.statistics import Summary, summarise
from cranium.io import write_bytes

__all__ = [
    "Group",
    "StudyResults",
    "export",
    "find_studies",
    "number_columns",
    "read_studies",
    "read_study",
    "summary_to_dict",
    "to_rows",
]

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
        config: What the trials used, as plain data.
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
    """The results of a study.

    Attributes:
        config: The manifest of the study.
        folder: The folder of the records.
        groups: The trials of the figure, by method and case.
        sums: Sums of groups over several cases, seed by seed.
        first: The records that decided which other trials were run.
        tuning: The number of tuning trials that were run.
        missing: The number of trials without a record.
        failed: The records of trials that ended with an error, tuning trials included.
        trials: The number of trials that are known, tuning trials included.
    """

    config: StudyManifest
    folder: Path
    groups: tuple[Group, ...]
    tuning: int
    missing: int
    failed: tuple[Record, ...] = ()
    sums: tuple[Group, ...] = ()
    first: tuple[Record, ...] = ()
    trials: int = 0

    def group(self, method: str, case: str) -> Group | None:
        """The group, or sum of groups, of a method and a case, if there is one."""
        every = (*self.groups, *self.sums)
        found = [g for g in every if (g.method, g.case) == (method, case)]
        return found[0] if found else None

    @property
    def methods(self) -> list[str]:
        """The methods, in the order in which they are run."""
        return list(dict.fromkeys(group.method for group in self.groups))


def find_studies(folder: Path) -> list[Path]:
    """Find the folders of studies in a folder; it may be one itself.

    Example:
        >>> import tempfile
        >>> find_studies(Path(tempfile.mkdtemp()))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        cranium.errors.RecordError: there are no results in ...
    """
    if (folder / FILE).is_file():
        return [folder]
    found = sorted(path.parent for path in folder.glob(f"*/{FILE}"))
    if not found:
        raise RecordError(
            f"there are no results in {folder}",
            fix="make some: cranium run my_study.py, or cranium reproduce letter --quick",
        )
    return found


def read_studies(folder: Path) -> list[StudyResults]:
    """Read the results of all studies in a folder, in the order that they give.

    Example:
        >>> import tempfile
        >>> read_studies(Path(tempfile.mkdtemp()))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        cranium.errors.RecordError: there are no results in ...
    """
    found = [read_study(path) for path in find_studies(folder)]
    return sorted(found, key=lambda study: (study.config.place, study.folder.name))


def read_study(folder: Path, store: Store | None = None) -> StudyResults:
    """Read the results that a study has so far, with the manifest in its folder.

    Args:
        folder: The folder of the records.
        store: The store of an earlier call. What succeeded then is not read again.

    Example:
        >>> import tempfile
        >>> read_study(Path(tempfile.mkdtemp()))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        cranium.errors.FileFormatError: ... cannot be read: ...
    """
    manifest = StudyManifest.read(folder / FILE)
    known, jobs = store or Store(folder), manifest.all_jobs
    found = {job: known.find(job) for job in jobs}
    if store is not None:  # trials that failed may have been tried again
        again = [job for job, record in found.items() if record is not None and not record.done]
        found |= {job: store.find_again(job) for job in again}
    grouped: dict[tuple[str, str], list[Any]] = {}
    for job in jobs:  # legends may share trials
        if job.trial.stage == "final":
            grouped.setdefault((job.trial.method, job.trial.case), []).append(job)
    groups = []
    for (method, case), wanted in grouped.items():
        records = tuple(r for job in wanted if (r := found[job]) is not None)
        values = tuple(manifest.value_of(record) for record in records if record.done)
        data = {**(records[0].config if records else {}), **wanted[0].trial.data}
        groups.append(Group(method, case, data, records, values, len(wanted)))
    stages = [(job.trial.stage, record) for job, record in found.items() if record is not None]
    return StudyResults(
        manifest,
        folder,
        tuple(groups),
        tuning=sum(stage == "tuning" for stage, _ in stages),
        missing=len(found) - len(stages),
        failed=tuple(record for _, record in stages if not record.done),
        sums=tuple(_sum_cases(manifest, groups)),
        first=tuple(record for stage, record in stages if stage == "first"),
        trials=len(found),
    )


def _sum_cases(manifest: StudyManifest, groups: Sequence[Group]) -> list[Group]:
    """The sums over cases, for each method that has all of these cases."""
    by_name = {(group.method, group.case): group for group in groups}
    sums = []
    for name, cases in manifest.sums.items():
        for method in dict.fromkeys(group.method for group in groups):
            known = [by_name[method, case] for case in cases if (method, case) in by_name]
            if known and len(known) == len(cases):
                sums.append(_sum_groups(known, name))
    return sums


def _sum_groups(groups: Sequence[Group], name: str) -> Group:
    """Add up groups seed by seed. A sum with an unsolved part is unsolved."""
    by_seed = [
        dict(zip((r.seed for r in group.records if r.done), group.values, strict=True))
        for group in groups
    ]
    seeds = [seed for seed in by_seed[0] if all(seed in values for values in by_seed)]
    values = []
    for seed in seeds:
        each = [values_of[seed] for values_of in by_seed]
        values.append(None if None in each else float(sum(part or 0 for part in each)))
    records = tuple(record for group in groups for record in group.records)
    parts = tuple(group.values for group in groups)
    return replace(
        groups[0], case=name, config={}, records=records, values=tuple(values), parts=parts
    )


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


def read_number(result: Mapping[str, Any], name: str) -> float | None:
    """A field of a result that is a number; None if there is none.

    Example:
        >>> read_number({"states": 3}, "states"), read_number({}, "states")
        (3.0, None)
    """
    found = result.get(name)
    return float(found) if isinstance(found, float) or type(found) is int else None


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


def number_columns(config: StudyManifest) -> tuple[str, ...]:
    """The columns of tables for the statistics of a group.

    Only samples until solved say how many trials were solved.

    Example:
        >>> number_columns(StudyManifest("a", "final_success"))[:2]
        ('trials', 'IQM')
    """
    if config.figure or config.measure_name == "samples_to_solve":
        return NUMBERS
    return ("trials", *NUMBERS[1:])


def format_table(results: StudyResults) -> str:
    """Format the statistics of all groups as a table in plain text."""
    rows: list[tuple[str, ...]] = [("method", "case", *number_columns(results.config))]
    rows += [(group.method, group.case, *format_summary(group)) for group in results.groups]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
