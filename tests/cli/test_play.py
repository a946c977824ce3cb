"""cranium play and cranium replay, in a real terminal."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console
from support.terminal import Terminal

from cranium.aamdp.catalogue import CATALOGUE
from cranium.aamdp.registry import make_env
from cranium.cli.screen import render_moment
from cranium.episodes import Recorder
from cranium.episodes.text import describe_step
from cranium.formats import library

pytestmark = pytest.mark.slow

RIGHT, LEFT, UP, DOWN = "\x1b[C", "\x1b[D", "\x1b[A", "\x1b[B"
HOME, END = "\x1b[H", "\x1b[F"
TO_A = (UP, UP, LEFT, LEFT, LEFT, UP)


def call(*arguments, code=0):
    command = [sys.executable, "-m", "cranium", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stdout + done.stderr


def test_a_person_plays_to_the_end_and_watches_it_again(tmp_path):
    path = tmp_path / "episode.json"
    here = ["--language", "A B", "--with", "times=1", "--record", str(path)]
    game = Terminal("play", "Letter", *here)
    game.expect("step      0 of 0")
    game.expect("▶")
    moves = {"right": RIGHT, "left": LEFT, "up": UP, "down": DOWN}
    from cranium.languages import compile_language
    from cranium.learners import train

    env = make_env("Letter", compile_language("A B"), {"times": 1})
    policy = train(env, "planner", steps=5000, until="solved").policy
    observation, _ = env.reset(seed=0)
    steps = 0
    while True:
        action = policy(observation["ground"], env.configuration)
        observation, _, terminated, truncated, info = env.step(action)
        steps += 1
        game.press(moves[env.unwrapped.action_names[action]])
        game.expect(f"step      {steps} of {steps}")
        if info["label"]:
            game.expect(f"events    {min(info['label'])}")
        if terminated or truncated:
            break
    game.expect("end       success")
    game.press(RIGHT)  # nothing more happens
    game.press("q")
    game.expect(f"success after {steps} steps")
    game.expect("wrote")
    assert game.end() == 0
    again = Terminal("replay", str(path))
    again.expect(f"step      0 of {steps}")
    again.press(RIGHT)
    again.expect(f"step      1 of {steps}")
    again.press(END)
    again.expect("end       success")
    again.press(LEFT)
    again.expect(f"step      {steps - 1} of {steps}")
    again.press(HOME)
    again.expect(f"step      0 of {steps}")
    again.press("q")
    assert again.end() == 0


def test_steps_are_taken_back_and_a_new_episode_begins(tmp_path):
    path = tmp_path / "episode.json"
    game = Terminal("play", "Office", "mail-delivery", "--record", str(path), "--seed", "7")
    game.expect("step      0 of 0")
    game.press("w")
    game.expect("step      1 of 1: up")
    game.press("2")
    game.expect("step      2 of 2: up")
    game.press("u")
    game.expect("step      1 of 1: up")
    game.press("x")  # no key of ours
    game.press("r")
    game.expect("step      0 of 0")
    game.press("s")
    game.expect("step      1 of 1: down")
    game.press("q")
    assert game.end() == 0
    data = json.loads(path.read_text())
    assert data["seed"] == 8
    assert [step.get("name", "") for step in data["steps"]] == ["", "down"]


def test_ctrl_c_keeps_what_was_played(tmp_path):
    path = tmp_path / "episode.json"
    game = Terminal("play", "Office", "mail-delivery", "--record", str(path))
    game.expect("step      0 of 0")
    game.press(UP)
    game.expect("step      1 of 1")
    game.child.sendintr()
    game.expect("wrote")
    assert game.end() == 130
    assert len(json.loads(path.read_text())["steps"]) == 2


def test_a_point_is_moved_by_the_arrows(tmp_path):
    path = tmp_path / "episode.json"
    game = Terminal("play", "Point", "visit", "--record", str(path))
    game.expect("step      0 of 0")
    game.press(LEFT)
    game.expect("step      1 of 1: (-1, 0)")
    game.press(" ")
    game.expect("step      2 of 2: (0, 0)")
    game.press("q")
    assert game.end() == 0
    assert json.loads(path.read_text())["steps"][1]["action"] == [-1.0, 0.0]


def test_without_a_task_it_is_the_first_and_a_new_size_is_drawn_anew():
    game = Terminal("play", "Office", size=(30, 60))
    game.expect("step      0 of 0")
    game.expect("▶ fetch mail")
    game.child.setwinsize(6, 20)
    game.expect("this needs a window")
    game.child.setwinsize(40, 120)
    game.expect("▶ fetch mail")
    game.press("q")
    assert game.end() == 0


def test_a_game_that_did_not_begin_replaces_no_recording(tmp_path):
    path = tmp_path / "episode.json"
    path.write_text("precious")
    here = ["play", "Office", "mail-delivery", "--record", str(path)]
    assert "needs a terminal" in call(*here, code=2)
    game = Terminal(*here)
    game.expect("step      0 of 0")
    game.child.sendintr()
    assert game.end() == 130
    assert path.read_text() == "precious"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_closed_window_and_a_kill_keep_what_was_played(tmp_path, name):
    path = tmp_path / "episode.json"
    game = Terminal("play", "Office", "mail-delivery", "--record", str(path))
    game.expect("step      0 of 0")
    game.press(UP)
    game.expect("step      1 of 1")
    game.child.kill(getattr(signal, name))
    assert game.end() == 128 + getattr(signal, name)
    assert len(json.loads(path.read_text())["steps"]) == 2


def test_ctrl_c_twice_keeps_it_too(tmp_path):
    path = tmp_path / "episode.json"
    game = Terminal("play", "Office", "mail-delivery", "--record", str(path))
    game.expect("step      0 of 0")
    game.press(UP)
    game.expect("step      1 of 1")
    game.child.kill(signal.SIGINT)
    time.sleep(0.001)
    game.child.kill(signal.SIGINT)
    game.end()
    assert len(json.loads(path.read_text())["steps"]) == 2


def test_keys_that_mean_nothing_do_nothing(tmp_path):
    path = tmp_path / "episode.json"
    game = Terminal("play", "Office", "mail-delivery", "--record", str(path))
    game.expect("step      0 of 0")
    for key in ("\x1b[1;5D", "\x1b[1;2A", "\x1b[3~", "\x1b[15~", "\x1bx", "\x1a", "\x1bOP"):
        game.press(key)
        time.sleep(0.15)
    game.press(UP)
    game.expect("step      1 of 1: up")
    game.press("q")
    assert game.end() == 0
    again = Terminal("replay", str(path))
    again.expect("step      0 of 1")
    for key in ("\x1b[6~", "\x1b[3~", "\x1b[15~", "\x1bx", "\x1b[1;5C"):
        again.press(key)
        time.sleep(0.15)
    again.press(RIGHT)
    again.expect("step      1 of 1")
    again.press("q")
    assert again.end() == 0


def test_decimal_options_reach_the_world(tmp_path):
    path = tmp_path / "episode.json"
    game = Terminal("play", "Water", "red-green", "--with", "radius=0.1", "--with", "layout=pair", "--with", "thrust=.05", "--record", str(path))  # fmt: skip
    game.expect("step      0 of 0")
    game.press(RIGHT)
    game.expect("step      1 of 1: right")
    game.press("q")
    assert game.end() == 0
    assert json.loads(path.read_text())["settings"] == {
        "radius": 0.1,
        "layout": "pair",
        "thrust": 0.05,
    }
    assert "step      1 of 1: right" in call("replay", path)


SIZES = [(120, 40), (80, 24), (60, 20), (40, 16), (24, 10)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_in_every_size_what_matters_is_seen(entry, size):
    for machine in entry.tasks.values():
        env = make_env(entry.name, library.load(machine))
        recorder = Recorder(env, world=entry.name)
        env.action_space.seed(0)
        for _ in range(3):
            if not recorder.steps[-1].over:
                recorder.step(env.action_space.sample())
        episode, number = recorder.episode, len(recorder.steps) - 1
        console = Console(width=size[0], height=size[1], file=io.StringIO(), force_terminal=False)
        console.print(render_moment(episode, number, "keys", *size))
        shown = console.file.getvalue().rstrip("\n").splitlines()
        assert len(shown) <= size[1]
        assert all(len(line.rstrip()) <= size[0] for line in shown)
        text = "\n".join(shown)
        for line in describe_step(episode, number):
            assert line[: size[0] - 2] in text
        assert sum("▶" in line for line in shown) == 1
        if size[1] > 12:
            assert "@" in text, "and where the agent is"


def test_an_agent_is_watched(tmp_path):
    agent, path = tmp_path / "agent.npz", tmp_path / "episode.json"
    learn = ["--learner", "planner", "--until-solved", "--with", "times=1", "--save", agent]
    call("train", "Letter", "anbcdn", *learn)
    assert f"wrote {path}" in call("evaluate", agent, "--record", path, "--seed", "5")
    shown = call("replay", path)
    assert "end       success" in shown
    assert "events    A" in shown
    for ending, magic in ((".gif", b"GIF"), (".html", b"<!DOCTYPE"), (".mp4", b"ftyp")):
        out = path.with_suffix(ending)
        assert "success" in call("replay", path, "-o", out)
        assert magic in out.read_bytes()[:16]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["play", "Nowhere"], "no such world"),
        (["play", "Office", "nothing"], "no such task"),
        (["play", "Office", "mail-delivery", "--record", "nowhere/e.json"], "No such file"),
        (["play", "Craft", "gem", "--with", "wood=1..1000000000"], "1,001 numbers at most"),
        (["solve", "Letter", "anbcn", "--with", "times=1..900000000"], "1,001 numbers at most"),
        (["play", "Office", "mail-delivery"], "needs a terminal"),
        (["play", "Office", "mail-delivery", "--record", "e.gif"], "ends in .json"),
        (["play", "Office", "mail-delivery", "--with", "gold=1"], "cannot be made"),
        (["replay", "none.json"], "cannot read none.json"),
        (["replay", "pyproject.toml"], "is not an episode"),
        (["replay", "pyproject.toml", "-o", "x.avi"], "not 'x.avi'"),
    ],
)
def test_nonsense_is_answered(arguments, message):
    said = call(*arguments, code=2)
    assert message in said
    assert "Traceback" not in said
