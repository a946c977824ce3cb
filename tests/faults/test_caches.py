"""Compiled code on the disk is damaged at random moments of a run: it costs time, and no result."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import tempfile
import threading
from collections import Counter
from pathlib import Path

import pytest
from support.experiment_driver import (
    WRONG,
    Driver,
    Undisturbed,
    compare,
    run_undisturbed,
    show,
)

pytestmark = pytest.mark.faults

ROUNDS = -(-int(os.environ.get("FAULTS", "20")) // 5)
"""Few, because there are many damages in each."""
NOTICE = "cranium: compiled code "


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return run_undisturbed(tmp_path_factory.mktemp("undisturbed"))


def damage(path: Path, others: list[Path], rng: random.Random) -> str:
    """Damage one file in some way; which."""
    content = bytearray(path.read_bytes())
    way = rng.choice(["deleted", "emptied", "cut off", "one bit", "another", "whole folder"])
    if way == "deleted":
        path.unlink()
    elif way == "whole folder":
        shutil.rmtree(path.parent)
    elif way == "one bit":
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
    elif way == "another":
        path.write_bytes(rng.choice(others).read_bytes())
    else:
        os.truncate(path, 0 if way == "emptied" else rng.randrange(len(content)))
    return way


def damage_until(over: threading.Event, cache: Path, rng: random.Random) -> Counter[str]:
    ways = Counter[str]()
    while not over.wait(rng.uniform(0, 0.5)):
        files = sorted(cache.rglob("*.code"))
        for path in rng.sample(files, min(len(files), rng.randint(1, 20))):
            with contextlib.suppress(OSError, ValueError, IndexError):  # it is gone, or empty
                ways[damage(path, files, rng)] += 1
    return ways


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_no_trial_fails_when_compiled_code_is_damaged(
    engine: str,
    undisturbed: Undisturbed,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if engine == "ray":
        pytest.importorskip("ray")
    total, damages = Counter[str](), Counter[str]()
    for number in range(ROUNDS):
        place = Path(tempfile.mkdtemp(prefix="rk"))  # the sockets of Ray need a short path
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(place / "cache"))
        over, rng = threading.Event(), random.Random(f"cache {number}")
        driver = Driver(place, place / "records", engine)
        ways = Counter[str]()
        thread = threading.Thread(
            target=lambda w=ways, o=over, p=place, r=rng: w.update(damage_until(o, p / "cache", r))
        )
        thread.start()
        try:
            told = driver.end()
            over.set()
            thread.join()
            counts = Counter[str](rounds=1, damaged=ways.total(), stopped="jobs" not in told)
            counts += compare(place / "records", {}, driver.log, undisturbed)
            lines = (place / "errors.txt").read_text().splitlines()
            counts["said"] = sum(not line.startswith(NOTICE) for line in lines)
        finally:
            over.set()
            driver.clear(driver.family())
            shutil.rmtree(place, ignore_errors=True)
        total, damages = total + counts, damages + ways
        show(capsys, f"{engine} cache {number}", counts + ways)
    for wrong in (*WRONG, "stopped"):
        assert total[wrong] == 0, (wrong, dict(total))
    assert damages.total() >= 10 * ROUNDS
