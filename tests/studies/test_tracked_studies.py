"""Studies that are tracked: each trial is a run, and keys and results are as without."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.engines import InProcessEngine
from support.tracked_files import hide_package, read_scalars
from support.warehouse import write_warehouse

import cranium
from cranium import Grid, Study
from cranium.errors import InvalidArgumentError, MissingExtraError
from cranium.experiments import Store
from cranium.learners import TrainingResult
from cranium.studies import load_study

LETTER = ("Letter", "A B C D")
LEARNERS = {"planner": "planner", "CQL": ("cql", {"learning_rate": 1.0})}


@pytest.fixture(autouse=True)
def no_modules_stay() -> Iterator[None]:
    path, names = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - names:
        if name == "warehouse" or name.startswith(("cranium_study_", "mine_")):
            del sys.modules[name]


def make_study(**more: Any) -> Study:
    told: dict[str, Any] = {"seeds": 2, "steps": 600, "evaluate_every": 200, "until": "budget"}
    told |= {"learners": LEARNERS, **more}
    return Study("letters", {"one / all": LETTER}, told.pop("learners"), **told)


def results_of(folder: Path) -> dict[str, Any]:
    """The records without the time that they took."""
    return {f"{record.key}-{record.seed}": record.result for record in Store(folder)}


def read_csv(path: Path) -> dict[str, list[tuple[int, float]]]:
    """The curves of success of each run."""
    found: dict[str, list[tuple[int, float]]] = {}
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream):
            if row["name"] == "evaluation/success":
                at = (int(row["samples"]), round(float(row["value"]), 6))
                found.setdefault(row["run"], []).append(at)
    return found


def curves_of(folder: Path) -> dict[str, list[tuple[int, float]]]:
    return {
        f"{r.config['case']}, {r.config['method']}, seed {r.seed}": [
            (point[0], point[1]) for point in r.result["curve"]
        ]
        for r in Store(folder)
    }


@pytest.mark.slow
def test_each_trial_is_a_run_in_its_worker_and_records_are_as_without(tmp_path: Path) -> None:
    study = make_study()
    study.run(tmp_path / "plain", workers=2)
    trackers = [f"tensorboard:{tmp_path / 'runs'}", f"csv:{tmp_path / 'runs.csv'}"]
    study.run(tmp_path / "tracked", workers=2, track=trackers)
    assert results_of(tmp_path / "tracked") == results_of(tmp_path / "plain")
    curves = curves_of(tmp_path / "tracked")
    assert len(curves) == 4
    assert read_csv(tmp_path / "runs.csv") == curves
    for name, curve in curves.items():
        case, method, seed = name.split(", ")
        folder = tmp_path / "runs" / "letters" / case.replace("/", "-") / method / seed
        (file,) = folder.iterdir()
        scalars, texts = read_scalars(file)
        assert [(at, round(value, 6)) for at, value in scalars["evaluation/success"]] == [
            (at, pytest.approx(value)) for at, value in curve
        ]
        assert "|stage|final|" in texts["metadata/text_summary"]
    # What has a record is neither run nor tracked again, nor is it if it was not tracked before.
    assert study.run(tmp_path / "plain", track=trackers).ran == 0
    assert read_csv(tmp_path / "runs.csv") == curves


def test_trackers_are_no_part_of_the_key_of_a_trial(tmp_path: Path) -> None:
    study, engine = make_study(), InProcessEngine()
    names = {job.name for job in study.trials}
    study.run(tmp_path / "a", engine_of(engine), track=f"csv:{tmp_path / 'a.csv'}")
    assert set(engine.ran) == names
    study.run(tmp_path / "a", engine_of(engine), track=f"csv:{tmp_path / 'b.csv'}")
    assert len(engine.ran) == len(names)


def engine_of(engine: InProcessEngine) -> Any:
    """The engine, as a context manager."""

    class Entered:
        workers = 1
        run = engine.run

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    return Entered()


def test_trials_for_tuning_are_runs_with_names_of_their_own(tmp_path: Path) -> None:
    tune = Grid(learning_rate=[0.5, 1.0], seeds=1)
    study = make_study(learners={"CQL": "cql"}, seeds=1, tune=tune)
    study.run(tmp_path / "study", engine_of(InProcessEngine()), track=f"csv:{tmp_path / 'a.csv'}")
    runs = list(read_csv(tmp_path / "a.csv"))
    assert len(runs) == len(set(runs)) == 3
    assert sum("CQL, tuning " in run for run in runs) == 2
    assert runs[-1] == "one / all, CQL, seed 0"


class WholeResult:
    """A learner of another library, which takes no callbacks."""

    def train(self, env: Any, *, steps: int, seed: int, **more: Any) -> TrainingResult:
        if more.pop("broken", False):
            raise ArithmeticError("a division")
        return cranium.train(env, "planner", steps=steps, seed=seed, **more)


def test_a_learner_without_callbacks_is_tracked_when_it_has_ended(tmp_path: Path) -> None:
    learners = {"good": WholeResult(), "bad": (WholeResult(), {"broken": True})}
    study = make_study(learners=learners, seeds=1)
    path = tmp_path / "a.csv"
    found = study.run(tmp_path / "study", engine_of(InProcessEngine()), track=f"csv:{path}")
    assert [job.trial.method for job, _ in found.failed] == ["bad"]
    (record,) = [record for record in Store(tmp_path / "study") if record.done]
    curve = [(point[0], point[1]) for point in record.result["curve"]]
    assert read_csv(path) == {"one / all, good, seed 0": curve}
    text = path.read_text()
    assert '"one / all, bad, seed 0",,result/status,failed' in text
    assert '"one / all, good, seed 0",,result/status,finished' in text


def test_a_tracker_that_fails_in_a_worker_is_noted_in_the_record(tmp_path: Path) -> None:
    class Broken:
        def begin(self, run: object) -> None:
            raise ConnectionError("the server is gone")

    study = make_study(learners={"planner": "planner"}, seeds=1)
    study.run(tmp_path / "a", engine_of(InProcessEngine()), track=Broken)
    study.run(tmp_path / "b", engine_of(InProcessEngine()))
    (tracked,), (plain,) = results_of(tmp_path / "a").values(), results_of(tmp_path / "b").values()
    (warning,) = tracked.pop("warnings")
    assert warning.endswith("stopped tracking: ConnectionError: the server is gone")
    assert plain.pop("warnings") == []
    assert tracked == plain


def test_what_cannot_be_used_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_package(monkeypatch, "tensorboardX")
    with pytest.raises(MissingExtraError, match="tensorboardX"):
        make_study().run(tmp_path / "study", track=f"tensorboard:{tmp_path / 'runs'}")
    lines = (tmp_path / "open.txt").open("w")
    with lines, pytest.raises(InvalidArgumentError, match="cannot be sent to another process"):
        make_study().run(tmp_path / "study", track=lambda: lines)  # type: ignore[arg-type, return-value]
    assert not (tmp_path / "study").exists()


MINE = """
from pathlib import Path

def make():
    return Counting()

class Counting:
    def begin(self, run):
        self.run = run

    def log(self, samples, values):
        pass

    def end(self, status, summary):
        Path(FOLDER, self.run.title).write_text(status)
"""


@pytest.mark.slow
def test_cranium_run_tracks_with_a_tracker_in_a_file_that_workers_do_not_find(
    tmp_path: Path,
) -> None:
    file = write_warehouse(tmp_path / "study")
    (tmp_path / "elsewhere").mkdir()
    mine = MINE.replace("FOLDER", repr(str(tmp_path / "elsewhere")))
    (tmp_path / "elsewhere" / "mine.py").write_text(mine)
    command = [sys.executable, "-m", "cranium", "run", str(file), "--dir", str(tmp_path / "out")]
    trackers = ["--track", "elsewhere/mine.py:make", "--track", "tensorboard:runs"]
    done = subprocess.run(
        [*command, *trackers], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    names = {path.name for path in (tmp_path / "elsewhere").glob("*, seed *")}
    assert names == set(curves_of(tmp_path / "out"))
    assert len(list((tmp_path / "runs").rglob("events*"))) == len(names)


@pytest.mark.ray
def test_trials_on_ray_are_tracked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_TMPDIR", tempfile.mkdtemp(prefix="rt"))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.chdir(tmp_path)
    file = write_warehouse(tmp_path / "study")
    study = load_study(file)
    study.run(tmp_path / "out", "ray", workers=2, track=["csv:runs.csv", "tensorboard:runs"])
    curves = curves_of(tmp_path / "out")
    assert read_csv(tmp_path / "runs.csv") == curves
    assert len(list((tmp_path / "runs").rglob("events*"))) == len(curves)
