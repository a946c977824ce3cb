"""The style of all figures: readable in print and with any colour vision."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cranium.io import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "colour",
    "format_axes",
    "line_style",
    "marker",
    "new_figure",
    "plain_text",
    "render_figure",
    "save_figure",
]

# Okabe and Ito's palette, which is safe for colour-blind readers; markers differ in grey.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "*", "X")
_FIXED = {
    "planner": 6,
    "QL": 7,
    "QL+RS": 2,
    "CQL": 0,
    "CQL all": 4,
    "CQL all+RS": 2,
    "CRM": 1,
    "CRM+RS": 5,
    "HRM": 3,
    "CRA": 0,
    "RM": 1,
    "DQN": 7,
    "DQN, same batch": 6,
    "CQL heads": 2,
}
"""A method has the same colour in every figure."""
PAIRS = len(COLOURS) * len(MARKERS)
_figure: ContextVar[Mapping[str, int]] = ContextVar("looks of the figure", default={})  # noqa: B039
"""The looks of the methods in the current figure."""
FEW = 150
"""A logarithmic axis with a smaller ratio has too few powers of ten for labels."""
SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "legend.frameon": False,
    "svg.hashsalt": "cranium",
    "svg.fonttype": "path",
}


def assign_looks(methods: Iterable[str]) -> dict[str, int]:
    """Assign a look to each method of a figure: a number for a colour and a marker.

    The methods of our experiments have fixed looks. Other names are hashed; if that look is taken,
    the next free one is used. The order does not matter, and no two methods of a figure look the
    same (there are 64 pairs of a colour and a marker; colours repeat after 8).

    Example:
        >>> assign_looks(["mine", "CQL", "yours"]) == assign_looks(["yours", "CQL", "mine"])
        True
        >>> len(set(assign_looks([f"method {n}" for n in range(64)]).values()))
        64
    """
    names = sorted(set(methods))
    found = {name: _FIXED[name] for name in names if name in _FIXED}
    for name in names:
        if name not in found:
            taken = set(found.values())
            tier = min(len(found) // len(COLOURS), len(MARKERS) - 1) * len(COLOURS)
            wanted = _hash_look(name)
            places = [tier + (wanted + step) % len(COLOURS) for step in range(len(COLOURS))]
            places += [place for place in range(PAIRS) if place not in places]
            found[name] = next((place for place in places if place not in taken), wanted)
    return found


def _hash_look(name: str) -> int:
    return hashlib.sha256(name.encode(errors="replace")).digest()[0] % len(COLOURS)


def _find_look(method: str) -> int:
    return _figure.get().get(method, _FIXED.get(method, _hash_look(method)))


def colour(method: str) -> str:
    """The colour of a method."""
    return COLOURS[_find_look(method) % len(COLOURS)]


def marker(method: str) -> str:
    """The marker of a method. Methods with the same colour have different markers."""
    look = _find_look(method)
    return MARKERS[(look + look // len(COLOURS)) % len(MARKERS)]


def line_style(method: str) -> str:
    """The line style of a method: dashed for reward machines, so that covered lines show."""
    return "--" if method in ("CRM", "CRM+RS", "HRM") else "-"


def _style() -> Any:
    """A context with our Matplotlib settings only."""
    from matplotlib import style

    return style.context(SETTINGS, after_reset=True)


@contextmanager
def new_figure(width: float, height: float, methods: Iterable[str] = ()) -> Iterator[Figure]:
    """Make a figure in this style, with looks for these methods; sizes are in inches."""
    from matplotlib.figure import Figure

    before = _figure.set(assign_looks(methods))
    try:
        with _style():
            yield Figure(figsize=(width, height), layout="constrained")
    finally:
        _figure.reset(before)


def _format_number(value: float, _place: Any = None) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _format_few(value: float, _place: Any = None) -> str:
    """Format minor ticks: only twice and five times a power of ten get a label."""
    return _format_number(value) if int(f"{value:e}"[0]) in (2, 5) else ""


def _has_few_labels(low: float, high: float) -> bool:
    """Whether at most one number with a label lies in a short range of a logarithmic axis."""
    ticks = [
        digit * 10.0**power
        for power in range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
        for digit in (1, 2, 5)
    ]
    return sum(low <= tick <= high for tick in ticks) < 2


def format_axes(axes: Axes) -> None:
    """Format ticks as plain numbers with separators, and put the grid behind the data."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.set_axisbelow(True)
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            low, high = axis.get_view_interval()
            if low == high:  # one point only
                axis.set_view_interval(low / 2, 2 * high, ignore=True)
            few = high / max(low, 1e-12) < FEW
            axis.set_major_formatter(FuncFormatter(_format_number))
            axis.set_minor_formatter(FuncFormatter(_format_few) if few else NullFormatter())
            # Beside each other, so many numbers would overlap.
            if axis is axes.yaxis and few and _has_few_labels(*axis.get_view_interval()):
                axis.set_minor_formatter(FuncFormatter(_format_number))


def add_legend_below(figure: Figure, axes: Axes | NDArray[np.object_], columns: int = 4) -> None:
    """Add a legend below the figure, with each name of all axes once."""
    found: dict[str, Any] = {}
    for each in np.asarray(axes).flat:
        for handle, label in zip(*each.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    ncols = min(columns, len(found))
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=ncols)


def plain_text(text: str) -> str:
    r"""Escape a text of the user's for Matplotlib, which reads dollars as mathematics.

    Example:
        >>> plain_text("5 $")
        '5 \\$'
    """
    return text.replace("$", r"\$")


def render_figure(figure: Figure, kind: str) -> bytes:
    """Return the content of a file with the figure: ``svg``, ``png`` or ``pdf``.

    The same figure always gives the same content: there is no date in it, and names are fixed.
    """
    more: dict[str, Any] = {
        "svg": {"metadata": {"Date": None}},
        "png": {"dpi": 150},
        "pdf": {"metadata": {"CreationDate": None}},
    }
    stream = io.BytesIO()
    with _style():  # some settings are read only when the figure is drawn
        figure.savefig(stream, format=kind, **more[kind])
    return stream.getvalue()


def save_figure(figure: Figure, path: Path, kinds: Sequence[str]) -> None:
    """Write a figure as SVG, PNG or both, reproducibly."""
    for kind in kinds:
        content = render_figure(figure, kind)
        write_bytes(path.with_suffix(f".{kind}"), content, follow_links=False)
