"""The crafting world of Andreas et al. (2017) and of the reward-machine literature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.arguments import check_count
from cranium.errors import InvalidArgumentError, SpaceError, shorten
from cranium.worlds.arguments import as_range, check_options, list_amounts
from cranium.worlds.craft_maps import DRAWN, SIGNS, SIZES, draw_map, random_map
from cranium.worlds.finite import FiniteEnv
from cranium.worlds.grid import MOVES, Cell, Grid, starting_cells
from cranium.worlds.protocols import Events, Instances, Outcome, ResetOptions

__all__ = ["CraftWorld"]

_LETTERS = {name: sign for sign, name in SIGNS.items()}
_MARKS = {"grass": "gras", "toolshed": "tool", "workbench": "work", "factory": "fact"}
_RUN_OUT = {"wood": "no_wood", "grass": "no_grass"}
_State = tuple[Cell, int, int]
MOST_STARTS = 1_000_000
Layout = Literal["small", "medium", "large", "random"]


class CraftWorld(FiniteEnv[_State, NDArray[np.int64]]):
    """Raw materials, and places to make something of them.

    There are wood, grass and iron; a toolshed, a workbench and a factory; gold, for which the
    literature asks to build a bridge, and a gem, for which it asks to make an axe. An event happens
    on every step that ends on its cell, a step against a wall too. What is made there is up to the
    task: the world knows no planks.

    Wood and grass can run out. Then a visit to any cell of that kind takes one piece (``wood``),
    and a visit when none is left in the world shows that (``no_wood``).

    Args:
        wood: The number of pieces of wood: a number, or the least and the greatest of a number
            that is drawn (uniformly) in every episode; None if the wood never runs out, as in the
            literature.
        grass: The same for grass.
        layout: ``"small"`` (7×7), ``"medium"`` (11×11) or ``"large"`` (21×21), or ``"random"``: a
            map that is made from a seed.
        map_seed: The seed of a random map, by default 0.
        size: The number of rows and of columns of a random map, by default 11.
        start: The cell where an episode begins, by default that of the layout; ``"anywhere"`` for
            any cell without events, drawn (uniformly) in every episode.
        observation: ``"markov"`` is the cell and what is left of that which runs out; ``"cell"``
            the cell alone.
        render_mode: ``"ansi"`` or ``"rgb_array"``.

    ``reset(options={"wood": 3})`` fixes the number of pieces in that episode.

    Example:
        >>> env = CraftWorld(wood=(1, 3), layout="small")
        >>> env.reset(seed=0, options={"wood": 2})[0].tolist()
        [3, 3, 2]
        >>> env.vocabulary
        ('wood', 'grass', 'iron', 'toolshed', 'workbench', 'factory', 'gold', 'gem', 'no_wood')
        >>> CraftWorld(layout="random", map_seed=4, size=9).grid.rows
        9
    """

    action_names = tuple(MOVES)

    def __init__(
        self,
        wood: int | tuple[int, int] | None = None,
        grass: int | tuple[int, int] | None = None,
        *,
        layout: Layout = "medium",
        map_seed: int | None = None,
        size: int | None = None,
        start: Cell | Literal["anywhere"] | None = None,
        observation: Literal["markov", "cell"] = "markov",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(render_mode)
        if observation not in ("markov", "cell"):
            raise InvalidArgumentError(
                f"an observation is markov or cell, not {shorten(observation)}"
            )
        self.stock = {
            name: None if value is None else as_range(value, f"the {name}", f"the most {name}")
            for name, value in (("wood", wood), ("grass", grass))
        }
        self.view = observation
        self.grid, own, self.at = _map(layout, map_seed, size)
        self.starts = starting_cells(self.grid, self.at, own if start is None else start)
        self.limited = tuple(name for name, span in self.stock.items() if span is not None)
        self.vocabulary = (*SIGNS.values(), *(_RUN_OUT[name] for name in self.limited))
        self.action_space = spaces.Discrete(len(MOVES))
        spans = [span for span in self.stock.values() if span and observation == "markov"]
        self.observation_space = spaces.MultiDiscrete(
            [self.grid.rows, self.grid.columns, *(most + 1 for _, most in spans)]
        )

    # The model

    def initial(self, options: ResetOptions) -> Sequence[tuple[float, _State]]:
        """The start is fixed unless it is anywhere; wood and grass are drawn."""
        check_options(options, tuple(self.stock))
        wood, grass = (
            list_amounts(name, span, options, f"pieces of {name}")
            for name, span in self.stock.items()
        )
        if len(self.starts) * len(wood) * len(grass) > MOST_STARTS:
            raise SpaceError(
                f"there are {len(self.starts) * len(wood) * len(grass):,} ways to begin, more than "
                f"{MOST_STARTS:,}",
                fix="draw wood and grass from fewer numbers, or give a start",
            )
        states = list(product(self.starts, wood, grass))
        return [(1 / len(states), state) for state in states]

    def instances(self) -> Instances:
        """One for each amount of that which runs out.

        Example:
            >>> list(CraftWorld(wood=(1, 2), grass=3).instances())
            ['1 wood, 3 grass', '2 wood, 3 grass']
        """
        spans = [range(span[0], span[1] + 1) for span in self.stock.values() if span]
        return {
            ", ".join(f"{n} {name}" for name, n in zip(self.limited, counts, strict=True)): dict(
                zip(self.limited, counts, strict=True)
            )
            for counts in product(*spans)
            if counts
        }

    def outcomes(self, state: _State, action: int) -> Sequence[Outcome]:
        """Moves are certain; a visit takes one piece of what can run out."""
        cell, wood, grass = state
        after = self.grid.move(cell, action)
        found = self.at.get(after)
        # What never runs out is counted as 0, and stays so.
        wood -= found == "wood" and wood > 0
        grass -= found == "grass" and grass > 0
        return (Outcome(1.0, (after, wood, grass)),)

    def label(self, state: _State, action: int, after: _State) -> Events:  # noqa: ARG002
        """The event of the cell; of wood and grass it depends on whether any was left."""
        event = self.at.get(after[0])
        if event is None:
            return frozenset()
        left = {"wood": state[1], "grass": state[2]}
        gone = event in self.limited and left[event] == 0
        return frozenset({_RUN_OUT[event] if gone else event})

    def observe(self, state: _State) -> NDArray[np.int64]:
        """See ``observation``."""
        cell, *left = state
        shown = [n for n, span in zip(left, self.stock.values(), strict=True) if span is not None]
        return np.array([*cell, *(shown if self.view == "markov" else ())], dtype=np.int64)

    def render(self) -> str | NDArray[np.uint8] | None:
        """The map as text (``"ansi"``) or as an image (``"rgb_array"``)."""
        if self.render_mode is None or self.state is None:
            return None
        if self.render_mode == "ansi":
            return self.grid.as_text(self._marks(_LETTERS), self.state[0])
        return self.grid.as_image(self._marks(_MARKS), self.state[0])

    def _marks(self, names: Mapping[str, str]) -> dict[Cell, str]:
        return {cell: names.get(event, event) for cell, event in self.at.items()}


def _map(layout: Any, map_seed: int | None, size: int | None) -> tuple[Grid, Cell, dict[Cell, str]]:
    known = [*DRAWN, "random"]
    if layout not in known:
        raise InvalidArgumentError(
            f"a layout is {', '.join(known[:-1])} or random, not {shorten(layout)}"
        )
    if layout != "random":
        if map_seed is not None or size is not None:
            raise InvalidArgumentError(
                f"map_seed and size are for random maps, and the layout is {layout}",
                fix='leave them out, or give layout="random"',
            )
        return draw_map(layout)
    seed = check_count("the seed of a map", 0 if map_seed is None else map_seed, least=0)
    least, most = SIZES
    side = check_count("the size of a map", 11 if size is None else size, least=least)
    if side > most:
        raise InvalidArgumentError(f"the size of a map is at most {most}, not {side}")
    return random_map(side, seed)
