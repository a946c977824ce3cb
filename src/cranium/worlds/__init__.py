"""The worlds: Gymnasium environments with named events, and any finite one as arrays."""

from cranium.worlds.balls import Ball
from cranium.worlds.craft import CraftWorld
from cranium.worlds.enumeration import enumerate_env
from cranium.worlds.finite import FiniteEnv
from cranium.worlds.grid import Grid
from cranium.worlds.letter import LetterEnv, LetterSpec
from cranium.worlds.office import OfficeWorld
from cranium.worlds.point import PointWorld, Region
from cranium.worlds.protocols import FiniteWorld, HasInstances, Outcome, World
from cranium.worlds.sampling import Sampling
from cranium.worlds.tabular import TabularWorld
from cranium.worlds.water import WaterWorld

__all__ = [
    "Ball",
    "CraftWorld",
    "FiniteEnv",
    "FiniteWorld",
    "Grid",
    "HasInstances",
    "LetterEnv",
    "LetterSpec",
    "OfficeWorld",
    "Outcome",
    "PointWorld",
    "Region",
    "Sampling",
    "TabularWorld",
    "WaterWorld",
    "World",
    "enumerate_env",
]
