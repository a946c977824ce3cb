"""Studies of benchmarks: learners are compared over seeds with ``cranium.Study``, as users do.

The records are in ``out/bench/studies``, those of a smoke run in ``out/smoke/studies``. A benchmark
measures anew: records do not know that our own code has changed. ``--resume`` keeps those of a run
that was interrupted.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import Any

from running import OUT, parser_of

import cranium
from cranium.experiments.results import (
    Group,
    StudyResults,
    format_interval,
    format_number,
    summary_to_dict,
)


def parser_of_studies(about: str | None, *, seeds: int) -> argparse.ArgumentParser:
    """A parser with the options of every benchmark that runs studies."""
    parser = parser_of(about)
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--most", type=int, default=sys.maxsize, help="samples of each trial")
    parser.add_argument("--workers", type=int, default=None, help="by default one for each core")
    parser.add_argument("--resume", action="store_true", help="keep the records there are")
    return parser


def results_of(study: cranium.Study, given: argparse.Namespace) -> StudyResults:
    """Run a study and return its results; a trial that failed ends the benchmark."""
    folder = OUT / ("smoke" if given.smoke else "bench") / "studies" / study.folder_name
    if not given.resume:
        shutil.rmtree(folder, ignore_errors=True)
    study.run(folder, workers=given.workers)
    found = study.results(folder)
    for record in found.failed:
        sys.exit(f"{study.name}, seed {record.seed}: {record.error}")
    assert not found.missing, "the run was interrupted"
    return found


def tell_samples(group: Group) -> str:
    """The median and the interquartile mean of the samples, and how many seeds were solved."""
    found = group.summary
    middle = f"{format_number(found.median):>9} samples"
    return f"{middle}, IQM {format_number(found.iqm)} ({format_interval(found)}), {group.status}"


def summary_of(group: Group) -> dict[str, Any]:
    """The same as plain data, with the value of each seed and the settings."""
    settings = group.config["settings"]
    return {**summary_to_dict(group), "values": group.values, "settings": settings}
