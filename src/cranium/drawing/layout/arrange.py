"""The layout of a picture: states, arrows and texts, in points from its upper left corner.

The layout is made in two directions. Pictures run from left to right, with the texts above the
arrows; machines that would become too wide run from top to bottom, with the texts beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.drawing.labels import check_machine, footnote
from cranium.drawing.layout.coordinates import place_cells
from cranium.drawing.layout.grid import FOR_LARGE_MACHINES, Cell, Grid, Size, build_grid
from cranium.drawing.layout.layers import LayeredGraph, assign_layers
from cranium.drawing.layout.measure import Block, Shape, measure_label, measure_spot, note_width
from cranium.drawing.layout.routes import (
    ENTRY,
    LINE_GAP,
    LOOP_REACH,
    Box,
    Point,
    Router,
    inside,
    sample,
)
from cranium.errors import DrawingError

__all__ = ["Curve", "Layout", "Text", "lay_out"]

MAX_STATES = 150
MAX_ARROWS = 600
"""A picture of more states would take minutes and could not be read."""

PREFERRED_WIDTH = 950.0
ASPECT = 1.5
MARGIN = 8.0
APART = 12.0
CLEAR = 4.0
TOUCH = 2.0
GAP = 18.0
STEEPNESS = 0.2
MAX_GAP = 44.0
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
    terminal: bool
    accepting: bool


Curve = tuple[Point, ...]
"""A line of cubic Bézier pieces that ends in an arrow head: a point, and three for each piece."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A finished arrangement.

    Attributes:
        width: Of the whole picture.
        height: Of the whole picture.
        outlines: The states.
        names: The names of the states, in the same order.
        curves: The arrows; the first is the one that comes from nowhere.
        labels: The texts of the arrows; the text of ``curves[i + 1]`` is ``labels[i]``.
        note: What is written under the picture, or nothing.
    """

    width: float
    height: float
    outlines: tuple[Outline, ...]
    names: tuple[Text, ...]
    curves: tuple[Curve, ...]
    labels: tuple[Text, ...]
    note: str


def lay_out(machine: CountingRewardAutomaton) -> Layout:
    """Arrange a machine for a picture.

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
    plan = assign_layers(machine)
    if len(plan.links) > MAX_ARROWS:
        raise DrawingError(
            f"a picture shows at most {MAX_ARROWS} arrows, this machine has {len(plan.links)}",
            fix=FOR_LARGE_MACHINES,
        )
    note = footnote(machine)
    wide = _Draft(plan, turned=False).finish(note)
    if wide.width <= PREFERRED_WIDTH:
        return wide
    tall = _Draft(plan, turned=True).finish(note)
    return min(wide, tall, key=lambda layout: max(layout.width / ASPECT, layout.height))


class _Draft:
    """A layout in the making, in one of the two directions.

    It thinks along and across the direction of reading; only ``finish`` turns that into x and y.
    """

    def __init__(self, plan: LayeredGraph, *, turned: bool) -> None:
        self.plan = plan
        self.turned = turned
        self.shapes = [measure_spot(spot) for spot in plan.spots]
        self.blocks = [measure_label(link.arrow) for link in plan.links]
        self.loops = {
            link.source: number
            for number, link in enumerate(plan.links)
            if link.source == link.target
        }
        self.grid = self._grid()
        place_cells(self.grid, APART, lambda number: plan.links[number].main)
        self.router = self._router()

    # Sizes, in terms of along and across

    def _flat(self, width: float, height: float) -> tuple[float, float]:
        return (height, width) if self.turned else (width, height)

    def _grid(self) -> Grid:
        lane = Size(low=2, high=2)
        spots = [self._spot_size(number) for number in range(len(self.shapes))]
        return build_grid(self.plan, spots, [self._text_size(b) for b in self.blocks], lane)

    def _text_size(self, block: Block) -> Size:
        along, across = self._flat(block.width, block.height)
        near, far = 2.0, across + LINE_GAP
        low, high = (near, far) if self.turned else (far, near)
        return Size(along / 2, along / 2, low, high)

    def _spot_size(self, number: int) -> Size:
        shape = self.shapes[number]
        along, across = self._flat(shape.width, shape.height)
        if self.plan.spots[number].terminal:
            name_along, name_across = self._flat(shape.name.width, shape.name.height)
            side = max(across, name_across) / 2
            return Size(along / 2, along / 2 + NAME_GAP + name_along, side, side)
        low = high = across / 2
        if number in self.loops:
            block = self.blocks[self.loops[number]]
            room = LOOP_REACH + LINE_GAP + self._flat(block.width, block.height)[1]
            low, high = (low, high + room) if self.turned else (low + room, high)
        return Size(along / 2 + (ENTRY if number == 0 else 0), along / 2, low, high)

    # Columns

    def _router(self) -> Router:
        """Let the texts of loops reach over their columns, as far as no arrow runs into them."""
        strict: set[int] = set()
        while True:
            router = self._columns(strict)
            curves = [router.route(number) for number in range(len(self.plan.links))]
            hit = {
                self.grid.cells[spot].column
                for spot, loop in self.loops.items()
                if any(inside(curve, self._box(router, loop), TOUCH) for curve in curves)
            }
            if hit <= strict:
                return router
            strict |= hit

    def _columns(self, strict: set[int]) -> Router:
        back, ahead = [], []
        for index, column in enumerate(self.grid.columns):
            reach = [self._reach(cell, loops=index in strict) for cell in column]
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
        shapes = [self._flat(shape.width, shape.height) for shape in self.shapes]
        corners = [shape.corner for shape in self.shapes]
        loops = [self._loop_half(cell) for cell in self.grid.cells]
        return Router(
            plan=self.plan,
            grid=self.grid,
            centres=centres,
            back=back,
            ahead=ahead,
            shapes=shapes,
            corners=corners,
            loops=loops,
            turned=self.turned,
        )

    def _reach(self, cell: Cell, *, loops: bool) -> tuple[float, float]:
        half = self._loop_half(cell) if loops else 0.0
        return max(cell.size.back, half), max(cell.size.ahead, half)

    def _loop_half(self, cell: Cell) -> float:
        if cell.spot is None or cell.spot not in self.loops:
            return 0.0
        block = self.blocks[self.loops[cell.spot]]
        return self._flat(block.width, block.height)[0] / 2

    def _gaps(self) -> list[float]:
        gaps = [GAP] * len(self.grid.columns)
        for one, other, _ in self.grid.pairs():
            left = min(one.column, other.column)
            steep = GAP + STEEPNESS * abs(one.place - other.place)
            gaps[left] = max(gaps[left], min(steep, MAX_GAP))
        return gaps

    def _overlap(self, left: int, right: int) -> float:
        """How far apart two columns must be because of what stands at the same height."""
        least = 0.0
        for one in self._bodies(left):
            for other in self._bodies(right):
                if one.low - CLEAR < other.high and other.low - CLEAR < one.high:
                    least = max(least, one.ahead + other.back + APART)
        return least

    def _bodies(self, column: int) -> Iterator[Size]:
        """What stands in a column; for once, low and high are places, not distances."""
        for cell in self.grid.columns[column]:
            low, high = cell.place - cell.size.low, cell.place + cell.size.high
            half = self._loop_half(cell)
            if half:
                assert cell.spot is not None
                body = self._flat(self.shapes[cell.spot].width, self.shapes[cell.spot].height)[1]
                edge = LOOP_REACH + body / 2
                text = (cell.place + edge, high) if self.turned else (low, cell.place - edge)
                yield Size(half, half, *text)
                low, high = cell.place - body / 2, cell.place + body / 2
            yield Size(cell.size.back, cell.size.ahead, low, high)

    def _box(self, router: Router, number: int) -> Box:
        """The rectangle of a link's text, along and across."""
        length, breadth = self._flat(self.blocks[number].width, self.blocks[number].height)
        along, across = router.text(number, length, breadth)
        return along - length / 2, across - breadth / 2, along + length / 2, across + breadth / 2

    # From along and across to x and y

    def finish(self, note: str) -> Layout:
        """The layout, moved to where no coordinate is negative."""
        router = self.router
        curves = [router.entry(), *(router.route(n) for n in range(len(self.plan.links)))]
        boxes = [self._box(router, number) for number in range(len(self.blocks))]
        boxes += [self._spot_box(number) for number in range(len(self.shapes))]
        boxes += [(x, y, x, y) for curve in curves for x, y in sample(curve)]
        start, top = min(b[0] for b in boxes) - MARGIN, min(b[1] for b in boxes) - MARGIN
        end, bottom = max(b[2] for b in boxes) + MARGIN, max(b[3] for b in boxes) + MARGIN

        def put(along: float, across: float) -> Point:
            return self._flat(along - start, across - top)

        outlines = self._outlines(put)
        width, height = self._flat(end - start, bottom - top)
        return Layout(
            width=max(width, note_width(note) + 2 * MARGIN),
            height=height + (NOTE_HEIGHT if note else 0),
            outlines=outlines,
            names=tuple(self._name(outline) for outline in outlines),
            curves=tuple(tuple(put(*point) for point in curve) for curve in curves),
            labels=tuple(self._label(number, put) for number in range(len(self.blocks))),
            note=note,
        )

    def _spot_box(self, number: int) -> Box:
        size = self.grid.cells[number].size
        along, across = self.router.centre(number)
        return along - size.back, across - size.low, along + size.ahead, across + size.high

    def _outlines(self, put: Callable[[float, float], Point]) -> tuple[Outline, ...]:
        found = []
        for number, spot in enumerate(self.plan.spots):
            x, y = put(*self.router.centre(number))
            shape = self.shapes[number]
            found.append(Outline(spot.state, shape, x, y, spot.terminal, spot.accepting))
        return tuple(found)

    def _name(self, outline: Outline) -> Text:
        shape, x, y = outline.shape, outline.x, outline.y
        beside = outline.terminal and not self.turned
        if outline.terminal and self.turned:
            y += shape.height / 2 + NAME_GAP + shape.name.height / 2
        elif beside:
            x += shape.width / 2 + NAME_GAP + shape.name.width / 2
        return Text(shape.name, x, y, centred=not beside)

    def _label(self, number: int, put: Callable[[float, float], Point]) -> Text:
        block = self.blocks[number]
        x, y = put(*self.router.text(number, *self._flat(block.width, block.height)))
        return Text(block, x, y, centred=not self.turned)
