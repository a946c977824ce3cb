"""The layout of a drawing: states, arrows and labels, in points from its upper left corner.

Drawings run from left to right, with the labels above the arrows. Machines that would become too
wide run from top to bottom, with the labels beside the arrows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.drawing.labels import check_machine, footnote
from cranium.drawing.layout.coordinates import assign_coordinates
from cranium.drawing.layout.grid import FOR_LARGE_MACHINES, Cell, Grid, Size, build_grid
from cranium.drawing.layout.layers import LayeredGraph, assign_layers
from cranium.drawing.layout.measure import Block, Shape, measure_label, measure_state, note_width
from cranium.drawing.layout.routes import (
    ENTRY,
    LINE_GAP,
    LOOP_HEIGHT,
    Box,
    Point,
    Router,
    curve_enters,
    sample_curve,
)
from cranium.errors import DrawingError

__all__ = ["Curve", "Layout", "Text", "lay_out"]

MAX_STATES = 150
MAX_ARROWS = 600
"""Larger drawings would take minutes to compute and could not be read."""

PREFERRED_WIDTH = 950.0
ASPECT = 1.5
MARGIN = 8.0
CELL_GAP = 12.0
CLEARANCE = 4.0
LABEL_CLEARANCE = 2.0
COLUMN_GAP = 18.0
STEEPNESS = 0.2
MAX_COLUMN_GAP = 44.0
NAME_GAP = 4.0
NOTE_HEIGHT = 16.0


@dataclass(frozen=True, slots=True)
class Text:
    """A block of text and its centre; its lines are centred, or begin at the left."""

    block: Block
    x: float
    y: float
    centred: bool = True


@dataclass(frozen=True, slots=True)
class Outline:
    """A state's outline and its centre."""

    state: str
    shape: Shape
    x: float
    y: float
    is_terminal: bool
    is_accepting: bool


Curve = tuple[Point, ...]
"""A cubic Bézier spline that ends in an arrowhead: its start, and three points for each segment."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The positions of everything in a drawing.

    Attributes:
        width: The width of the whole drawing.
        height: The height of the whole drawing.
        outlines: The states.
        names: The names of the states, in the same order.
        curves: The arrows; the first is the one into the initial state.
        labels: The labels of the arrows; the label of ``curves[i + 1]`` is ``labels[i]``.
        note: The footnote under the drawing; empty if there is none.
    """

    width: float
    height: float
    outlines: tuple[Outline, ...]
    names: tuple[Text, ...]
    curves: tuple[Curve, ...]
    labels: tuple[Text, ...]
    note: str


def lay_out(machine: CountingRewardAutomaton) -> Layout:
    """Compute the layout of a machine.

    Example:
        >>> import cranium
        >>> layout = lay_out(cranium.library.load("anbcn"))
        >>> len(layout.outlines), len(layout.curves), layout.width > layout.height
        (4, 7, True)
    """
    check_machine(machine)
    count = len(machine.states) + len(machine.terminal)
    if count > MAX_STATES:
        raise DrawingError(
            f"a picture shows at most {MAX_STATES} states, this machine has {count}",
            fix=FOR_LARGE_MACHINES,
        )
    graph = assign_layers(machine)
    if len(graph.edges) > MAX_ARROWS:
        raise DrawingError(
            f"a picture shows at most {MAX_ARROWS} arrows, this machine has {len(graph.edges)}",
            fix=FOR_LARGE_MACHINES,
        )
    note = footnote(machine)
    wide = _LayoutBuilder(graph, is_vertical=False).build(note)
    if wide.width <= PREFERRED_WIDTH:
        return wide
    tall = _LayoutBuilder(graph, is_vertical=True).build(note)
    return min(wide, tall, key=lambda layout: max(layout.width / ASPECT, layout.height))


class _LayoutBuilder:
    """A layout in the making, in one of the two directions.

    It thinks along and across the direction of reading; only ``finish`` turns that into x and y.
    """

    def __init__(self, graph: LayeredGraph, *, is_vertical: bool) -> None:
        self.graph = graph
        self.is_vertical = is_vertical
        self.shapes = [measure_state(node) for node in graph.nodes]
        self.blocks = [measure_label(edge.arrow) for edge in graph.edges]
        self.loops = {
            edge.source: number
            for number, edge in enumerate(graph.edges)
            if edge.source == edge.target
        }
        self.grid = self._grid()
        assign_coordinates(self.grid, CELL_GAP, lambda number: graph.edges[number].is_main)
        self.router = self._router()

    # Sizes, in terms of along and across

    def _orient(self, width: float, height: float) -> tuple[float, float]:
        return (height, width) if self.is_vertical else (width, height)

    def _grid(self) -> Grid:
        lane = Size(low=2, high=2)
        nodes = [self._node_size(number) for number in range(len(self.shapes))]
        return build_grid(self.graph, nodes, [self._text_size(b) for b in self.blocks], lane)

    def _text_size(self, block: Block) -> Size:
        along, across = self._orient(block.width, block.height)
        near, far = 2.0, across + LINE_GAP
        low, high = (near, far) if self.is_vertical else (far, near)
        return Size(along / 2, along / 2, low, high)

    def _node_size(self, number: int) -> Size:
        shape = self.shapes[number]
        along, across = self._orient(shape.width, shape.height)
        if self.graph.nodes[number].is_terminal:
            name_along, name_across = self._orient(shape.name.width, shape.name.height)
            side = max(across, name_across) / 2
            return Size(along / 2, along / 2 + NAME_GAP + name_along, side, side)
        low = high = across / 2
        if number in self.loops:
            block = self.blocks[self.loops[number]]
            room = LOOP_HEIGHT + LINE_GAP + self._orient(block.width, block.height)[1]
            low, high = (low, high + room) if self.is_vertical else (low + room, high)
        return Size(along / 2 + (ENTRY if number == 0 else 0), along / 2, low, high)

    # Columns

    def _router(self) -> Router:
        """Let the texts of loops reach over their columns, as far as no arrow runs into them."""
        widened: set[int] = set()
        while True:
            router = self._columns(widened)
            curves = [router.route(number) for number in range(len(self.graph.edges))]
            hit = {
                self.grid.cells[node].column
                for node, loop in self.loops.items()
                if any(
                    curve_enters(curve, self._box(router, loop), LABEL_CLEARANCE)
                    for curve in curves
                )
            }
            if hit <= widened:
                return router
            widened |= hit

    def _columns(self, widened: set[int]) -> Router:
        back, ahead = [], []
        for index, column in enumerate(self.grid.columns):
            reach = [self._reach(cell, loops=index in widened) for cell in column]
            back.append(max((b for b, _ in reach), default=0.0))
            ahead.append(max((a for _, a in reach), default=0.0))
        gaps = self._gaps()
        centres = [0.0]
        for index in range(1, len(self.grid.columns)):
            nearest = centres[-1] + ahead[index - 1] + gaps[index - 1] + back[index]
            overlaps = (
                centres[before] + self._overlap(before, index)
                for before in range(max(0, index - 3), index)
            )
            centres.append(max(nearest, *overlaps))
        shapes = [self._orient(shape.width, shape.height) for shape in self.shapes]
        corners = [shape.corner for shape in self.shapes]
        loops = [self._loop_half(cell) for cell in self.grid.cells]
        return Router(
            graph=self.graph,
            grid=self.grid,
            centres=centres,
            back=back,
            ahead=ahead,
            shapes=shapes,
            corners=corners,
            loops=loops,
            is_vertical=self.is_vertical,
        )

    def _reach(self, cell: Cell, *, loops: bool) -> tuple[float, float]:
        half = self._loop_half(cell) if loops else 0.0
        return max(cell.size.back, half), max(cell.size.ahead, half)

    def _loop_half(self, cell: Cell) -> float:
        if cell.node is None or cell.node not in self.loops:
            return 0.0
        block = self.blocks[self.loops[cell.node]]
        return self._orient(block.width, block.height)[0] / 2

    def _gaps(self) -> list[float]:
        gaps = [COLUMN_GAP] * len(self.grid.columns)
        for one, other, _ in self.grid.pairs():
            left = min(one.column, other.column)
            steep = COLUMN_GAP + STEEPNESS * abs(one.position - other.position)
            gaps[left] = max(gaps[left], min(steep, MAX_COLUMN_GAP))
        return gaps

    def _overlap(self, left: int, right: int) -> float:
        """How far apart two columns must be because of what stands at the same height."""
        least = 0.0
        for one in self._extents(left):
            for other in self._extents(right):
                if one.low - CLEARANCE < other.high and other.low - CLEARANCE < one.high:
                    least = max(least, one.ahead + other.back + CELL_GAP)
        return least

    def _extents(self, column: int) -> Iterator[Size]:
        """What stands in a column; for once, low and high are places, not distances."""
        for cell in self.grid.columns[column]:
            low, high = cell.position - cell.size.low, cell.position + cell.size.high
            half = self._loop_half(cell)
            if half:
                assert cell.node is not None
                body = self._orient(self.shapes[cell.node].width, self.shapes[cell.node].height)[1]
                offset = LOOP_HEIGHT + body / 2
                text = (
                    (cell.position + offset, high)
                    if self.is_vertical
                    else (low, cell.position - offset)
                )
                yield Size(half, half, *text)
                low, high = cell.position - body / 2, cell.position + body / 2
            yield Size(cell.size.back, cell.size.ahead, low, high)

    def _box(self, router: Router, number: int) -> Box:
        """The rectangle of a edge's text, along and across."""
        length, breadth = self._orient(self.blocks[number].width, self.blocks[number].height)
        along, across = router.text(number, length, breadth)
        return along - length / 2, across - breadth / 2, along + length / 2, across + breadth / 2

    # From along and across to x and y

    def build(self, note: str) -> Layout:
        """The layout, moved to where no coordinate is negative."""
        router = self.router
        curves = [router.entry_arrow(), *(router.route(n) for n in range(len(self.graph.edges)))]
        boxes = [self._box(router, number) for number in range(len(self.blocks))]
        boxes += [self._node_box(number) for number in range(len(self.shapes))]
        boxes += [(x, y, x, y) for curve in curves for x, y in sample_curve(curve)]
        start, top = min(b[0] for b in boxes) - MARGIN, min(b[1] for b in boxes) - MARGIN
        end, bottom = max(b[2] for b in boxes) + MARGIN, max(b[3] for b in boxes) + MARGIN

        def to_xy(along: float, across: float) -> Point:
            return self._orient(along - start, across - top)

        outlines = self._outlines(to_xy)
        width, height = self._orient(end - start, bottom - top)
        return Layout(
            width=max(width, note_width(note) + 2 * MARGIN),
            height=height + (NOTE_HEIGHT if note else 0),
            outlines=outlines,
            names=tuple(self._name(outline) for outline in outlines),
            curves=tuple(tuple(to_xy(*point) for point in curve) for curve in curves),
            labels=tuple(self._label(number, to_xy) for number in range(len(self.blocks))),
            note=note,
        )

    def _node_box(self, number: int) -> Box:
        size = self.grid.cells[number].size
        along, across = self.router.centre(number)
        return along - size.back, across - size.low, along + size.ahead, across + size.high

    def _outlines(self, to_xy: Callable[[float, float], Point]) -> tuple[Outline, ...]:
        found = []
        for number, node in enumerate(self.graph.nodes):
            x, y = to_xy(*self.router.centre(number))
            shape = self.shapes[number]
            found.append(Outline(node.state, shape, x, y, node.is_terminal, node.is_accepting))
        return tuple(found)

    def _name(self, outline: Outline) -> Text:
        shape, x, y = outline.shape, outline.x, outline.y
        beside = outline.is_terminal and not self.is_vertical
        if outline.is_terminal and self.is_vertical:
            y += shape.height / 2 + NAME_GAP + shape.name.height / 2
        elif beside:
            x += shape.width / 2 + NAME_GAP + shape.name.width / 2
        return Text(shape.name, x, y, centred=not beside)

    def _label(self, number: int, to_xy: Callable[[float, float], Point]) -> Text:
        block = self.blocks[number]
        x, y = to_xy(*self.router.text(number, *self._orient(block.width, block.height)))
        return Text(block, x, y, centred=not self.is_vertical)
