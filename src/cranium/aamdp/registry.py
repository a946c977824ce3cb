"""Find and make worlds and products by their names, and register them with Gymnasium.

``gymnasium.make("cranium/Letter-v0")`` is a world by itself, ``"cranium/Letter-anbcdn-v0"`` the
product of that world and a task.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gymnasium as gym

from cranium.aamdp.catalogue import CATALOGUE, WorldEntry
from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import UnknownNameError
from cranium.formats import library

__all__ = [
    "add_world",
    "find_world",
    "make_env",
    "make_product",
    "make_world",
    "register",
]


def make_world(name: str, **options: Any) -> gym.Env[Any, Any]:
    """Make a world by its name in the catalogue.

    Example:
        >>> make_world("Office", mail=3).mail
        (3, 3)
    """
    entry = find_world(name)
    return entry.make(**{**entry.options, **options})


def make_product(
    world: str,
    task: str,
    *,
    horizon: int | None = None,
    product: Mapping[str, Any] | None = None,
    **options: Any,
) -> AutomatonAugmentedMDP:
    """Make the product of a world and one of its ready-made tasks.

    Args:
        world: The name of the world.
        task: The name of the task.
        horizon: The number of steps after which an episode is truncated; by default the world's.
        product: More arguments of the product, such as ``{"encoding": BoxEncoding()}``.
        **options: Arguments of the world.

    Example:
        >>> make_product("Letter", "anbcdn", times=3).automaton.name
        'A^N B C D^N'
    """
    entry = find_world(world)
    if task not in entry.tasks:
        raise UnknownNameError.of(f"task in the world {world}", task, entry.tasks)
    return AutomatonAugmentedMDP(
        make_world(world, **options),
        library.load(entry.tasks[task]),
        horizon=entry.horizon if horizon is None else horizon,
        **(product or {}),
    )


def make_env(
    world: str,
    automaton: CountingRewardAutomaton,
    options: Mapping[str, Any] | None = None,
    *,
    horizon: int | None = None,
    counter_limit: int | None = None,
) -> gym.Env[Any, Any]:
    """Make the product of a world and any task.

    Args:
        world: The name of the world.
        automaton: The task.
        options: Arguments of the world.
        horizon: The number of steps after which an episode is truncated; by default the world's.
        counter_limit: The greatest value of a counter; by default one that no episode can pass.

    Example:
        >>> make_env("Office", library.load("office"), {"mail": 2}).horizon
        1000
    """
    return find_world(world).make_env(
        automaton, options, horizon=horizon, counter_limit=counter_limit
    )


_ADDED: dict[str, WorldEntry] = {}


def add_world(gymnasium_id: str) -> WorldEntry:
    """Let :func:`find_world` find an environment that is registered with Gymnasium.

    Names of worlds also stand in files of agents, episodes and studies. A file may not choose among
    all environments that are registered, and their arguments, so each has to be added first.

    Example:
        >>> add_world("FrozenLake-v1").horizon
        100
        >>> find_world("FrozenLake-v1").id
        'FrozenLake-v1'
    """
    if gymnasium_id not in gym.registry:
        raise UnknownNameError.of("environment in Gymnasium", gymnasium_id, gym.registry)
    _ADDED[gymnasium_id] = WorldEntry(
        gymnasium_id,
        partial(gym.make, gymnasium_id),
        "registered with Gymnasium",
        gym.registry[gymnasium_id].max_episode_steps,
        {},
        gymnasium_id=gymnasium_id,
    )
    return _ADDED[gymnasium_id]


def find_world(name: str) -> WorldEntry:
    """Find a world by its name in the catalogue, in any case, or by an id that was added.

    Example:
        >>> find_world("letter").id
        'cranium/Letter-v0'
    """
    for entry in CATALOGUE:
        if entry.name.lower() == name.lower():
            return entry
    if name in _ADDED:
        return _ADDED[name]
    raise UnknownNameError.of("world", name, [*(entry.name for entry in CATALOGUE), *_ADDED])


def register() -> None:
    """Register all worlds and ready-made products with Gymnasium, if they are not yet.

    Example:
        >>> register()
        >>> gym.make("cranium/Office-mail-delivery-v0").unwrapped.vocabulary[:2]
        ('A', 'decoration')
    """
    for entry in CATALOGUE:
        if entry.id in gym.registry:
            continue
        gym.register(
            entry.id,
            f"{__name__}:make_world",
            max_episode_steps=entry.horizon,
            kwargs={"name": entry.name},
        )
        for task in entry.tasks:
            gym.register(
                entry.product_id(task),
                f"{__name__}:make_product",
                kwargs={"world": entry.name, "task": task},
            )
