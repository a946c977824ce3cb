"""Studies that are killed, shared by processes, and run again: from the command line, as users do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.experiment_driver import records_in, same
from support.warehouse import replace_text, write_warehouse

from cranium.experiments.records import read_record

TRIALS = 8


def start(file: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "cranium", "run", file.name, *more],
        cwd=file.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    printed, errors = process.communicate(timeout=300)
    assert process.returncode == 0, printed + errors
    return printed


def write_logged(folder: Path, log: Path) -> Path:
    """Write the study; its measure notes every trial that is run."""
    file = write_warehouse(folder)
    replace_text(file, 'measure="final_success"', "measure=noted")
    text = file.read_text().replace(
        "study = cranium",
        "def noted(result):\n"
        f"    with open({str(log)!r}, 'a') as file:\n"
        "        file.write(f'{result.learner} {result.seed}\\n')\n"
        "    return float(result.evaluation.success.mean())\n\n\nstudy = cranium",
        1,
    )
    file.write_text(text)
    return file


def results_of(folder: Path) -> dict[str, object]:
    return {path.name: same(read_record(path)) for path in folder.glob("*-*.json")}


@pytest.mark.slow
def test_a_killed_study_loses_nothing_runs_nothing_twice_and_ends_as_if_undisturbed(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    file = write_logged(tmp_path / "killed", log)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    # The trials with seed 1 wait for the gate, so that it is killed when only some are done.
    replace_text(
        file,
        "    return float(result",
        f"    result.seed and open({str(gate)!r}).read()\n    return float(result",
    )
    process = start(file, "--workers", "2")
    records = file.parent / "results" / "parcels"
    with gate.open(
        "w"
    ):  # opens when a trial with seed 1 waits, so those with seed 0 are done or run
        process.send_signal(signal.SIGKILL)
        process.communicate()
    before = records_in(records)
    assert 0 < len(before) < TRIALS
    written = len(log.read_text().splitlines())
    assert written >= len(before)

    # The gate is a plain file from now on: the code of the study, and so its trials, stay the same.
    gate.unlink()
    gate.write_text("")
    log.unlink()
    printed = finish(start(file))
    assert f"{TRIALS - len(before)} trials in" in printed
    assert f"{len(before)} existed already" in printed
    assert len(log.read_text().splitlines()) == TRIALS - len(before)
    after = records_in(records)
    assert {name: after[name] for name in before} == before

    assert "0 trials in" in finish(start(file))
    assert records_in(records) == after
    assert len(log.read_text().splitlines()) == TRIALS - len(before)
    finish(start(file, "--dir", "whole"))
    assert results_of(records) == results_of(file.parent / "whole")


@pytest.mark.slow
def test_two_processes_in_one_folder_run_every_trial_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    file = write_logged(tmp_path / "shared", log)
    both = [start(file, "--workers", "1") for _ in range(2)]
    for process in both:
        finish(process)
    counts = Counter(log.read_text().splitlines())
    assert counts == {f"{name} {seed}": 2 for name in ("cql", "Careful") for seed in (0, 1)}
    assert len(records_in(file.parent / "results" / "parcels")) == TRIALS


@pytest.mark.slow
def test_results_are_read_after_the_file_of_the_study_is_gone(tmp_path: Path) -> None:
    file = write_warehouse(tmp_path / "gone")
    finish(start(file))
    command = [sys.executable, "-m", "cranium"]

    def read(*words: str) -> str:
        done = subprocess.run(
            [*command, *words], cwd=file.parent, capture_output=True, text=True, check=True
        )
        return done.stdout

    before = read("results", "results")
    for path in file.parent.glob("*.py"):
        path.unlink()
    assert read("results", "results") == before
    assert before.count("2 of 2") == 4
    read("report", "results/parcels", "-o", "page.html")
    assert "parcels" in (file.parent / "page.html").read_text()


@pytest.mark.parametrize("flag", [(), ("--quick",)])
def test_a_dry_run_runs_nothing_and_writes_nothing(tmp_path: Path, flag: tuple[str, ...]) -> None:
    file = write_warehouse(tmp_path / "dry")
    printed = finish(start(file, "--dry-run", *flag))
    assert f"{TRIALS} trials; 0 exist already" in printed
    assert not (file.parent / "results").exists()
