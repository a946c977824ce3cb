"""The folder of a study: whose it is, and its manifest."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from cranium.errors import InvalidArgumentError, shorten
from cranium.experiments.manifest import KIND, StudyManifest
from cranium.experiments.records import Record, Store
from cranium.experiments.results import MOST_MANIFEST
from cranium.experiments.runner import CONFIG, RunCallback
from cranium.experiments.trial import Job
from cranium.io import read_bytes, write_bytes

__all__ = ["ManifestWriter", "claim_folder"]


class HasManifest(Protocol):
    """A study, as far as this module needs it."""

    def manifest(self, store: Store) -> StudyManifest:
        """What the study consists of."""


def claim_folder(store: Store, name: str, *, is_quick: bool) -> None:
    """Make the folder of a study; refuse one with the results of another study or experiment."""
    store.make()
    path, told = store.folder / CONFIG, None
    if os.path.lexists(path):
        with suppress(ValueError, RecursionError):  # it may be damaged
            told = json.loads(read_bytes(path, most=MOST_MANIFEST, follow_links=False))
    wanted = {"experiment": KIND, "study": name, "is_quick": is_quick}
    if isinstance(told, dict):
        if {key: told.get(key) for key in wanted} == wanted:
            return
        holds = shorten(told.get("study", told.get("experiment")))
        quick = " (quick run)" if told.get("is_quick") else ""
        raise InvalidArgumentError(
            f"{store.folder} holds the results of {holds}{quick}", fix="choose another folder"
        )
    if store.names():
        raise InvalidArgumentError(
            f"{store.folder} holds results, and its {CONFIG} does not say of which study",
            fix="choose another folder",
        )


class ManifestWriter(RunCallback):
    """Writes the manifest whenever more trials are known, and passes every hook on."""

    def __init__(self, study: HasManifest, folder: Path, then: RunCallback) -> None:
        self.study, self.folder, self.then = study, folder, then
        self.written = ""

    def write(self) -> None:
        """Write the manifest if it has changed."""
        text = self.study.manifest(Store(self.folder)).to_json()
        if text != self.written:
            path = self.folder / CONFIG
            write_bytes(path, text.encode(), durable=True, follow_links=False)
            self.written = text

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
