"""Drawings of machines, as pictures and as text for other programs.

Like the figures of the paper: the initial state has an arrow from nowhere, terminal states are
filled circles, with a ring around them if they are accepting, and each transition is
⟨φ, ω, μ, reward⟩: the guard, the zero tests, the change and the reward. ``∗`` is no test, ``–`` is
no change, ``ε`` is a silent transition. Where a machine has no counters, ω and μ are left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.drawing.image import render
from cranium.drawing.text import to_dot, to_mermaid
from cranium.drawing.tikz import to_tikz
from cranium.errors import DrawingError, UnknownNameError, shorten
from cranium.io import write_bytes, write_text

__all__ = ["draw", "to_dot", "to_mermaid", "to_png", "to_svg", "to_tikz"]

_TEXTS: dict[str, Callable[[CountingRewardAutomaton], str]] = {
    ".dot": to_dot,
    ".gv": to_dot,
    ".mmd": to_mermaid,
    ".tex": to_tikz,
}
_PICTURES = {".svg": "svg", ".png": "png", ".pdf": "pdf"}


def draw(machine: CountingRewardAutomaton, path: str | os.PathLike[str]) -> None:
    """Draw a machine into a file, in the format that the file's ending names.

    The file is written whole or not at all.

    Args:
        machine: The automaton or reward machine.
        path: A file that ends in ``.svg``, ``.png``, ``.pdf`` (pictures), ``.dot``, ``.gv``
            (Graphviz), ``.mmd`` (Mermaid) or ``.tex`` (TikZ).

    Example:
        >>> import cranium, tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> draw(cranium.library.load("anbcn"), folder / "anbcn.svg")
        >>> draw(cranium.library.load("anbcn"), folder / "anbcn.gif")
        Traceback (most recent call last):
        cranium.errors.DrawingError: no drawing ends in '.gif'
          fix: use one of .dot, .gv, .mmd, .tex, .svg, .png, .pdf
    """
    path = Path(path)
    ending = check_drawing(path)
    if ending in _TEXTS:
        write_text(path, _TEXTS[ending](machine))
    else:
        write_bytes(path, _picture(machine, _PICTURES[ending]))


def check_drawing(path: Path) -> str:
    """Check that a machine can be drawn into a file, and return the ending of its name."""
    ending = path.suffix.lower()
    if ending not in (*_TEXTS, *_PICTURES):
        raise DrawingError(
            f"no drawing ends in {shorten(path.suffix)}",
            fix=f"use one of {', '.join([*_TEXTS, *_PICTURES])}",
        )
    return ending


def to_svg(machine: CountingRewardAutomaton, *, mark: str | None = None) -> str:
    """Draw a machine as an SVG picture, and return its text.

    Args:
        machine: The automaton or reward machine.
        mark: A state to highlight, for example the current one.

    Example:
        >>> import cranium
        >>> "</svg>" in to_svg(cranium.library.load("anbcn"))
        True
    """
    return _picture(machine, "svg", mark).decode()


def to_png(machine: CountingRewardAutomaton, *, mark: str | None = None) -> bytes:
    r"""Draw a machine as a PNG picture, and return its bytes.

    Args:
        machine: The automaton or reward machine.
        mark: A state to highlight, for example the current one.

    Example:
        >>> import cranium
        >>> to_png(cranium.library.load("anbcn"))[:4]
        b'\x89PNG'
    """
    return _picture(machine, "png", mark)


def _picture(machine: CountingRewardAutomaton, form: str, mark: str | None = None) -> bytes:
    if mark is not None and mark not in (*machine.states, *machine.terminal):
        raise UnknownNameError.of("state", mark, [*machine.states, *machine.terminal])
    return render(machine, form, mark)
