"""Episodes in files: what was done and what came of it, which a replay is held against."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cranium.aamdp.catalogue import make_env
from cranium.automata.files import dumps, loads, read_text, write_text
from cranium.automata.transition import Configuration
from cranium.errors import CraniumError, EpisodeError, shorten
from cranium.replay.episode import Episode, Moment, Recorder

__all__ = ["load_episode", "save_episode"]

FORMAT = "cranium-episode"
MOST = 100_000
Number = Annotated[float, Field(allow_inf_nan=False)]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Step(_Closed):
    """A step as it is written down; the start is one without an action."""

    action: int | list[Number] | None = None
    name: str = ""
    events: list[str] = []
    state: str
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
    seed: Annotated[int, Field(ge=0)]
    task: dict[str, Any]
    steps: Annotated[list[_Step], Field(min_length=1, max_length=MOST)]


def save_episode(episode: Episode, path: str | os.PathLike[str]) -> None:
    """Write an episode into a JSON file, all or nothing.

    Of a world of the catalogue only the actions and what came of them are kept, because it can be
    played again; of any other world also how it looked as text.

    Example:
        >>> import gymnasium, tempfile
        >>> from cranium.replay import record
        >>> env = gymnasium.make("cranium/Letter-anbcdn-v0")
        >>> policy = lambda ground, configuration, rng: 0
        >>> episode = record(env, policy, most=3, world="Letter", settings={"times": (1, 5)})
        >>> path = Path(tempfile.mkdtemp()) / "episode.json"
        >>> save_episode(episode, path)
        >>> len(load_episode(path).moments)
        4
    """
    found = check_path(path)
    data = {
        "format": FORMAT,
        "version": 1,
        "world": episode.world,
        "settings": dict(episode.settings),
        "options": dict(episode.options),
        "horizon": episode.horizon,
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
    done = {} if moment.action is None else {"action": moment.action}
    return done | {key: value for key, value in data.items() if value or key in needed}


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
    text = read_text(found)
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
    total, moments = 0.0, []
    for step in read.steps:
        total += step.reward
        moments.append(_moment(step, total))
    told = (read.seed, read.options, "", read.settings, read.horizon)
    return Episode(task, tuple(moments), *told)


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
        env = make_env(read.world, task, settings, horizon=read.horizon)
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
