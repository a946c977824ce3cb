"""cranium reproduce, results and report: trials, figures, tables and the page."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.browser import chromium, look
from support.engines import InProcessEngine
from typer.testing import CliRunner

from cranium.cli import app
from cranium.errors import EngineError
from cranium.experiments.local_engine import ClosesOnExit

pytestmark = pytest.mark.slow

GOOD, FAILED, BAD, INTERRUPTED = 0, 1, 2, 130
NAMES = [
    *("letter", "letter-paper", "complexity", "office"),
    *("reward-machines", "deep", "natural-language"),
]
QUICK = [  # as results lists them: by experiment, then by name
    *("letter-paper-quick", "letter-quick", "complexity-quick", "office-quick"),
    *("reward-machines-quick", "deep-quick", "natural-language-quick"),
]


def call(*arguments, code=GOOD):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert isinstance(result.exception, SystemExit | None), result.exception
    assert result.exit_code == code, result.output
    return result.output


def test_reproduce_all_quick_in_a_fresh_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    command = [sys.executable, "-m", "cranium", "reproduce", "all", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == GOOD, done.stdout + done.stderr
    for name in NAMES:
        figure = tmp_path / "results" / f"{name}-quick" / name
        check_picture(figure.with_suffix(".png"))
        assert figure.with_suffix(".svg").read_text().startswith("<?xml")
        assert figure.with_suffix(".md").read_text().startswith("**")
    assert "0 trials in" in call("reproduce", "all", "--quick")  # everything is there
    check_tables()
    check_page(tmp_path / "results")


def check_picture(path: Path) -> None:
    """Something is drawn, in several colours, and nothing is cut off at the edge."""
    pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    assert (border == 255).all(), f"{path.name} touches its edge"


def check_tables() -> None:
    shown = call("results", "results")
    for word in ("planner", "N = 1 to 2", "CRM+RS", "3 of 3", "coffee and mail"):
        assert word in shown
    told = json.loads(call("results", "results", "--json"))
    assert list(told) == QUICK
    assert [(each["missing"], each["failed"]) for each in told.values()] == [(0, 0)] * 7
    call("results", "results", "--csv", "trials.csv")
    with Path("trials.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    mine = [float(r["value"]) for r in rows if (r["method"], r["case"]) == ("planner", "N = 1")]
    assert {r["experiment"] for r in rows} == set(QUICK)
    found = [
        g
        for g in told["letter-quick"]["groups"]
        if (g["method"], g["case"]) == ("planner", "N = 1")
    ]
    assert np.mean(mine) == found[0]["mean"]
    assert len(mine) == found[0]["run"] == 3


def check_page(folder: Path) -> None:
    assert "wrote" in call("report", folder)
    page = folder / "report.html"
    text = page.read_text()
    assert "http:" not in text.replace("http://www.w3.org", "")
    assert "https:" not in text
    for width in (1280, 390):
        seen = look(chromium(), page, width)
        assert seen["images"] == seen["loaded"] == 10
        assert seen["overlaps"] == []
        assert seen["wide"] == [], f"wider than a screen of {width}"
        assert seen["headings"] >= 12


def test_it_says_beforehand_what_it_would_do_and_how_long_that_takes():
    shown = call("reproduce", "all", "--dry-run")
    assert "letter: 40 trials per method, about" in shown
    assert "office: 20 trials" in shown
    assert "minutes" in call("reproduce", "letter", "--protocol", "paper", "--dry-run")
    assert "in total: about" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce"], "no experiment is named"),
        (["reproduce", "lettre"], "did you mean 'letter'"),
        (["reproduce", "all", "lettre"], "did you mean 'letter'"),
        (["reproduce", "office", "--protocol", "paper"], "only the letter experiment"),
        (["reproduce", "letter", "--trials", "0"], "trials"),
        (["reproduce", "letter", "--config", "none.toml"], "give either names"),
        (["reproduce", "--config", "none.toml"], "cannot read none.toml"),
        (["reproduce", "letter", "--address", "auto"], "--engine ray"),
        (["results", "nowhere"], "there are no results in nowhere"),
        (["report", "nowhere"], "there are no results in nowhere"),
    ],
)
def test_bad_input_gets_one_message(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = call(*arguments, code=BAD)
    assert message in shown.replace("\n", " ")
    assert "Traceback" not in shown


def test_settings_can_come_from_a_toml_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(
        '[letter]\ntrials = 2\ntimes = [1]\nmethods = ["planner"]\n[complexity]\nmost = 2\n'
    )
    shown = call("reproduce", "--config", "mine.toml", "--workers", "1", "--dir", "out")
    assert "letter: 2 trials per method" in shown
    assert Path("out/letter/letter.png").exists()
    assert "2 of 2" in call("results", "out/letter")


def test_ctrl_c_stops_cleanly_and_the_same_command_goes_on(tmp_path):
    command = [sys.executable, "-m", "cranium", "reproduce", "letter", "--trials", "20"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    folder = tmp_path / "results" / "letter"
    while len(list(folder.glob("*-*.json"))) < 20:
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    shown, _ = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, shown
    assert "interrupted; the same command continues" in shown
    assert "Traceback" not in shown
    there = {path: path.stat().st_mtime_ns for path in folder.glob("*-*.json")}
    assert len(there) >= 20
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    assert "trials are missing" in call("results", tmp_path / "results")
    again = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    while len(list(folder.glob("*-*.json"))) < len(there) + 20:
        assert again.poll() is None
        time.sleep(0.1)
    again.send_signal(signal.SIGINT)
    again.communicate(timeout=60)
    for path, when in there.items():
        assert path.stat().st_mtime_ns == when, "what was there is not run again"


def starts_workers(process: int) -> bool:
    """Whether a process has started one that runs trials."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == process and b"spawn_main" in (path / "cmdline").read_bytes():
                return True
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
@pytest.mark.parametrize("how", ["Ctrl-C", "Ctrl-C at once", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_run_that_is_ended_ends_quietly(tmp_path, how):
    command = [sys.executable, "-m", "cranium", "reproduce", "letter", "--workers", "2"]
    process = subprocess.Popen(
        command, cwd=tmp_path, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    folder = tmp_path / "results" / "letter"
    while (
        not starts_workers(process.pid)
        if how == "Ctrl-C at once"
        else len(list(folder.glob("*-*.json"))) < 5
    ):
        assert process.poll() is None
        time.sleep(0.02)
    if how.startswith("Ctrl-C"):
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    else:
        process.send_signal(getattr(signal, how))
    shown, errors = process.communicate(timeout=60)
    assert "leaked" not in errors
    assert "Traceback" not in errors
    assert "Warning" not in errors
    if how == "SIGKILL":
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == INTERRUPTED, errors
        assert "interrupted; the same command continues" in shown


class FailingMachine(ClosesOnExit, InProcessEngine):
    """Runs a few trials; then the machine fails."""

    def run(self, jobs):
        for number, found in enumerate(super().run(jobs)):
            if number == 3:
                raise EngineError("1 trial was lost 3 times", fix="the same command goes on")
            yield found


def test_a_run_that_the_machine_ends_says_why_and_draws_no_figure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text("[complexity]\nmost = 2\ntrials = 2\n")
    command = ["reproduce", "--config", "mine.toml", "--workers", "1"]
    folder = Path("results/complexity")
    with monkeypatch.context() as patch:
        patch.setattr("cranium.cli.reproduce._make_engine", lambda *_: FailingMachine())
        shown = call(*command, code=FAILED)
        assert "stopped: 1 trial was lost 3 times" in shown
        assert len(list(folder.glob("*-*.json"))) == 3
        assert {path.suffix for path in folder.iterdir()} == {".json"}, "no figure"
        call("report", code=GOOD)
        assert "9 trials are still to be run" in Path("results/report.html").read_text()
    shown = call(*command)
    assert "9 trials in" in shown
    assert "3 existed already" in shown
    assert (folder / "complexity.png").exists()


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_quick_run_and_a_full_one_leave_each_other_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    Path("mine.toml").write_text("[complexity]\nmost = 12\ntrials = 1\n")
    command = ["reproduce", "--config", "mine.toml", "--workers", "1"]
    call(*command)
    full = snapshot(Path("results/complexity"))
    assert "unrolled up to 12" in full["complexity.md"].decode()
    call(*command, "--quick")
    quick = snapshot(Path("results/complexity-quick"))
    assert snapshot(Path("results/complexity")) == full
    assert "unrolled up to 10" in quick["complexity.md"].decode()
    call(*command)
    assert snapshot(Path("results/complexity-quick")) == quick
    shown = call("results")
    assert "The size of machines: states" in shown
    assert "The size of machines, quick run: states" in shown
    call("report")
    page = Path("results/report.html").read_text()
    assert "<h2>The size of machines</h2>" in page
    assert "<h2>The size of machines, quick run</h2>" in page
    assert "<h2>The size of machines, quick run</h2>" in page


def test_other_settings_do_not_take_a_folder_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text("[complexity]\nmost = 2\ntrials = 2\n")
    call("reproduce", "--config", "mine.toml", "--workers", "1")
    full = snapshot(Path("results/complexity"))
    Path("mine.toml").write_text("[complexity]\nmost = 2\ntrials = 1\n")
    shown = call("reproduce", "--config", "mine.toml", "--workers", "1", code=BAD)
    assert "holds complexity with other settings (trials: 2, not 1)" in shown.replace("\n", " ")
    assert "--dir" in shown
    assert snapshot(Path("results/complexity")) == full
    call("reproduce", "--config", "mine.toml", "--workers", "1", "--dir", "other")


class Cluster:
    """An engine elsewhere, with many cores."""

    workers = 64


def test_how_long_a_cluster_takes_is_worked_out_from_its_own_cores():
    from cranium.cli.reproduce import _format_duration
    from cranium.experiments import LocalEngine

    class Slow:
        def cpu_seconds(self):
            return 6_400.0

    here = LocalEngine().workers
    assert _format_duration([Slow()], Cluster()) == "about 2 minutes"
    assert _format_duration([Slow()], None) == "about 2 hours of CPU time"
    assert _format_duration([Slow()], LocalEngine(64 * here)) == (
        _format_duration([Slow()], LocalEngine(here))
    )


def test_before_a_cluster_is_joined_only_the_cpu_time_is_known():
    shown = call("reproduce", "complexity", "--engine", "ray", "--dry-run")
    assert "of CPU time" in shown
    assert "shared among the cores of the cluster" in shown
