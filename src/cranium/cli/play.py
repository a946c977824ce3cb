"""``cranium play`` and ``cranium replay``: a task by hand, and recorded episodes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import gymnasium
import typer
from rich.live import Live

from cranium._runtime.terminal import GuardedConsole
from cranium.aamdp import find_product
from cranium.aamdp.catalogue import WorldEntry
from cranium.aamdp.environments import import_world
from cranium.cli.arguments import (
    HorizonOption,
    LabelsOption,
    LanguageOption,
    OptionValue,
    TaskArgument,
    TaskOption,
    WorldArgument,
    WorldOption,
    WorldOptions,
    load_task,
    parse_world_options,
)
from cranium.cli.keyboard import (
    NO_KEY,
    check_terminal,
    exit_on_termination,
    ignore_interrupts,
    is_terminal,
    open_keyboard,
)
from cranium.cli.output import print_line, show_status, write_or_rescue
from cranium.cli.screen import render_moment
from cranium.episodes import (
    Episode,
    Recorder,
    format_step,
    load_episode,
    save_episode,
    write_html,
    write_video,
)
from cranium.episodes.files import check_recording_path, check_task
from cranium.episodes.recording import first_action
from cranium.episodes.video import SPEED
from cranium.errors import InvalidArgumentError, format_count
from cranium.io import check_writable

__all__ = ["play", "replay"]

PLAY_KEYS = "arrows or w a s d: move, 0-9: action, u: undo, r: restart, q: quit"
REPLAY_KEYS = "right or space: next, left: previous, home, end, q: quit"
VIDEO_SUFFIXES = (".gif", ".mp4")
PAGE_SUFFIXES = (".html", ".htm")


def play(
    world: WorldArgument,
    task: TaskArgument = None,
    language: LanguageOption = None,
    source: TaskOption = None,
    labels: LabelsOption = None,
    horizon: HorizonOption = None,
    options: WorldOptions = None,
    seed: Annotated[int, typer.Option("--seed", help="The seed of the first episode.")] = 0,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="Save the last episode (.json)."),
    ] = None,
) -> None:
    """Play a task by hand with the keyboard.

    Use it to find out whether a task rewards what you mean. After every step it shows the map, the
    automaton with its current state, the counters, the events and the reward. Without TASK it
    starts the first task of the world. The arrow keys move; u undoes a step, r restarts with the
    next seed, q quits.

    For example:

        cranium play Office mail-and-coffee --record episode.json
    """
    entry = import_world(world, labels)
    if (task, language, source) == (None, None, None):
        task = next(iter(entry.tasks), None)
    automaton = load_task(entry, task, language, source)
    settings = _choose_text_mode(entry, parse_world_options(options))
    env = entry.make_env(automaton, settings, horizon=horizon)
    if record is not None:
        check_task(find_product(env).automaton, entry.name)
        check_recording_path(record)
    check_terminal()
    recorder = Recorder(env, seed=seed, world=entry.name, settings=settings)
    try:
        with exit_on_termination():
            _play(recorder, _map_keys(recorder))
    finally:
        # The episode is saved after Ctrl-C and any other end, too.
        with ignore_interrupts():
            _save(recorder.episode, record)


def _choose_text_mode(entry: WorldEntry, options: dict[str, OptionValue]) -> dict[str, OptionValue]:
    """Let an environment of Gymnasium's registry render text, if it can."""
    if entry.name not in gymnasium.registry or "render_mode" in options:
        return options
    modes = entry.make(**options).metadata.get("render_modes", ())
    return {**options, "render_mode": "ansi"} if "ansi" in modes else options


def _save(episode: Episode, path: Path | None) -> None:
    steps = len(episode.steps) - 1
    with suppress(OSError):  # the window may be closed
        print_line(f"{episode.status} after {format_count(steps, 'step')}")
    if path is None or not steps:
        return
    write_or_rescue(lambda target: save_episode(episode, target), path)
    with suppress(OSError):
        print_line(f"wrote {path}")


def _play(recorder: Recorder, actions: dict[str, object]) -> None:
    def press(key: str) -> bool:
        over = recorder.steps[-1].over
        if key == "u" and len(recorder.steps) > 1:
            recorder.undo()
        elif key == "r":
            recorder.begin(recorder.seed + 1)
        elif key in actions and not over:
            recorder.step(actions[key])
        return key == "q"

    _run_screen(lambda: (recorder.episode, len(recorder.steps) - 1), press, PLAY_KEYS)


def _map_keys(recorder: Recorder) -> dict[str, object]:
    """Return the action of each key: by the names of the actions, and by their numbers."""
    import numpy as np

    is_discrete = hasattr(recorder.env.action_space, "n")
    start = first_action(recorder.env)
    numbers = list(range(start, start + len(recorder.names)))
    actions = numbers if is_discrete else list(getattr(recorder.env.unwrapped, "moves", ()))
    keys = actions if is_discrete else range(len(actions))
    mapping: dict[str, object] = {
        str(key): action for key, action in zip(keys, actions, strict=True) if key in range(10)
    }
    mapping |= dict(zip(recorder.names, actions, strict=False))
    if "nothing" in mapping:
        mapping["space"] = mapping["nothing"]
    elif not is_discrete:
        mapping["space"] = np.zeros(recorder.env.action_space.shape or (), np.float32)
    return mapping


def replay(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An episode that --record has saved.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="OUT", help="Write a .gif, .mp4 or .html file."),
    ] = None,
    speed: Annotated[
        float, typer.Option("--speed", help="Steps per second in a .gif or .mp4.")
    ] = SPEED,
    world: WorldOption = None,
    labels: LabelsOption = None,
) -> None:
    """Show a recorded episode step by step, or write it as a video or a web page.

    Use it to see what an agent does (`cranium evaluate --record`) or to share what you played
    (`cranium play --record`). The world repeats the actions and is compared with the recording. The
    page is one file with a slider and needs no network; .mp4 needs the extra video.

    For example:

        cranium replay episode.json -o episode.html
        cranium replay episode.json --world lake.py:make_env --labels lake.py:events
    """
    entry = None if world is None else import_world(world, labels)
    if entry is None and labels is not None:
        raise InvalidArgumentError("--labels belong to a world", fix="give --world, too")
    if out is not None:
        _write(file, out, speed, entry)
        return
    with show_status("replaying"):
        episode = load_episode(file, world=entry)
    if not is_terminal():
        for number in range(len(episode.steps)):
            print_line(("\n" if number else "") + format_step(episode, number))
        return
    current, last = 0, len(episode.steps) - 1
    moves = {"home": -last, "end": last, **dict.fromkeys(("right", "space", "n", "down"), 1)}
    moves |= dict.fromkeys(("left", "b", "up"), -1)

    def press(key: str) -> bool:
        nonlocal current
        current = min(max(current + moves.get(key, 0), 0), last)
        return key in ("q", "escape")

    _run_screen(lambda: (episode, current), press, REPLAY_KEYS)


def _write(file: Path, out: Path, speed: float, world: WorldEntry | None) -> None:
    suffix = out.suffix.lower()
    if suffix not in (*VIDEO_SUFFIXES, *PAGE_SUFFIXES):
        raise InvalidArgumentError(
            f"an episode is written as {', '.join((*VIDEO_SUFFIXES, *PAGE_SUFFIXES[:1]))}, "
            f"not {out.name!r}"
        )
    check_writable(out)
    with show_status("replaying and drawing"):
        episode = load_episode(file, pictures=True, world=world)
        (write_html if suffix in PAGE_SUFFIXES else write_video)(episode, out, speed=speed)
    print_line(f"wrote {out}: {format_count(len(episode.steps) - 1, 'step')}, {episode.status}")


def _run_screen(
    current: Callable[[], tuple[Episode, int]], press: Callable[[str], bool], help_line: str
) -> None:
    """Show an episode in the whole terminal until a key ends it.

    Args:
        current: Returns the episode and the step to show. It is called after every key, and when
            the window has another size.
        press: Handles a key. Returns whether to end.
        help_line: What the keys do.
    """
    console = GuardedConsole()
    size, key = None, NO_KEY
    with (
        open_keyboard() as read_key,
        Live(console=console, screen=True, auto_refresh=False) as live,
    ):
        while True:
            if key != NO_KEY or console.size != size:
                size = console.size
                live.update(render_moment(*current(), help_line, *size), refresh=True)
            key = read_key()
            if key != NO_KEY and press(key):
                return
