"""Format the steps of an episode as text: the map, the machine, the events and the reward."""

from __future__ import annotations

import re

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.drawing.labels import arrows
from cranium.episodes.recording import Episode, RecordedStep

__all__ = ["describe_step", "format_machine", "format_step", "keep_colours", "strip_control_codes"]

HERE, ELSEWHERE = "▶ ", "  "
CONTROL_CODES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|.)?", re.DOTALL
)
"""Control sequences of terminals. Some worlds colour their maps with them."""
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def strip_control_codes(text: str) -> str:
    r"""Remove the control codes of terminals from a text.

    Example:
        >>> strip_control_codes("S\x1b[41mF\x1b[0mH\x1b]0;title\x07\n")
        'SFH\n'
    """
    return "".join(c for c in CONTROL_CODES.sub("", text) if c == "\n" or c.isprintable())


def keep_colours(text: str) -> str:
    r"""Remove all control codes of terminals from a text but those of colours.

    Example:
        >>> keep_colours("S\x1b[41mF\x1b[0mH\x1b[2J")
        'S\x1b[41mF\x1b[0mH'
    """
    parts, end = [], 0
    for match in CONTROL_CODES.finditer(text):
        parts.append(strip_control_codes(text[end : match.start()]))
        parts.append(match[0] if COLOUR.fullmatch(match[0]) else "")
        end = match.end()
    return "".join([*parts, strip_control_codes(text[end:])])


def format_machine(machine: CountingRewardAutomaton, state: str) -> list[str]:
    r"""Draw a machine as lines of text: each state with its transitions.

    Example:
        >>> import cranium
        >>> print(*format_machine(cranium.library.load("anbcn"), "matching"), sep="\n")
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


def describe_step(episode: Episode, number: int) -> list[str]:
    r"""Describe a step in lines: the action, the events, the configuration and the reward.

    Example:
        >>> import gymnasium
        >>> from cranium.episodes import record
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0")
        >>> episode = record(env, lambda ground, configuration, rng: 0, max_steps=3)
        >>> print(*describe_step(episode, 3), sep="\n")
        step      3 of 3: right
        events    nothing
        machine   counting
        counters  n = 0
        reward    0 (0 in all)
    """
    recorded = episode.steps[number]
    done = f": {recorded.name}" if recorded.name else ", the start"
    lines = [
        f"step      {number} of {len(episode.steps) - 1}{done}",
        f"events    {', '.join(sorted(recorded.label)) or 'nothing'}",
        f"machine   {recorded.configuration.state}",
    ]
    if episode.task.counters:
        lines.append(f"counters  {_format_counters(episode.task, recorded)}")
    lines.append(f"reward    {recorded.reward:g} ({recorded.total:g} in all)")
    if recorded.over:
        lines.append(f"end       {episode.status}")
    return lines


def _format_counters(machine: CountingRewardAutomaton, recorded: RecordedStep) -> str:
    """Format the counters and their values; those of an overflow are unknown."""
    values = recorded.configuration.counters
    if len(values) != len(machine.counters):
        return "passed their limit"
    return ", ".join(
        f"{name} = {value}" for name, value in zip(machine.counters, values, strict=True)
    )


def format_step(episode: Episode, number: int) -> str:
    """Format a step as plain text.

    Example:
        >>> import gymnasium
        >>> from cranium.episodes import record
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0")
        >>> episode = record(env, lambda ground, configuration, rng: 0, max_steps=3)
        >>> format_step(episode, 0).splitlines()[-1]
        'reward    0 (0 in all)'
    """
    shown = [strip_control_codes(episode.steps[number].text)] if episode.steps[number].text else []
    return "\n".join([*shown, *describe_step(episode, number)])
