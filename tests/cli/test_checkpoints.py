"""``cranium train --checkpoint --every --resume``: what is written, and what is said."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
from support.terminal import Terminal
from typer.testing import CliRunner

import cranium
from cranium.cli import app

TRAIN = ["train", "Letter", "anbcdn", "--with", "times=1", "--learner", "cql"]


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def values(path):
    return cranium.Policy.load(path).q


def test_a_longer_training_goes_on_from_a_shorter_one(tmp_path):
    file, saved, alone = tmp_path / "agent.ckpt", tmp_path / "on.npz", tmp_path / "alone.npz"
    told = [*TRAIN, "--evaluate-every", "500"]
    run(*told, "--steps", "2k", "--checkpoint", file, "--every", "300")
    text = run(*told, "--steps", "5k", "--resume", file, "--checkpoint", file, "--save", saved)
    assert f"cql seed 0 goes on after 2,000 samples ({file})" in text.replace("\n", "")
    run(*told, "--steps", "5k", "--save", alone)
    assert np.array_equal(values(saved), values(alone))


def test_each_learner_and_seed_has_a_file_of_its_own(tmp_path):
    file = tmp_path / "agent.ckpt"
    told = [*TRAIN, "--learner", "planner", "--seeds", "2", "--steps", "600", "--json"]
    first = json.loads(run(*told, "--checkpoint", file))
    names = [
        f"agent-{learner}-seed{seed}.ckpt" for learner in ("cql", "planner") for seed in (0, 1)
    ]
    assert sorted(each.name for each in tmp_path.iterdir()) == names
    (tmp_path / names[3]).unlink()  # as if it had been killed before
    again = json.loads(run(*told, "--checkpoint", file, "--resume", file))
    for one, other in zip(first, again, strict=True):
        del one["seconds"], other["seconds"]
        assert one == other
    assert sorted(each.name for each in tmp_path.iterdir()) == names


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--every", "100"], "--every says how often checkpoints are written"),
        (["--resume", "none.ckpt"], "cannot read none.ckpt"),
        (["--seeds", "2", "--resume", "none.ckpt"], "there is no checkpoint of any seed"),
    ],
)
def test_what_makes_no_sense_is_refused(more, text):
    assert text in run(*TRAIN, "--steps", "200", *more, code=2).replace("\n", " ")


def test_another_training_is_refused_in_words(tmp_path):
    file = tmp_path / "agent.ckpt"
    run(*TRAIN, "--steps", "500", "--checkpoint", file)
    text = run(*TRAIN, "--steps", "900", "--resume", file, "--seed", "4", code=2)
    assert "seed: 0 in the checkpoint, 4 here" in text.replace("\n", " ")
    text = run(*TRAIN, "--steps", "900", "--checkpoint", file, code=2)
    assert "already, which this training would replace" in text.replace("\n", " ")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_the_command_goes_on_after_it_was_ended(name, tmp_path):
    """Also with SIGKILL, from the last checkpoint. The values are those of one training."""
    file, on, alone = tmp_path / "agent.ckpt", tmp_path / "on.npz", tmp_path / "alone.npz"
    long = ["train", "Letter", "anbcdn", "--learner", "ql", "--evaluate-every", "50k"]
    told = Terminal(*long, "--steps", "1000M", "--checkpoint", str(file))
    told.child.expect(r"greedy \d")
    while not file.exists():
        told.child.expect(r"greedy \d")
    told.child.kill(getattr(signal, name))
    if name != "SIGKILL":
        told.expect("go on with --resume")
        assert told.end() == 130
    else:
        told.child.wait()
    samples = cranium.learners.checkpoints.read_checkpoint(file).saved.data["done"]
    steps = ["--steps", str(samples + 70_000)]
    run(*long, *steps, "--resume", file, "--save", on)
    run(*long, *steps, "--save", alone)
    assert np.array_equal(values(on), values(alone))
