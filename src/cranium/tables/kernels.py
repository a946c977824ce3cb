"""Compiled functions over the tables, and nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cranium._runtime.jit import compiled
from cranium.tables.space import AutomatonTables

__all__ = ["run_many", "step_many"]


@compiled
def step_many(
    tables: AutomatonTables,
    labels: NDArray[np.int32],  # [N]
    configurations: NDArray[np.int32],  # [N], overwritten with the next ones
    rewards: NDArray[np.float64],  # [N], overwritten
) -> int:
    """Let N machines read one label each; the first that refuses is the answer, or -1.

    What reward functions pay is not part of the tables, and not of these rewards.
    """
    for i in range(configurations.shape[0]):
        label, x = labels[i], configurations[i]
        after = tables.next_configuration[label, x]
        if after < 0:
            return i
        rewards[i] = tables.reward[label, x]
        configurations[i] = after
    return -1


@compiled
def run_many(
    next_configuration: NDArray[np.int32],  # [L, X]
    labels: NDArray[np.int32],  # [T]
    configurations: NDArray[np.int32],  # [N], overwritten with the last ones
) -> int:
    """Let N machines read the same T labels; the first time at which one refuses, or -1.

    After a refusal the configurations mean nothing.
    """
    for t in range(labels.shape[0]):
        row = next_configuration[labels[t]]
        lowest = 0
        for i in range(configurations.shape[0]):
            x = row[configurations[i]]
            lowest = min(lowest, x)
            configurations[i] = max(x, 0)
        if lowest < 0:
            return t
    return -1
