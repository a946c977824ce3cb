"""The curves of the arrows: along the lanes of the grid, from one outline to another."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from cranium.drawing.layout.grid import Cell, Grid
from cranium.drawing.layout.layers import LayeredGraph

__all__ = ["Point", "Router", "curve_enters", "sample_curve"]

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""The least and the greatest coordinates: x0, y0, x1, y1."""

ENTRY = 24.0
"""The length of the arrow into the initial state."""
LOOP_HEIGHT = 19.0
LOOP_END_OFFSET = 7.0
LOOP_CONTROL_OFFSET = 15.0
PORT_GAP = 8.0
MAX_ANGLE = math.radians(50)
CLEARANCE = 3.0
"""Between an arrow and anything else's text or outline."""
LINE_GAP = 3.0
"""Between an arrow and its text."""


@dataclass(kw_only=True, slots=True)
class Router:
    """Draws curves through a grid whose columns have their places.

    Args:
        graph: The nodes and edges.
        grid: Their cells, with their places across.
        centres: Where the middle line of each column is along.
        back: How far each column reaches back from there.
        ahead: How far it reaches ahead.
        shapes: The size of each node's outline, along and across.
        corners: The radius of each outline's corners.
        loops: How far the text of each node's loop reaches along, to both sides; 0 is no loop.
        is_vertical: Whether along is down. Loops and texts are then to the right of their lines,
            and otherwise above them.
    """

    graph: LayeredGraph
    grid: Grid
    centres: list[float]
    back: list[float]
    ahead: list[float]
    shapes: list[tuple[float, float]]
    corners: list[float]
    loops: list[float]
    is_vertical: bool
    ports: dict[tuple[int, int], float] = field(init=False)

    def __post_init__(self) -> None:
        self.ports = self._ports()

    @property
    def side(self) -> int:
        """The side of a line on which its text is, across: −1 or 1."""
        return 1 if self.is_vertical else -1

    # Where things are, along and across

    def centre(self, node: int) -> Point:
        """The centre of a node."""
        cell = self.grid.cells[node]
        return self.centres[cell.column], cell.position

    def text(self, number: int, length: float, breadth: float) -> Point:
        """The centre of the text of a edge, which has this size."""
        edge, chain = self.graph.edges[number], self.grid.chains[number]
        if not chain:
            along, _ = self.centre(edge.source)
            return along, self._apex(edge.source) + self.side * (LINE_GAP + breadth / 2)
        cell = chain[1]
        if chain[0].column == chain[-1].column:
            return self._column_edge(cell, -1) + LINE_GAP + length / 2, self._middle(cell)
        return self.centres[cell.column], cell.position + self.side * (LINE_GAP + breadth / 2)

    def _apex(self, node: int) -> float:
        return self.centre(node)[1] + self.side * (self.shapes[node][1] / 2 + LOOP_HEIGHT)

    def _column_edge(self, cell: Cell, side: int) -> float:
        reach = self.ahead if side > 0 else self.back
        return self.centres[cell.column] + side * reach[cell.column]

    @staticmethod
    def _middle(cell: Cell) -> float:
        return cell.position + (cell.size.high - cell.size.low) / 2

    # Where arrows meet outlines

    def _ports(self) -> dict[tuple[int, int], float]:
        """How far each end of each edge is from the middle of its side of the outline."""
        sides: dict[tuple[int, int], list[tuple[float, int, int]]] = defaultdict(list)
        for number, chain in enumerate(self.grid.chains):
            for end, cell, beside in (
                ((0, chain[0], chain[1]), (1, chain[-1], chain[-2])) if chain else ()
            ):
                assert cell.node is not None
                bend = beside.position - cell.position
                sides[cell.node, beside.column - cell.column].append((bend, number, end))
        ports = {}
        for (node, _), ends in sides.items():
            room = self.shapes[node][1] / 2 - 4
            for (_, number, end), offset in zip(
                sorted(ends), _spread_offsets(sorted(ends), room), strict=True
            ):
                ports[number, end] = offset
        return ports

    def _port(self, number: int, end: int, side: int) -> Point:
        edge = self.graph.edges[number]
        node = edge.target if end else edge.source
        along, across = self.centre(node)
        offset = self.ports[number, end]
        length, breadth = self.shapes[node]
        return along + side * _half_extent(
            offset, breadth / 2, length / 2, self.corners[node]
        ), across + offset

    # Curves

    def route(self, number: int) -> list[Point]:
        """The curve of a edge: a first point and three more for each Bézier piece."""
        edge, chain = self.graph.edges[number], self.grid.chains[number]
        if not chain:
            return self._loop_curve(edge.source)
        if chain[0].column == chain[-1].column:
            return self._same_column_curve(number, chain[1])
        direction = 1 if chain[0].column < chain[-1].column else -1
        points = [self._port(number, 0, direction)]
        for before, cell in pairwise(chain[:-1]):
            entry = (self._column_edge(cell, -direction), cell.position)
            points += self._curve_between_columns(points[-1], entry, before, cell)
            points += _straight(entry, (self._column_edge(cell, direction), cell.position))
        if self.graph.nodes[edge.target].is_terminal:
            return points + self._curve_to_terminal(points[-1], edge.target)
        return points + self._curve_between_columns(
            points[-1], self._port(number, 1, -direction), *chain[-2:]
        )

    def _curve_between_columns(
        self, start: Point, end: Point, before: Cell, after: Cell
    ) -> list[Point]:
        """From one column to the next.

        The curve is gentlest if it bends all the way. Where something else of its own column is
        near, it bends only between the columns.
        """
        direction = after.column - before.column
        smooth = (start[0] + end[0]) / 2
        narrow = (self._column_edge(before, direction) + self._column_edge(after, -direction)) / 2
        others = [
            self._cell_box(cell)
            for column in (before.column, after.column)
            for cell in self.grid.columns[column]
            if cell is not before and cell is not after
        ]
        curve = [start, (smooth, start[1]), (smooth, end[1]), end]
        middle = narrow if any(curve_enters(curve, box, CLEARANCE) for box in others) else smooth
        return [(middle, start[1]), (middle, end[1]), end]

    def _cell_box(self, cell: Cell) -> Box:
        along, size = self.centres[cell.column], cell.size
        loop = 0.0 if cell.node is None else self.loops[cell.node]
        back, ahead = max(size.back, loop), max(size.ahead, loop)
        return along - back, cell.position - size.low, along + ahead, cell.position + size.high

    def _curve_to_terminal(self, start: Point, node: int) -> list[Point]:
        """Towards the centre of a small circle, so that several arrows do not share one head."""
        along, across = self.centre(node)
        distance = along - start[0]
        angle = math.atan2(start[1] - across, distance)
        angle = max(-MAX_ANGLE, min(MAX_ANGLE, angle))
        radius = self.shapes[node][0] / 2
        back, aside = -math.cos(angle), math.sin(angle)
        end = (along + radius * back, across + radius * aside)
        handle = distance / 2
        return [
            (start[0] + handle, start[1]),
            (end[0] + handle * back, end[1] + handle * aside),
            end,
        ]

    def _same_column_curve(self, number: int, cell: Cell) -> list[Point]:
        """Between two states of one column: out, past the text, and back."""
        start, end = self._port(number, 0, 1), self._port(number, 1, 1)
        middle = (self._column_edge(cell, -1), self._middle(cell))
        lean = 0.3 * (end[1] - start[1])
        return [
            start,
            (start[0] + 0.6 * (middle[0] - start[0]), start[1]),
            (middle[0], middle[1] - lean),
            middle,
            (middle[0], middle[1] + lean),
            (end[0] + 0.6 * (middle[0] - end[0]), end[1]),
            end,
        ]

    def _loop_curve(self, node: int) -> list[Point]:
        along, across = self.centre(node)
        length, breadth = self.shapes[node]
        base = across + self.side * _half_extent(
            LOOP_END_OFFSET, length / 2, breadth / 2, self.corners[node]
        )
        # A Bézier curve passes its control points at three quarters of the direction.
        handle = base + (self._apex(node) - base) / 0.75
        return [
            (along - LOOP_END_OFFSET, base),
            (along - LOOP_CONTROL_OFFSET, handle),
            (along + LOOP_CONTROL_OFFSET, handle),
            (along + LOOP_END_OFFSET, base),
        ]

    def entry_arrow(self) -> list[Point]:
        """The arrow from nowhere into the initial state."""
        along, across = self.centre(0)
        end = along - self.shapes[0][0] / 2
        start = (end - ENTRY, across)
        return [start, *_straight(start, (end, across))]


def _straight(start: Point, end: Point) -> list[Point]:
    (x0, y0), (x1, y1) = start, end
    return [((2 * x0 + x1) / 3, (2 * y0 + y1) / 3), ((x0 + 2 * x1) / 3, (y0 + 2 * y1) / 3), end]


def _half_extent(offset: float, half_side: float, half_depth: float, corner: float) -> float:
    """How far a rounded rectangle reaches, so far from the middle of one of its sides."""
    excess = min(abs(offset) - (half_side - corner), corner)
    if excess <= 0:
        return half_depth
    return half_depth - corner + math.sqrt(corner**2 - excess**2)


def _spread_offsets(ends: Sequence[tuple[float, int, int]], room: float) -> list[float]:
    """Offsets for the ends on one side: the straightest in the middle, the others around it."""
    if len(ends) == 1:
        return [0.0]
    bends = [abs(bend) for bend, _, _ in ends]
    straight = min(range(len(ends)), key=bends.__getitem__)
    middle = straight if bends[straight] < 1 else (len(ends) - 1) / 2
    furthest = max(middle, len(ends) - 1 - middle)
    step = min(PORT_GAP, room / furthest)
    return [(index - middle) * step for index in range(len(ends))]


def sample_curve(points: Sequence[Point], steps: int = 16) -> list[Point]:
    """Sample points on a curve of Bézier pieces.

    Example:
        >>> sample_curve([(0, 0), (1, 0), (2, 0), (3, 0)], steps=2)
        [(0, 0), (1.5, 0.0), (3.0, 0.0)]
    """
    found = [points[0]]
    for first in range(0, len(points) - 1, 3):
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = points[first : first + 4]
        for step in range(1, steps + 1):
            t = step / steps
            u = 1 - t
            a, b, c, d = u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t
            found.append((a * ax + b * bx + c * cx + d * dx, a * ay + b * by + c * cy + d * dy))
    return found


def curve_enters(points: Sequence[Point], box: Box, margin: float = 0.0) -> bool:
    """Whether a curve enters a rectangle, or comes nearer to it than the margin.

    Example:
        >>> curve_enters([(0, 0), (1, 0), (2, 0), (3, 0)], (1, -1, 1.01, 1))
        True
    """
    padded = (box[0] - margin, box[1] - margin, box[2] + margin, box[3] + margin)
    for first in range(0, len(points) - 1, 3):
        piece = points[first : first + 4]
        if _bounds_overlap(piece, padded) and any(
            _bounds_overlap(two, padded) and _line_enters(*two, padded)
            for two in pairwise(sample_curve(piece))
        ):
            return True
    return False


def _bounds_overlap(points: Sequence[Point], box: Box) -> bool:
    # A curve lies within the hull of its control points, so most are out of question at once.
    across = min(p[0] for p in points) < box[2] and max(p[0] for p in points) > box[0]
    return across and min(p[1] for p in points) < box[3] and max(p[1] for p in points) > box[1]


def _line_enters(start: Point, end: Point, box: Box) -> bool:
    """Whether a straight line enters a rectangle (the algorithm of Liang and Barsky)."""
    enter, leave = 0.0, 1.0
    for axis in (0, 1):
        step = end[axis] - start[axis]
        if not step:
            if not box[axis] < start[axis] < box[axis + 2]:
                return False
            continue
        times = sorted(((box[axis] - start[axis]) / step, (box[axis + 2] - start[axis]) / step))
        enter, leave = max(enter, times[0]), min(leave, times[1])
    return enter < leave
