"""Runs of an experiment in processes of their own, for tests that kill them.

Only processes of a driver's own family are ever killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cranium.experiments.records import Record, read_record

SECONDS = 300
"""How long a driver may take before something hangs."""
DRIVER = """
import json, sys
from pathlib import Path

from cranium.errors import EngineError
from cranium.experiments import LocalEngine, RayEngine, RunCallback
from cranium.paper import ComplexityConfig, run
from cranium.experiments.trial import FunctionTrial, Job
from cranium.paper.problems import PaperProblem
from cranium.studies import JointStudy, Study


class Mixed(ComplexityConfig):
    def jobs(self, store):
        found = [
            Job(FunctionTrial("x", "RM", f"N = {n}", settings={"machine": "anbcdn", "limit": n},
                              function="cranium.paper.complexity:measure_size"), 0)
            for n in range(1, 9)
        ]
        problem = PaperProblem("Letter", "anbcdn", {"times": 2})
        for name, steps in (("ql", 4_000_000), ("cql", 1_500_000)):
            found += Study("x", {"N = 2": problem}, {name: name}, seeds=8, steps=steps,
                           evaluate_every=steps, until="budget").jobs(store)
        return found

    def study(self):
        return JointStudy("mixed", lambda store: [self])


class Log(RunCallback):
    def finished(self, job, record):
        with open(sys.argv[3], "a") as file:
            file.write(job.name + "\\n")


if __name__ == "__main__":
    folder, kind = Path(sys.argv[1]), sys.argv[2]
    engine = LocalEngine(2) if kind == "local" else RayEngine(workers=2)
    with engine:
        print("ready", flush=True)
        try:
            outcome = run(Mixed(), folder, engine, callback=Log())
        except EngineError as problem:
            print(json.dumps({"stopped": str(problem)}))
            sys.exit(3)
    print(json.dumps({"ran": outcome.ran, "jobs": len(outcome.jobs),
                      "failed": len(outcome.failed)}))
"""


class Driver:
    """A run in a process of its own, and the processes that it started."""

    def __init__(self, place: Path, folder: Path, kind: str) -> None:
        path = place / "driver.py"
        path.write_text(DRIVER)
        self.folder, self.kind = folder, kind
        self.errors = (place / "errors.txt").open("a")
        self.log = place / "log.txt"
        self.process = subprocess.Popen(
            [sys.executable, str(path), str(folder), kind, str(self.log)],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            start_new_session=True,
            env={
                **os.environ,
                "RAY_TMPDIR": str(place),
                "RAY_USAGE_STATS_ENABLED": "0",
            },
        )

    def family(self) -> dict[int, str]:
        """The processes that came of this one, with their command lines."""
        parents, names = {}, {}
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError):
                told = (path / "stat").read_text().rpartition(")")[2].split()
                if told[0] != "Z":
                    parents[int(path.name)] = int(told[1])
                    line = (path / "cmdline").read_bytes().replace(b"\0", b" ")
                    names[int(path.name)] = line.decode(errors="replace")
        found, new = set[int](), {self.process.pid}
        while new:
            found |= new
            new = {pid for pid, parent in parents.items() if parent in new} - found
        return {pid: names[pid] for pid in found if pid in names}

    def find(self, kind: str) -> list[int]:
        """The processes of a kind."""
        if kind == "driver":
            return [self.process.pid]
        worker = "spawn_main" if self.kind == "local" else "ray::"
        sign = "raylet/raylet " if kind == "raylet" else worker
        return [pid for pid, name in self.family().items() if sign in name]

    def end(self) -> dict[str, Any]:
        told, _ = self.process.communicate(timeout=SECONDS)
        self.errors.close()
        lines = told.strip().splitlines()
        if self.process.returncode == 0 or (lines and lines[-1].startswith("{")):
            found: dict[str, Any] = json.loads(lines[-1])
            return found
        return {"ended": self.process.returncode}

    def clear(self, family: dict[int, str]) -> None:
        """Nothing of it stays, whatever happened."""
        for pid in (self.process.pid, *family):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.communicate()
        self.errors.close()


def records_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*-*.json")}


def same(record: Record) -> Record:
    """Without what may differ from run to run."""
    return replace(record, wall=0.0, cpu=0.0, tries=())


WRONG = ("lost", "failed", "missing", "too many", "different", "duplicated", "litter", "said")
"""What must not be counted."""
Undisturbed = dict[str, Record]


def run_undisturbed(place: Path) -> Undisturbed:
    """What the experiment comes to when nothing is disturbed, and without Ray."""
    driver = Driver(place, place / "records", "local")
    told = driver.end()
    assert (told["failed"], told["ran"]) == (0, told["jobs"])
    return {path.name: same(read_record(path)) for path in (place / "records").glob("*-*.json")}


def compare(
    folder: Path, before: dict[str, bytes], log: Path, undisturbed: Undisturbed
) -> Counter[str]:
    """Count what is wrong with the records of a run."""
    after, counts = records_in(folder), Counter[str]()
    counts["lost"] = sum(after.get(name) != content for name, content in before.items())
    found = {path.name: read_record(path) for path in folder.glob("*-*.json")}
    counts["failed"] = sum(not record.done for record in found.values())
    counts["missing"] = len(set(undisturbed) - set(found))
    counts["too many"] = len(set(found) - set(undisturbed))
    counts["different"] = sum(
        same(record) != undisturbed.get(name) for name, record in found.items()
    )
    written = Counter(log.read_text().splitlines())
    counts["duplicated"] = sum(count > 1 for count in written.values())
    counts["litter"] = len(list(folder.iterdir())) - len(found) - 1  # and experiment.json
    return counts


def show(capsys: pytest.CaptureFixture[str], what: str, counts: Counter[str]) -> None:
    with capsys.disabled():
        print(f"\n{what}: {dict(+counts)}", end="", flush=True)
