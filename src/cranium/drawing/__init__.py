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
from cranium.drawing.graphviz import render_with_dot
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
_ENGINES = ("matplotlib", "graphviz")


def draw(
    machine: CountingRewardAutomaton, path: str | os.PathLike[str], *, engine: str = "matplotlib"
) -> None:
    """Draw a machine into a file, all or nothing; the ending of its name says how.

    Args:
        machine: The automaton or reward machine.
        path: A file that ends in ``.svg``, ``.png``, ``.pdf`` (pictures), ``.dot``, ``.gv``
            (Graphviz), ``.mmd`` (Mermaid) or ``.tex`` (TikZ).
        engine: Who makes a picture: ``"matplotlib"``, with our own layout, which needs no other
            program, or ``"graphviz"``, where its program ``dot`` is installed.

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
        _check_engine(engine)
        write_text(path, _TEXTS[ending](machine))
    else:
        write_bytes(path, _picture(machine, _PICTURES[ending], engine))


def check_drawing(path: Path) -> str:
    """The ending of a file into which a machine can be drawn."""
    ending = path.suffix.lower()
    if ending not in (*_TEXTS, *_PICTURES):
        raise DrawingError(
            f"no drawing ends in {shorten(path.suffix)}",
            fix=f"use one of {', '.join([*_TEXTS, *_PICTURES])}",
        )
    return ending


def to_svg(
    machine: CountingRewardAutomaton, *, engine: str = "matplotlib", mark: str | None = None
) -> str:
    """A machine as an SVG picture.

    Args:
        machine: The automaton or reward machine.
        engine: As for :func:`draw`.
        mark: A state that is marked: where the machine is, say.

    Example:
        >>> import cranium
        >>> "</svg>" in to_svg(cranium.library.load("anbcn"))
        True
    """
    return _picture(machine, "svg", engine, mark).decode()


def to_png(
    machine: CountingRewardAutomaton, *, engine: str = "matplotlib", mark: str | None = None
) -> bytes:
    r"""A machine as a PNG picture.

    Args:
        machine: The automaton or reward machine.
        engine: As for :func:`draw`.
        mark: A state that is marked: where the machine is, say.

    Example:
        >>> import cranium
        >>> to_png(cranium.library.load("anbcn"))[:4]
        b'\x89PNG'
    """
    return _picture(machine, "png", engine, mark)


def _picture(
    machine: CountingRewardAutomaton, form: str, engine: str, mark: str | None = None
) -> bytes:
    _check_engine(engine)
    if mark is not None and mark not in (*machine.states, *machine.terminal):
        raise UnknownNameError.of("state", mark, [*machine.states, *machine.terminal])
    if engine == "matplotlib":
        return render(machine, form, mark)
    if mark is not None:
        raise DrawingError("Graphviz marks no state", fix="leave engine out, or mark")
    return render_with_dot(machine, form)


def _check_engine(engine: str) -> None:
    if engine not in _ENGINES:
        raise DrawingError(
            f"no such engine for pictures: {shorten(engine)}",
            fix=f"use one of {', '.join(_ENGINES)}",
        )
