"""Disks that are full or cannot be written to, and records that were damaged, at random.

Whatever happens, what is there is whole, what is missing is run again, and nothing else changes.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.engines import InProcessEngine
from support.experiment_driver import same

from cranium.errors import FileAccessError
from cranium.experiments import DamagedRecordWarning
from cranium.experiments.records import Record, read_record
from cranium.paper import ComplexityConfig, run

ROUNDS = int(os.environ.get("FAULTS", "20"))
FEW = int(os.environ.get("FAULTS", "2"))
"""Of what ``make test`` runs, too."""
CONFIG = ComplexityConfig(trials=2, most=2)
JOBS = 12
LIMITED = """
import resource, sys

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.argv = ["cranium", *sys.argv[2:]]
from cranium.cli import main

main()
"""


def records_of(folder: Path) -> dict[str, Record]:
    return {path.name: same(read_record(path)) for path in folder.glob("*-*.json")}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    folder = tmp_path_factory.mktemp("undisturbed")
    run(CONFIG, folder, InProcessEngine())
    return records_of(folder)


def reproduce(folder: Path, most: int) -> subprocess.CompletedProcess[str]:
    settings = folder / "mine.toml"
    settings.write_text(f"[complexity]\ntrials = {CONFIG.trials}\nmost = {CONFIG.most}\n")
    command = ["reproduce", "--config", str(settings), "--dir", str(folder), "--workers", "2"]
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(most), *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )


@pytest.mark.faults
@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_disk_that_is_full_at_any_size_leaves_whole_files_and_the_same_command_goes_on(
    tmp_path: Path, number: int, undisturbed: dict[str, Record]
) -> None:
    # From settings that do not fit, over records, to figures that do not.
    most = int(10 ** random.Random(f"full {number}").uniform(1, 5.3))
    done = reproduce(tmp_path, most)
    folder = tmp_path / "complexity"
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode in (0, 2)
    if done.returncode:
        assert "cannot write" in done.stderr or "cannot lock" in done.stderr
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()], "no draft, no lock"
    found = records_of(folder)
    assert found.items() <= undisturbed.items()
    for path in folder.glob("*.png"):
        assert path.read_bytes().endswith(b"IEND\xaeB`\x82")
    for path in folder.glob("*.svg"):
        assert path.read_text().rstrip().endswith("</svg>")
    assert reproduce(tmp_path, 10**9).returncode == 0
    assert records_of(folder) == undisturbed
    assert (folder / "complexity.png").exists()


@pytest.mark.parametrize("place", ["/proc/results", "/dev/null/results", "/sys/results"])
def test_where_nothing_can_be_written_nothing_is_run(place: str) -> None:
    engine = InProcessEngine()
    with pytest.raises(FileAccessError, match="cannot make the folder"):
        run(CONFIG, Path(place), engine)
    assert engine.ran == []


def flip(path: Path, rng: random.Random) -> None:
    """Change a byte of the result: elsewhere a change may be one of the spelling only."""
    content = bytearray(path.read_bytes())
    content[content.index(b'"states": ') + len(b'"states": ')] ^= 1 << rng.randrange(3)
    path.write_bytes(content)


def truncate(path: Path, rng: random.Random) -> None:
    os.truncate(path, rng.randrange(path.stat().st_size))


def zero(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    first = rng.randrange(len(content) - 50)
    content[first : first + 50] = bytes(50)
    path.write_bytes(content)


def fill(path: Path, rng: random.Random) -> None:
    path.write_bytes(rng.randbytes(rng.randrange(5000)))


def point(path: Path, rng: random.Random) -> None:
    target = path.parent.parent / "precious"
    target.write_text("precious")
    path.unlink()
    path.symlink_to(target)


def pipe(path: Path, rng: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def exchange(path: Path, rng: random.Random) -> None:
    told = json.loads(path.read_text())
    told["record"]["seed"] += 1
    path.write_text(json.dumps(told))


@pytest.mark.parametrize("damage", [flip, truncate, zero, fill, point, pipe, exchange])
def test_damaged_records_are_found_and_made_again(
    tmp_path: Path,
    damage: Callable[[Path, random.Random], None],
    undisturbed: dict[str, Record],
) -> None:
    folder = tmp_path / "results"
    run(CONFIG, folder, InProcessEngine())
    for number in range(FEW):
        rng = random.Random(f"{damage.__name__} {number}")
        paths = sorted(folder.glob("*-*.json"))
        damaged = rng.sample(paths, rng.randint(1, 4))
        before = {path: path.read_bytes() for path in paths if path not in damaged}
        for path in damaged:
            damage(path, rng)
        engine = InProcessEngine()
        with pytest.warns(DamagedRecordWarning):
            run(CONFIG, folder, engine)
        assert sorted(engine.ran) == sorted(path.stem for path in damaged)
        assert records_of(folder) == undisturbed
        assert all(path.read_bytes() == content for path, content in before.items())
    if damage is point:
        assert (tmp_path / "precious").read_text() == "precious"
