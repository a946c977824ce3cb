"""Which continuous worlds can step inside the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym

from cranium.aamdp.labelling import WorldEvents
from cranium.aamdp.planning import find_product
from cranium.errors import WorldError
from cranium.learners.deep.point import point_world
from cranium.learners.deep.water import water_world
from cranium.learners.tabular.arrays import LearnerTables
from cranium.worlds.point import PointWorld
from cranium.worlds.water import WaterWorld

__all__ = ["continuous_world"]

MAKERS: dict[type[Any], Callable[..., Any]] = {PointWorld: point_world, WaterWorld: water_world}


def continuous_world(env: gym.Env[Any, Any], tables: LearnerTables) -> Any:
    """The world of a product for the loop; None if it is another one, or may do something else."""
    try:
        product = find_product(env, transparent=True)
    except WorldError:
        return None
    inner: Any = product.env
    while type(inner) in (gym.wrappers.OrderEnforcing, gym.wrappers.PassiveEnvChecker):
        inner = inner.env
    own = isinstance(product.labelling, WorldEvents) and product.automaton.is_constant
    make = MAKERS.get(type(inner))  # not of subclasses, which may do something else
    if make is None or not own:
        return None
    return make(inner, frozenset(product.automaton.propositions), tables)
