"""The commands that play a task by hand, and show an episode again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cranium.aamdp.catalogue import find_world, make_env
from cranium.cli.keys import keyboard
from cranium.cli.output import say, working
from cranium.cli.sources import Options, Task, World, WorldTask, parse_options, task_of
from cranium.errors import InvalidArgumentError
from cranium.replay import (
    Episode,
    Recorder,
    as_text,
    load_episode,
    machine_text,
    save_episode,
    write_film,
    write_page,
)
from cranium.replay.files import check_path
from cranium.replay.film import SPEED
from cranium.replay.text import HERE, facts

__all__ = ["register"]

PLAYING = "arrows or w a s d move, 0-9 are actions, u takes back, r begins anew, q quits"
WATCHING = "right or space: next, left: back, home, end, q quits"
FILMS = (".gif", ".mp4")
PAGES = (".html", ".htm")


def play(
    world: World,
    task: WorldTask = None,
    language: Task = None,
    options: Options = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed, the same episode.")] = 0,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="Keep the last episode (.json)."),
    ] = None,
) -> None:
    """Play a task by hand, and watch what the machine makes of it.

    The map, the machine with its state marked, its counters, the events and the reward are shown
    after every step. Arrow keys move; u takes a step back, r begins anew with the next seed, q ends
    it. For example: cranium play Office mail-and-coffee --record episode.json,
    and then: cranium replay episode.json
    """
    automaton = task_of(world, task, language)
    settings = parse_options(options)
    entry = find_world(world)
    if record is not None:
        check_path(record)
    env = make_env(world, automaton, settings)
    recorder = Recorder(env, seed=seed, world=entry.name, settings=settings)
    try:
        _play(recorder, _keys(recorder))
    finally:
        # Also after Ctrl-C: what was played is kept.
        episode = recorder.episode
        say(f"{episode.outcome} after {len(episode.moments) - 1} steps")
        if record is not None:
            save_episode(episode, record)
            say(f"wrote {record}")


def _play(recorder: Recorder, actions: dict[str, Any]) -> None:
    def press(key: str) -> bool:
        over = recorder.moments[-1].over
        if key == "u" and len(recorder.moments) > 1:
            recorder.undo()
        elif key == "r":
            recorder.begin(recorder.seed + 1)
        elif key in actions and not over:
            recorder.step(actions[key])
        return key == "q"

    def look() -> tuple[Episode, int]:
        return recorder.episode, len(recorder.moments) - 1

    _show(look, press, PLAYING)


def _keys(recorder: Recorder) -> dict[str, Any]:
    """Which key is which action: by the actions' names, and by their numbers."""
    import numpy as np

    world: Any = recorder.env.unwrapped
    discrete = hasattr(recorder.env.action_space, "n")
    every = list(range(len(recorder.names))) if discrete else list(getattr(world, "moves", ()))
    found: dict[str, Any] = {str(number): every[number] for number in range(min(len(every), 10))}
    found |= dict(zip(recorder.names, every, strict=False))
    if "nothing" in found:
        found["space"] = found["nothing"]
    elif not discrete:
        found["space"] = np.zeros(recorder.env.action_space.shape or (), np.float32)
    return found


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What --record wrote.")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="OUT", help="Write a .gif, .mp4 or .html file."),
    ] = None,
    speed: Annotated[float, typer.Option("--speed", help="Steps a second, in OUT.")] = SPEED,
) -> None:
    """Show an episode again, step by step, or write it as a film or a page.

    The world plays it again and is held against what was recorded. The page is one file with a
    slider, and needs no network; .mp4 needs the extra video.
    For example: cranium replay episode.json -o episode.html
    """
    if out is not None:
        _write(file, out, speed)
        return
    with working("playing it again"):
        episode = load_episode(file)
    if not Console().is_terminal:
        for number in range(len(episode.moments)):
            say(("\n" if number else "") + as_text(episode, number))
        return
    place, last = 0, len(episode.moments) - 1
    far = {"home": -last, "end": last, **dict.fromkeys(("right", "space", "n", "down"), 1)}
    far |= dict.fromkeys(("left", "b", "up"), -1)

    def press(key: str) -> bool:
        nonlocal place
        place = min(max(place + far.get(key, 0), 0), last)
        return key in ("q", "escape")

    _show(lambda: (episode, place), press, WATCHING)


def _write(file: Path, out: Path, speed: float) -> None:
    ending = out.suffix.lower()
    if ending not in (*FILMS, *PAGES):
        raise InvalidArgumentError(
            f"an episode is written as {', '.join((*FILMS, *PAGES[:1]))}, not {out.name!r}"
        )
    with working("playing it again, and drawing it"):
        episode = load_episode(file, pictures=True)
        (write_page if ending in PAGES else write_film)(episode, out, speed=speed)
    say(f"wrote {out}: {len(episode.moments) - 1} steps, {episode.outcome}")


def _show(
    look: Callable[[], tuple[Episode, int]], press: Callable[[str], bool], help_line: str
) -> None:
    """Show what there is after every key, until one of them ends it."""
    console = Console(highlight=False)
    with keyboard() as read, Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(_view(*look(), help_line, console), refresh=True)
            if press(read()):
                return


def _view(episode: Episode, number: int, help_line: str, console: Console) -> RenderableType:
    """The map beside what happened and the machine, or above them where that is too wide."""
    moment = episode.moments[number]
    rows = moment.text.splitlines()
    told = facts(episode, number)
    below = max(map(len, rows), default=0) + 44 > console.width
    lines = machine_text(episode.task, moment.configuration.state)
    if len(lines) + len(told) + 5 + (len(rows) if below else 0) > console.height:
        lines = _shorter(lines)
    machine = Text(no_wrap=True, overflow="ellipsis")
    for line in lines:
        machine.append(line + "\n", style="bold reverse" if line.startswith(HERE) else "")
    title = Text(f"{episode.world}: {episode.task.name}", style="bold")
    head = (title, Text(help_line, style="dim"), Text())
    world, right = Text(moment.text, no_wrap=True), Group(Text("\n".join(told)), Text(), machine)
    if below:
        return Group(*head, world, right)
    grid = Table.grid(padding=(0, 3))
    grid.add_row(world, right)
    return Group(*head, grid)


def _shorter(lines: list[str]) -> list[str]:
    """The machine where there is little room: only the arrows that leave the marked state."""
    shown, here = [], False
    for line in lines:
        if not line.startswith(" " * 6):
            here = line.startswith(HERE)
            shown.append(line)
        elif here:
            shown.append(line)
    return shown


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("play")(play)
    app.command("replay")(replay)
