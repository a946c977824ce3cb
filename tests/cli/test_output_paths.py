"""Output paths are checked before the work, and results are saved on Ctrl-C, SIGTERM and SIGHUP."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.plan_answers import TASK_IN_WORDS
from support.terminal import Terminal
from typer.testing import CliRunner

import cranium
from cranium.aamdp.registry import make_env
from cranium.cli import app
from cranium.cli.output import write_or_rescue
from cranium.errors import FileAccessError
from cranium.formats import library
from cranium.io import TRIED, check_writable, write_bytes
from cranium.learners.tabular.fused import TabularRun

WRITING = {
    "train --save": ["train", "Letter", "anbcdn", "--save", "{}.npz"],
    "train --checkpoint": ["train", "Letter", "anbcdn", "--checkpoint", "{}.ckpt"],
    "train --curve": ["train", "Letter", "anbcdn", "--curve", "{}.svg"],
    "evaluate --record": ["evaluate", "agent.npz", "--record", "{}.json"],
    "draw": ["draw", "library:anbcn", "-o", "{}.svg"],
    "unroll": ["unroll", "library:anbcn", "--limit", "3", "-o", "{}.yaml"],
    "convert": ["convert", "library:anbcn", "-o", "{}.json"],
    "compile -o": ["compile", "A^N B", "-o", "{}.yaml"],
    "compile --draw": ["compile", "A^N B", "--draw", "{}.svg"],
    "worlds --draw": ["worlds", "Office", "--draw", "{}.png"],
    "replay": ["replay", "episode.json", "-o", "{}.html"],
    "results --csv": ["results", ".", "--csv", "{}.csv"],
    "results --parquet": ["results", ".", "--parquet", "{}.parquet"],
    "report": ["report", ".", "-o", "{}.html"],
    "ask -o": ["ask", TASK_IN_WORDS, "--events", "office", "-o", "{}.yaml"],
    "ask --draw": ["ask", TASK_IN_WORDS, "--events", "office", "--draw", "{}.svg"],
    "ask --transcript": ["ask", TASK_IN_WORDS, "--events", "office", "--transcript", "{}.jsonl"],
}


@pytest.fixture
def no_work(monkeypatch):
    """Whatever takes time fails, so that a command that begins with it is found out."""

    def refuse(*_, **__):
        raise AssertionError("the work began before the place was tried")

    for name in ("train", "evaluate", "unroll", "draw", "save", "compile_language"):
        monkeypatch.setattr(cranium, name, refuse)
    monkeypatch.setattr("cranium.assist.OpenAIModel", refuse)
    monkeypatch.setattr("cranium.languages.compile_language", refuse)
    monkeypatch.setattr("cranium.cli.play.load_episode", refuse)
    monkeypatch.setattr("cranium.experiments.results.find_studies", refuse)


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize("place", ["no such folder/x", "a file/x", "a folder"])
def test_a_bad_place_is_refused_before_the_work(command, place, tmp_path, monkeypatch, no_work):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a file").write_text("")
    told = [part.format(place) for part in WRITING[command]]
    (tmp_path / told[-1]).mkdir() if place == "a folder" else None
    before = sorted(tmp_path.rglob("*"))
    done = CliRunner().invoke(app, told)
    assert not isinstance(done.exception, AssertionError), done.exception
    assert done.exit_code == 2
    assert "error: cannot " in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_place_that_is_good_is_left_as_it_was(tmp_path):
    path = tmp_path / "agent.npz"
    check_writable(path)
    assert list(tmp_path.iterdir()) == []
    path.write_text("precious")
    check_writable(path)
    assert [one.read_text() for one in tmp_path.iterdir()] == ["precious"]
    (tmp_path / "link.npz").symlink_to(path)
    check_writable(tmp_path / "link.npz")
    check_writable(tmp_path / "/dev/stdout")  # a device: nothing is written to try it
    assert path.read_text() == "precious"


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory):
    """A disk of its own on which there is no room for another block; needs to be root on Linux."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if (
        not shutil.which("mount")
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_found_before_the_work(small_disk, monkeypatch, no_work):
    (small_disk / "ballast").write_bytes(bytes(256 * 1024 - len(TRIED) + 4096))
    done = CliRunner().invoke(
        app, ["train", "Letter", "anbcdn", "--save", str(small_disk / "agent.npz")]
    )
    assert done.exit_code == 2
    assert "No space left on device" in done.stderr
    assert [path.name for path in small_disk.iterdir()] == ["ballast"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="drops its rights")
def test_a_folder_without_the_right_to_write_is_found_before_the_work():
    """Root may write everywhere, so another user tries."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        code = (
            "import os, pathlib; from cranium.io import check_writable; os.setuid(65534)\n"
            f"check_writable(pathlib.Path({folder!r}) / 'agent.npz')"
        )
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "FileAccessError: cannot write" in done.stderr
    assert "Permission denied" in done.stderr


def test_what_cannot_be_written_in_the_end_is_kept_elsewhere(tmp_path):
    with pytest.raises(FileAccessError) as caught:
        write_or_rescue(lambda path: write_bytes(path, b"learned"), tmp_path / "gone" / "agent.npz")
    kept = Path(caught.value.fix.removeprefix("it was saved as "))
    assert kept.read_bytes() == b"learned"
    shutil.rmtree(kept.parent)


# Ends that are asked for

LONG = [
    "train",
    "Letter",
    "anbcdn",
    "--learner",
    "ql",
    "--steps",
    "1000M",
    "--evaluate-every",
    "50k",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_what_was_learned_is_saved_when_the_end_is_asked_for(name, tmp_path):
    agent, curve = tmp_path / "agent.npz", tmp_path / "curve.svg"
    told = Terminal(*LONG, "--save", str(agent), "--curve", str(curve))
    told.child.expect(r"greedy \d")  # it has learned something
    told.child.kill(getattr(signal, name))
    told.expect("interrupted after")
    assert told.end() == 130
    assert cranium.Policy.load(agent).about["samples"] > 0
    assert curve.read_text().endswith("</svg>\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent.npz", "curve.svg"]


@pytest.mark.slow
def test_a_window_that_is_closed_saves_although_nobody_can_be_told(tmp_path):
    agent, curve = tmp_path / "agent.npz", tmp_path / "curve.svg"
    told = Terminal(*LONG, "--save", str(agent), "--curve", str(curve))
    told.child.expect(r"greedy \d")
    os.close(told.child.fileno())  # the system sends SIGHUP, and every line that is written fails
    told.child.fileobj, told.child.child_fd, told.child.closed = None, -1, True
    os.kill(told.child.pid, signal.SIGHUP)  # as the shell does, too
    os.waitpid(told.child.pid, 0)
    assert cranium.Policy.load(agent).about["samples"] > 0
    assert curve.read_text().endswith("</svg>\n")


@pytest.mark.slow
def test_a_reader_that_goes_away_costs_no_agent(tmp_path):
    """As in cranium train … --save agent.npz | head -1."""
    agent = tmp_path / "agent.npz"
    command = [sys.executable, "-m", "cranium", "train", "Letter", "anbcdn", "--steps", "100"]
    process = subprocess.Popen(
        [*command, "--save", str(agent)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    process.stdout.close()
    process.wait()
    assert cranium.Policy.load(agent).about["samples"] == 100


@pytest.mark.parametrize("times", [1, 2, 3])
def test_ctrl_c_while_the_last_evaluation_runs_keeps_what_was_learned(times, monkeypatch):
    """A second signal often follows the first."""
    real, calls = TabularRun.evaluate, []

    def evaluate(self, *args, **told):
        calls.append(told)
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        return real(self, *args, **told)

    monkeypatch.setattr(TabularRun, "evaluate", evaluate)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    env = make_env("Letter", library.load("anbcdn"))
    try:
        result = cranium.train(env, "ql", steps=100, evaluate_every=1000)
    except KeyboardInterrupt:
        result = None
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls
    assert result is not None
    assert result.interrupted
    assert result.policy.about["samples"] == 100
