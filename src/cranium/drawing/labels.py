"""The labels of a drawing: arrows, and the text on them.

Transitions between the same two states share one arrow, with one text ⟨φ, ω, μ, reward⟩ for each.
Where a machine has no counters, ω and μ are left out, as the paper does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import Reward, RewardFunction, format_number
from cranium.automata.transition import Transition
from cranium.errors import DrawingError, shorten

__all__ = [
    "Arrow",
    "Fragment",
    "Line",
    "arrows",
    "check_machine",
    "edge_line",
    "escape_latex",
    "footnote",
    "format_reward",
]

WRAP = 34
"""A text with more characters than this goes on in the next line."""

_OPERATORS = re.compile(r"(?= [∧∨] )")
_LATEX_OPERATORS = re.compile(r"(?= \\l(?:and|or) )")
_LEADING_OPERATOR = re.compile(r"^(\\l(?:and|or) )")
_ACCENTED = re.compile(r"\\mathit\{([^{}]*[^\x00-\x7f][^{}]*)\}")
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # Two hyphens, quotes or question marks in a row would melt into another character.
    "-": "-{}",
    "'": "'{}",
    "`": "`{}",
    '"': r"\char34{}",
    "?": "?{}",
    "!": "!{}",
    **{special: f"\\{special}" for special in "#$%&_"},
}


class Fragment(NamedTuple):
    """A piece of text that no line break divides, in Unicode and in LaTeX's mathematics."""

    text: str
    latex: str


@dataclass(frozen=True, slots=True)
class Line:
    """The text of one transition, or one line of it after wrapping.

    Attributes:
        fragments: Its pieces, from left to right.
        pays: Whether the transition has a reward that is not zero.
    """

    fragments: tuple[Fragment, ...]
    pays: bool = False

    @property
    def text(self) -> str:
        """The line in Unicode.

        Example:
            >>> Line((Fragment("⟨A", "A"), Fragment(" ∧ B", "B"))).text
            '⟨A ∧ B'
        """
        return "".join(fragment.text for fragment in self.fragments).strip()

    @property
    def latex(self) -> str:
        r"""The line in LaTeX, for mathematics mode.

        Example:
            >>> Line((Fragment("A", "A"), Fragment(" ∧ B", r" \land B"))).latex
            'A \\land B'
        """
        joined = "".join(fragment.latex for fragment in self.fragments).strip()
        # At the beginning of a wrapped line: no space, and an operator that has nothing before it.
        return _LEADING_OPERATOR.sub(r"{}\1", joined.removeprefix(r"\,").removeprefix(r"\ "))

    def wrap(self, width: int = WRAP) -> tuple[Line, ...]:
        """As many lines as the width makes necessary, of nearly equal length.

        Example:
            >>> import cranium
            >>> line = arrows(cranium.library.load("mail-delivery"))[0].lines[0]
            >>> [part.text for part in line.wrap(24)]
            ['⟨mail ∧ ¬person', '∧ ¬decoration, 0⟩']
        """
        rows = _fill(self.fragments, width)
        if len(rows) > 1:
            narrower = (_fill(self.fragments, narrow) for narrow in range(1, width + 1))
            rows = next(found for found in narrower if len(found) <= len(rows))
        return tuple(Line(row, self.pays) for row in rows)


@dataclass(frozen=True, slots=True)
class Arrow:
    """All transitions from one state to another.

    Attributes:
        source: The state where it begins.
        target: The state where it ends.
        lines: One text for each transition, in the machine's order.
    """

    source: str
    target: str
    lines: tuple[Line, ...]


def arrows(machine: CountingRewardAutomaton) -> tuple[Arrow, ...]:
    """Return the arrows of a drawing, in the order of the machine's transitions.

    Example:
        >>> import cranium
        >>> for line in arrows(cranium.library.load("anbcn"))[2].lines:
        ...     print(line.text)
        ⟨B ∧ ¬A ∧ ¬C, n=0, –, 0⟩
        ⟨C ∨ A ∧ B, ∗, –, 0⟩
    """
    check_machine(machine)
    merged: dict[tuple[str, str], list[Line]] = {}
    for transition in machine.transitions:
        lines = merged.setdefault((transition.source, transition.target), [])
        lines.append(edge_line(transition, machine.counters))
    return tuple(Arrow(*ends, tuple(lines)) for ends, lines in merged.items())


def check_machine(machine: object) -> None:
    """Refuse what is not a counting reward automaton.

    Example:
        >>> check_machine("anbcn")
        Traceback (most recent call last):
        cranium.errors.DrawingError: a drawing shows a counting reward automaton, not 'anbcn'
          fix: give a CountingRewardAutomaton or a RewardMachine
    """
    if not isinstance(machine, CountingRewardAutomaton):
        raise DrawingError(
            f"a drawing shows a counting reward automaton, not {shorten(machine)}",
            fix="give a CountingRewardAutomaton or a RewardMachine",
        )


def footnote(machine: CountingRewardAutomaton) -> str:
    """Return the note about labels without an arrow; empty if the machine then stays.

    Example:
        >>> import cranium
        >>> footnote(cranium.library.load("anbcn"))
        ''
        >>> footnote(cranium.CountingRewardAutomaton(
        ...     propositions=["A"], initial="u", terminal=["trap"], otherwise="trap", transitions=[]
        ... ))
        'any other label: to trap, reward 0'
    """
    if machine.otherwise == "stay":
        return ""
    if machine.otherwise == "error":
        return "any other label: an error"
    return f"any other label: to {machine.otherwise}, reward 0"


def format_reward(reward: Reward) -> str:
    """Format a reward for a drawing: a short number, or the name of the function.

    Example:
        >>> format_reward(1.0), format_reward(-0.25)
        ('1', '−0.25')
    """
    if isinstance(reward, RewardFunction):
        # Only names in files are checked; that of a Python function can be anything.
        shown = "".join(c if c.isprintable() else " " for c in reward.name)
        return shown.strip() or "?"
    return format_number(reward).replace("-", "−")


def escape_latex(text: str) -> str:
    r"""Escape text for LaTeX's text mode.

    Example:
        >>> escape_latex("100% of a_b")
        '100\\% of a\\_b'
    """
    return "".join(_LATEX.get(character, character) for character in text)


def edge_line(transition: Transition, counters: tuple[str, ...]) -> Line:
    """Format one transition as ⟨guard, zero tests, change, reward⟩.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("anbcn")
        >>> edge_line(machine.transitions[0], machine.counters).text
        '⟨A ∧ ¬B ∧ ¬C, ∗, n+1, 0⟩'
    """
    fields = [list(_guard(transition))]
    if counters:
        fields.append(list(_tests(transition, counters)) or [Fragment("∗", r"\ast")])
        fields.append(list(_changes(transition, counters)) or [Fragment("–", r"\mbox{--}")])
    fields.append(list(_reward(transition.reward)))
    return Line(tuple(_bracket(fields)), pays=transition.reward != 0)


def _bracket(fields: list[list[Fragment]]) -> Iterator[Fragment]:
    """⟨a, b, c⟩, with a comma at the end of a fragment so that no line begins with one."""
    for number, field in enumerate(fields):
        for index, (text, latex) in enumerate(field):
            first, last = index == 0, index == len(field) - 1
            opening = ("⟨", r"\langle ") if number == 0 else (" ", r"\,")
            closing = ("⟩", r"\rangle") if number == len(fields) - 1 else (",", ",")
            yield Fragment(
                (opening[0] if first else "") + text + (closing[0] if last else ""),
                (opening[1] if first else "") + latex + (closing[1] if last else ""),
            )


def _guard(transition: Transition) -> Iterator[Fragment]:
    if transition.silent:
        yield Fragment("ε", r"\varepsilon")
        return
    texts = _OPERATORS.split(transition.guard.format("unicode"))
    formulas = _LATEX_OPERATORS.split(_typeset_accents(transition.guard.format("latex")))
    yield from map(Fragment, texts, formulas)


def _typeset_accents(formula: str) -> str:
    """Names with letters that only LaTeX's text mode knows, in italic text."""
    return _ACCENTED.sub(r"\\mbox{\\textit{\1}}", formula)


def _tests(transition: Transition, counters: tuple[str, ...]) -> Iterator[Fragment]:
    signs = {"1": ">0", "0": "=0"}
    pairs = zip(counters, transition.zero_pattern, strict=True)
    tests = [(name, signs[test]) for name, test in pairs if test != "*"]
    return _list_pairs(tests)


def _changes(transition: Transition, counters: tuple[str, ...]) -> Iterator[Fragment]:
    pairs = zip(counters, transition.change, strict=True)
    return _list_pairs([(name, f"{step:+d}") for name, step in pairs if step])


def _list_pairs(pairs: list[tuple[str, str]]) -> Iterator[Fragment]:
    for index, (name, rest) in enumerate(pairs):
        # Braces make a sign a letter: n+1 is a word here, with no space around its sign.
        latex = _typeset_accents(rf"\mathit{{{escape_latex(name)}}}{{{rest[0]}}}{rest[1:]}")
        text = name + rest.replace("-", "−")
        yield Fragment(f" {text}", rf"\ {latex}") if index else Fragment(text, latex)


def _reward(reward: Reward) -> Iterator[Fragment]:
    text = format_reward(reward)
    if not isinstance(reward, RewardFunction):
        yield Fragment(text, text.replace("−", "-"))
        return
    for index, word in enumerate(text.split()):
        space = " " if index else ""
        yield Fragment(space + word, rf"\mbox{{{space}{escape_latex(word)}}}")


def _fill(fragments: Iterable[Fragment], width: int) -> list[tuple[Fragment, ...]]:
    rows: list[list[Fragment]] = []
    used = 0
    for fragment in fragments:
        if rows and used + len(fragment.text) <= width:
            rows[-1].append(fragment)
            used += len(fragment.text)
        else:
            rows.append([fragment])
            used = len(fragment.text.strip())
    return [tuple(row) for row in rows]
