"""Studies from the command line: begun, tried, failed and retried."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.warehouse import replace_text, write_warehouse


def cranium(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cranium", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.slow
def test_the_file_that_is_begun_runs_and_is_not_overwritten(tmp_path: Path) -> None:
    assert cranium(tmp_path, "new", "study", "my_study.py").returncode == 0
    text = (tmp_path / "my_study.py").read_text()
    assert cranium(tmp_path, "new", "study", "my_study.py").returncode != 0
    assert (tmp_path / "my_study.py").read_text() == text
    done = cranium(tmp_path, "run", "my_study.py", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 trials in" in done.stdout
    assert (tmp_path / "results" / "my-study-quick" / "report.html").is_file()
    assert not (tmp_path / "results" / "my-study").exists()


@pytest.mark.slow
def test_a_trial_that_raises_does_not_end_the_study_and_is_retried_when_asked(
    tmp_path: Path,
) -> None:
    file, broken = write_warehouse(tmp_path), tmp_path / "broken"
    replace_text(
        tmp_path / "warehouse.py",
        "    def observe(self, sample):\n",
        "    def observe(self, sample):\n"
        f"        if __import__('os').path.exists({str(broken)!r}):\n"
        "            raise ArithmeticError('the shelf fell over')\n",
    )
    broken.touch()
    done = cranium(tmp_path, "run", file.name)
    assert done.returncode == 1
    assert done.stdout.count("failed: mine") == 4
    assert "ArithmeticError: the shelf fell over" in done.stdout
    records = [
        json.loads(path.read_text())["record"] for path in tmp_path.glob("results/*/*-*.json")
    ]
    assert sorted(record["status"] for record in records) == ["done"] * 4 + ["failed"] * 4
    assert all(
        "the shelf fell over" in record["error"]
        for record in records
        if record["status"] == "failed"
    )
    broken.unlink()
    again = cranium(tmp_path, "run", file.name)
    assert again.returncode == 1
    assert "0 trials in" in again.stdout
    retried = cranium(tmp_path, "run", file.name, "--retry-failed")
    assert retried.returncode == 0, retried.stdout
    assert "4 trials in" in retried.stdout


@pytest.mark.slow
def test_nonsense_on_the_command_line_is_an_error_with_a_fix_and_no_traceback(
    tmp_path: Path,
) -> None:
    write_warehouse(tmp_path)
    (tmp_path / "empty.py").write_text("")
    for words in (
        ["run", "no.py"],
        ["run", "empty.py"],
        ["run", "parcels.py", "--address", "auto"],
        ["run", "parcels.py", "--study", "other"],
        ["run", "library:anbcn", "A", "--quick"],
        ["new", "study", "study.txt"],
    ):
        done = cranium(tmp_path, *words)
        assert done.returncode not in (0, 1), words
        assert "fix:" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
