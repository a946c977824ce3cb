"""``cranium worlds``: the worlds that come with Cranium."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from cranium.aamdp import CATALOGUE, find_world
from cranium.aamdp.registry import WorldEntry
from cranium.cli.arguments import JsonOption, import_world
from cranium.cli.output import print_json, print_line
from cranium.errors import InvalidArgumentError
from cranium.formats import library
from cranium.io import check_writable, write_bytes

__all__ = ["list_worlds"]


def list_worlds(
    name: Annotated[
        str | None,
        typer.Argument(metavar="WORLD", help="Show the map, the events and the tasks of one."),
    ] = None,
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
    """
    entries = CATALOGUE if name is None else (find_world(import_world(name)),)
    if picture is not None:
        _draw(entries, picture)
    if as_json:
        print_json([_entry_to_json(entry) for entry in entries], indent=2)
        return
    for number, entry in enumerate(entries):
        print_line(("" if number == 0 else "\n") + f"{entry.name}: {entry.about}", style="bold")
        print_line(f"  id        {entry.id}")
        print_line(f"  events    {', '.join(entry.vocabulary())}")
        for index, (task, machine) in enumerate(entry.tasks.items()):
            head = "  tasks     " if index == 0 else " " * 12
            print_line(f"{head}{task}: {library.load(machine).name} ({entry.product_id(task)})")
        if name is not None and entry.gymnasium_id is None:  # others may have no text mode
            world = entry.make(**entry.options, render_mode="ansi")
            world.reset(seed=0)
            print_line("\n" + str(world.render()))
    if picture is not None:
        print_line(f"wrote {picture}")


def _entry_to_json(entry: WorldEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "id": entry.id,
        "about": entry.about,
        "horizon": entry.horizon,
        "events": list(entry.vocabulary()),
        "tasks": {task: entry.product_id(task) for task in entry.tasks},
    }


def _draw(entries: tuple[WorldEntry, ...], picture: Path) -> None:
    from PIL import Image

    if len(entries) > 1:
        raise InvalidArgumentError(
            "a picture shows one world", fix="name it: cranium worlds Office"
        )
    if picture.suffix.lower() != ".png":
        raise InvalidArgumentError(f"a picture of a world ends in .png, not {picture.name!r}")
    check_writable(picture)
    world = entries[0].make(**entries[0].options, render_mode="rgb_array")
    world.reset(seed=0)
    stream = io.BytesIO()
    Image.fromarray(np.asarray(world.render())).save(stream, format="PNG")
    write_bytes(picture, stream.getvalue())
