"""Processes are killed at random moments: no result may be lost, made up or made twice.

Each round runs an experiment in a process of its own (the driver), with workers on this machine or
on a Ray cluster that it starts here. A worker, the raylet or the driver is killed with SIGKILL at a
moment drawn from the seed. If the driver stopped, the same command is given again, as its message
says. Then every trial must have exactly one record, that of an undisturbed run; no record may have
changed on the way, or been written twice; and nothing but records may be left in the folder.
``make test-faults`` runs this; ``FAULTS=3`` takes 3 rounds instead of 20.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.experiment_driver import (
    SECONDS,
    WRONG,
    Driver,
    Undisturbed,
    compare,
    records_in,
    run_undisturbed,
    show,
)

pytestmark = pytest.mark.faults

ROUNDS = int(os.environ.get("FAULTS", "20"))
LATEST, SPAN = 16, 1.0
"""A kill comes up to so many seconds after one of the first 16 of 24 records."""
AGAIN = 3
"""How often the command may have to be given again."""


def wait_for_records(driver: Driver, count: int) -> None:
    end = time.monotonic() + SECONDS
    while len(list(driver.folder.glob("*-*.json"))) < count:
        assert driver.process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """What the experiment comes to when nothing is killed, and without Ray."""
    return run_undisturbed(tmp_path_factory.mktemp("undisturbed"))


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


def kill_many(driver: Driver, rng: random.Random) -> int:
    """Kill one to four workers, from the moment on when there are any: as they start, too."""
    killed, end = 0, time.monotonic() + SECONDS
    while not driver.find("worker") and driver.process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.02)
    for _ in range(rng.randint(1, 4)):
        time.sleep(rng.uniform(0, 3))
        found = driver.find("worker") if driver.process.poll() is None else []
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(sorted(found)), signal.SIGKILL)
                killed += 1
    return killed


def one_round(
    engine: str, kind: str, number: int, place: Path, undisturbed: Undisturbed
) -> Counter[str]:
    """Kill processes, go on until all is done, and count what happened."""
    rng, counts = random.Random(f"{kind} {number}"), Counter[str](rounds=1)
    folder = place / "records"
    driver = Driver(place, folder, engine)
    family: dict[int, str] = {}
    try:
        if (engine, kind) == ("local", "worker"):
            counts["killed"] += kill_many(driver, rng)
        else:
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
            driver = Driver(place, folder, engine)
            told = driver.end()
    finally:
        driver.clear({**family, **driver.family()})
    counts["not finished"] += "jobs" not in told
    said = (place / "errors.txt").read_text()
    counts["said"] += engine == "local" and said != ""
    return counts + compare(folder, before, driver.log, undisturbed)


@pytest.mark.parametrize(
    ("engine", "kind"),
    [
        ("local", "worker"),
        ("local", "driver"),
        ("ray", "worker"),
        ("ray", "raylet"),
        ("ray", "driver"),
    ],
)
def test_nothing_is_lost_when_it_is_killed(
    engine: str, kind: str, undisturbed: Undisturbed, capsys: pytest.CaptureFixture[str]
) -> None:
    if engine == "ray":
        pytest.importorskip("ray")
    total: Counter[str] = Counter()
    for number in range(ROUNDS):
        place = Path(tempfile.mkdtemp(prefix="rk"))  # the sockets of Ray need a short path
        try:
            found = one_round(engine, kind, number, place, undisturbed)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        total += found
        show(capsys, f"{engine} {kind} {number}", found)
    show(capsys, f"{engine} {kind}, all", total)
    for wrong in (*WRONG, "not finished"):
        assert total[wrong] == 0, (wrong, dict(total))
    assert total["killed"] >= 0.9 * ROUNDS, "the runs were over before anything was killed"


def test_two_drivers_share_the_work_and_one_is_killed(
    undisturbed: Undisturbed, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the one that is killed was doing is done by the other; nothing is done twice."""
    total: Counter[str] = Counter()
    for number in range(ROUNDS):
        rng, counts = random.Random(f"shared {number}"), Counter[str](rounds=1)
        place = Path(tempfile.mkdtemp(prefix="rk"))
        folder = place / "records"
        drivers = [Driver(place, folder, "local") for _ in range(2)]
        try:
            counts["killed"] += kill(drivers[0], "driver", rng)
            before = records_in(folder)
            told: Any = drivers[1].end()
            counts["not finished"] += "jobs" not in told
            counts += compare(folder, before, drivers[1].log, undisturbed)
        finally:
            for driver in drivers:
                driver.clear(driver.family())
            shutil.rmtree(place, ignore_errors=True)
        total += counts
        show(capsys, f"shared {number}", counts)
    show(capsys, "shared, all", total)
    for wrong in (*WRONG, "not finished"):
        assert total[wrong] == 0, (wrong, dict(total))
