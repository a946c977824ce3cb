"""The continuous worlds that can step inside the compiled training loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym

from cranium.aamdp.labelling import WorldEvents
from cranium.aamdp.planning import find_product
from cranium.errors import WorldError
from cranium.learners.deep.point import build_point_world
from cranium.learners.deep.water import build_water_world
from cranium.learners.deep.world import JaxWorld
from cranium.learners.tabular.arrays import LearnerTables
from cranium.worlds.point import PointWorld
from cranium.worlds.water import WaterWorld

__all__ = ["build_continuous_world"]

BUILDERS: dict[type[gym.Env[Any, Any]], Callable[..., JaxWorld[Any] | None]] = {
    PointWorld: build_point_world,
    WaterWorld: build_water_world,
}


def build_continuous_world(env: gym.Env[Any, Any], tables: LearnerTables) -> JaxWorld[Any] | None:
    """Convert the world of a product to JAX; None if that is not possible."""
    try:
        product = find_product(env, transparent=True)
    except WorldError:
        return None
    inner: Any = product.env
    while type(inner) in (gym.wrappers.OrderEnforcing, gym.wrappers.PassiveEnvChecker):
        inner = inner.env
    is_own = isinstance(product.labelling, WorldEvents) and product.automaton.is_constant
    build = BUILDERS.get(type(inner))  # not of subclasses, which may do something else
    if build is None or not is_own:
        return None
    return build(inner, frozenset(product.automaton.propositions), tables)
