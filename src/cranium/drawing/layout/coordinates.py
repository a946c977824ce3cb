"""Coordinates of the cells across the picture, so that arrows are as straight as possible.

The arrows are to bend as little as possible, Σ w·|y − y′| over all steps of all arrows, while the
cells of a column keep their order and their distance. That is a linear program, and its dual is a
flow of least cost, for which networkx has an exact algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from cranium.drawing.layout.grid import Cell, Grid

__all__ = ["assign_coordinates"]

LANE_WEIGHT = 8
STATE_WEIGHT = 2
MAIN_FACTOR = 6

Arc = tuple[int, int, int, int | None]
"""From, to, cost and capacity (None is unlimited): the bound y[to] ≥ y[from] − cost."""


def assign_coordinates(grid: Grid, gap: float, is_main: Callable[[int], bool]) -> None:
    """Set the coordinate of every cell.

    Args:
        grid: The cells, in order.
        gap: The least distance between two cells of a column.
        is_main: Whether the edge with this number is to be straight before all others.

    Example:
        >>> import cranium
        >>> from cranium.drawing.layout.grid import Size, build_grid
        >>> from cranium.drawing.layout.layers import assign_layers
        >>> graph = assign_layers(cranium.library.load("anbcn"))
        >>> nodes, edges = [Size()] * len(graph.nodes), [Size()] * len(graph.edges)
        >>> grid = build_grid(graph, nodes, edges, Size())
        >>> assign_coordinates(grid, 10, lambda number: graph.edges[number].is_main)
        >>> [cell.position - grid.cells[0].position for cell in grid.cells[:3]]
        [0.0, 0.0, 0.0]
    """
    numbers = {cell: n for n, cell in enumerate(c for column in grid.columns for c in column)}
    arcs = [*_separation_arcs(grid, numbers, gap), *_straightening_arcs(grid, numbers, is_main)]
    residual = _residual_arcs(arcs, len(numbers))
    # The two extreme answers are equally good, so is their mean, and it is the symmetric one.
    behind = _shortest_distances(residual, len(numbers))
    ahead = _shortest_distances([(to, start, cost) for start, to, cost in residual], len(numbers))
    for cell, number in numbers.items():
        cell.position = (ahead[number] - behind[number]) / 2


def _separation_arcs(grid: Grid, numbers: dict[Cell, int], gap: float) -> Iterator[Arc]:
    for column in grid.columns:
        for above, below in pairwise(column):
            distance = round(above.size.high + below.size.low + gap)
            yield numbers[above], numbers[below], -distance, None


def _straightening_arcs(
    grid: Grid, numbers: dict[Cell, int], is_main: Callable[[int], bool]
) -> Iterator[Arc]:
    for one, other, edge in grid.pairs():
        weight = LANE_WEIGHT if one.node is None and other.node is None else STATE_WEIGHT
        weight *= MAIN_FACTOR if is_main(edge) else 1
        yield numbers[one], numbers[other], 0, weight
        yield numbers[other], numbers[one], 0, weight
    # Parts of a machine that nothing joins must not drift gap.
    first = numbers[grid.cells[0]]
    for cell in grid.cells[1:]:
        if not cell.column or not grid.neighbours.get(cell):
            yield first, numbers[cell], 0, 1
            yield numbers[cell], first, 0, 1


def _residual_arcs(arcs: list[Arc], count: int) -> list[tuple[int, int, int]]:
    """The arcs along which the cheapest flow could still change."""
    import networkx as nx

    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    graph.add_nodes_from(range(count))
    for start, to, cost, capacity in arcs:
        limit = {} if capacity is None else {"capacity": capacity}
        graph.add_edge(start, to, weight=cost, **limit)
    _, flow = nx.network_simplex(graph)
    left = []
    for start, to, key, data in graph.edges(keys=True, data=True):
        used = flow[start][to][key]
        if used < data.get("capacity", used + 1):
            left.append((start, to, data["weight"]))
        if used > 0:
            left.append((to, start, -data["weight"]))
    return left


def _shortest_distances(arcs: list[tuple[int, int, int]], count: int) -> list[float]:
    """Bellman and Ford's distances from the first cell."""
    import numpy as np

    start, to, cost = np.array(arcs, dtype=np.int64).reshape(-1, 3).T
    distance = np.full(count, np.inf)
    distance[0] = 0
    for _ in range(count):
        found = distance.copy()
        np.minimum.at(found, to, distance[start] + cost)
        if (found == distance).all():
            break
        distance = found
    return [float(value) for value in distance]
