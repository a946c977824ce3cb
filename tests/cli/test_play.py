"""cranium play and cranium replay, in a real terminal."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from terminal import Terminal

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
    from cranium.aamdp.catalogue import make_env
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


def test_little_room_shows_what_matters():
    game = Terminal("play", "Office", "mail-and-coffee", size=(30, 60))
    game.expect("step      0 of 0")
    game.expect("▶ fetch mail")
    game.press("q")
    assert game.end() == 0


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
        (["play", "Office"], "give a TASK"),
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
