"""The curves of the arrows: along the lanes of the grid, from one outline to another."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from cranium.drawing.layout.grid import Cell, Grid
from cranium.drawing.layout.layers import LayeredGraph

__all__ = ["Point", "Router", "inside", "sample"]

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""The least and the greatest coordinates: x0, y0, x1, y1."""

ENTRY = 24.0
"""The length of the arrow into the initial state."""
LOOP_REACH = 19.0
LOOP_FOOT = 7.0
LOOP_BELLY = 15.0
PORT_GAP = 8.0
STEEPEST = math.radians(50)
CLEAR = 3.0
"""Between an arrow and anything else's text or outline."""
LINE_GAP = 3.0
"""Between an arrow and its text."""


@dataclass(kw_only=True, slots=True)
class Router:
    """Draws curves through a grid whose columns have their places.

    Args:
        plan: The spots and links.
        grid: Their cells, with their places across.
        centres: Where the middle line of each column is along.
        back: How far each column reaches back from there.
        ahead: How far it reaches ahead.
        shapes: The size of each spot's outline, along and across.
        corners: The radius of each outline's corners.
        loops: How far the text of each spot's loop reaches along, to both sides; 0 is no loop.
        turned: Whether along is down. Loops and texts are above their lines if not, and to their
            right if so.
    """

    plan: LayeredGraph
    grid: Grid
    centres: list[float]
    back: list[float]
    ahead: list[float]
    shapes: list[tuple[float, float]]
    corners: list[float]
    loops: list[float]
    turned: bool
    ports: dict[tuple[int, int], float] = field(init=False)

    def __post_init__(self) -> None:
        self.ports = self._ports()

    @property
    def side(self) -> int:
        """The side of a line on which its text is, across: −1 or 1."""
        return 1 if self.turned else -1

    # Where things are, along and across

    def centre(self, spot: int) -> Point:
        """The centre of a spot."""
        cell = self.grid.cells[spot]
        return self.centres[cell.column], cell.place

    def text(self, number: int, length: float, breadth: float) -> Point:
        """The centre of the text of a link, which has this size."""
        link, chain = self.plan.links[number], self.grid.chains[number]
        if not chain:
            along, _ = self.centre(link.source)
            return along, self._apex(link.source) + self.side * (LINE_GAP + breadth / 2)
        cell = chain[1]
        if chain[0].column == chain[-1].column:
            return self._edge(cell, -1) + LINE_GAP + length / 2, self._belly(cell)
        return self.centres[cell.column], cell.place + self.side * (LINE_GAP + breadth / 2)

    def _apex(self, spot: int) -> float:
        return self.centre(spot)[1] + self.side * (self.shapes[spot][1] / 2 + LOOP_REACH)

    def _edge(self, cell: Cell, side: int) -> float:
        reach = self.ahead if side > 0 else self.back
        return self.centres[cell.column] + side * reach[cell.column]

    @staticmethod
    def _belly(cell: Cell) -> float:
        return cell.place + (cell.size.high - cell.size.low) / 2

    # Where arrows meet outlines

    def _ports(self) -> dict[tuple[int, int], float]:
        """How far each end of each link is from the middle of its side of the outline."""
        sides: dict[tuple[int, int], list[tuple[float, int, int]]] = defaultdict(list)
        for number, chain in enumerate(self.grid.chains):
            for end, cell, beside in (
                ((0, chain[0], chain[1]), (1, chain[-1], chain[-2])) if chain else ()
            ):
                assert cell.spot is not None
                bend = beside.place - cell.place
                sides[cell.spot, beside.column - cell.column].append((bend, number, end))
        ports = {}
        for (spot, _), ends in sides.items():
            room = self.shapes[spot][1] / 2 - 4
            for (_, number, end), offset in zip(
                sorted(ends), _spread(sorted(ends), room), strict=True
            ):
                ports[number, end] = offset
        return ports

    def _port(self, number: int, end: int, side: int) -> Point:
        link = self.plan.links[number]
        spot = link.target if end else link.source
        along, across = self.centre(spot)
        offset = self.ports[number, end]
        length, breadth = self.shapes[spot]
        return along + side * _reach(
            offset, breadth / 2, length / 2, self.corners[spot]
        ), across + offset

    # Curves

    def route(self, number: int) -> list[Point]:
        """The curve of a link: a first point and three more for each Bézier piece."""
        link, chain = self.plan.links[number], self.grid.chains[number]
        if not chain:
            return self._loop(link.source)
        if chain[0].column == chain[-1].column:
            return self._bow(number, chain[1])
        way = 1 if chain[0].column < chain[-1].column else -1
        points = [self._port(number, 0, way)]
        for before, cell in pairwise(chain[:-1]):
            entry = (self._edge(cell, -way), cell.place)
            points += self._bend(points[-1], entry, before, cell)
            points += _straight(entry, (self._edge(cell, way), cell.place))
        if self.plan.spots[link.target].terminal:
            return points + self._aim(points[-1], link.target)
        return points + self._bend(points[-1], self._port(number, 1, -way), *chain[-2:])

    def _bend(self, start: Point, end: Point, before: Cell, after: Cell) -> list[Point]:
        """From one column to the next.

        The curve is gentlest if it bends all the way; but where something else of its own column
        is near, it bends only between the columns.
        """
        way = after.column - before.column
        gentle = (start[0] + end[0]) / 2
        careful = (self._edge(before, way) + self._edge(after, -way)) / 2
        others = [
            self._body(cell)
            for column in (before.column, after.column)
            for cell in self.grid.columns[column]
            if cell is not before and cell is not after
        ]
        curve = [start, (gentle, start[1]), (gentle, end[1]), end]
        middle = careful if any(inside(curve, box, CLEAR) for box in others) else gentle
        return [(middle, start[1]), (middle, end[1]), end]

    def _body(self, cell: Cell) -> Box:
        along, size = self.centres[cell.column], cell.size
        loop = 0.0 if cell.spot is None else self.loops[cell.spot]
        back, ahead = max(size.back, loop), max(size.ahead, loop)
        return along - back, cell.place - size.low, along + ahead, cell.place + size.high

    def _aim(self, start: Point, spot: int) -> list[Point]:
        """Towards the centre of a small circle, so that several arrows do not share one head."""
        along, across = self.centre(spot)
        distance = along - start[0]
        angle = math.atan2(start[1] - across, distance)
        angle = max(-STEEPEST, min(STEEPEST, angle))
        radius = self.shapes[spot][0] / 2
        back, aside = -math.cos(angle), math.sin(angle)
        end = (along + radius * back, across + radius * aside)
        handle = distance / 2
        return [
            (start[0] + handle, start[1]),
            (end[0] + handle * back, end[1] + handle * aside),
            end,
        ]

    def _bow(self, number: int, cell: Cell) -> list[Point]:
        """Between two states of one column: out, past the text, and back."""
        start, end = self._port(number, 0, 1), self._port(number, 1, 1)
        middle = (self._edge(cell, -1), self._belly(cell))
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

    def _loop(self, spot: int) -> list[Point]:
        along, across = self.centre(spot)
        length, breadth = self.shapes[spot]
        foot = across + self.side * _reach(LOOP_FOOT, length / 2, breadth / 2, self.corners[spot])
        # A Bézier curve passes its control points at three quarters of the way.
        handle = foot + (self._apex(spot) - foot) / 0.75
        return [
            (along - LOOP_FOOT, foot),
            (along - LOOP_BELLY, handle),
            (along + LOOP_BELLY, handle),
            (along + LOOP_FOOT, foot),
        ]

    def entry(self) -> list[Point]:
        """The arrow from nowhere into the initial state."""
        along, across = self.centre(0)
        end = along - self.shapes[0][0] / 2
        start = (end - ENTRY, across)
        return [start, *_straight(start, (end, across))]


def _straight(start: Point, end: Point) -> list[Point]:
    (x0, y0), (x1, y1) = start, end
    return [((2 * x0 + x1) / 3, (2 * y0 + y1) / 3), ((x0 + 2 * x1) / 3, (y0 + 2 * y1) / 3), end]


def _reach(offset: float, half_side: float, half_depth: float, corner: float) -> float:
    """How far a rounded rectangle reaches, so far from the middle of one of its sides."""
    excess = min(abs(offset) - (half_side - corner), corner)
    if excess <= 0:
        return half_depth
    return half_depth - corner + math.sqrt(corner**2 - excess**2)


def _spread(ends: Sequence[tuple[float, int, int]], room: float) -> list[float]:
    """Offsets for the ends on one side: the straightest in the middle, the others around it."""
    if len(ends) == 1:
        return [0.0]
    bends = [abs(bend) for bend, _, _ in ends]
    straight = min(range(len(ends)), key=bends.__getitem__)
    middle = straight if bends[straight] < 1 else (len(ends) - 1) / 2
    furthest = max(middle, len(ends) - 1 - middle)
    step = min(PORT_GAP, room / furthest)
    return [(index - middle) * step for index in range(len(ends))]


def sample(points: Sequence[Point], steps: int = 16) -> list[Point]:
    """Sample points on a curve of Bézier pieces.

    Example:
        >>> sample([(0, 0), (1, 0), (2, 0), (3, 0)], steps=2)
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


def inside(points: Sequence[Point], box: Box, margin: float = 0.0) -> bool:
    """Whether a curve enters a rectangle, or comes nearer to it than the margin.

    Example:
        >>> inside([(0, 0), (1, 0), (2, 0), (3, 0)], (1, -1, 1.01, 1))
        True
    """
    grown = (box[0] - margin, box[1] - margin, box[2] + margin, box[3] + margin)
    for first in range(0, len(points) - 1, 3):
        piece = points[first : first + 4]
        if _may_touch(piece, grown) and any(
            _may_touch(two, grown) and _cuts(*two, grown) for two in pairwise(sample(piece))
        ):
            return True
    return False


def _may_touch(points: Sequence[Point], box: Box) -> bool:
    # A curve lies within the hull of its control points, so most are out of question at once.
    across = min(p[0] for p in points) < box[2] and max(p[0] for p in points) > box[0]
    return across and min(p[1] for p in points) < box[3] and max(p[1] for p in points) > box[1]


def _cuts(start: Point, end: Point, box: Box) -> bool:
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
