"""How to act so that an episode lasts: long walks look for a hidden time limit in this way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cranium.worlds.tabular import TabularWorld

__all__ = ["find_rooms", "lasting_actions"]

MAX_VISITS = 20_000_000
"""The greatest number of outcomes to visit in :func:`lasting_actions`."""


def lasting_actions(world: TabularWorld, steps: int) -> NDArray[np.bool_]:
    """Find the actions with which an episode is expected to last longest, in each state: [S, A].

    Example:
        >>> from cranium.worlds import LetterEnv, TabularWorld
        >>> world = TabularWorld.of(LetterEnv.experiment(1))
        >>> bool(lasting_actions(world, 100).all())  # it never ends by itself
        True
    """
    shape = (world.num_states, world.num_actions)
    goes_on = world.probability * ~world.terminated
    lasts = np.zeros(shape)
    for _ in range(min(steps, 1000, 1 + MAX_VISITS // (1 + len(world.probability)))):
        ahead = 1 + lasts.max(axis=1)
        following = goes_on * ahead[world.next_state]
        again = np.bincount(world.pair, following, lasts.size).reshape(shape).astype(np.float64)
        if np.array_equal(again, lasts):
            break
        lasts = again
    best: NDArray[np.bool_] = lasts >= lasts.max(axis=1, keepdims=True) * (1 - 1e-9)
    return best


def find_rooms(world: TabularWorld) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Find the rooms of a world: its strongly connected components.

    Returns:
        The room of each state [S], and the actions that cannot leave it [S, A].

    Example:
        >>> from cranium.worlds import LetterEnv, TabularWorld
        >>> room, stays = find_rooms(TabularWorld.of(LetterEnv.experiment(1)))
        >>> bool(room.max() > 0), bool(stays.all())  # once A has become B, it is never A again
        (True, False)
    """
    from scipy.sparse import csr_array  # not before: it takes a while to load
    from scipy.sparse.csgraph import connected_components

    before, goes_on = world.pair // world.num_actions, ~world.terminated
    edges = (before[goes_on], world.next_state[goes_on])
    size = (world.num_states, world.num_states)
    graph = csr_array((np.ones(len(edges[0]), np.int8), edges), size)
    room: NDArray[np.int32] = connected_components(graph, connection="strong")[1]
    leaves = world.terminated | (room[before] != room[world.next_state])
    leaving = np.bincount(world.pair, leaves, world.num_states * world.num_actions)
    stays: NDArray[np.bool_] = (leaving == 0).reshape(-1, world.num_actions)
    return room, stays
