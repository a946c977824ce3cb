"""The tracker of ``json_lines.py`` follows trainings, in Python and on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

import cranium
from cranium.experiments import track

FILE = Path(__file__).with_name("json_lines.py")


def read_run(path):
    settings, *logged, last = map(json.loads, path.read_text().splitlines())
    return settings["settings"], logged, last


def test_a_tracker_of_a_users_own_follows_a_training(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    env = gym.make("cranium/Letter-anbcdn-v0", times=1)
    callbacks = [track(f"{FILE}:JsonLines")]
    result = cranium.train(env, "cql", steps=400, evaluate_every=100, callbacks=callbacks)
    settings, logged, last = read_run(tmp_path / "runs" / "A^N B C D^N" / "cql" / "seed 0.jsonl")
    assert settings["discount"] == str(result.config.discount)
    assert [row["samples"] for row in logged] == [100, 200, 300, 400]
    assert [row["evaluation/steps"] for row in logged] == result.curve[:, 3].tolist()
    assert (last["status"], last["samples"]) == ("finished", 400)


@pytest.mark.slow
def test_it_is_named_on_the_command_line(tmp_path):
    words = [
        "train",
        "Letter",
        "anbcdn",
        "--steps",
        "200",
        "--evaluate-every",
        "100",
        "--seeds",
        "2",
    ]
    command = [sys.executable, "-m", "cranium", *words, "--track", f"{FILE}:JsonLines"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    for seed in (0, 1):
        path = tmp_path / "runs" / "A^N B C D^N" / "cql" / f"seed {seed}.jsonl"
        assert [row["samples"] for row in read_run(path)[1]] == [100, 200]
