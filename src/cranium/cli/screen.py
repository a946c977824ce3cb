"""One step of an episode as it fills a terminal: the map, the last step, and the automaton."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cranium._runtime.terminal import visible
from cranium.episodes import Episode, format_machine
from cranium.episodes.text import HERE, describe_step, keep_colours

__all__ = ["render_moment"]

MIN_WIDTH, MIN_HEIGHT = 24, 8
"""The smallest window in which anything is shown."""
SIDE_WIDTH = 44
"""How many columns must be left beside the map for the text to stand there."""
TRANSITION = " " * 6
"""How a line of the automaton that is a transition begins."""


def render_moment(
    episode: Episode, number: int, help_line: str, width: int, height: int
) -> RenderableType:
    """Render a step for a window of this size.

    The map stands beside the text, or below it if it is too wide. Where there is little room, the
    map is cropped around the agent, and the automaton around its current state.

    Args:
        episode: The episode.
        number: Which of its steps; 0 is the reset.
        help_line: What the keys do.
        width: The columns of the window.
        height: Its rows.
    """
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return Text(f"this needs a window of {MIN_WIDTH} by {MIN_HEIGHT}")
    recorded = episode.steps[number]
    title = f"{episode.world}: {episode.task.name}" if episode.world else str(episode.task.name)
    head = [_line(title, "bold"), _line(help_line, "dim")]
    step = [_line(fact) for fact in describe_step(episode, number)]
    automaton = format_machine(episode.task, recorded.configuration.state)
    rows = keep_colours(recorded.text).splitlines()
    free = height - len(head) - 1
    map_width = max((Text.from_ansi(row).cell_len for row in rows), default=0)
    if map_width + SIDE_WIDTH > width:
        shown = _fit_automaton(automaton, max(free - len(step) - len(rows), 1))
        left = free - len(step) - len(shown)
        return Group(*head, *step, *shown, *_crop_map(rows, left, width))
    grid = Table.grid(padding=(0, 3))
    right = Group(*step, Text(), *_fit_automaton(automaton, max(free - len(step) - 1, 1)))
    grid.add_row(Group(*_crop_map(rows, free, width)), right)
    return Group(*head, grid)


def _line(text: str, style: str = "") -> Text:
    return Text(visible(text), style=style, no_wrap=True, overflow="ellipsis")


def _fit_automaton(lines: list[str], height: int) -> list[Text]:
    """Shorten the automaton to a height: first other states' transitions go, then other states."""
    if len(lines) > height:
        lines = _drop_other_transitions(lines)
    if len(lines) > height:
        here = next((i for i, line in enumerate(lines) if line.startswith(HERE)), 0)
        first = min(here, len(lines) - height)
        lines = lines[first : first + height]
    return [_line(line, "bold reverse" if line.startswith(HERE) else "") for line in lines]


def _drop_other_transitions(lines: list[str]) -> list[str]:
    """Keep only the transitions that leave the current state."""
    shown, is_current = [], False
    for line in lines:
        if not line.startswith(TRANSITION):
            is_current = line.startswith(HERE)
            shown.append(line)
        elif is_current:
            shown.append(line)
    return shown


def _crop_map(rows: list[str], height: int, width: int) -> list[Text]:
    """Crop a map to a size, around the agent."""
    shown = [Text.from_ansi(row) for row in rows]
    agent = next(
        ((y, row.plain.index("@")) for y, row in enumerate(shown) if "@" in row.plain), None
    )
    y, x = agent or (0, 0)
    top = min(max(y - height // 2, 0), max(len(shown) - height, 0))
    map_width = max((row.cell_len for row in shown), default=0)
    left = min(max(x - width // 2, 0), max(map_width - width, 0))
    part = [row[left : left + width] for row in shown[top : top + max(height, 0)]]
    for row in part:
        row.no_wrap = True
    return part
