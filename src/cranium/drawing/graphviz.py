"""Pictures by Graphviz, for those who have it."""

from __future__ import annotations

import shutil
import subprocess

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.drawing.text import to_dot
from cranium.errors import DrawingError

__all__ = ["find_dot", "render_with_dot"]

TIMEOUT = 120
DPI = 150


def find_dot() -> str | None:
    """Where Graphviz's program ``dot`` is, or None.

    Example:
        >>> find_dot() is None or "dot" in find_dot()
        True
    """
    return shutil.which("dot")


def render_with_dot(machine: CountingRewardAutomaton, form: str) -> bytes:
    """A picture as a file's content.

    Args:
        machine: The automaton.
        form: ``"svg"``, ``"png"`` or ``"pdf"``.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("anbcn")
        >>> find_dot() is None or b"</svg>" in render_with_dot(machine, "svg")
        True
    """
    program = find_dot()
    if program is None:
        raise DrawingError(
            "the engine 'graphviz' needs Graphviz's program dot, which is not on the PATH",
            fix="install Graphviz, or use engine='matplotlib'",
        )
    command = [program, f"-T{form}"] + ([f"-Gdpi={DPI}"] if form == "png" else [])
    try:
        # The machine goes in through stdin; nothing of it is part of the command.
        done = subprocess.run(  # noqa: S603
            command,
            input=to_dot(machine).encode(),
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise DrawingError(
            f"dot did not draw: {problem}", fix="write a .dot file, and try its other programs"
        ) from None
    if done.returncode or not done.stdout:
        said = done.stderr.decode(errors="replace").strip()
        raise DrawingError(
            f"dot ended with status {done.returncode} and said: {said[:500]}",
            fix="use engine='matplotlib'",
        )
    return done.stdout
