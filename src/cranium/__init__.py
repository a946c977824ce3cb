"""Counting reward automata: reward functions for reinforcement learning, as counter machines."""

from cranium._runtime.startup import guard_start

guard_start()  # before the imports: they take longest, and Ctrl-C may come at any time

# isort: split
from typing import TYPE_CHECKING

from cranium import assist, episodes, errors, languages, learners, worlds
from cranium._runtime.version import __version__ as __version__
from cranium.aamdp import (
    AutomatonAugmentedMDP,
    Monitor,
    check_labelling,
    find_product,
    labelling,
    labelling_from_cells,
    product,
    rising_edges,
    solve,
)
from cranium.automata.alphabet import Alphabet
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.check import Finding, check
from cranium.automata.convert import as_cra, unroll
from cranium.automata.counter_machine import CounterMachine
from cranium.automata.equivalence import Equivalence, equivalent
from cranium.automata.formula import FALSE, TRUE, Formula
from cranium.automata.formula_parser import parse_formula
from cranium.automata.minimise import minimise
from cranium.automata.reward import Reward, RewardFunction
from cranium.automata.reward_machine import RewardMachine
from cranium.automata.trace import Step, Trace
from cranium.automata.transition import Configuration, Transition, zero_test
from cranium.drawing import draw
from cranium.errors import CraniumError
from cranium.formats import library
from cranium.formats.files import dumps, load, loads, save
from cranium.formats.schema import automaton_schema
from cranium.languages import compile_language
from cranium.learners import Policy, evaluate, train

if TYPE_CHECKING:
    from cranium.studies import Grid, Optuna, Study

_STUDIES = ("Grid", "Optuna", "Study")
"""Imported when they are first asked for: engines and figures take a while to load."""


def __getattr__(name: str) -> object:
    if name in _STUDIES:
        from cranium import studies

        return getattr(studies, name)
    if name == "sb3":
        from cranium.learners import sb3

        return sb3
    raise AttributeError(f"module 'cranium' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_STUDIES, "sb3"})


__all__ = [
    "FALSE",
    "TRUE",
    "Alphabet",
    "AutomatonAugmentedMDP",
    "Configuration",
    "CounterMachine",
    "CountingRewardAutomaton",
    "CraniumError",
    "Equivalence",
    "Finding",
    "Formula",
    "Grid",
    "Monitor",
    "Optuna",
    "Policy",
    "Reward",
    "RewardFunction",
    "RewardMachine",
    "Step",
    "Study",
    "Trace",
    "Transition",
    "as_cra",
    "assist",
    "automaton_schema",
    "check",
    "check_labelling",
    "compile_language",
    "draw",
    "dumps",
    "episodes",
    "equivalent",
    "errors",
    "evaluate",
    "find_product",
    "labelling",
    "labelling_from_cells",
    "languages",
    "learners",
    "library",
    "load",
    "loads",
    "minimise",
    "parse_formula",
    "product",
    "rising_edges",
    "save",
    "solve",
    "train",
    "unroll",
    "worlds",
    "zero_test",
]
