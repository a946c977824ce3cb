"""The product of an environment and an automaton: the automaton-augmented MDP (AAMDP)."""

from cranium.aamdp.catalogue import CATALOGUE
from cranium.aamdp.encoding import BoxEncoding, DictEncoding, Encoding, TabularEncoding
from cranium.aamdp.labelling import (
    Labelling,
    LabelReport,
    check_labelling,
    labelling,
    labelling_from_cells,
    rising_edges,
)
from cranium.aamdp.monitor import Monitor, MonitorStatus
from cranium.aamdp.planning import Solution, find_product, solve
from cranium.aamdp.product import AutomatonAugmentedMDP, product
from cranium.aamdp.registry import (
    add_world,
    find_world,
    make_product,
    make_world,
    register,
)
from cranium.aamdp.tabular_product import TabularProduct

register()

__all__ = [
    "CATALOGUE",
    "AutomatonAugmentedMDP",
    "BoxEncoding",
    "DictEncoding",
    "Encoding",
    "LabelReport",
    "Labelling",
    "Monitor",
    "MonitorStatus",
    "Solution",
    "TabularEncoding",
    "TabularProduct",
    "add_world",
    "check_labelling",
    "find_product",
    "find_world",
    "labelling",
    "labelling_from_cells",
    "make_product",
    "make_world",
    "product",
    "rising_edges",
    "solve",
]
