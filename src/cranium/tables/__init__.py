"""Automata as arrays: every configuration is a number, every step is a look-up."""

from cranium.tables.configurations import (
    apply_limit,
    is_overflow,
    reachable_configurations,
)
from cranium.tables.pay import array_namespace, pay
from cranium.tables.space import AutomatonTables, ConfigurationSpace, open_space

__all__ = [
    "AutomatonTables",
    "ConfigurationSpace",
    "apply_limit",
    "array_namespace",
    "is_overflow",
    "open_space",
    "pay",
    "reachable_configurations",
]
