"""The columns of a picture: states in the even ones, the texts of the arrows in the odd ones.

Every text has a place of its own in a column and every arrow a lane through the columns that it
passes, so neither can touch another text or a state. What is left is to put each column into an
order in which the arrows cross as seldom as possible.

"Along" is the direction from layer to layer, "across" is the other one: the same code makes
pictures that run from left to right and from top to bottom.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

from cranium.drawing.layout.layers import Edge, LayeredGraph
from cranium.errors import DrawingError

__all__ = ["Cell", "Grid", "Size", "build_grid"]

FOR_LARGE_MACHINES = "write it as text for another program: draw(machine, 'machine.dot')"
SWEEPS = 24
MAX_CELLS = 5000
"""A picture with more places than this would take minutes and could not be read."""


@dataclass(frozen=True, slots=True)
class Size:
    """How far something reaches from its centre: back and ahead along, and to both sides across."""

    back: float = 0.0
    ahead: float = 0.0
    low: float = 0.0
    high: float = 0.0


@dataclass(slots=True, eq=False)
class Cell:
    """A place in a column: a state, the text of an arrow, or just the lane of one.

    Attributes:
        column: Its column.
        size: How much room it takes.
        node: The number of the node that stands here, or None.
        label_of: The number of the edge whose text stands here, or None.
        position: Where it is across the picture.
    """

    column: int
    size: Size
    node: int | None = None
    label_of: int | None = None
    position: float = 0.0


@dataclass(slots=True)
class Grid:
    """The cells of a picture.

    Attributes:
        columns: The cells of each column, in order.
        chains: For each edge the cells that it passes, from its source to its target; an empty
            chain is a loop, which belongs to the cell of its state.
        cells: The cell of each node.
    """

    columns: list[list[Cell]]
    chains: list[list[Cell]]
    cells: list[Cell]
    neighbours: dict[Cell, list[Cell]] = field(default_factory=dict)

    def pairs(self) -> list[tuple[Cell, Cell, int]]:
        """The steps of all chains: the cell before, the cell after and the number of the edge."""
        return [
            (one, other, number)
            for number, chain in enumerate(self.chains)
            for one, other in pairwise(chain)
        ]


def build_grid(graph: LayeredGraph, nodes: list[Size], texts: list[Size], lane: Size) -> Grid:
    """Give everything a cell and order the columns.

    Args:
        graph: The nodes and edges.
        nodes: The size of each node.
        texts: The size of each edge's text.
        lane: The size of a lane without text.

    Example:
        >>> import cranium
        >>> from cranium.drawing.layout.layers import assign_layers
        >>> graph = assign_layers(cranium.library.load("anbcn"))
        >>> nodes, edges = [Size()] * len(graph.nodes), [Size()] * len(graph.edges)
        >>> grid = build_grid(graph, nodes, edges, Size())
        >>> [len(column) for column in grid.columns]
        [1, 2, 2, 3, 2]
    """
    cells = [Cell(2 * s.layer, nodes[i], node=i) for i, s in enumerate(graph.nodes)]
    chains = [
        _chain(edge, number, cells, texts[number], lane) for number, edge in enumerate(graph.edges)
    ]
    total = len(cells) + sum(len(chain) for chain in chains)
    if total > MAX_CELLS:
        raise DrawingError(
            f"the arrows of a picture take at most {MAX_CELLS} places, here they take {total}",
            fix=FOR_LARGE_MACHINES,
        )
    count = 1 + max(cell.column for chain in [cells, *chains] for cell in chain)
    columns: list[list[Cell]] = [[] for _ in range(count)]
    for cell in cells:
        columns[cell.column].append(cell)
    for number in sorted(range(len(chains)), key=lambda n: _initial_rank(graph, n)):
        for cell in chains[number][1:-1]:
            columns[cell.column].append(cell)
    grid = Grid(columns, chains, cells)
    for one, other, _ in grid.pairs():
        grid.neighbours.setdefault(one, []).append(other)
        grid.neighbours.setdefault(other, []).append(one)
    _order_columns(grid)
    return grid


def _chain(edge: Edge, number: int, cells: list[Cell], text: Size, lane: Size) -> list[Cell]:
    source, target = cells[edge.source], cells[edge.target]
    if source is target:
        return []
    if source.column == target.column:
        return [source, Cell(source.column + 1, text, label_of=number), target]
    step = 1 if source.column < target.column else -1
    # The text stands next to the source: there one looks for what a state does.
    label = Cell(source.column + step, text, label_of=number)
    lanes = [Cell(c, lane) for c in range(source.column + 2 * step, target.column, step)]
    return [source, label, *lanes, target]


def _initial_rank(graph: LayeredGraph, number: int) -> tuple[bool, bool, int]:
    """The first guess: the way to success above, failures below."""
    edge = graph.edges[number]
    target = graph.nodes[edge.target]
    return not edge.is_main, target.is_terminal and not target.is_accepting, number


def _order_columns(grid: Grid) -> None:
    """Sort each column by the mean place of its neighbours, to and fro; keep the best order."""
    best = [list(column) for column in grid.columns]
    fewest = _crossings(grid)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        forwards = sweep % 2 == 0
        sequence = range(1, len(grid.columns)) if forwards else range(len(grid.columns) - 2, -1, -1)
        for index in sequence:
            _sort_by_barycentre(grid, index, -1 if forwards else 1)
        _swap_neighbours(grid)
        found = _crossings(grid)
        if found < fewest:
            fewest, best = found, [list(column) for column in grid.columns]
    grid.columns = best


def _sort_by_barycentre(grid: Grid, index: int, towards: int) -> None:
    column = grid.columns[index]
    rank = {cell: number for number, cell in enumerate(grid.columns[index + towards])}
    # Python empties a list while it sorts it, so this is worked out before.
    own = {cell: number * len(rank) / len(column) for number, cell in enumerate(column)}

    def key(cell: Cell) -> float:
        beside = [rank[other] for other in grid.neighbours.get(cell, ()) if other in rank]
        return fmean(beside) if beside else own[cell]

    column.sort(key=key)


def _swap_neighbours(grid: Grid) -> None:
    for index, column in enumerate(grid.columns):
        sides = [
            {cell: number for number, cell in enumerate(grid.columns[beside])}
            for beside in (index - 1, index + 1)
            if 0 <= beside < len(grid.columns)
        ]
        ranks = {cell: [_ranks(grid, cell, side) for side in sides] for cell in column}
        for first in range(len(column) - 1):
            one, other = ranks[column[first]], ranks[column[first + 1]]
            now = sum(_inversions(a, b) for a, b in zip(one, other, strict=True))
            then = sum(_inversions(b, a) for a, b in zip(one, other, strict=True))
            if then < now:
                column[first], column[first + 1] = column[first + 1], column[first]


def _ranks(grid: Grid, cell: Cell, side: dict[Cell, int]) -> list[int]:
    return sorted(side[other] for other in grid.neighbours.get(cell, ()) if other in side)


def _inversions(above: list[int], below: list[int]) -> int:
    return sum(one > other for one in above for other in below)


def _crossings(grid: Grid) -> int:
    total = 0
    for left, right in pairwise(grid.columns):
        rank = {cell: number for number, cell in enumerate(right)}
        seen: list[int] = []
        for cell in left:
            beside = _ranks(grid, cell, rank)
            total += sum(len(seen) - bisect_right(seen, number) for number in beside)
            for number in beside:
                insort(seen, number)
    return total
