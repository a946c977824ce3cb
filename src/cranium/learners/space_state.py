"""The configuration space of a learner for checkpoints: its labels and configurations in order."""

from __future__ import annotations

import numpy as np

from cranium.errors import CraniumError
from cranium.learners.saved_state import SavedState
from cranium.learners.serialisation import configurations_from, whole
from cranium.tables.space import ConfigurationSpace

__all__ = ["restore_space", "save_space"]

LARGEST = 2**53


def save_space(space: ConfigurationSpace, saved: SavedState) -> None:
    """Add the labels and configurations in their order, and that of the reward functions."""
    alphabet = space.automaton.alphabet
    saved.data["labels"] = [list(alphabet.names(label)) for label in space.labels]
    saved.data["configurations"] = [[x.state, list(x.counters)] for x in space.configurations]
    used = space.tables.reward_function
    first = [np.argwhere(used == number)[0] for number in range(len(space.reward_functions))]
    saved.data["functions"] = [[int(row), int(x)] for row, x in first]


def restore_space(space: ConfigurationSpace, saved: SavedState) -> None:
    """Add the labels and configurations of another run, so that they have the same numbers."""
    try:
        for number, label in enumerate(saved.items("labels", LARGEST)):
            if space.add_label(tuple(label)) != number:
                raise ValueError(f"the label {label} has another number")
        for number, x in enumerate(configurations_from(saved.data["configurations"])):
            if space.encode(x) != number:
                raise ValueError(f"the configuration {x} has another number")
        for number, (row, x) in enumerate(saved.items("functions", LARGEST)):
            space.step(whole(row), whole(x))
            if space.tables.reward_function[row, x] != number:
                raise ValueError("reward functions in another order")
    except CraniumError as problem:
        raise ValueError(problem.message) from None
    if len(saved.items("functions", LARGEST)) != len(space.reward_functions):
        raise ValueError("reward functions that are missing")
