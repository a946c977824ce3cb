"""Counterfactual experience, the paper's idea, for any training loop.

From one real transition an agent learns what would have happened in other configurations of the
machine: the label is known, so the machine says what it would have done and paid there.
"""

from cranium.counterfactual.recorder import RecordTransition, record_transitions
from cranium.counterfactual.relabel import MachineTables, Relabelled, relabel
from cranium.counterfactual.replay import CounterfactualReplay, ReplayBatch
from cranium.counterfactual.sets import (
    AnyConfigurationSet,
    ConfigurationArrays,
    ConfigurationSet,
    Current,
    Reachable,
    Seen,
    configuration_set,
)

__all__ = [
    "AnyConfigurationSet",
    "ConfigurationArrays",
    "ConfigurationSet",
    "CounterfactualReplay",
    "Current",
    "MachineTables",
    "Reachable",
    "RecordTransition",
    "Relabelled",
    "ReplayBatch",
    "Seen",
    "configuration_set",
    "record_transitions",
    "relabel",
]
