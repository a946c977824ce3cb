"""A task meets an environment: the automaton-augmented MDP."""

from cranium.product.aamdp import AutomatonAugmentedMDP, product
from cranium.product.catalogue import CATALOGUE, make_product, make_world, register
from cranium.product.encoding import BoxEncoding, DictEncoding, Encoding, TabularEncoding
from cranium.product.labelling import (
    Labelling,
    LabelReport,
    check_labelling,
    labelling,
    labelling_from_cells,
)
from cranium.product.planning import Solution, solve

register()

__all__ = [
    "CATALOGUE",
    "AutomatonAugmentedMDP",
    "BoxEncoding",
    "DictEncoding",
    "Encoding",
    "LabelReport",
    "Labelling",
    "Solution",
    "TabularEncoding",
    "check_labelling",
    "labelling",
    "labelling_from_cells",
    "make_product",
    "make_world",
    "product",
    "solve",
]
