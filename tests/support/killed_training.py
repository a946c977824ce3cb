"""A training in a process of its own, to be killed: ``python -m support.killed_training …``."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from support.every_learner import NETWORKS, TABLES


def main(name: str, checkpoint: str, result: str) -> None:
    """Train, or go on, and keep what the result says."""
    training = next(each for each in [*TABLES, *NETWORKS] if each.name == name)
    file = Path(checkpoint)
    found = training.train(
        checkpoint=file, resume=file if file.exists() else None, every=training.steps // 60
    )
    Path(result).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
