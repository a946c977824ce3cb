"""The folder of a study: whose it is, and its manifest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from cranium.errors import FileFormatError, InvalidArgumentError, shorten
from cranium.experiments.local_engine import Engine
from cranium.experiments.manifest import FILE, MOST_BYTES, StudyManifest
from cranium.experiments.records import Record, Store
from cranium.experiments.runner import RunCallback, RunResult, run_jobs
from cranium.experiments.trial import Job
from cranium.io import read_bytes, write_bytes

__all__ = ["Planned", "run_in_folder"]


class Planned(Protocol):
    """A study, as far as this module needs it."""

    def jobs(self, store: Store) -> list[Job]:
        """All trials that are known, given the results in the store."""

    def manifest(self, store: Store) -> StudyManifest:
        """What the study consists of, as far as it is known."""


def run_in_folder(
    study: Planned,
    folder: Path,
    engine: Engine,
    *,
    retry_failed: bool = False,
    callback: RunCallback | None = None,
) -> RunResult:
    """Run a study in a folder that is empty or its own, and keep the manifest there.

    Args:
        study: The study.
        folder: The folder of the records.
        engine: The engine that runs the trials, which is not closed.
        retry_failed: Whether trials that failed are tried again.
        callback: Hooks that are called while it runs.

    Raises:
        InvalidArgumentError: The folder holds other results.
    """
    store = Store(folder)
    store.make()
    _check_owner(store, study)
    writer = ManifestWriter(study, folder, callback or RunCallback())
    result = run_jobs(study, folder, engine, retry_failed=retry_failed, callback=writer)
    writer.write()  # nothing may have been missing, or tuning has ended since
    return result


def _check_owner(store: Store, study: Planned) -> None:
    """Refuse a folder with the results of another study, or of other options of this one."""
    told, names = _read_manifest(store.folder / FILE), store.names()
    if not names:
        return
    wanted = study.manifest(store)
    if told is None:  # missing, damaged, or of another version
        if names <= {job.name for job in wanted.all_jobs}:
            return
        raise InvalidArgumentError(
            f"{store.folder} holds the results of another run, and its {FILE} does not say of "
            "which study",
            fix="choose another folder (--dir)",
        )
    if (told.study, told.is_quick, told.variants) != (
        wanted.study,
        wanted.is_quick,
        wanted.variants,
    ):
        holds = shorten(told.study)
        more = ", ".join((*told.variants, *(["quick run"] if told.is_quick else [])))
        raise InvalidArgumentError(
            f"{store.folder} holds the results of {holds}{f' ({more})' if more else ''}",
            fix="choose another folder (--dir)",
        )
    if told.options != wanted.to_data()["options"] and not _extends(told, wanted):
        raise InvalidArgumentError(
            f"{store.folder} holds {told.study} with other settings "
            f"({_describe_difference(told.options, wanted.options)})",
            fix="choose another folder (--dir)",
        )


def _read_manifest(path: Path) -> StudyManifest | None:
    """The manifest in a folder; None if there is none that can be read."""
    if not os.path.lexists(path):
        return None
    with suppress(FileFormatError):
        content = read_bytes(path, most=MOST_BYTES, follow_links=False)
        return StudyManifest.parse(content, path)
    return None


def _extends(told: StudyManifest, wanted: StudyManifest) -> bool:
    """Whether all trials that the folder was made for are among those of the study."""
    return {job.name for job in told.all_jobs} <= {job.name for job in wanted.all_jobs}


def _describe_difference(told: dict[str, Any], wanted: dict[str, Any]) -> str:
    names = [name for name in (*told, *wanted) if told.get(name) != wanted.get(name)]
    parts = [
        f"{name}: {shorten(told.get(name))}, not {shorten(wanted.get(name))}"
        for name in dict.fromkeys(names)
    ]
    return "; ".join(parts[:5])


class ManifestWriter(RunCallback):
    """Writes the manifest whenever more trials are known, and passes every hook on."""

    def __init__(self, study: Planned, folder: Path, then: RunCallback) -> None:
        self.study, self.folder, self.then = study, folder, then
        self.written = b""

    def write(self) -> None:
        """Write the manifest if it has changed."""
        content = self.study.manifest(Store(self.folder)).to_json().encode()
        path = self.folder / FILE
        if content != self.written and not (path.is_file() and path.read_bytes() == content):
            write_bytes(path, content, durable=True, follow_links=False)
        self.written = content

    def begin(self, jobs: Sequence[Job], there: int) -> None:
        """Write the manifest before jobs are run."""
        self.write()
        self.then.begin(jobs, there)

    def finished(self, job: Job, record: Record) -> None:
        """Pass it on."""
        self.then.finished(job, record)

    def end(self) -> None:
        """Pass it on."""
        self.then.end()
