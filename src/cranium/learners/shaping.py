"""Automated reward shaping: potentials that are worked out on the machine alone.

The value of a configuration, if every label could be read at will, says how near the task is to its
end. Added as a potential (r + γΦ(x′) − Φ(x)) it guides the learner and leaves the optimal policy as
it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cranium.compiled.tables import AutomatonTables

__all__ = ["machine_potentials"]


def machine_potentials(
    tables: AutomatonTables, discount: float, *, tolerance: float = 1e-12
) -> NDArray[np.float64]:
    """Φ(x) = V(x): value iteration on the machine, where the best label is always read.

    Terminal configurations have potential 0, as they must for the policy to stay optimal.

    Example:
        >>> import cranium
        >>> from cranium.compiled import ConfigurationSpace
        >>> machine = cranium.library.load("anbcn")
        >>> space = ConfigurationSpace(machine, ["A", "B", "C"], counter_limit=1)
        >>> dict(zip(map(str, space.configurations[:2]), machine_potentials(space.tables, 0.9)))
        {'⟨counting, 0⟩': np.float64(0.81), '⟨counting, 1⟩': np.float64(0.9)}
    """
    next_configuration = np.maximum(tables.next_configuration, 0)
    allowed = tables.next_configuration >= 0
    value = np.zeros(len(tables.terminal))
    while True:
        ahead = np.where(tables.terminal[next_configuration], 0.0, value[next_configuration])
        gained = np.where(allowed, tables.reward + discount * ahead, -np.inf)
        new = np.where(tables.terminal, 0.0, gained.max(axis=0))
        if np.abs(new - value).max() <= tolerance:
            return new
        value = new
