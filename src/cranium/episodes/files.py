"""Episodes in files: what was done and what came of it, which a replay is held against."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from cranium.aamdp.registry import make_env
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.episodes.recording import Episode, Moment, Recorder
from cranium.errors import CraniumError, EpisodeError, shorten
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
    """A step as it is written down; the start is one without an action."""

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
    """Write an episode into a JSON file, all or nothing.

    Of a world of the catalogue only the actions and what came of them are kept, because it can be
    played again; of any other world also how it looked as text.

    Example:
        >>> import gymnasium, tempfile
        >>> from cranium.episodes import record
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0")
        >>> policy = lambda ground, configuration, rng: 0
        >>> episode = record(env, policy, most=3, world="Letter", settings={"times": (1, 5)})
        >>> path = Path(tempfile.mkdtemp()) / "episode.json"
        >>> save_episode(episode, path)
        >>> len(load_episode(path).moments)
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
        "steps": [_as_data(moment, looks=not episode.world) for moment in episode.moments],
    }
    write_text(found, json.dumps(data, ensure_ascii=False, default=_plain) + "\n")


def check_path(path: str | os.PathLike[str]) -> Path:
    """A file for an episode: it is read as JSON, so that is what it is called."""
    found = Path(path)
    if found.suffix.lower() != ".json":
        raise EpisodeError(f"an episode is kept in a file that ends in .json, not {found.name!r}")
    return found


def check_recording_path(path: str | os.PathLike[str]) -> Path:
    """A place where an episode can be written, before there is one to be lost."""
    found = check_path(path)
    check_writable(found)
    return found


def check_task(task: CountingRewardAutomaton, world: str) -> None:
    """Refuse to keep what could not be played again: a file knows functions by their names only."""
    if world and not task.is_constant:
        raise EpisodeError(
            "an episode of this task cannot be kept: its rewards are functions, which are not in a "
            "file",
            fix="record it without world=…, as it looked",
        )


def _as_data(moment: Moment, *, looks: bool) -> dict[str, Any]:
    data = {
        "name": moment.name,
        "events": sorted(moment.label),
        "state": moment.configuration.state,
        "counters": list(moment.configuration.counters),
        "reward": moment.reward,
        "terminated": moment.terminated,
        "truncated": moment.truncated,
        "success": moment.success,
        "text": moment.text if looks else "",
    }
    needed = ("state", "counters")
    done = {} if moment.action is None else {"action": _action(moment.action)}
    return done | {key: value for key, value in data.items() if value or key in needed}


def _action(action: Any) -> Any:
    """A number, or a list of them: there is no other action in a file."""
    if isinstance(action, int | np.integer) and not isinstance(action, bool):
        return int(action)
    parts = np.asarray(action)
    if parts.ndim == 1 and parts.dtype.kind in "fiu" and np.isfinite(parts).all():
        return [float(part) for part in parts]
    raise EpisodeError(f"an action is a number or a list of numbers, not {shorten(action)}")


def _plain(value: Any) -> Any:
    """What JSON does not know: numbers and arrays of NumPy."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise EpisodeError(f"{shorten(value)} cannot be kept in a file")


def load_episode(path: str | os.PathLike[str], *, pictures: bool = False) -> Episode:
    """Read an episode; a world of the catalogue plays it again, and must do what is written.

    Args:
        path: What :func:`save_episode` wrote.
        pictures: Whether the world is drawn, too.

    Raises:
        EpisodeError: It is not an episode, or the world does something else today.

    Example:
        >>> import gymnasium, tempfile
        >>> env = gymnasium.make("cranium/Office-mail-delivery-v0")
        >>> recorder = Recorder(env, world="Office")
        >>> moment = recorder.step(2)
        >>> path = Path(tempfile.mkdtemp()) / "episode.json"
        >>> save_episode(recorder.episode, path)
        >>> load_episode(path).outcome
        'not finished'
    """
    found = Path(path)
    text = read_text(found, most=MAX_BYTES)
    try:
        read = _File.model_validate(json.loads(text))
    except (ValueError, RecursionError) as problem:
        raise EpisodeError(
            f"{found} is not an episode: {_told(problem)}",
            fix="cranium play … --record FILE writes one",
        ) from None
    try:
        task = loads(json.dumps(read.task), form="json")
    except CraniumError as problem:
        raise EpisodeError(f"{found}: the task in it: {problem.message}") from None
    if read.world:
        return _played(found, read, task, pictures=pictures)
    told = (read.seed, read.options, "", read.settings, read.horizon, read.counter_limit)
    return Episode(task, tuple(_followed(found, read, task)), *told)


def _followed(path: Path, read: _File, task: CountingRewardAutomaton) -> Iterator[Moment]:
    """The moments of a world that cannot be played again; the machine can, and has to agree."""
    total, here = 0.0, task.start
    for number, step in enumerate(read.steps):
        if number:
            if is_overflow(here) or task.is_terminal(here):
                raise EpisodeError(f"{path}: step {number} comes after the end")
            try:
                after = task.step(here, frozenset(step.events)).configuration
            except CraniumError as problem:
                raise EpisodeError(f"{path}: step {number}: {problem.message}") from None
            here = apply_limit(after, read.counter_limit)
        total += step.reward
        moment = _moment(step, total)
        reached = not is_overflow(here) and task.is_accepting(here)
        if (moment.configuration, moment.success) != (here, reached):
            raise EpisodeError(
                f"{path}: step {number} has the machine in {moment.configuration}, "
                f"success {moment.success}; but its events lead to {here}",
                fix="it was recorded with another version, or the file was changed",
            )
        yield moment


def _told(problem: Exception) -> str:
    if isinstance(problem, ValidationError):
        first = problem.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "all of it"
        return f"{place}: {first['msg'].lower()}"
    return str(problem)


def _moment(step: _Step, total: float) -> Moment:
    return Moment(
        step.action,
        step.name,
        frozenset(step.events),
        Configuration(step.state, tuple(step.counters)),
        step.reward,
        total,
        step.terminated,
        step.truncated,
        step.success,
        step.text,
    )


def _played(path: Path, read: _File, task: Any, *, pictures: bool) -> Episode:
    """The episode once more in its world, held against what is written."""
    settings, options = as_options(read.settings), as_options(read.options)
    try:
        limits = {"horizon": read.horizon, "counter_limit": read.counter_limit}
        env = make_env(read.world, task, settings, **limits)
        told: dict[str, Any] = {"world": read.world, "settings": settings, "pictures": pictures}
        recorder = Recorder(env, seed=read.seed, options=options, **told)
        for number, step in enumerate(read.steps):
            if number:
                recorder.step(step.action)
            _compare(path, number, step, recorder.moments[-1])
    except EpisodeError:
        raise
    except CraniumError as problem:
        raise EpisodeError(f"{path} cannot be played again: {problem.message}") from None
    except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
        # Settings and options are whatever the file says, and a world may not check them all.
        kind = type(problem).__name__
        raise EpisodeError(
            f"{path} cannot be played again: {kind}: {shorten(str(problem))}"
        ) from None
    return recorder.episode


def _compare(path: Path, number: int, step: _Step, moment: Moment) -> None:
    written, played = _moment(step, 0.0), moment
    for name in ("label", "configuration", "reward", "terminated", "truncated", "success"):
        if getattr(written, name) != getattr(played, name):
            raise EpisodeError(
                f"{path}: step {number} has the {name} {_shown(getattr(written, name))}, but the "
                f"world does {_shown(getattr(played, name))}",
                fix="it was recorded with another version, or the file was changed",
            )


def _shown(value: Any) -> str:
    if isinstance(value, frozenset):
        return shorten(sorted(value))
    return str(value) if isinstance(value, Configuration) else shorten(value)


def as_options(data: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a world as they were before JSON made lists of pairs.

    Example:
        >>> as_options({"mail": [1, 5], "layout": "paper"})
        {'mail': (1, 5), 'layout': 'paper'}
    """
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
