"""Experiments: their configs, the engines that run their trials, and the records of results."""

from cranium.experiments import execution, shapes  # they register how trials are run and checked
from cranium.experiments.complexity import ComplexityConfig
from cranium.experiments.configs import (
    ExperimentConfig,
    list_experiments,
    load_configs,
    make_config,
)
from cranium.experiments.deep import NetworksConfig
from cranium.experiments.letter import LetterConfig
from cranium.experiments.local_engine import LocalEngine
from cranium.experiments.natural_language import NaturalLanguageConfig
from cranium.experiments.office import OfficeConfig
from cranium.experiments.ray_engine import RayEngine
from cranium.experiments.records import DamagedRecordWarning, Record, Store
from cranium.experiments.reward_machines import RewardMachinesConfig
from cranium.experiments.runner import RunCallback, RunResult, run

__all__ = [
    "ComplexityConfig",
    "DamagedRecordWarning",
    "ExperimentConfig",
    "LetterConfig",
    "LocalEngine",
    "NaturalLanguageConfig",
    "NetworksConfig",
    "OfficeConfig",
    "RayEngine",
    "Record",
    "RewardMachinesConfig",
    "RunCallback",
    "RunResult",
    "Store",
    "execution",
    "list_experiments",
    "load_configs",
    "make_config",
    "run",
    "shapes",
]
