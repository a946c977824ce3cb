"""A study on Ray whose worker is killed: an environment and an agent that only the driver has."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.bad_trials import attempts_of, write_bad_study
from support.experiment_driver import same
from support.warehouse import replace_text, write_warehouse

from cranium.experiments.attempts import TRIES
from cranium.experiments.records import read_record
from cranium.studies import load_study

pytestmark = pytest.mark.ray

MEASURE = """
def noted(result):
    import os
    from pathlib import Path
    with Path(LOG).open("a") as file:
        file.write(f"{result.learner} {result.samples} {result.seed} {os.getpid()}\\n")
    if result.seed:
        Path(GATE).read_text()
    return float(result.evaluation.success.mean())


study = """


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The sockets of Ray need a short path."""
    pytest.importorskip("ray")
    made = Path(tempfile.mkdtemp(prefix="rs"))
    monkeypatch.setenv("RAY_TMPDIR", str(made))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    path = list(sys.path)
    yield made
    sys.path[:] = path
    sys.modules.pop("warehouse", None)
    shutil.rmtree(made, ignore_errors=True)


def test_when_a_worker_is_killed_every_trial_has_one_record_as_without_ray(
    place: Path, tmp_path: Path
) -> None:
    gate, log = tmp_path / "gate", tmp_path / "log"
    os.mkfifo(gate)
    log.touch()
    file = write_warehouse(tmp_path / "study")
    replace_text(file, 'measure="final_success"', "measure=noted")
    measure = MEASURE.replace("LOG", repr(str(log))).replace("GATE", repr(str(gate)))
    replace_text(file, "\nstudy = ", measure)
    killed: list[int] = []

    def kill() -> None:
        with gate.open("w"):  # opens when a trial with seed 1 is waiting
            lines = [line.split() for line in log.read_text().splitlines()]
            killed.extend(int(line[3]) for line in lines if line[2] == "1")
            os.kill(killed[0], signal.SIGKILL)
            (tmp_path / "open").touch()
            (tmp_path / "open").replace(gate)  # the others go on

    study = load_study(file)
    killer = threading.Thread(target=kill)
    killer.start()
    result = study.run(tmp_path / "ray", "ray", workers=2)
    killer.join()
    assert killed
    assert (result.ran, result.failed, len(result.jobs)) == (8, [], 8)
    assert len(log.read_text().splitlines()) == 8 + 1  # the one that was lost was run again
    assert load_study(file).run(tmp_path / "ray", workers=1).ran == 0

    study.run(tmp_path / "local", workers=2)
    ray, local = (
        {path.name: same(read_record(path)) for path in (tmp_path / name).glob("*-*.json")}
        for name in ("ray", "local")
    )
    assert ray == local
    assert len(ray) == 8


@pytest.mark.parametrize(
    ("how", "limits", "reason"),
    [
        ("grow", {"trial_memory": "1500 MB"}, "over its limit: it used "),
        ("loop", {"trial_time": "15 s"}, "over its limit: it took 15 s"),
        ("abort", {"trial_time": "10 min"}, "lost 3 times: its process was ended by SIGABRT"),
        ("exit", {}, "lost 3 times: its process"),
    ],
)
def test_on_ray_a_trial_over_its_limits_or_that_crashes_is_a_failure_and_the_others_go_on(
    place: Path, tmp_path: Path, how: str, limits: dict[str, object], reason: str
) -> None:
    study = load_study(write_bad_study(tmp_path, how, seeds=1, **limits))  # type: ignore[arg-type]
    result = study.run(tmp_path / "records", "ray", workers=2)
    assert (result.ran, len(result.jobs)) == (2, 2)
    [(job, record)] = result.failed
    assert job.trial.method == "bad"
    assert record.error is not None
    assert record.error.startswith(reason)
    tries = TRIES if reason.startswith("lost") else 1
    assert sorted(attempts_of(tmp_path)) == [*["bad 0"] * tries, "good 0"]
    assert study.run(tmp_path / "records", workers=1).ran == 0
