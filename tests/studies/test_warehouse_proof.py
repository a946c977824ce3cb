"""A study as a user would have it, from its own folder to the page in a browser.

The environment and the agent live in the test's own folder. What it does when it is killed, shared
or run on Ray is in ``test_kills`` and ``test_ray_studies``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.browser import chromium, look
from support.experiment_driver import records_in
from support.warehouse import replace_text, write_warehouse

pytestmark = pytest.mark.slow

WIDTHS = (360, 1_000, 1_440)


def run_command(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "cranium", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two studies that were run: one tuned with Optuna and tracked, one with a grid."""
    pytest.importorskip("optuna")
    pytest.importorskip("tensorboardX")
    made: Path = tmp_path_factory.mktemp("parcels")
    file = write_warehouse(made)
    replace_text(
        file,
        'measure="final_success",',
        'measure="samples_to_solve",\n'
        "    tune=cranium.Optuna(trials=2, seeds=1, exploration=[0.1, 0.3]),",
    )
    other = made / "again.py"
    other.write_text(file.read_text().replace('"parcels"', '"parcels <again>"').replace(
        "cranium.Optuna(trials=2, seeds=1,", "cranium.Grid(seeds=1,"))  # fmt: skip
    first = run_command(made, "run", "parcels.py", "--track", "tensorboard:runs")
    # 2 problems × 2 learners × (2 candidates with a seed of their own + 2 seeds).
    assert "16 trials in" in first
    assert "0 trials in" in run_command(made, "run", "parcels.py")
    run_command(made, "run", "again.py", "--dir", "results/again")
    return made


def test_the_curves_can_be_read_back_from_tensorboard(folder: Path) -> None:
    from tensorboardX.proto.event_pb2 import Event

    found: dict[str, dict[str, int]] = {}
    for path in sorted((folder / "runs").rglob("events.*")):
        tags: dict[str, int] = {}
        content = path.read_bytes()
        while content:
            size = int.from_bytes(content[:8], "little")
            event = Event.FromString(content[12 : 12 + size])
            content = content[12 + size + 4 :]
            for value in event.summary.value:
                tags[value.tag] = tags.get(value.tag, 0) + 1
        found[str(path)] = tags
    assert len(found) == 16  # one for each trial that was run
    assert all(any("success" in tag for tag in tags) for tags in found.values())


def test_what_was_tried_is_on_the_page_and_on_seeds_of_its_own(folder: Path) -> None:
    page = (folder / "results" / "parcels" / "report.html").read_text()
    assert "What was tried: 8 settings" in page
    assert (
        "Optuna, from 2 candidates for each learner, each tried on 1 seed that is not reported"
        in page
    )
    records = [json.loads(text)["record"] for text in
               records_in(folder / "results" / "parcels").values()]  # fmt: skip
    tuned = [record["seed"] for record in records if record["config"]["stage"] == "tuning"]
    final = [record["seed"] for record in records if record["config"]["stage"] == "final"]
    assert set(tuned) == {1_000_000}
    assert sorted(set(final)) == [0, 1]


def test_two_studies_stand_side_by_side_on_one_page(folder: Path) -> None:
    printed = run_command(folder, "report", "results/parcels", "results/again", "-o", "both.html")
    assert "wrote both.html" in printed
    page = (folder / "both.html").read_text()
    assert page.count("<section") == 2
    table = page.split("Side by side")[1].split("</table>")[0]
    assert "parcels &lt;again&gt;" in table
    assert table.count("<tr>") == 1 + 4  # the heading, and two learners on two problems
    for problem in ("small", "large"):
        for learner in ("CQL", "mine"):
            assert f"<td>{problem}</td><td>{learner}</td>" in table
    assert "2 seeds, 400 samples" in table
    # A folder that holds several is the same as naming each; naming one twice changes nothing.
    run_command(folder, "report", "results", "results/parcels", "-o", "all.html")
    assert (folder / "all.html").read_text().count("<section") == 2


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_can_be_read_in_a_browser_at_every_width(folder: Path, width: int) -> None:
    browser = chromium()
    run_command(folder, "report", "results/parcels", "results/again", "-o", f"page-{width}.html")
    seen = look(browser, folder / f"page-{width}.html", width)
    assert seen["overlaps"] == []
    assert seen["wide"] == []
    assert seen["images"] == seen["loaded"] == 2
