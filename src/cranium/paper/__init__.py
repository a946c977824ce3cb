"""The figures of the paper: one module for each, with its study, its figure and its caption."""

from cranium.paper.complexity import ComplexityConfig
from cranium.paper.config import (
    ExperimentConfig,
    list_experiments,
    load_configs,
    make_config,
    run,
)
from cranium.paper.deep import NetworksConfig
from cranium.paper.letter import LetterConfig
from cranium.paper.natural_language import NaturalLanguageConfig
from cranium.paper.office import OfficeConfig
from cranium.paper.reward_machines import RewardMachinesConfig

__all__ = [
    "ComplexityConfig",
    "ExperimentConfig",
    "LetterConfig",
    "NaturalLanguageConfig",
    "NetworksConfig",
    "OfficeConfig",
    "RewardMachinesConfig",
    "list_experiments",
    "load_configs",
    "make_config",
    "run",
]
