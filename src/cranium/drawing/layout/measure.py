"""Sizes of the texts and states of a picture, in points (1/72 inch)."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import lru_cache

from cranium.drawing.labels import Arrow, Fragment, Line
from cranium.drawing.layout.layers import Node

__all__ = ["Block", "Shape", "measure_label", "measure_state", "note_width", "text_width"]

FONT = "DejaVu Sans"
"""Matplotlib brings this font along, so a picture is the same everywhere."""

LABEL_FONT = 9.0
STATE_FONT = 10.0
NOTE_FONT = 8.0
LINE_SPACING = 1.3
STATE_HEIGHT = 28.0
STATE_PADDING = 9.0
STATE_WRAP = 24
TERMINAL_RADIUS = 5.5
RING_RADIUS = 8.5
MAX_LINES = 24
"""An arrow with more lines of text than this ends its text with an ellipsis."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of text under each other, and how large they are together."""

    lines: tuple[Line, ...]
    size: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Shape:
    """A state's outline (a circle if it is terminal) and its name."""

    name: Block
    width: float
    height: float

    @property
    def corner(self) -> float:
        """The radius of the corners: that of a half circle where the name has one line."""
        return min(self.height, STATE_HEIGHT) / 2


@lru_cache(maxsize=1 << 14)
def text_width(text: str, size: float) -> float:
    """Return the width of one line.

    Example:
        >>> text_width("mm", 9) > text_width("ii", 9)
        True
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FONT, size=size)
    width: float = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
    return width


def measure_label(arrow: Arrow) -> Block:
    """Wrap and measure the text of an arrow.

    Example:
        >>> import cranium
        >>> from cranium.drawing.labels import arrows
        >>> len(measure_label(arrows(cranium.library.load("anbcn"))[2]).lines)
        2
    """
    lines = [part for line in arrow.lines for part in line.wrap()]
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], Line((Fragment("…", r"\ldots"),))]
    return _block(lines, LABEL_FONT)


def measure_state(node: Node) -> Shape:
    """Measure the outline of a state.

    Example:
        >>> shape = measure_state(Node("fetch mail", layer=0))
        >>> shape.width > shape.height == STATE_HEIGHT
        True
    """
    name = _block([Line((Fragment(row, ""),)) for row in _rows(node.state)], STATE_FONT)
    if node.is_terminal:
        diameter = 2 * (RING_RADIUS if node.is_accepting else TERMINAL_RADIUS)
        return Shape(name, diameter, diameter)
    height = STATE_HEIGHT + name.height - STATE_FONT * LINE_SPACING
    return Shape(name, max(height, name.width + 2 * STATE_PADDING), height)


def note_width(note: str) -> float:
    """Return the width of the note under a picture.

    Example:
        >>> note_width("")
        0.0
    """
    return text_width(note, NOTE_FONT) if note else 0.0


def _rows(name: str) -> list[str]:
    if len(name) <= STATE_WRAP:
        return [name]
    # Unrolled machines call their states "fetch mail[coffees=1, parcels=2]".
    head, bracket, tail = name.partition("[")
    parts = [head, bracket + tail] if head.strip() else [name]
    return [row for part in parts for row in textwrap.wrap(part, STATE_WRAP)]


def _block(lines: list[Line], size: float) -> Block:
    width = max(text_width(line.text, size) for line in lines)
    return Block(tuple(lines), size, width, size * LINE_SPACING * len(lines))
