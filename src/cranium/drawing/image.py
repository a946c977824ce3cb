"""Pictures by matplotlib: SVG, PNG and PDF without any program outside Python."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.drawing.layout.arrange import MARGIN, Layout, Outline, Text, lay_out
from cranium.drawing.layout.measure import FONT, LINE_SPACING, NOTE_FONT, TERMINAL_RADIUS, Shape

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure
    from matplotlib.path import Path

__all__ = ["Box", "boxes", "figure", "render"]

INK = "black"
PAPER = "white"
PAYING = "#0b5394"
"""The colour of texts whose transition has a reward that is not zero."""
FAINT = "#555555"
MARKED = "#ffd966"
"""The colour of the state that is marked."""
LINE_WIDTH = 0.9
HEAD = 9.0
DPI = 200
MAX_PIXELS = 30_000
"""A larger side makes the picture coarser; matplotlib itself allows twice as much."""
POINTS = 72.0
QUARTER = 0.5523
"""How far along a Bézier curve's handles are if it is to be a quarter circle."""

_SETTINGS: Any = {
    # Paths, not text: the texts keep the widths that the layout has measured.
    "svg.fonttype": "path",
    "svg.hashsalt": "cranium",
    "pdf.fonttype": 42,
    "path.simplify": False,
    "text.usetex": False,
    "text.parse_math": False,
    "axes.unicode_minus": False,
}
_METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


class Box(NamedTuple):
    """The rectangle of a text or a state in a finished picture, in points from the lower left."""

    what: str
    x0: float
    y0: float
    x1: float
    y1: float

    def overlaps(self, other: Box) -> bool:
        """Whether two rectangles have more than their edges in common.

        Example:
            >>> Box("a", 0, 0, 2, 2).overlaps(Box("b", 1, 1, 3, 3))
            True
        """
        beside = self.x1 <= other.x0 or other.x1 <= self.x0
        return not beside and self.y0 < other.y1 and other.y0 < self.y1


def render(machine: CountingRewardAutomaton, form: str, mark: str | None = None) -> bytes:
    """Render a picture; the same machine always gives the same bytes.

    Args:
        machine: The automaton.
        form: ``"svg"``, ``"png"`` or ``"pdf"``.
        mark: The state that is marked, if one is.

    Example:
        >>> import cranium
        >>> render(cranium.library.load("mail-delivery"), "png")[1:4]
        b'PNG'
    """
    import matplotlib as mpl

    stream = io.BytesIO()
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        # A letter that the font does not have is drawn as a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        picture = figure(lay_out(machine), mark)
        metadata = dict(_METADATA[form])
        if machine.name and form == "svg":
            metadata["Title"] = machine.name
        dpi = min(DPI, MAX_PIXELS / max(picture.get_size_inches()))
        picture.savefig(stream, format=form, dpi=dpi, metadata=metadata)
    return stream.getvalue()


def boxes(machine: CountingRewardAutomaton) -> list[Box]:
    """Measure the rectangles of the texts and the states in the finished picture.

    The name of a state curve_enters its outline is part of the state.

    Example:
        >>> import cranium
        >>> found = boxes(cranium.library.load("anbcn"))
        >>> any(a.overlaps(b) for a in found for b in found if a is not b)
        False
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with mpl.rc_context(_SETTINGS):
        picture = figure(lay_out(machine))
        picture.set_dpi(DPI)
        renderer = FigureCanvasAgg(picture).get_renderer()  # type: ignore[no-untyped-call]
        found = []
        for artist in picture.axes[0].get_children():
            what = str(artist.get_label())
            if what and not what.startswith("_"):
                extent = artist.get_window_extent(renderer)
                corners = (value * POINTS / DPI for value in extent.extents)
                found.append(Box(what, *corners))
    return found


def figure(layout: Layout, mark: str | None = None) -> Figure:
    """Make the figure of a layout; one unit of its axes is one point, and y runs downwards.

    Example:
        >>> import cranium
        >>> len(figure(lay_out(cranium.library.load("anbcn"))).axes)
        1
    """
    from matplotlib.figure import Figure

    picture = Figure(figsize=(layout.width / POINTS, layout.height / POINTS), facecolor=PAPER)
    axes = picture.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, layout.width)
    axes.set_ylim(layout.height, 0)
    for curve in layout.curves:
        axes.add_artist(_arrow(curve))
    for outline, name in zip(layout.outlines, layout.names, strict=True):
        for artist in _state(outline, marked=outline.state == mark):
            axes.add_artist(artist)
        _write(axes, name, "name" if outline.is_terminal else "")
    for label in layout.labels:
        _write(axes, label, "text")
    if layout.note:
        place = (MARGIN, layout.height - MARGIN)
        axes.text(*place, layout.note, va="baseline", **_font(NOTE_FONT, FAINT), label="note")
    return picture


def _font(size: float, colour: str) -> dict[str, Any]:
    return {"fontfamily": FONT, "fontsize": size, "color": colour, "parse_math": False}


def _write(axes: Any, text: Text, kind: str) -> None:
    step = text.block.size * LINE_SPACING
    top = text.y - text.block.height / 2
    for number, line in enumerate(text.block.lines):
        # The baseline, so that lines are evenly spaced whatever letters they have.
        base = top + step * number + step / 2 + 0.36 * text.block.size
        font = _font(text.block.size, PAYING if line.pays else INK)
        shown = f"{kind} {line.text}" if kind else "_"
        x = text.x if text.centred else text.x - text.block.width / 2
        side = "center" if text.centred else "left"
        axes.text(x, base, line.text, ha=side, va="baseline", **font, label=shown)


def _arrow(points: tuple[tuple[float, float], ...]) -> Artist:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    codes = [Path.MOVETO] + [Path.CURVE4] * (len(points) - 1)
    return FancyArrowPatch(
        path=Path(list(points), codes),
        arrowstyle="-|>,head_length=0.55,head_width=0.22",
        mutation_scale=HEAD,
        linewidth=LINE_WIDTH,
        color=INK,
        shrinkA=0,
        shrinkB=0,
        capstyle="butt",
        joinstyle="miter",
    )


def _state(outline: Outline, *, marked: bool) -> list[Artist]:
    from matplotlib.patches import Circle, PathPatch

    shape, x, y = outline.shape, outline.x, outline.y
    label = "state " + " ".join(line.text for line in shape.name.lines)
    style = {"linewidth": LINE_WIDTH * (2.5 if marked else 1), "edgecolor": INK}
    if outline.is_terminal:
        dot = Circle((x, y), TERMINAL_RADIUS, facecolor=MARKED if marked else INK, **style)
        if not outline.is_accepting:
            dot.set_label(label)
            return [dot]
        ring = Circle((x, y), shape.width / 2, facecolor=PAPER, **style)
        ring.set_label(label)
        return [ring, dot]
    pill = PathPatch(_rounded_path(x, y, shape), facecolor=MARKED if marked else PAPER, **style)
    pill.set_label(label)
    return [pill]


def _rounded_path(x: float, y: float, shape: Shape) -> Path:
    """A rounded rectangle with true quarter circles, which the arrows are drawn up to."""
    from matplotlib.path import Path

    right, low, r = shape.width / 2, shape.height / 2, shape.corner
    near = r * (1 - QUARTER)
    # The lower right corner, from the vertical side to the horizontal one.
    corner = [
        (right, low - r),
        (right, low - near),
        (right - near, low),
        (right - r, low),
    ]
    vertices: list[tuple[float, float]] = []
    for h, v in ((1, 1), (-1, 1), (-1, -1), (1, -1)):
        turned = corner if h == v else corner[::-1]
        vertices += [(x + h * dx, y + v * dy) for dx, dy in turned]
    codes = [Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4] * 4
    return Path([*vertices, vertices[0]], [Path.MOVETO, *codes[1:], Path.CLOSEPOLY])
