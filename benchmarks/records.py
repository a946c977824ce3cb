"""How long do 10,000 records take to read, to export and to report?

The records are those of a study with ten learners, ten problems and a hundred seeds, each with a
learning curve of a hundred evaluations. One seed of each learner on each problem is trained; the
other seeds have its curve with other numbers of samples. They are written and read with the code of
every study. The peer is a loop that reads the same files with ``json.loads``. ``make bench`` runs
this.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from running import parse, parser_of, write

from cranium import Study
from cranium.experiments import Store
from cranium.experiments.local_engine import run_job
from cranium.experiments.records import Record
from cranium.experiments.runner import RunCallback
from cranium.studies.folder import ManifestWriter

READ = """
import json, pathlib, sys
for path in pathlib.Path(sys.argv[1]).glob("*-*.json"):
    json.loads(path.read_bytes())
"""


def make_study(problems: int, learners: int, seeds: int, steps: int) -> Study:
    """A study whose learners differ in the learning rate, and problems in the language."""
    words = ["A", "A B", "A B C", "A B C D", "A A", "B", "C D", "A C", "B D", "D"]
    return Study(
        "ten thousand",
        {word: ("Letter", word) for word in words[:problems]},
        {f"CQL {n + 1}": ("cql", {"learning_rate": (n + 1) / 10}) for n in range(learners)},
        seeds=seeds,
        steps=steps,
        until="budget",
        evaluate_every=max(steps // 100, 1),
    )


def vary(record: Record, seed: int) -> Record:
    """The record as another seed might have made it."""
    factor = random.Random(seed).uniform(0.5, 1.0)
    found = dict(record.result)
    found["curve"] = [[max(int(row[0] * factor), 1), *row[1:]] for row in found["curve"]]
    if found["samples"] is not None:
        found["samples"] = max(int(found["samples"] * factor), 1)
    return replace(record, seed=seed, result=found)


def fill(study: Study, folder: Path) -> int:
    """Write a record for each trial of the study, and its manifest."""
    store = Store(folder)
    store.make()
    ManifestWriter(study, folder, RunCallback()).write()
    first: dict[str, Record] = {}
    for job in study.trials:
        key = job.trial.key
        if key not in first:
            first[key] = run_job(job)
        store.save(job, vary(first[key], job.seed))
    return len(study.trials)


def measure(command: Sequence[str]) -> dict[str, float]:
    """Run a command; the seconds on the clock and of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": time.perf_counter() - start, "cpu": cpu}


def main() -> None:
    """Make the folder, and measure each command."""
    parser = parser_of(__doc__)
    parser.add_argument("--problems", type=int, default=10, help="at most 10")
    parser.add_argument("--learners", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--keep", metavar="DIR", help="use this folder, and keep it")
    options = parse(parser, problems=2, learners=2, seeds=3, steps=200)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.keep or scratch) / "study"
        study = make_study(options.problems, options.learners, options.seeds, options.steps)
        count = fill(study, folder)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        print(f"{count:,} records, {size:.0f} MB")
        files = {kind: os.fspath(folder / f"trials.{kind}") for kind in ("csv", "html")}
        cranium = ["-m", "cranium"]
        commands: dict[str, list[str]] = {
            "json.loads of each file": ["-c", READ, os.fspath(folder)],
            "results": [*cranium, "results", os.fspath(folder)],
            "results --csv": [*cranium, "results", os.fspath(folder), "--csv", files["csv"]],
            "results --json": [*cranium, "results", os.fspath(folder), "--json"],
            "report": [*cranium, "report", os.fspath(folder), "-o", files["html"]],
        }
        found: dict[str, Any] = {"records": count, "megabytes": round(size, 1)}
        peer = None
        for name, command in commands.items():
            took = measure(command)
            peer = peer or took["cpu"]
            found[name] = {**took, "ratio": took["cpu"] / peer}
            print(
                f"{name}: {took['seconds']:.1f} s, {took['cpu']:.1f} s of CPU, "
                f"{took['cpu'] / peer:.1f} times the peer"
            )
    write("records", found, smoke=options.smoke)


if __name__ == "__main__":
    main()
