"""Drawings in LaTeX, for papers: a TikZ picture with the same layout as the other pictures."""

from __future__ import annotations

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.drawing.labels import Line, escape_latex
from cranium.drawing.layout.arrange import MARGIN, Curve, Layout, Outline, Text, lay_out
from cranium.drawing.layout.measure import TERMINAL_RADIUS

__all__ = ["to_tikz"]

_HEAD = r"""\documentclass[tikz,border=2pt]{standalone}
\usetikzlibrary{automata,positioning}
\definecolor{paying}{HTML}{0B5394}
\begin{document}
\begin{tikzpicture}[
  x=1bp, y=-1bp, >=stealth, semithick,
  every state/.style={draw, inner sep=0pt, fill=white},
  end/.style={state, minimum size=0pt, fill=black},
  text block/.style={inner sep=0pt, align=center, font=\small},
]
"""
_TAIL = r"""\end{tikzpicture}
\end{document}
"""


def to_tikz(machine: CountingRewardAutomaton) -> str:
    r"""Convert a machine to a complete LaTeX document with a TikZ picture.

    It needs nothing but TikZ and the ``standalone`` class. Names with letters that are not Latin
    need LuaLaTeX or XeLaTeX.

    Example:
        >>> import cranium
        >>> text = to_tikz(cranium.library.load("mail-delivery"))
        >>> print(text.splitlines()[0])
        % (M P)^1 never D
        >>> r"$\langle \mathit{person} \lor \mathit{decoration},\,0\rangle$" in text
        True
    """
    layout = lay_out(machine)
    rows = [f"\\draw[->] {_curve(curve)};" for curve in layout.curves]
    for number, (outline, name) in enumerate(zip(layout.outlines, layout.names, strict=True)):
        rows += _state(number, outline, name)
    rows += [_block(label, [_line(line) for line in label.block.lines]) for label in layout.labels]
    rows += _note(layout)
    title = f"% {machine.name}\n" if machine.name else ""
    return title + _HEAD + "".join(f"  {row}\n" for row in rows) + _TAIL


def _curve(points: Curve) -> str:
    text = _point(*points[0])
    for first in range(1, len(points), 3):
        one, two, end = (_point(*point) for point in points[first : first + 3])
        text += f" .. controls {one} and {two} .. {end}"
    return text


def _state(number: int, outline: Outline, name: Text) -> list[str]:
    shape, place = outline.shape, _point(outline.x, outline.y)
    names = [escape_latex(line.text) for line in name.block.lines]
    if not outline.is_terminal:
        size = f"minimum width={_length(shape.width)}, minimum height={_length(shape.height)}"
        form = f"state, rectangle, rounded corners={_length(shape.corner - 0.01)}, {size}"
        return [f"\\node[{form}, align=center] (s{number}) at {place} {{{_stack_lines(names)}}};"]
    rows = []
    if outline.is_accepting:
        rows.append(f"\\draw[fill=white] {place} circle[radius={_length(shape.width / 2)}];")
    size = f"minimum size={_length(2 * TERMINAL_RADIUS)}"
    rows.append(f"\\node[end, {size}] (s{number}) at {place} {{}};")
    return [*rows, _block(name, names)]


def _line(line: Line) -> str:
    text = f"${line.latex}$"
    return f"{{\\color{{paying}}{text}}}" if line.pays else text


def _block(text: Text, lines: list[str]) -> str:
    if text.centred:
        return f"\\node[text block] at {_point(text.x, text.y)} {{{_stack_lines(lines)}}};"
    place = _point(text.x - text.block.width / 2, text.y)
    return f"\\node[text block, anchor=west, align=left] at {place} {{{_stack_lines(lines)}}};"


def _note(layout: Layout) -> list[str]:
    if not layout.note:
        return []
    place = _point(MARGIN, layout.height - MARGIN)
    style = r"inner sep=0pt, anchor=west, font=\scriptsize"
    return [f"\\node[{style}] at {place} {{{escape_latex(layout.note)}}};"]


def _stack_lines(lines: list[str]) -> str:
    # The braces keep a line that begins with "[" from being read as an option of \\.
    return r" \\ ".join("{}" + line if line.startswith(("[", "*")) else line for line in lines)


def _point(x: float, y: float) -> str:
    return f"({x:.2f},{y:.2f})"


def _length(value: float) -> str:
    return f"{value:.2f}bp"
