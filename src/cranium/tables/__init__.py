"""Automata as arrays: every configuration is a number, every step is a look-up."""

from cranium.tables.pay import array_namespace, pay
from cranium.tables.space import AutomatonTables, ConfigurationSpace, GrowingSpace

__all__ = [
    "AutomatonTables",
    "ConfigurationSpace",
    "GrowingSpace",
    "array_namespace",
    "pay",
]
