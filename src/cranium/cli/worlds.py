"""``cranium worlds``: the worlds that come with Cranium."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import gymnasium as gym
import numpy as np
import typer

from cranium.aamdp import CATALOGUE, find_product
from cranium.aamdp.catalogue import WorldEntry
from cranium.aamdp.environments import import_world
from cranium.aamdp.product import shortest_horizon
from cranium.aamdp.wrappers import own_time_limit
from cranium.cli.arguments import (
    JsonOption,
    LabelsOption,
    OptionValue,
    WorldOptions,
    parse_world_options,
)
from cranium.cli.output import print_json, print_line
from cranium.errors import InvalidArgumentError, WorldError
from cranium.formats import library
from cranium.io import check_writable, write_bytes
from cranium.worlds.protocols import as_world

__all__ = ["list_worlds"]


def list_worlds(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="WORLD", help="Show one: a world, a Gymnasium id, MODULE:NAME or FILE.py:NAME."
        ),
    ] = None,
    labels: LabelsOption = None,
    options: WorldOptions = None,
    as_json: JsonOption = False,
    picture: Annotated[
        Path | None,
        typer.Option("--draw", metavar="PICTURE", help="Draw WORLD to this PNG file."),
    ] = None,
) -> None:
    """List the worlds with their events and tasks, or show one.

    Use it to find the WORLD and the TASK for other commands. Each is also a Gymnasium environment:
    gymnasium.make("cranium/Office-v0") is a world, and
    gymnasium.make("cranium/Office-mail-delivery-v0") is its product with a task.

    For example:

        cranium worlds Office
        cranium worlds FrozenLake-v1 --labels lake.py:events
    """
    entries = CATALOGUE if name is None else (import_world(name, labels),)
    settings = parse_world_options(options)
    if name is None and (settings or labels is not None):
        raise InvalidArgumentError("options and labels belong to one world", fix="name it")
    if picture is not None:
        _draw(entries, settings, picture)
    if as_json:
        print_json([_entry_to_json(entry, settings) for entry in entries], indent=2)
        return
    for number, entry in enumerate(entries):
        if number:
            print_line("")
        _print_entry(entry, settings)
        if name is not None and entry.is_ours:  # others may have no text mode
            world = entry.make(**{**entry.options, **settings}, render_mode="ansi")
            world.reset(seed=0)
            print_line("\n" + str(world.render()))
    if picture is not None:
        print_line(f"wrote {picture}")


def _print_entry(entry: WorldEntry, settings: Mapping[str, OptionValue]) -> None:
    print_line(f"{entry.name}: {entry.about}", style="bold")
    if entry.is_ours:
        print_line(f"  id        {entry.id}")
        print_line(f"  events    {', '.join(entry.vocabulary())}")
    else:
        description = _describe(entry, settings)
        finite = "yes" if description.is_finite else "no"
        print_line(f"  observes  {description.observations}")
        print_line(f"  actions   {description.actions}")
        print_line(f"  horizon   {description.horizon or 'none: give --horizon'}")
        print_line(f"  finite    {finite}, by its spaces")
        print_line(f"  events    {', '.join(description.events or ()) or description.no_events}")
        if description.task is not None:
            print_line(f"  task      {description.task or 'without a name'}, it is a product")
    for index, (task, machine) in enumerate(entry.tasks.items()):
        head = "  tasks     " if index == 0 else " " * 12
        print_line(f"{head}{task}: {library.load(machine).name} ({entry.product_id(task)})")


class _Description(NamedTuple):
    """The facts about an environment that is not one of ours."""

    observations: str
    actions: str
    horizon: int | None
    is_finite: bool
    events: tuple[str, ...] | None
    no_events: str
    task: str | None


def _describe(entry: WorldEntry, settings: Mapping[str, OptionValue]) -> _Description:
    env = entry.make(**{**entry.options, **settings})
    product = None
    with suppress(InvalidArgumentError):
        product = find_product(env)
    ground = env if product is None else product.env
    events, missing = None, "none of its own: give --labels MODULE:FUNCTION"
    labelling = entry.labelling if product is None else product.labelling
    if labelling is not None:
        events = getattr(labelling, "events", None)
        missing = "not declared: see cranium.labelling"
    else:
        with suppress(WorldError):
            events = tuple(as_world(env).vocabulary)
    return _Description(
        str(ground.observation_space),
        str(ground.action_space),
        shortest_horizon(env, entry.horizon) or own_time_limit(env),
        _is_finite(ground.observation_space) and _is_finite(ground.action_space),
        events,
        missing,
        None if product is None else product.automaton.name or "",
    )


def _is_finite(space: gym.Space[Any]) -> bool:
    if isinstance(space, gym.spaces.Dict):
        return all(map(_is_finite, space.spaces.values()))
    if isinstance(space, gym.spaces.Tuple):
        return all(map(_is_finite, space.spaces))
    if isinstance(space, gym.spaces.Box):
        return bool(np.issubdtype(space.dtype, np.integer))
    return isinstance(
        space, gym.spaces.Discrete | gym.spaces.MultiDiscrete | gym.spaces.MultiBinary
    )


def _entry_to_json(entry: WorldEntry, settings: Mapping[str, OptionValue]) -> dict[str, object]:
    common: dict[str, object] = {"name": entry.name, "id": entry.id, "about": entry.about}
    if entry.is_ours:
        return {
            **common,
            "horizon": entry.horizon,
            "events": list(entry.vocabulary()),
            "tasks": {task: entry.product_id(task) for task in entry.tasks},
        }
    description = _describe(entry, settings)
    return {
        **common,
        "horizon": description.horizon,
        "events": None if description.events is None else list(description.events),
        "tasks": {},
        "observations": description.observations,
        "actions": description.actions,
        "finite": description.is_finite,
        "task": description.task,
    }


def _draw(
    entries: tuple[WorldEntry, ...], settings: Mapping[str, OptionValue], picture: Path
) -> None:
    from PIL import Image

    if len(entries) > 1:
        raise InvalidArgumentError(
            "a picture shows one world", fix="name it: cranium worlds Office"
        )
    if picture.suffix.lower() != ".png":
        raise InvalidArgumentError(f"a picture of a world ends in .png, not {picture.name!r}")
    check_writable(picture)
    world = entries[0].make(**{**entries[0].options, **settings}, render_mode="rgb_array")
    world.reset(seed=0)
    stream = io.BytesIO()
    Image.fromarray(np.asarray(world.render())).save(stream, format="PNG")
    write_bytes(picture, stream.getvalue())
