"""The catalogue of worlds, with their ready-made tasks and the meanings of their events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

from cranium.aamdp.product import AutomatonAugmentedMDP
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import InvalidArgumentError, shorten
from cranium.worlds.craft import CraftWorld
from cranium.worlds.letter import LetterEnv
from cranium.worlds.office import OfficeWorld
from cranium.worlds.point import PointWorld
from cranium.worlds.protocols import LabellingFunction, as_world
from cranium.worlds.water import WaterWorld

__all__ = ["CATALOGUE", "WorldEntry"]

NAMESPACE = "cranium"
LETTERS = {name: f"the letter {name} is read" for name in "ABCDE"}
ROOMS = {name: f"room {name} is visited" for name in "ABCDabcd"}
OFFICE = {
    **ROOMS,
    "mail": "an item of mail is collected",
    "empty": "the mail room is empty",
    "coffee": "a coffee is collected",
    "person": "an item is delivered to a person",
    "office": "an item is delivered to the office",
    "decoration": "a decoration is broken",
}
CRAFT = {
    "wood": "a piece of wood is gathered",
    "no_wood": "there is no wood left",
    "grass": "a bundle of grass is gathered",
    "no_grass": "there is no grass left",
    "iron": "a piece of iron is gathered",
    "toolshed": "the toolshed is used",
    "workbench": "the workbench is used",
    "factory": "the factory is used",
    "gold": "the gold is reached",
    "gem": "the gem is reached",
}
ITEMS = ["plank", "stick", "cloth", "rope", "bridge", "bed", "axe", "shears", "gold", "gem"]
WATER = {
    colour: f"a {colour} ball is touched"
    for colour in ("red", "green", "blue", "cyan", "yellow", "magenta")
}


@dataclass(frozen=True)
class WorldEntry:
    """A world by its name: of the catalogue, of Gymnasium's registry, or of a user's own code.

    Attributes:
        name: Its name, as in ``cranium/NAME-v0``.
        make: The function that makes the environment, which is a :class:`~cranium.worlds.World`.
        about: A description in one line.
        horizon: The number of steps after which an episode is truncated; None if it is not.
        tasks: The ready-made tasks: the name of each, and the machine of the library.
        options: The arguments of ``make``.
        meanings: The meanings of its events, in plain words.
        gymnasium_id: The Gymnasium id, or ``MODULE:NAME``, if it is not ``cranium/NAME-v0``.
        labelling: L(s, a, s′); None for the events that the world reports itself.
    """

    name: str
    make: Callable[..., gym.Env[Any, Any]]
    about: str
    horizon: int | None
    tasks: Mapping[str, str]
    options: Mapping[str, Any] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    gymnasium_id: str | None = None
    labelling: LabellingFunction | None = None

    @property
    def is_ours(self) -> bool:
        """Whether it is a world of the catalogue.

        Example:
            >>> from cranium.aamdp.registry import find_world
            >>> find_world("Letter").is_ours
            True
        """
        return self.gymnasium_id is None

    def make_env(
        self,
        automaton: CountingRewardAutomaton | None,
        options: Mapping[str, Any] | None = None,
        *,
        horizon: int | None = None,
        counter_limit: int | None = None,
    ) -> gym.Env[Any, Any]:
        """Make the product of this world and a task; a world that is a product stays as it is.

        Args:
            automaton: The task. A world that is a product has one, and None stands for it.
            options: Arguments of the world.
            horizon: The number of steps after which an episode is truncated; by default the
                world's. A product keeps its own.
            counter_limit: The greatest value of a counter; by default one that no episode can pass.

        Raises:
            InvalidArgumentError: The options do not fit, or there is no task, or there are two.

        Example:
            >>> import cranium
            >>> from cranium.aamdp.registry import find_world
            >>> task = cranium.library.load("office")
            >>> find_world("Office").make_env(task, {"mail": 2}).horizon
            1000
        """
        try:
            made = self.make(**{**self.options, **(options or {})})
        except TypeError as problem:
            raise InvalidArgumentError(
                f"the world {self.name} cannot be made with {shorten(dict(options or {}))}: "
                f"{problem}",
                fix="see the arguments of the world in the reference",
            ) from None
        if (inner := _inner_product(made)) is not None:
            if automaton is not None and automaton != inner.automaton:
                raise InvalidArgumentError(
                    f"{self.name} is a product with the task {shorten(inner.automaton.name)}",
                    fix="leave the task out, or name the environment without its task",
                )
            if self.labelling is not None:
                raise InvalidArgumentError(
                    f"{self.name} is a product, which has a labelling", fix="leave the labels out"
                )
            return made
        if automaton is None:
            raise InvalidArgumentError(
                f"{self.name} has no task",
                fix="give one: --task FILE, --task library:NAME or --task LANGUAGE",
            )
        return AutomatonAugmentedMDP(
            made,
            automaton,
            self.labelling,
            horizon=self.horizon if horizon is None else horizon,
            counter_limit=counter_limit,
        )

    def events(self) -> dict[str, str]:
        """Return all its events, and what they mean (by default their names).

        Example:
            >>> from cranium.aamdp.registry import find_world
            >>> find_world("Office").events()["mail"]
            'an item of mail is collected'
        """
        return {name: self.meanings.get(name, name) for name in self.vocabulary()}

    def vocabulary(self) -> tuple[str, ...]:
        """Return the names of all its events.

        Example:
            >>> from cranium.aamdp.registry import find_world
            >>> find_world("Letter").vocabulary()
            ('A', 'C', 'D', 'B')
        """
        if self.labelling is not None:
            return tuple(getattr(self.labelling, "events", ()))
        return tuple(as_world(self.make(**self.options)).vocabulary)

    @property
    def id(self) -> str:
        """The Gymnasium id of the world by itself."""
        return self.gymnasium_id or f"{NAMESPACE}/{self.name}-v0"

    def product_id(self, task: str) -> str:
        """The Gymnasium id of the world with a task."""
        return f"{NAMESPACE}/{self.name}-{task}-v0"


def _inner_product(env: gym.Env[Any, Any]) -> AutomatonAugmentedMDP | None:
    """Return the product inside wrappers, if there is one."""
    inner = env
    while isinstance(inner, gym.Wrapper):
        if isinstance(inner, AutomatonAugmentedMDP):
            return inner
        inner = inner.env
    return None


CATALOGUE: tuple[WorldEntry, ...] = (
    WorldEntry(
        "Letter",
        LetterEnv.experiment,
        "letters on a grid; A becomes B after N observations",
        100,
        {"anbcdn": "anbcdn", "anbcn": "anbcn"},
        {"times": (1, 5)},
        LETTERS,
    ),
    WorldEntry(
        "Office",
        OfficeWorld,
        "the office of the paper, with mail that runs out",
        1000,
        {
            "mail-and-coffee": "office",
            "mail-delivery": "mail-delivery",
            "deliver": "office-deliver",
        },
        meanings=OFFICE,
    ),
    WorldEntry(
        "ToroOffice",
        OfficeWorld,
        "the office of the reward-machine literature",
        1000,
        {
            "coffee": "toro-coffee",
            "mail": "toro-mail",
            "coffee-and-mail": "toro-coffee-mail",
            "patrol": "toro-patrol",
        },
        {"layout": "toro-icarte", "mail": None},
        OFFICE,
    ),
    WorldEntry(
        "Craft",
        CraftWorld,
        "the crafting world of the reward-machine literature",
        1000,
        {item: f"craft-{item}" for item in ITEMS},
        meanings=CRAFT,
    ),
    WorldEntry(
        "CraftCount",
        CraftWorld,
        "the crafting world on a small map, with wood and grass that run out",
        200,
        {"planks": "craft-planks", "planks-and-cloths": "craft-planks-and-cloths"},
        {"layout": "small", "wood": (1, 3), "grass": (1, 2)},
        CRAFT,
    ),
    WorldEntry(
        "Point",
        PointWorld,
        "a point in the unit square, with regions to enter and mail that runs out",
        200,
        {"visit": "point-visit", "deliver": "point-deliver"},
        meanings=OFFICE,
    ),
    WorldEntry(
        "Water",
        WaterWorld,
        "coloured balls that bounce in a pond, to be touched by an agent that accelerates",
        600,
        {
            "red-green": "water-red-green",
            "blue-cyan": "water-blue-cyan",
            "both": "water-both",
            "strict": "water-strict",
            "balance": "water-balance",
            "repay": "water-repay",
        },
        meanings=WATER,
    ),
)
"""All worlds."""
