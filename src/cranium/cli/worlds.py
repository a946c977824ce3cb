"""The command that lists the worlds."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from cranium.aamdp import CATALOGUE, find_world
from cranium.aamdp.registry import WorldEntry
from cranium.cli.output import print_json, say
from cranium.cli.sources import import_world
from cranium.errors import InvalidArgumentError
from cranium.formats import library
from cranium.io import check_writable, write_bytes

__all__ = ["register"]


def show_worlds(
    name: Annotated[
        str | None, typer.Argument(metavar="WORLD", help="One world: its map, events and tasks.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    picture: Annotated[
        Path | None, typer.Option("--draw", metavar="PICTURE", help="Draw WORLD into a PNG file.")
    ] = None,
) -> None:
    """List the worlds, their events and their ready-made tasks.

    Each is a Gymnasium environment: gymnasium.make("cranium/Office-v0") is the world by itself,
    gymnasium.make("cranium/Office-mail-delivery-v0") the product with a task.
    For example: cranium worlds Office
    """
    entries = CATALOGUE if name is None else (find_world(import_world(name)),)
    if picture is not None:
        _draw(entries, picture)
    if as_json:
        data = [
            {
                "name": entry.name,
                "id": entry.id,
                "about": entry.about,
                "horizon": entry.horizon,
                "events": list(entry.vocabulary()),
                "tasks": {task: entry.product_id(task) for task in entry.tasks},
            }
            for entry in entries
        ]
        print_json(data, indent=2)
        return
    for number, entry in enumerate(entries):
        say(("" if number == 0 else "\n") + f"{entry.name}: {entry.about}", style="bold")
        say(f"  id        {entry.id}")
        say(f"  events    {', '.join(entry.vocabulary())}")
        for index, (task, machine) in enumerate(entry.tasks.items()):
            head = "  tasks     " if index == 0 else " " * 12
            say(f"{head}{task}: {library.load(machine).name} ({entry.product_id(task)})")
        if name is not None and entry.gymnasium_id is None:  # others may not draw themselves
            world = entry.make(**entry.options, render_mode="ansi")
            world.reset(seed=0)
            say("\n" + str(world.render()))
    if picture is not None:
        say(f"wrote {picture}")


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


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("worlds")(show_worlds)
