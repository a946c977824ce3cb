"""The commands that play a task by hand, and show an episode again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live

from cranium._runtime.terminal import GuardedConsole
from cranium.aamdp.registry import find_world, make_env
from cranium.cli.keys import NOTHING, check_terminal, farewell, is_terminal, keyboard, undisturbed
from cranium.cli.output import keep, say, working
from cranium.cli.screen import view
from cranium.cli.sources import Options, Task, World, WorldTask, parse_options, task_of
from cranium.episodes import (
    Episode,
    Recorder,
    as_text,
    load_episode,
    save_episode,
    write_film,
    write_page,
)
from cranium.episodes.files import check_recording_path, check_task
from cranium.episodes.recording import first_action
from cranium.episodes.video import SPEED
from cranium.errors import InvalidArgumentError
from cranium.io import check_writable

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

    Without TASK it is the first of the world. The map, the machine with its state marked, its
    counters, the events and the reward are shown after every step. Arrow keys move; u takes a step
    back, r begins anew with the next seed, q ends it.
    For example: cranium play Office mail-and-coffee --record episode.json,
    and then: cranium replay episode.json
    """
    entry = find_world(world)
    ready = task if task is not None or language is not None else next(iter(entry.tasks), None)
    automaton = task_of(world, ready, language)
    settings = parse_options(options)
    env = make_env(world, automaton, settings)
    if record is not None:
        check_task(automaton, entry.name)
        check_recording_path(record)
    check_terminal()
    recorder = Recorder(env, seed=seed, world=entry.name, settings=settings)
    try:
        with farewell():
            _play(recorder, _keys(recorder))
    finally:
        # Also after Ctrl-C, and whatever else ended it: what was played is kept.
        with undisturbed():
            _keep(recorder.episode, record)


def _keep(episode: Episode, record: Path | None) -> None:
    steps = len(episode.moments) - 1
    with suppress(OSError):  # the window may be closed
        say(f"{episode.outcome} after {steps} step{'' if steps == 1 else 's'}")
    if record is None or not steps:
        return
    keep(lambda path: save_episode(episode, path), record)
    with suppress(OSError):
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
    begin = first_action(recorder.env)
    numbers = list(range(begin, begin + len(recorder.names)))
    every = numbers if discrete else list(getattr(world, "moves", ()))
    keys = every if discrete else range(len(every))
    found: dict[str, Any] = {
        str(key): action for key, action in zip(keys, every, strict=True) if key in range(10)
    }
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
    if not is_terminal():
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
    check_writable(out)
    with working("playing it again, and drawing it"):
        episode = load_episode(file, pictures=True)
        (write_page if ending in PAGES else write_film)(episode, out, speed=speed)
    say(f"wrote {out}: {len(episode.moments) - 1} steps, {episode.outcome}")


def _show(
    look: Callable[[], tuple[Episode, int]], press: Callable[[str], bool], help_line: str
) -> None:
    """Show what there is after every key, and in every new size, until a key ends it."""
    console = GuardedConsole()
    size, key = None, NOTHING
    with keyboard() as read, Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            if key != NOTHING or console.size != size:
                size = console.size
                live.update(view(*look(), help_line, *size), refresh=True)
            key = read()
            if key != NOTHING and press(key):
                return


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("play")(play)
    app.command("replay")(replay)
