"""Runs an experiment: what is missing, and nothing twice."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cranium.errors import CraniumError, EngineError, InvalidArgumentError, shorten
from cranium.experiments.configs import (
    MOST_BYTES,
    ExperimentConfig,
    config_data,
    config_of,
)
from cranium.experiments.local_engine import Engine
from cranium.experiments.locks import TrialLocks
from cranium.experiments.records import Record, Store
from cranium.experiments.trial import Job
from cranium.io import clear_drafts, read_bytes, write_bytes

__all__ = ["Outcome", "Watcher", "run"]

CONFIG = "experiment.json"
POLL = 0.5
"""After how many seconds to look again whether another process has done what we wait for."""


class Watcher:
    """Is told how a run goes; this one keeps quiet."""

    def begin(self, jobs: Sequence[Job], there: int) -> None:
        """So many jobs are to be run, and so many results are there already."""

    def finished(self, job: Job, record: Record) -> None:
        """One is done."""

    def end(self) -> None:
        """All are done, or it was interrupted."""


@dataclass
class Outcome:
    """What a run came to.

    Attributes:
        jobs: All that the experiment consists of.
        there: How many results were there before.
        ran: How many were run now.
        failed: Those that failed, now or before.
        interrupted: Whether Ctrl-C ended it.
        seconds: How long it took.
    """

    jobs: list[Job]
    there: int = 0
    ran: int = 0
    failed: list[tuple[Job, Record]] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0


def _claim(store: Store, config: ExperimentConfig) -> None:
    """Note in a folder what is run there; refuse one whose results are those of another run."""
    path, wanted = store.folder / CONFIG, config_data(config)
    text = json.dumps(wanted, indent=2, sort_keys=True) + "\n"
    content, told = b"", None
    if os.path.lexists(path):  # what is there and is no regular file is refused
        with suppress(ValueError, RecursionError):  # it may say nothing any more
            content = read_bytes(path, most=MOST_BYTES, follow_links=False)
            told = json.loads(content)
    if isinstance(told, dict) and told != json.loads(text) and not _grows(store, told, config):
        raise InvalidArgumentError(
            f"{store.folder} holds {told.get('experiment', 'an experiment')} with other "
            f"settings ({_difference(told, json.loads(text))})",
            fix="choose another folder (--dir), or run it with the settings that it has",
        )
    if not isinstance(told, dict) and (strange := _strangers(store, config)):
        raise InvalidArgumentError(
            f"{store.folder} holds results of another run ({strange[0]}.json), and its {CONFIG} "
            "does not say of which",
            fix="choose another folder (--dir)",
        )
    if content != text.encode():
        write_bytes(path, text.encode(), durable=True, follow_links=False)


def _strangers(store: Store, config: ExperimentConfig) -> list[str]:
    """The names of results in a folder that do not belong to this run."""
    there = store.names()
    return sorted(there - {job.name for job in config.jobs(store)}) if there else []


def _grows(store: Store, told: dict[str, Any], config: ExperimentConfig) -> bool:
    """Whether everything that a folder was made for belongs to this run, too."""
    if not store.names():
        return True
    settings = dict(told)
    try:
        before = config_of(settings.pop("experiment", None), settings)
        return set(before.jobs(store)) <= set(config.jobs(store))
    except CraniumError:  # of a version that is not ours
        return False


def _difference(told: dict[str, Any], wanted: dict[str, Any]) -> str:
    names = [name for name in (*told, *wanted) if told.get(name) != wanted.get(name)]
    parts = [
        f"{name}: {shorten(told.get(name))}, not {shorten(wanted.get(name))}"
        for name in dict.fromkeys(names)
    ]
    return "; ".join(parts[:5])


def run(
    config: ExperimentConfig,
    folder: Path,
    engine: Engine,
    *,
    retry_failed: bool = False,
    watcher: Watcher | None = None,
) -> Outcome:
    """Run what an experiment still lacks; every result is written the moment it is there.

    Ctrl-C, or the end of this process, loses the trials that are running and nothing else.

    A folder belongs to one experiment. It may be continued, and grow (more trials, or more
    methods); settings without which some of its results would be dropped are refused, so that
    no run overwrites another.

    Args:
        config: What to run.
        folder: Where the records are.
        engine: Where to run it.
        retry_failed: Whether trials that failed are tried again.
        watcher: Is told how it goes.

    Example:
        >>> import tempfile
        >>> from cranium.experiments import ComplexityConfig, LocalEngine
        >>> folder = Path(tempfile.mkdtemp())
        >>> run(ComplexityConfig(most=2), folder, LocalEngine(1)).ran
        18
        >>> run(ComplexityConfig(most=2), folder, LocalEngine(1)).ran
        0
        >>> run(ComplexityConfig(most=1), folder, LocalEngine(1))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: ... holds complexity with other settings (most: 2, ...
    """
    store, begun = Store(folder), time.perf_counter()
    store.make()
    _claim(store, config)
    clear_drafts(folder)
    outcome, watcher = Outcome([]), watcher or Watcher()
    try:
        with TrialLocks(folder) as locks:
            _run_missing(config, store, engine, locks, outcome, watcher, retry_failed=retry_failed)
        clear_drafts(folder)  # of those who shared the work, and were killed
    except KeyboardInterrupt:
        outcome.interrupted = True
    finally:
        watcher.end()
    records = {job: store.find(job) for job in outcome.jobs}
    outcome.failed = [(j, r) for j, r in records.items() if r is not None and not r.done]
    outcome.seconds = time.perf_counter() - begun
    return outcome


def _run_missing(
    config: ExperimentConfig,
    store: Store,
    engine: Engine,
    locks: TrialLocks,
    outcome: Outcome,
    watcher: Watcher,
    *,
    retry_failed: bool,
) -> None:
    """Run until nothing is missing; what other processes are running is waited for."""
    tried = set[str]()
    while True:
        # What is run later may depend on what was found, such as which settings are best.
        outcome.jobs = config.jobs(store)
        records = {job: store.find(job) for job in outcome.jobs}
        missing = {
            job: record
            for job, record in sorted(records.items(), key=lambda each: each[0].seed)
            if record is None or (retry_failed and not record.done and job.name not in tried)
        }  # by seeds, so that all methods come along together
        there = len(outcome.jobs) - len(missing)
        outcome.there = there - outcome.ran
        if not missing:
            return
        watcher.begin(list(missing), there)
        before = len(tried)
        offered = _locked(missing, store, locks, tried)
        with closing(engine.run(offered)) as results:
            for job, record in results:
                store.save(job, record)
                locks.release(job)
                tried.add(job.name)
                outcome.ran += 1
                watcher.finished(job, record)
        next(offered, None)  # one that it did not even ask for is dropped, too
        dropped = locks.release_all()
        if dropped and len(tried) == before:  # it would do so again
            raise EngineError(
                f"the engine was given {dropped:,} trials, and has no result of any",
                fix="an engine has to run what it takes, or say why it cannot",
            )
        left = {job: record for job, record in missing.items() if job.name not in tried}
        _wait_for_others(left, store, locks)


def _locked(
    missing: dict[Job, Record | None], store: Store, locks: TrialLocks, tried: set[str]
) -> Iterator[Job]:
    """Those of the jobs that no other process is running, or has run by now."""
    for job, before in missing.items():
        if not locks.take(job):
            continue
        if store.find_again(job) == before:
            yield job
        else:  # another process was faster
            tried.add(job.name)
            locks.release(job)


def _wait_for_others(left: dict[Job, Record | None], store: Store, locks: TrialLocks) -> None:
    """Wait until one of the jobs that others are running is done, or is not run any more."""
    while left:
        for job, before in left.items():
            if store.find_again(job) != before:
                return
            if locks.take(job):
                locks.release(job)
                return
        time.sleep(POLL)
