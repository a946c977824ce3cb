"""Drawings as text for other programs: Graphviz's DOT and Mermaid."""

from __future__ import annotations

import html
import json
import re

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.drawing.labels import arrows, footnote

__all__ = ["to_dot", "to_mermaid"]

PAYING = "#0b5394"
"""The colour of an arrow's text if one of its transitions has a reward that is not zero."""

CIRCLE_FONT = 20

# A full stop before a space would begin a list in Markdown, which Mermaid also reads.
_MERMAID_MARK = re.compile(r"[^\w ,.()+=−–∗⟨⟩∧∨¬⊤⊥…]|_|[.+](?!\d)")


def to_dot(machine: CountingRewardAutomaton) -> str:
    """Convert a machine to DOT, the language of Graphviz.

    Example:
        >>> import cranium
        >>> print(to_dot(cranium.library.load("mail-delivery")))
        digraph "(M P)^1 never D" {
          node [shape=box, style=rounded, fontname="DejaVu Sans", fontsize=11];
          edge [fontname="DejaVu Sans", fontsize=10];
          start [shape=point, style=invis, width=0, height=0];
          s0 [label="no mail"];
          s1 [label="carrying"];
          s2 [shape=plain, label=<<font point-size="20">◉</font><br/>delivered>];
          s3 [shape=plain, label=<<font point-size="20">●</font><br/>failed>];
          start -> s0;
          s0 -> s1 [label="  ⟨mail ∧ ¬person ∧ ¬decoration, 0⟩  "];
          s0:s -> s3:n [label="  ⟨person ∨ decoration, 0⟩  "];
          s1:s -> s2:n [label="  ⟨person ∧ ¬mail ∧ ¬decoration, 1⟩  ", fontcolor="#0b5394"];
          s1:s -> s3:n [label="  ⟨mail ∨ decoration, 0⟩  "];
        }
        <BLANKLINE>
    """
    joined = arrows(machine)
    font = 'fontname="DejaVu Sans"'
    rows = [
        # From top to bottom: from left to right, Graphviz lets the texts of loops overlap others.
        f"node [shape=box, style=rounded, {font}, fontsize=11];",
        f"edge [{font}, fontsize=10];",
        "start [shape=point, style=invis, width=0, height=0];",
    ]
    note = footnote(machine)
    if note:
        rows.insert(0, f"label={_dot([note])}; labelloc=b; {font}; fontsize=9;")
    numbers = _numbers(machine)
    for state, key in numbers.items():
        if state in machine.terminal:
            # A letter, not a shape: Graphviz lets arrows run through names beside shapes.
            circle = "◉" if state in machine.accepting else "●"
            name = f'<<font point-size="{CIRCLE_FONT}">{circle}</font><br/>{html.escape(state)}>'
            rows.append(f"{key} [shape=plain, label={name}];")
        else:
            rows.append(f"{key} [label={_dot([state])}];")
    rows.append(f"start -> {numbers[machine.initial]};")
    for arrow in joined:
        # The spaces keep a text away from its own arrow.
        lines = [f"  {part.text}  " for line in arrow.lines for part in line.wrap()]
        colour = f', fontcolor="{PAYING}"' if any(line.pays for line in arrow.lines) else ""
        # Out at the bottom and in at the top, away from the loops at the side.
        out, into = (":s", ":n") if arrow.target in machine.terminal else ("", "")
        ends = f"{numbers[arrow.source]}{out} -> {numbers[arrow.target]}{into}"
        rows.append(f"{ends} [label={_dot(lines)}{colour}];")
    body = "".join(f"  {row}\n" for row in rows)
    return f"digraph {_dot([machine.name or 'machine'])} {{\n{body}}}\n"


def to_mermaid(machine: CountingRewardAutomaton) -> str:
    """Convert a machine to a Mermaid state diagram, which many websites show in Markdown.

    Example:
        >>> import cranium
        >>> print(to_mermaid(cranium.library.load("mail-delivery")))
        ---
        title: "(M P)^1 never D"
        ---
        stateDiagram-v2
            direction LR
            state "no mail" as s0
            state "carrying" as s1
            state "delivered" as s2
            state "failed" as s3
            [*] --> s0
            s0 --> s1 : ⟨mail ∧ ¬person ∧ ¬decoration, 0⟩
            s0 --> s3 : ⟨person ∨ decoration, 0⟩
            s1 --> s2 : ⟨person ∧ ¬mail ∧ ¬decoration, 1⟩
            s1 --> s3 : ⟨mail ∨ decoration, 0⟩
            classDef terminal fill:#000,color:#fff,stroke:#000
            classDef accepting fill:#000,color:#fff,stroke:#0b5394,stroke-width:4px
            class s2 accepting
            class s3 terminal
        <BLANKLINE>
    """
    joined = arrows(machine)
    numbers = _numbers(machine)
    rows = ["direction LR"]
    rows += [f'state "{_mermaid(state)}" as {key}' for state, key in numbers.items()]
    rows.append(f"[*] --> {numbers[machine.initial]}")
    for arrow in joined:
        # No wrapping: Mermaid wraps long texts by itself.
        text = "<br/>".join(_mermaid(line.text) for line in arrow.lines)
        rows.append(f"{numbers[arrow.source]} --> {numbers[arrow.target]} : {text}")
    note = footnote(machine)
    if note:
        rows += [f"note right of {numbers[machine.initial]} : {_mermaid(note)}"]
    rows.append("classDef terminal fill:#000,color:#fff,stroke:#000")
    rows.append(f"classDef accepting fill:#000,color:#fff,stroke:{PAYING},stroke-width:4px")
    for state in machine.terminal:
        kind = "accepting" if state in machine.accepting else "terminal"
        rows.append(f"class {numbers[state]} {kind}")
    title = (
        f"---\ntitle: {json.dumps(machine.name, ensure_ascii=False)}\n---\n" if machine.name else ""
    )
    return title + "stateDiagram-v2\n" + "".join(f"    {row}\n" for row in rows)


def _numbers(machine: CountingRewardAutomaton) -> dict[str, str]:
    """An identifier for each state that no name of a state can spoil."""
    states = (*machine.states, *machine.terminal)
    return {state: f"s{number}" for number, state in enumerate(states)}


def _dot(lines: list[str]) -> str:
    r"""A quoted string for a label, in which Graphviz would read \N and &amp; as something else."""
    escapes = str.maketrans({"\\": r"\\", '"': r"\"", "&": "&amp;"})
    return '"' + r"\n".join(line.translate(escapes) for line in lines) + '"'


def _mermaid(text: str) -> str:
    """Text in which everything that Mermaid or HTML could read as a mark is an entity."""
    return _MERMAID_MARK.sub(lambda found: f"#{ord(found[0])};", text)
