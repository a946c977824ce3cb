"""One style for all figures: readable in print, and with any colour vision."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from cranium.io import write_bytes

__all__ = ["COLOURS", "colour", "dashes", "marker", "new_figure", "save", "tidy"]

# Okabe and Ito's colours, which can be told apart with any colour vision, and in grey by markers.
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
"""The looks of the methods in the figure that is being drawn."""
FEW = 150
"""A logarithmic axis that spans less has too few powers of ten."""
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


def looks(methods: Iterable[str]) -> dict[str, int]:
    """A look for each method of a figure: a number that stands for a colour and a marker.

    Methods of ours have fixed ones. Others get one by their name; where that is taken, the next
    that is free. It does not depend on the order, and no two methods of a figure look the same
    (there are 64 pairs of a colour and a marker; colours repeat after 8).

    Example:
        >>> looks(["mine", "CQL", "yours"]) == looks(["yours", "CQL", "mine"])
        True
        >>> len(set(looks([f"method {n}" for n in range(64)]).values()))
        64
    """
    names = sorted(set(methods))
    found = {name: _FIXED[name] for name in names if name in _FIXED}
    for name in names:
        if name not in found:
            taken = set(found.values())
            tier = min(len(found) // len(COLOURS), len(MARKERS) - 1) * len(COLOURS)
            wanted = _by_name(name)
            places = [tier + (wanted + step) % len(COLOURS) for step in range(len(COLOURS))]
            places += [place for place in range(PAIRS) if place not in places]
            found[name] = next((place for place in places if place not in taken), wanted)
    return found


def _by_name(name: str) -> int:
    return hashlib.sha256(name.encode(errors="replace")).digest()[0] % len(COLOURS)


def _look(method: str) -> int:
    return _figure.get().get(method, _FIXED.get(method, _by_name(method)))


def colour(method: str) -> str:
    """The colour of a method."""
    return COLOURS[_look(method) % len(COLOURS)]


def marker(method: str) -> str:
    """The marker of a method: where colours repeat, it is another one."""
    look = _look(method)
    return MARKERS[(look + look // len(COLOURS)) % len(MARKERS)]


def dashes(method: str) -> str:
    """Dashed for reward machines: a line that lies on another one is seen."""
    return "--" if method in ("CRM", "CRM+RS", "HRM") else "-"


def _style() -> Any:
    """Our settings, and nobody else's."""
    from matplotlib import style

    return style.context(SETTINGS, after_reset=True)


@contextmanager
def new_figure(width: float, height: float, methods: Iterable[str] = ()) -> Iterator[Any]:
    """A figure in this style, in which each of these methods has a look; sizes are in inches."""
    from matplotlib.figure import Figure

    before = _figure.set(looks(methods))
    try:
        with _style():
            yield Figure(figsize=(width, height), layout="constrained")
    finally:
        _figure.reset(before)


def _plain(value: float, _place: Any = None) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _some(value: float, _place: Any = None) -> str:
    """Between powers of ten only twice and five times one is written out."""
    first = int(f"{value:e}"[0])
    return _plain(value) if first in (2, 5) else ""


def tidy(axes: Any) -> None:
    """Numbers with separators, not as powers of ten, and grid lines behind everything."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.set_axisbelow(True)
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            low, high = axis.get_view_interval()
            if low == high:  # one point only
                axis.set_view_interval(low / 2, 2 * high, ignore=True)
            few = high / max(low, 1e-12) < FEW
            axis.set_major_formatter(FuncFormatter(_plain))
            axis.set_minor_formatter(FuncFormatter(_some) if few else NullFormatter())


def legend_below(figure: Any, axes: Any, columns: int = 4) -> None:
    """The legend under the figure, where it covers no data; of several axes, each name once."""
    found: dict[str, Any] = {}
    for each in np.ravel(axes):
        for handle, label in zip(*each.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    place = {"loc": "outside lower center", "ncols": min(columns, len(found))}
    figure.legend(list(found.values()), list(found), **place)


def save(figure: Any, path: Path, kinds: Sequence[str]) -> None:
    """Write a figure as SVG, PNG or both; the same figure gives the same files."""
    more: dict[str, Any] = {"svg": {"metadata": {"Date": None}}, "png": {"dpi": 150}}
    for kind in kinds:
        stream = io.BytesIO()
        with _style():  # much is decided only when it is drawn
            figure.savefig(stream, format=kind, **more[kind])
        write_bytes(path.with_suffix(f".{kind}"), stream.getvalue(), follow_links=False)
