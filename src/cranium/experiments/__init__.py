"""Experiments: what to run, how to run it, and what was found."""

from cranium.experiments.complexity import ComplexityConfig
from cranium.experiments.configs import ExperimentConfig, config_of, known, load_configs
from cranium.experiments.deep import NetworksConfig
from cranium.experiments.letter import LetterConfig
from cranium.experiments.local_engine import LocalEngine
from cranium.experiments.natural_language import NaturalLanguageConfig
from cranium.experiments.office import OfficeConfig
from cranium.experiments.ray_engine import RayEngine
from cranium.experiments.records import DamagedRecordWarning, Record, Store
from cranium.experiments.reward_machines import RewardMachinesConfig
from cranium.experiments.runner import Outcome, Watcher, run

__all__ = [
    "ComplexityConfig",
    "DamagedRecordWarning",
    "ExperimentConfig",
    "LetterConfig",
    "LocalEngine",
    "NaturalLanguageConfig",
    "NetworksConfig",
    "OfficeConfig",
    "Outcome",
    "RayEngine",
    "Record",
    "RewardMachinesConfig",
    "Store",
    "Watcher",
    "config_of",
    "known",
    "load_configs",
    "run",
]
