"""Grids: cells, walls, the four moves, and how they are drawn."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cranium.errors import InvalidArgumentError, shorten

__all__ = ["MOVES", "Cell", "Grid", "read_map", "starting_cells"]

Cell = tuple[int, int]
"""A row and a column, counted from the top left."""

MOVES: Mapping[str, Cell] = {"right": (0, 1), "left": (0, -1), "up": (-1, 0), "down": (1, 0)}
"""The actions, in order."""

_STEPS = tuple(MOVES.values())
MAX_CELLS = 1_000_000
PIXELS = 32
COLOURS = {
    "floor": (250, 250, 247),
    "line": (208, 208, 200),
    "wall": (58, 63, 71),
    "agent": (31, 95, 191),
    "text": (30, 30, 30),
}
TINTS = (
    (246, 204, 196),
    (204, 228, 196),
    (196, 220, 244),
    (248, 228, 180),
    (226, 208, 240),
    (200, 236, 232),
    (240, 212, 224),
    (224, 224, 208),
    (214, 214, 236),
)


@dataclass(frozen=True)
class Grid:
    """A rectangle of cells with walls.

    Attributes:
        rows: The number of rows.
        columns: The number of columns.
        walls: Cells that cannot be entered.
        blocked: Pairs of neighbouring cells with a wall between them.

    Example:
        >>> grid = Grid(2, 2, walls=frozenset({(0, 1)}))
        >>> grid.move((0, 0), 0), grid.move((0, 0), 3)
        ((0, 0), (1, 0))
    """

    rows: int
    columns: int
    walls: frozenset[Cell] = frozenset()
    blocked: frozenset[frozenset[Cell]] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        if self.rows * self.columns > MAX_CELLS:
            raise InvalidArgumentError(
                f"a grid has at most {MAX_CELLS:,} cells, not "
                f"{shorten(self.rows)} rows of {shorten(self.columns)}"
            )

    def move(self, cell: Cell, action: int) -> Cell:
        """Return the cell after a move. A move against a wall or off the grid does nothing."""
        down, right = _STEPS[action]
        after = (cell[0] + down, cell[1] + right)
        inside = 0 <= after[0] < self.rows and 0 <= after[1] < self.columns
        if not inside or after in self.walls or frozenset({cell, after}) in self.blocked:
            return cell
        return after

    @property
    def cells(self) -> list[Cell]:
        """The cells that can be entered, row by row."""
        every = ((row, column) for row in range(self.rows) for column in range(self.columns))
        return [cell for cell in every if cell not in self.walls]

    def reach(self, start: Cell, avoid: Container[Cell] = ()) -> set[Cell]:
        """The cells that can be reached from a cell without entering those to avoid.

        Example:
            >>> sorted(Grid(1, 4).reach((0, 0), avoid={(0, 2)}))
            [(0, 0), (0, 1)]
        """
        reached, ahead = {start}, [start]
        while ahead:
            cell = ahead.pop()
            for action in range(len(_STEPS)):
                after = self.move(cell, action)
                if after not in reached and after not in avoid:
                    reached.add(after)
                    ahead.append(after)
        return reached

    def as_text(self, marks: Mapping[Cell, str], agent: Cell | None) -> str:
        """Render the grid as text: a character for each cell, and lines for walls between cells."""
        lines = []
        for row in range(self.rows):
            above, line = "", ""
            for column in range(self.columns):
                cell = (row, column)
                shown = "@" if cell == agent else "#" if cell in self.walls else marks.get(cell)
                line += (shown or ".")[0]
                line += "|" if self._wall(cell, (row, column + 1)) else " "
                above += "- " if self._wall(cell, (row - 1, column)) else "  "
            lines += [above.rstrip()] if above.strip() else []
            lines.append(line.rstrip())
        return "\n".join(lines)

    def as_image(self, marks: Mapping[Cell, str], agent: Cell | None) -> NDArray[np.uint8]:
        """Render the grid as an RGB image, with the marks written into the cells."""
        from PIL import Image, ImageDraw, ImageFont

        size = (self.columns * PIXELS + 1, self.rows * PIXELS + 1)
        image = Image.new("RGB", size, COLOURS["floor"])
        draw = ImageDraw.Draw(image)
        tints = {mark: TINTS[i % len(TINTS)] for i, mark in enumerate(_sort_marks(marks))}
        for row in range(self.rows):
            for column in range(self.columns):
                cell = (row, column)
                left, top = column * PIXELS, row * PIXELS
                box = (left, top, left + PIXELS, top + PIXELS)
                if cell in self.walls:
                    draw.rectangle(box, fill=COLOURS["wall"])
                    continue
                tint = tints[marks[cell]] if cell in marks else COLOURS["floor"]
                draw.rectangle(box, fill=tint, outline=COLOURS["line"])
        for pair in self.blocked:
            one, other = sorted(pair)
            bottom, right = other[0] * PIXELS, other[1] * PIXELS
            flat = one[1] == other[1]
            end = (right + PIXELS, bottom) if flat else (right, bottom + PIXELS)
            draw.line([(right, bottom), end], fill=COLOURS["wall"], width=4)
        if agent is not None:
            left, top = agent[1] * PIXELS, agent[0] * PIXELS
            ring = (left + 4, top + 4, left + PIXELS - 4, top + PIXELS - 4)
            draw.ellipse(ring, outline=COLOURS["agent"], width=4)
        font = ImageFont.load_default(PIXELS * 0.38)
        for (row, column), mark in marks.items():
            middle = ((column + 0.5) * PIXELS, (row + 0.5) * PIXELS)
            draw.text(middle, mark[:4], fill=COLOURS["text"], font=font, anchor="mm")
        return np.asarray(image, dtype=np.uint8).copy()

    def _wall(self, cell: Cell, other: Cell) -> bool:
        return frozenset({cell, other}) in self.blocked


def _sort_marks(marks: Mapping[Cell, str]) -> Iterable[str]:
    return sorted(set(marks.values()))


def read_map(text: str, names: Mapping[str, str]) -> tuple[Grid, Cell, dict[Cell, str]]:
    r"""Read a map of characters: the grid, the start, and what is on which cell.

    Args:
        text: ``#`` is a wall, ``@`` the start, a blank or a dot an empty cell.
        names: The meaning of every other character.

    Example:
        >>> read_map("@.#\n..m", {"m": "mail"})[1:]
        ((0, 0), {(1, 2): 'mail'})
    """
    lines = text.splitlines()
    signs = {(r, c): sign for r, line in enumerate(lines) for c, sign in enumerate(line)}
    walls = frozenset(cell for cell, sign in signs.items() if sign == "#")
    start = next(cell for cell, sign in signs.items() if sign == "@")
    at = {cell: names[sign] for cell, sign in signs.items() if sign not in "#@. "}
    return Grid(len(lines), len(lines[0]), walls), start, at


def starting_cells(grid: Grid, at: Container[Cell], start: object) -> tuple[Cell, ...]:
    """Return the cells in which an episode can start, which have no events.

    Args:
        grid: The grid.
        at: The cells with events.
        start: A cell, or ``"anywhere"``.

    Example:
        >>> starting_cells(Grid(1, 3), {(0, 1): "mail"}, "anywhere")
        ((0, 0), (0, 2))
    """
    plain = tuple(cell for cell in grid.cells if cell not in at)
    if isinstance(start, str) and start == "anywhere":
        return plain
    cell = tuple(start) if isinstance(start, tuple | list) else start
    if cell not in plain:
        raise InvalidArgumentError(
            f"an episode starts on a cell without events, not on {shorten(start)}",
            fix=f"such as {plain[0]}, or anywhere",
        )
    return (cell,)
