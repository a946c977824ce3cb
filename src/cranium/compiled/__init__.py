"""Automata as arrays: every configuration is a number, every step is a look-up."""

from cranium.compiled.tables import AutomatonTables, ConfigurationSpace, GrowingSpace

__all__ = ["AutomatonTables", "ConfigurationSpace", "GrowingSpace"]
