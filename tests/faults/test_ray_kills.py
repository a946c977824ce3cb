"""Processes of a Ray cluster are killed at random moments: no result may be lost, or made up.

Each round runs an experiment in a process of its own (the driver), which starts a cluster on this
machine; a worker, the raylet or the driver is killed with SIGKILL at a moment drawn from the seed:
so long after so many records.
If the driver stopped, the same command is given again, as its message says. Then every trial must
have exactly one record, that of an undisturbed run, and no record may have changed on the way.
``make test-faults`` runs this; ``FAULTS=3`` takes 3 rounds instead of 20. Only processes of the
driver's own family are ever killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cranium.experiments.records import read_record

pytestmark = pytest.mark.faults

ROUNDS = int(os.environ.get("FAULTS", "20"))
SECONDS = 300
"""How long a driver may take before something hangs."""
LATEST, SPAN = 16, 1.0
"""A kill comes up to so many seconds after one of the first 16 of 24 records."""
AGAIN = 3
"""How often the command may have to be given again."""
DRIVER = """
import json, sys
from pathlib import Path

from cranium.errors import EngineError
from cranium.experiments import ComplexityConfig, LocalEngine, RayEngine, run
from cranium.experiments.trial import ComplexityTrial, Job, TrainingTrial


class Mixed(ComplexityConfig):
    def jobs(self, store):
        sizes = [ComplexityTrial("x", "RM", f"N = {n}", "anbcdn", n) for n in range(1, 9)]
        trainings = [
            TrainingTrial("x", name, "", world="Letter", task="anbcdn", learner=name, until=None,
                          options={"times": 2}, steps=steps, every=steps, counter_limit=3)
            for name, steps in (("ql", 12_000_000), ("cql", 4_000_000))
        ]
        return [*(Job(t, 0) for t in sizes), *(Job(t, s) for t in trainings for s in range(8))]


if __name__ == "__main__":
    folder, kind = Path(sys.argv[1]), sys.argv[2]
    engine = LocalEngine(2) if kind == "local" else RayEngine(workers=2)
    with engine:
        print("ready", flush=True)
        try:
            outcome = run(Mixed(), folder, engine)
        except EngineError as problem:
            print(json.dumps({"stopped": str(problem)}))
            sys.exit(3)
    print(json.dumps({"ran": outcome.ran, "jobs": len(outcome.jobs),
                      "failed": len(outcome.failed)}))
"""


class Driver:
    """A run in a process of its own, and the processes that it started."""

    def __init__(self, place: Path, folder: Path, kind: str = "ray") -> None:
        path = place / "driver.py"
        path.write_text(DRIVER)
        self.folder = folder
        self.errors = (place / "errors.txt").open("a")
        self.process = subprocess.Popen(
            [sys.executable, str(path), str(folder), kind],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            start_new_session=True,
            env={
                **os.environ,
                "RAY_TMPDIR": str(place),
                "RAY_USAGE_STATS_ENABLED": "0",
                "RAY_AUTH_MODE": "disabled",
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
        sign = "raylet/raylet " if kind == "raylet" else "ray::"
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


def records_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*-*.json")}


def same(record: Any) -> Any:
    return replace(record, wall=0.0, cpu=0.0)


def wait_for_records(driver: Driver, count: int) -> None:
    end = time.monotonic() + SECONDS
    while len(list(driver.folder.glob("*-*.json"))) < count:
        assert driver.process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the experiment comes to when nothing is killed, and without Ray."""
    place = tmp_path_factory.mktemp("undisturbed")
    driver = Driver(place, place / "records", "local")
    told = driver.end()
    assert (told["failed"], told["ran"]) == (0, told["jobs"])
    return {path.name: same(read_record(path)) for path in (place / "records").glob("*-*.json")}


@pytest.fixture
def place() -> Iterator[Path]:
    """Where Ray keeps its files: its sockets need a short path."""
    made = Path(tempfile.mkdtemp(prefix="rk"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def kill(driver: Driver, kind: str, rng: random.Random) -> bool:
    """Kill a process of a kind at a random moment; whether there was one."""
    wait_for_records(driver, rng.randint(1, LATEST))
    time.sleep(rng.uniform(0, SPAN))
    for _ in range(100):  # a worker may just have ended: wait for the next
        found = driver.find(kind) if driver.process.poll() is None else []
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(sorted(found)), signal.SIGKILL)
                return True
        if driver.process.poll() is not None:
            return False
        time.sleep(0.1)
    return False


def one_round(kind: str, number: int, place: Path, undisturbed: dict[str, Any]) -> Counter[str]:
    """Kill one process, go on until all is done, and count what happened."""
    rng, counts = random.Random(f"{kind} {number}"), Counter[str](rounds=1)
    folder = place / "records"
    driver = Driver(place, folder)
    family: dict[int, str] = {}
    try:
        wait_for_records(driver, 1)
        family = driver.family()
        counts["killed"] += kill(driver, kind, rng)
        before = records_in(folder)
        told = driver.end()
        for _ in range(AGAIN):
            if "jobs" in told:
                break
            counts["given again"] += 1
            driver.clear(family)
            before |= records_in(folder)
            driver = Driver(place, folder)
            told = driver.end()
    finally:
        driver.clear({**family, **driver.family()})
    after = records_in(folder)
    counts["lost"] += sum(after.get(name) != content for name, content in before.items())
    found = {path.name: read_record(path) for path in folder.glob("*-*.json")}
    counts["failed"] += sum(not record.done for record in found.values())
    counts["missing"] += len(set(undisturbed) - set(found))
    counts["too many"] += len(set(found) - set(undisturbed))
    counts["different"] += sum(
        same(record) != undisturbed.get(name) for name, record in found.items()
    )
    counts["not finished"] += "jobs" not in told
    return counts


@pytest.mark.parametrize("kind", ["worker", "raylet", "driver"])
def test_nothing_is_lost_when_it_is_killed(
    kind: str, undisturbed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray")
    total: Counter[str] = Counter()
    for number in range(ROUNDS):
        place = Path(tempfile.mkdtemp(prefix="rk"))
        try:
            found = one_round(kind, number, place, undisturbed)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        total += found
        with capsys.disabled():
            print(f"\n{kind} {number}: {dict(+found)}", end="", flush=True)
    with capsys.disabled():
        print(f"\n{kind}: {dict(+total)}")
    for wrong in ("lost", "failed", "missing", "too many", "different", "not finished"):
        assert total[wrong] == 0, (wrong, dict(total))
    assert total["killed"] >= 0.9 * ROUNDS, "the runs were over before anything was killed"


def test_the_local_engine_loses_nothing_either(
    undisturbed: dict[str, Any], place: Path, tmp_path: Path
) -> None:
    """The same jobs, here, interrupted by kills of workers: for comparison."""
    rng = random.Random(0)
    driver = Driver(place, tmp_path / "records", "local")
    wait_for_records(driver, 1)
    for _ in range(2):
        workers = [pid for pid, name in driver.family().items() if "spawn_main" in name]
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(sorted(workers)), signal.SIGKILL)
        time.sleep(1)
    told = driver.end()
    assert (told["failed"], told["ran"]) == (0, told["jobs"])
    found = {path.name: same(read_record(path)) for path in (tmp_path / "records").glob("*-*.json")}
    assert found == undisturbed
