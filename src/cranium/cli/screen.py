"""What is shown of a moment in a terminal; where there is little room, what matters most."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cranium._runtime.terminal import visible
from cranium.episodes import Episode, machine_text
from cranium.episodes.text import HERE, coloured, facts

__all__ = ["view"]

LEAST = (24, 8)
"""The smallest window in which anything can be shown."""
BESIDE = 44
"""How wide the part beside a map is at least."""
ARROW = " " * 6


def view(episode: Episode, number: int, help_line: str, width: int, height: int) -> RenderableType:
    """A moment: the map beside what happened and the machine, or below them if it is too wide."""
    if width < LEAST[0] or height < LEAST[1]:
        return Text(f"this needs a window of {LEAST[0]} by {LEAST[1]}")
    moment = episode.moments[number]
    title = f"{episode.world}: {episode.task.name}" if episode.world else str(episode.task.name)
    head = [_line(title, "bold"), _line(help_line, "dim")]
    told = [_line(one) for one in facts(episode, number)]
    lines = machine_text(episode.task, moment.configuration.state)
    rows = coloured(moment.text).splitlines()
    free = height - len(head) - 1
    wide = max((Text.from_ansi(row).cell_len for row in rows), default=0)
    if wide + BESIDE > width:
        machine = _fitting(lines, max(free - len(told) - len(rows), 1))
        left = free - len(told) - len(machine)
        return Group(*head, *told, *machine, *_cropped(rows, left, width))
    grid = Table.grid(padding=(0, 3))
    right = Group(*told, Text(), *_fitting(lines, max(free - len(told) - 1, 1)))
    grid.add_row(Group(*_cropped(rows, free, width)), right)
    return Group(*head, grid)


def _line(text: str, style: str = "") -> Text:
    return Text(visible(text), style=style, no_wrap=True, overflow="ellipsis")


def _fitting(lines: list[str], room: int) -> list[Text]:
    """The machine in so many lines: if need be only what leaves the marked state, or only that."""
    if len(lines) > room:
        lines = _shorter(lines)
    if len(lines) > room:
        here = next((i for i, line in enumerate(lines) if line.startswith(HERE)), 0)
        first = min(here, len(lines) - room)
        lines = lines[first : first + room]
    return [_line(line, "bold reverse" if line.startswith(HERE) else "") for line in lines]


def _shorter(lines: list[str]) -> list[str]:
    """Only the arrows that leave the marked state."""
    shown, here = [], False
    for line in lines:
        if not line.startswith(ARROW):
            here = line.startswith(HERE)
            shown.append(line)
        elif here:
            shown.append(line)
    return shown


def _cropped(rows: list[str], height: int, width: int) -> list[Text]:
    """As much of a map as there is room for, around the agent."""
    shown = [Text.from_ansi(row) for row in rows]
    agent = next(
        ((y, row.plain.index("@")) for y, row in enumerate(shown) if "@" in row.plain), None
    )
    y, x = agent or (0, 0)
    top = min(max(y - height // 2, 0), max(len(shown) - height, 0))
    broad = max((row.cell_len for row in shown), default=0)
    left = min(max(x - width // 2, 0), max(broad - width, 0))
    part = [row[left : left + width] for row in shown[top : top + max(height, 0)]]
    for row in part:
        row.no_wrap = True
    return part
