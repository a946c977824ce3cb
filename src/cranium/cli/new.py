"""``cranium new``: starting points for files of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cranium.cli.output import print_line
from cranium.errors import InvalidArgumentError
from cranium.io import check_writable, write_bytes

__all__ = ["new"]

STUDY = '''"""A study: every learner on every problem, with several seeds.

Run it:           cranium run {file}
Try it first:     cranium run {file} --quick
See what it does: cranium run {file} --dry-run
"""

import gymnasium

import cranium


def make_frozen_lake():
    """Return the product of a world and a task. Put your own environment here."""

    def events(state, action, next_state):  # which events happen in a step
        return ["goal"] if next_state == 15 else []

    world = gymnasium.make("FrozenLake-v1", is_slippery=False)
    task = cranium.compile_language("goal")  # or cranium.load("task.yaml")
    return cranium.product(world, task, events, horizon=100)


study = cranium.Study(
    {name!r},
    # By name: a function that makes the product, a Gymnasium id, or a pair of a world and a task.
    problems={{
        "frozen lake": make_frozen_lake,
        "letters": "cranium/Letter-anbcdn-v0",
    }},
    # By name: an id (see `cranium learners`), an agent of your own, or a pair with settings.
    learners={{
        "QL": "ql",
        "CQL": "cql",
        "CQL with shaping": ("cql", {{"shaping": True}}),
    }},
    seeds=5,
    steps=60_000,
    measure="samples_to_solve",  # or "final_success", "area_under_curve", … or a function
    # Every learner that has these settings is tuned, on seeds that are not reported:
    # tune=cranium.Grid(learning_rate=[0.1, 0.5, 1.0]),  # or cranium.Optuna(trials=20)
)
'''


def new(
    kind: Annotated[Literal["study"], typer.Argument(help="What to begin.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
) -> None:
    """Write a commented starting file that runs.

    Use it to begin a study of your own: edit the problems and the learners, and run it.

    For example:

        cranium new study my_study.py
    """
    del kind  # there is only one so far
    if file.suffix != ".py":
        raise InvalidArgumentError(f"a study is a Python file, not {file.name!r}", fix="end in .py")
    if file.exists():
        raise InvalidArgumentError(f"{file} exists already", fix="choose another name")
    check_writable(file)
    name = file.stem.replace("_", " ")
    write_bytes(file, STUDY.format(file=file.name, name=name).encode())
    print_line(f"wrote {file}; run it: cranium run {file}")
