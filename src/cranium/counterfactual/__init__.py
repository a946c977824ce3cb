"""Counterfactual experience, the paper's idea, for any training loop.

From one real transition an agent learns what would have happened in other configurations of the
machine: the label is known, so the machine says what it would have done and paid there.
"""

from cranium.counterfactual.relabel import MachineTables, Relabelled, relabel
from cranium.counterfactual.sets import (
    ConfigurationArrays,
    ConfigurationSet,
    Current,
    Reachable,
    Seen,
)

__all__ = [
    "ConfigurationArrays",
    "ConfigurationSet",
    "Current",
    "MachineTables",
    "Reachable",
    "Relabelled",
    "Seen",
    "relabel",
]
