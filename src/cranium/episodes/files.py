"""Save episodes in files, and load them. A world of the catalogue replays and checks them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from cranium.aamdp.catalogue import WorldEntry
from cranium.aamdp.registry import find_world
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.episodes.recording import Episode, RecordedStep, Recorder
from cranium.errors import CraniumError, EpisodeError, UnknownNameError, shorten
from cranium.formats.files import dumps, loads
from cranium.io import check_writable, read_text, write_text
from cranium.tables.configurations import apply_limit, is_overflow

__all__ = ["load_episode", "save_episode"]

MAX_BYTES = 64 * 2**20
FORMAT = "cranium-episode"
MOST = 100_000
Number = Annotated[float, Field(allow_inf_nan=False)]


def _printable(name: str) -> str:
    if not name.isprintable():  # it would be an order to the terminal
        raise ValueError("a name cannot be printed")
    return name


Name = Annotated[str, AfterValidator(_printable)]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Step(_Closed):
    """A step in a file; the start is a step without an action."""

    action: int | list[Number] | None = None
    name: Name = ""
    events: list[Name] = []
    state: Name
    counters: list[int]
    reward: Number = 0.0
    terminated: bool = False
    truncated: bool = False
    success: bool = False
    text: str = ""


class _File(_Closed):
    format: Literal["cranium-episode"]
    version: Literal[1]
    world: str
    settings: dict[str, Any]
    options: dict[str, Any]
    horizon: Annotated[int, Field(ge=1)] | None
    counter_limit: Annotated[int, Field(ge=0)] | None = None
    seed: Annotated[int, Field(ge=0)]
    task: dict[str, Any]
    steps: Annotated[list[_Step], Field(min_length=1, max_length=MOST)]


def save_episode(episode: Episode, path: str | os.PathLike[str]) -> None:
    """Write an episode into a JSON file, atomically.

    A world of the catalogue can replay its episodes, so only actions and results are saved. For
    other worlds the text of every step is saved, too.

    Example:
        >>> import gymnasium, tempfile
        >>> from cranium.episodes import record
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0")
        >>> policy = lambda ground, configuration, rng: 0
        >>> episode = record(env, policy, max_steps=3, world="Letter", settings={"times": (1, 5)})
        >>> path = Path(tempfile.mkdtemp()) / "episode.json"
        >>> save_episode(episode, path)
        >>> len(load_episode(path).steps)
        4
    """
    found = check_path(path)
    check_task(episode.task, episode.world)
    data = {
        "format": FORMAT,
        "version": 1,
        "world": episode.world,
        "settings": dict(episode.settings),
        "options": dict(episode.options),
        "horizon": episode.horizon,
        "counter_limit": episode.counter_limit,
        "seed": episode.seed,
        "task": json.loads(dumps(episode.task, form="json")),
        "steps": [_as_data(recorded, looks=not episode.world) for recorded in episode.steps],
    }
    write_text(found, json.dumps(data, ensure_ascii=False, default=_plain) + "\n")


def check_path(path: str | os.PathLike[str]) -> Path:
    """Check that a file for an episode ends in ``.json``."""
    found = Path(path)
    if found.suffix.lower() != ".json":
        raise EpisodeError(f"an episode is saved in a file that ends in .json, not {found.name!r}")
    return found


def check_recording_path(path: str | os.PathLike[str]) -> Path:
    """Check that an episode can be written there, before it is recorded."""
    found = check_path(path)
    check_writable(found)
    return found


def check_task(task: CountingRewardAutomaton, world: str) -> None:
    """Check that an episode of a task can be replayed: files cannot hold reward functions."""
    if world and not task.is_constant:
        raise EpisodeError(
            "an episode of this task cannot be saved: its rewards are functions, which a file "
            "cannot hold",
            fix="record it without world=…, which saves the text of every step",
        )


def _as_data(recorded: RecordedStep, *, looks: bool) -> dict[str, Any]:
    data = {
        "name": recorded.name,
        "events": sorted(recorded.label),
        "state": recorded.configuration.state,
        "counters": list(recorded.configuration.counters),
        "reward": recorded.reward,
        "terminated": recorded.terminated,
        "truncated": recorded.truncated,
        "success": recorded.success,
        "text": recorded.text if looks else "",
    }
    needed = ("state", "counters")
    done = {} if recorded.action is None else {"action": _action(recorded.action)}
    return done | {key: value for key, value in data.items() if value or key in needed}


def _action(action: Any) -> Any:
    """Return an action as a number or a list of numbers; a file holds no others."""
    if isinstance(action, int | np.integer) and not isinstance(action, bool):
        return int(action)
    parts = np.asarray(action)
    if parts.ndim == 1 and parts.dtype.kind in "fiu" and np.isfinite(parts).all():
        return [float(part) for part in parts]
    raise EpisodeError(f"an action is a number or a list of numbers, not {shorten(action)}")


def _plain(value: Any) -> Any:
    """Convert NumPy's numbers and arrays, which JSON does not know."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise EpisodeError(f"{shorten(value)} cannot be saved in a file")


def load_episode(
    path: str | os.PathLike[str], *, pictures: bool = False, world: WorldEntry | None = None
) -> Episode:
    """Load an episode. Its world replays it, and must agree with the file.

    Args:
        path: A file that :func:`save_episode` wrote.
        pictures: Whether to render images, too.
        world: The world that replays it; by default the one of the catalogue that the file names.
            A file cannot choose any other.

    Raises:
        EpisodeError: It is not an episode, or the world does not do what the file says.

    Example:
        >>> import gymnasium, tempfile
        >>> env = gymnasium.make("cranium/Office-mail-delivery-v0")
        >>> recorder = Recorder(env, world="Office")
        >>> recorded = recorder.step(2)
        >>> path = Path(tempfile.mkdtemp()) / "episode.json"
        >>> save_episode(recorder.episode, path)
        >>> load_episode(path).status
        'not finished'
    """
    found = Path(path)
    text = read_text(found, most=MAX_BYTES)
    try:
        read = _File.model_validate(json.loads(text))
    except (ValueError, RecursionError) as problem:
        raise EpisodeError(
            f"{found} is not an episode: {_describe_problem(problem)}",
            fix="cranium play … --record FILE writes one",
        ) from None
    try:
        task = loads(json.dumps(read.task), form="json")
    except CraniumError as problem:
        raise EpisodeError(f"{found}: the task in it: {problem.message}") from None
    if read.world:
        return _replay(found, read, task, world, pictures=pictures)
    told = (read.seed, read.options, "", read.settings, read.horizon, read.counter_limit)
    return Episode(task, tuple(_read_steps(found, read, task)), *told)


def _read_steps(path: Path, read: _File, task: CountingRewardAutomaton) -> Iterator[RecordedStep]:
    """Read the steps of a world that cannot replay them; the machine can, and must agree."""
    total, here = 0.0, task.start
    for number, row in enumerate(read.steps):
        if number:
            if is_overflow(here) or task.is_terminal(here):
                raise EpisodeError(f"{path}: step {number} comes after the end")
            try:
                after = task.step(here, frozenset(row.events)).configuration
            except CraniumError as problem:
                raise EpisodeError(f"{path}: step {number}: {problem.message}") from None
            here = apply_limit(after, read.counter_limit)
        total += row.reward
        recorded = _read_step(row, total)
        reached = not is_overflow(here) and task.is_accepting(here)
        if (recorded.configuration, recorded.success) != (here, reached):
            raise EpisodeError(
                f"{path}: step {number} has the machine in {recorded.configuration}, "
                f"success {recorded.success}; but its events lead to {here}",
                fix="it was recorded with another version, or the file was changed",
            )
        yield recorded


def _describe_problem(problem: Exception) -> str:
    if isinstance(problem, ValidationError):
        first = problem.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "all of it"
        return f"{place}: {first['msg'].lower()}"
    return str(problem)


def _read_step(row: _Step, total: float) -> RecordedStep:
    return RecordedStep(
        row.action,
        row.name,
        frozenset(row.events),
        Configuration(row.state, tuple(row.counters)),
        row.reward,
        total,
        row.terminated,
        row.truncated,
        row.success,
        row.text,
    )


def _replay(
    path: Path,
    read: _File,
    task: CountingRewardAutomaton,
    world: WorldEntry | None,
    *,
    pictures: bool,
) -> Episode:
    """Replay an episode in its world, and compare every step with the file."""
    settings, options = options_from_json(read.settings), options_from_json(read.options)
    try:
        limits = {"horizon": read.horizon, "counter_limit": read.counter_limit}
        env = (world or _find_named_world(path, read.world)).make_env(task, settings, **limits)
        told: dict[str, Any] = {"world": read.world, "settings": settings, "pictures": pictures}
        recorder = Recorder(env, seed=read.seed, options=options, **told)
        for number, row in enumerate(read.steps):
            if number:
                recorder.step(row.action)
            _compare(path, number, row, recorder.steps[-1])
    except EpisodeError:
        raise
    except CraniumError as problem:
        raise EpisodeError(f"{path} cannot be replayed: {problem.message}") from None
    except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
        # Settings and options are whatever the file says, and a world may not check them all.
        kind = type(problem).__name__
        raise EpisodeError(f"{path} cannot be replayed: {kind}: {shorten(str(problem))}") from None
    return recorder.episode


def _find_named_world(path: Path, name: str) -> WorldEntry:
    try:
        return find_world(name)
    except UnknownNameError:
        raise EpisodeError(
            f"{path} cannot be replayed: no such world in Cranium: {shorten(name)}, and a file "
            "cannot choose which code is run",
            fix=f"if you trust that code, name it: --world {shorten(name)}, with the --labels that "
            "it was recorded with",
        ) from None


def _compare(path: Path, number: int, row: _Step, recorded: RecordedStep) -> None:
    written, played = _read_step(row, 0.0), recorded
    for name in ("label", "configuration", "reward", "terminated", "truncated", "success"):
        if getattr(written, name) != getattr(played, name):
            raise EpisodeError(
                f"{path}: step {number} has the {name} {_format_value(getattr(written, name))}, "
                f"but the world does {_format_value(getattr(played, name))}",
                fix="it was recorded with another version, or the file was changed",
            )


def _format_value(value: Any) -> str:
    if isinstance(value, frozenset):
        return shorten(sorted(value))
    return str(value) if isinstance(value, Configuration) else shorten(value)


def options_from_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the lists in options of a world back into tuples, which JSON does not have.

    Example:
        >>> options_from_json({"mail": [1, 5], "layout": "paper"})
        {'mail': (1, 5), 'layout': 'paper'}
    """
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
