"""A moment as text: the map, the machine with its state marked, and what happened."""

from __future__ import annotations

import re

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.drawing.labels import arrows
from cranium.episodes.recording import Episode, Moment

__all__ = ["as_text", "coloured", "facts", "machine_text", "plain"]

HERE, ELSEWHERE = "▶ ", "  "
ORDERS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|.)?", re.DOTALL)
"""What a terminal takes for an order: some worlds colour their maps so."""
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def plain(text: str) -> str:
    r"""A text without orders to a terminal.

    Example:
        >>> plain("S\x1b[41mF\x1b[0mH\x1b]0;title\x07\n")
        'SFH\n'
    """
    return "".join(c for c in ORDERS.sub("", text) if c == "\n" or c.isprintable())


def coloured(text: str) -> str:
    r"""A text in which colours are the only orders to a terminal.

    Example:
        >>> coloured("S\x1b[41mF\x1b[0mH\x1b[2J")
        'S\x1b[41mF\x1b[0mH'
    """
    kept, place = [], 0
    for match in ORDERS.finditer(text):
        kept += [plain(text[place : match.start()]), match[0] if COLOUR.fullmatch(match[0]) else ""]
        place = match.end()
    return "".join([*kept, plain(text[place:])])


def machine_text(machine: CountingRewardAutomaton, state: str) -> list[str]:
    r"""A drawing of a machine in letters: each state with the arrows that leave it.

    Example:
        >>> import cranium
        >>> print(*machine_text(cranium.library.load("anbcn"), "matching"), sep="\n")
          counting
              → counting ⟨A ∧ ¬B ∧ ¬C, ∗, n+1, 0⟩
              → matching ⟨B ∧ ¬A ∧ ¬C, n>0, –, 0⟩
              → failed ⟨B ∧ ¬A ∧ ¬C, n=0, –, 0⟩
              → failed ⟨C ∨ A ∧ B, ∗, –, 0⟩
        ▶ matching
              → matching ⟨C ∧ ¬A ∧ ¬B, n>0, n−1, 0⟩
              → failed ⟨A ∨ B, n>0, –, 0⟩
              → done ⟨ε, n=0, –, 1⟩
          done (success)
          failed (end)
    """
    leaving: dict[str, list[str]] = {name: [] for name in machine.states}
    for arrow in arrows(machine):
        leaving[arrow.source] += [f"→ {arrow.target} {line.text}" for line in arrow.lines]
    lines = []
    for name, texts in leaving.items():
        lines.append((HERE if name == state else ELSEWHERE) + name)
        lines += [f"      {text}" for text in texts]
    for name in machine.terminal:
        kind = "success" if name in machine.accepting else "end"
        lines.append(f"{HERE if name == state else ELSEWHERE}{name} ({kind})")
    return lines


def facts(episode: Episode, number: int) -> list[str]:
    r"""What happened in a moment, a line each.

    Example:
        >>> import gymnasium
        >>> from cranium.episodes import record
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0")
        >>> episode = record(env, lambda ground, configuration, rng: 0, most=3)
        >>> print(*facts(episode, 3), sep="\n")
        step      3 of 3: right
        events    nothing
        machine   counting
        counters  n = 0
        reward    0 (0 in all)
    """
    moment = episode.moments[number]
    done = f": {moment.name}" if moment.name else ", the start"
    lines = [
        f"step      {number} of {len(episode.moments) - 1}{done}",
        f"events    {', '.join(sorted(moment.label)) or 'nothing'}",
        f"machine   {moment.configuration.state}",
    ]
    if episode.task.counters:
        lines.append(f"counters  {counters(episode.task, moment)}")
    lines.append(f"reward    {moment.reward:g} ({moment.total:g} in all)")
    if moment.over:
        lines.append(f"end       {episode.outcome}")
    return lines


def counters(machine: CountingRewardAutomaton, moment: Moment) -> str:
    """The counters and their values; those of an overflow are unknown."""
    values = moment.configuration.counters
    if len(values) != len(machine.counters):
        return "passed their limit"
    return ", ".join(
        f"{name} = {value}" for name, value in zip(machine.counters, values, strict=True)
    )


def as_text(episode: Episode, number: int) -> str:
    """A moment as plain text.

    Example:
        >>> import gymnasium
        >>> from cranium.episodes import record
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0")
        >>> episode = record(env, lambda ground, configuration, rng: 0, most=3)
        >>> as_text(episode, 0).splitlines()[-1]
        'reward    0 (0 in all)'
    """
    shown = [plain(episode.moments[number].text)] if episode.moments[number].text else []
    return "\n".join([*shown, *facts(episode, number)])
