"""The experiments as a user meets them: one command, its figures, the tables and the page."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from figures.browser import chromium, look
from PIL import Image
from typer.testing import CliRunner

from cranium.cli import app

GOOD, FAILED, BAD, INTERRUPTED = 0, 1, 2, 130
NAMES = [
    *("letter", "letter-paper", "complexity", "office"),
    *("reward-machines", "deep", "natural-language"),
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
        figure = tmp_path / "results" / name / name
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
    for word in ("planner", "all N, one machine", "CRM+RS", "3 of 3", "coffee and mail"):
        assert word in shown
    told = json.loads(call("results", "results", "--json"))
    assert list(told) == NAMES
    assert [(each["missing"], each["failed"]) for each in told.values()] == [(0, 0)] * 7
    call("results", "results", "--csv", "trials.csv")
    with Path("trials.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    mine = [float(r["value"]) for r in rows if (r["method"], r["case"]) == ("planner", "N = 1")]
    assert {r["experiment"] for r in rows} == set(NAMES)
    found = [
        g for g in told["letter"]["groups"] if (g["method"], g["case"]) == ("planner", "N = 1")
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
    assert "letter: 40 trials a method, about" in shown
    assert "office: 20 trials" in shown
    assert "minutes" in call("reproduce", "letter", "--protocol", "paper", "--dry-run")
    assert "all of it: about" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce"], "no experiment is named"),
        (["reproduce", "lettre"], "did you mean 'letter'"),
        (["reproduce", "all", "lettre"], "did you mean 'letter'"),
        (["reproduce", "office", "--protocol", "paper"], "only the letter experiment"),
        (["reproduce", "letter", "--trials", "0"], "trials"),
        (["reproduce", "letter", "--config", "none.toml"], "one of them"),
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
    assert "letter: 2 trials a method" in shown
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
    assert "interrupted; the same command goes on" in shown
    assert "Traceback" not in shown
    there = {path: path.stat().st_mtime_ns for path in folder.glob("*-*.json")}
    assert len(there) >= 20
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    assert "trials are missing" in call("results", tmp_path / "results")
    small = tmp_path / "mine.toml"
    small.write_text('[letter]\ntrials = 1\ntimes = [1, 2, 3, 4, 5]\nmethods = ["QL"]\n')
    call("reproduce", "--config", small, "--dir", tmp_path / "results")
    for path, when in there.items():
        assert path.stat().st_mtime_ns == when, "what was there is not run again"
