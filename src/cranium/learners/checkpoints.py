"""Checkpoints: the whole state of a training in a file, from which it goes on bit for bit.

A file holds arrays and a description in JSON; nothing is pickled. It is written all or nothing, so
that a process that is killed leaves the last one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from cranium._runtime.interrupt import held
from cranium.errors import (
    FileAccessError,
    FileFormatError,
    InvalidArgumentError,
    SpaceError,
    shorten,
)
from cranium.io import check_writable, format_path, open_regular, write_stream
from cranium.learners.evaluation_result import Evaluation
from cranium.learners.saved_state import SavedState
from cranium.npz import MOST_TEXT, ArchiveFormat, read_archive
from cranium.worlds.sampling import Sampling

__all__ = [
    "EVALUATE_EVERY",
    "Checkpoint",
    "CheckpointFile",
    "check_place",
    "evaluation_from",
    "evaluations_of",
    "existing",
    "is_same_file",
    "named_after",
    "read_checkpoint",
    "save_evaluation",
]

MOST_BYTES = (1 << 32) - (1 << 24)
"""How many bytes the arrays of a file may have together: an archive has at most 4 GB."""
FORMAT = ArchiveFormat(
    name="cranium checkpoint",
    version=1,
    arrays=r"\w{1,100}",
    noun="a checkpoint",
    source="cranium train … --checkpoint FILE writes one",
    renewal="train again",
    most_bytes=MOST_BYTES,
)
EVALUATE_EVERY = "evaluate_every"
DIGITS = 15
EVALUATED = ("success", "returns", "lengths", "values")


class Checkpoint(NamedTuple):
    """What a file holds: of which training it is, and the state of that."""

    path: Path
    identity: dict[str, str]
    saved: SavedState


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint. Its numbers are checked when they are taken out.

    Example:
        >>> read_checkpoint("nowhere.ckpt")
        Traceback (most recent call last):
        cranium.errors.FileAccessError: cannot read nowhere.ckpt: No such file or directory
          fix: look at the name of the file
    """
    where = Path(path)
    with open_regular(where) as file:
        about, arrays = read_archive(file, where, FORMAT)
    identity, data = about.get("identity"), about.get("data")
    plain = isinstance(identity, dict) and all(isinstance(one, str) for one in identity.values())
    if not isinstance(identity, dict) or not plain or not isinstance(data, dict):
        raise FileFormatError(f"{format_path(where)} is damaged: it does not say of what it is")
    return Checkpoint(where, identity, SavedState(arrays, data))


def evaluations_of(checkpoint: Checkpoint) -> int:
    """Return the number of samples between two evaluations of the training that it is of."""
    text = checkpoint.identity.get(EVALUATE_EVERY, "")
    if not text.isdecimal() or not 0 < len(text) <= DIGITS or not int(text):
        raise FileFormatError(
            f"{format_path(checkpoint.path)} is damaged: {EVALUATE_EVERY} is {shorten(text)}"
        )
    return int(text)


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str] | None) -> bool:
    """Whether two names are those of one file.

    Example:
        >>> is_same_file("agent.ckpt", "./agent.ckpt"), is_same_file("agent.ckpt", None)
        (True, False)
    """
    return other is not None and Path(one).resolve() == Path(other).resolve()


def named_after(path: str | os.PathLike[str], *parts: str) -> Path:
    """Return the name of the checkpoint of one of several trainings.

    Example:
        >>> named_after("agent.ckpt", "cql", "seed3").name
        'agent-cql-seed3.ckpt'
    """
    where = Path(path)
    return where.with_name("-".join([where.stem, *parts]) + where.suffix)


def existing(paths: Sequence[Path]) -> list[Path | None]:
    """Return the checkpoints to go on from, and None for each training that has none yet.

    Raises:
        FileAccessError: None of them has one.
    """
    found = [path if path.exists() else None for path in paths]
    if not any(found):
        first = format_path(paths[0]) if paths else "nothing"
        raise FileAccessError(
            f"there is no checkpoint of any seed: neither {first} nor another",
            fix="give the name that was given as checkpoint=…, without -seed0",
        )
    return found


def check_place(path: str | os.PathLike[str], resume: str | os.PathLike[str] | None) -> None:
    """Refuse a place where no checkpoint could be written, or where another one would be lost."""
    where = Path(path)
    if where.is_file() and not is_same_file(where, resume):
        raise InvalidArgumentError(
            f"there is {format_path(where)} already, which this training would replace",
            fix="go on from it with resume, remove it, or choose another name",
        )
    check_writable(where)


class CheckpointFile:
    """The file into which the state of a training is written.

    Args:
        path: The file.
        identity: Of which training it is.
    """

    def __init__(self, path: str | os.PathLike[str], identity: Mapping[str, str]) -> None:
        self.path = Path(path)
        self.identity = dict(identity)
        self.due = False

    def write(self, saved: SavedState) -> None:
        """Write a state, all or nothing; Ctrl-C waits until it is written."""
        about = {"format": FORMAT.name, "version": FORMAT.version}
        text = json.dumps({**about, "identity": self.identity, "data": saved.data})
        size = sum(array.nbytes for array in saved.arrays.values()) + 4 * len(text)
        if size > MOST_BYTES or len(text) > MOST_TEXT:
            raise SpaceError(
                f"a checkpoint of {size:,} bytes is too large for a file: {MOST_BYTES:,} are "
                "allowed",
                fix="use a smaller replay buffer (replay=…), or train without checkpoints",
            )

        def fill(stream: BinaryIO) -> None:
            np.savez(stream, about=np.array(text), **saved.arrays)  # type: ignore[arg-type]

        with held():
            write_stream(self.path, fill, durable=True)
            self.due = False


def save_evaluation(found: Evaluation | None, saved: SavedState) -> None:
    """Add the last evaluation, if there is one."""
    saved.data["evaluation"] = None
    if found is None:
        return
    for name in EVALUATED:
        saved.arrays[f"evaluated_{name}"] = np.asarray(getattr(found, name), np.float64)
    for name in ("optimum", "episodes"):
        if (array := getattr(found, name)) is not None:
            saved.arrays[f"evaluated_{name}"] = np.asarray(array)
    saved.data["evaluation"] = {
        "instances": list(found.instances),
        "exact": found.exact,
        "notes": list(found.notes),
        "sampled": None if found.sampled is None else list(vars(found.sampled).values()),
    }


def evaluation_from(saved: SavedState) -> Evaluation | None:
    """Return the last evaluation that was saved, if there is one."""
    told = saved.data["evaluation"]
    if told is None:
        return None
    inner = SavedState(saved.arrays, told if isinstance(told, dict) else None)
    names = [str(name) for name in inner.items("instances", MOST_TEXT)]
    shape = (len(names),)
    arrays = {name: saved.array(f"evaluated_{name}", np.float64, shape) for name in EVALUATED}
    kinds = {"optimum": np.float64, "episodes": np.int64}
    more = {
        name: saved.array(f"evaluated_{name}", kind, shape)
        for name, kind in kinds.items()
        if f"evaluated_{name}" in saved.arrays
    }
    sampled = inner.data["sampled"]
    counts = None if sampled is None else [int(one) for one in inner.items("sampled", 7)]
    return Evaluation(
        tuple(names),
        **arrays,
        exact=inner.switch("exact"),
        optimum=more.get("optimum"),
        episodes=more.get("episodes"),
        notes=tuple(str(note) for note in inner.items("notes", MOST_TEXT)),
        sampled=None if counts is None else Sampling(*counts),
    )
