"""The Office Gridworld: the map of Figure "env3", and Toro Icarte's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.errors import InvalidArgumentError, shorten
from cranium.worlds.arguments import as_range, check_options, list_amounts
from cranium.worlds.finite import FiniteEnv
from cranium.worlds.grid import MOVES, Cell, Grid, read_map, starting_cells
from cranium.worlds.protocols import Events, Instances, Outcome, ResetOptions

__all__ = ["OfficeWorld"]

# Figure "env3", cell for cell; the agent starts at @.
_PAPER = """\
#################
#   #   #   #   #
# A   *   *   B #
#   #c  #   #   #
## ### ### ### ##
#   #   #   #   #
# * # p # m # * #
#   #   #   #   #
## ########### ##
#   #   #   #   #
# D@  *   *   C #
#   #   #   #   #
#################
"""
_EVENTS = {
    "*": "decoration",
    "m": "mail",
    "c": "coffee",
    "p": "person",
    **{letter: letter for letter in "ABCD"},
}
_MARKS = {"decoration": "*", "mail": "mail", "coffee": "cof", "person": "P", "office": "off"}
EMPTY = "empty"
_State = tuple[Cell, int]


class OfficeWorld(FiniteEnv[_State, NDArray[np.int64]]):
    """An office with mail, coffee, people and decorations.

    An event happens on every step that ends on its cell. The mail room holds a number of items: a
    visit takes one (``mail``), and a visit when none is left shows that it is ``empty``. Breaking a
    decoration is an event like the others; what it means is up to the task.

    Args:
        mail: The number of items of mail: a number, or the least and the greatest of a number
            that is drawn (uniformly) in every episode; None if the mail never runs out.
        layout: ``"paper"`` (Figure "env3", 12 rooms, walls are cells) or ``"toro-icarte"``.
        start: The cell where an episode begins, by default that of the layout; ``"anywhere"`` for
            any cell without events, drawn (uniformly) in every episode.
        observation: ``"markov"`` is the cell and the mail that is left; ``"cell"`` the cell alone,
            as in the paper.
        render_mode: ``"ansi"`` or ``"rgb_array"``.

    ``reset(options={"mail": 3})`` fixes the number of items in that episode.

    Example:
        >>> env = OfficeWorld(mail=2)
        >>> env.reset(seed=0)[0].tolist()
        [10, 3, 2]
        >>> env.vocabulary
        ('A', 'decoration', 'B', 'coffee', 'person', 'mail', 'D', 'C', 'empty')
    """

    action_names = tuple(MOVES)

    def __init__(
        self,
        mail: int | tuple[int, int] | None = (1, 5),
        *,
        layout: Literal["paper", "toro-icarte"] = "paper",
        start: Cell | Literal["anywhere"] | None = None,
        observation: Literal["markov", "cell"] = "markov",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(render_mode)
        if layout not in ("paper", "toro-icarte"):
            raise InvalidArgumentError(f"a layout is paper or toro-icarte, not {shorten(layout)}")
        if observation not in ("markov", "cell"):
            raise InvalidArgumentError(
                f"an observation is markov or cell, not {shorten(observation)}"
            )
        self.mail = None if mail is None else _range(mail)
        self.view = observation
        drawn = read_map(_PAPER, _EVENTS) if layout == "paper" else _toro_icarte()
        self.grid, own, self.at = drawn
        self.starts = starting_cells(self.grid, self.at, own if start is None else start)
        names = tuple(dict.fromkeys(self.at.values()))
        self.vocabulary = names if self.mail is None else (*names, EMPTY)
        self.action_space = spaces.Discrete(len(MOVES))
        sizes = [self.grid.rows, self.grid.columns]
        if self.mail is not None and observation == "markov":
            sizes.append(self.mail[1] + 1)
        self.observation_space = spaces.MultiDiscrete(sizes)

    # The model

    def initial(self, options: ResetOptions) -> Sequence[tuple[float, _State]]:
        """The start is fixed unless it is anywhere; the mail is drawn."""
        check_options(options, ("mail",))
        amounts = list_amounts("mail", self.mail, options, "items of mail")
        chance = 1 / (len(amounts) * len(self.starts))
        return [(chance, (cell, mail)) for cell in self.starts for mail in amounts]

    def instances(self) -> Instances:
        """One for each amount of mail.

        Example:
            >>> list(OfficeWorld(mail=(1, 2)).instances())
            ['1 item of mail', '2 items of mail']
        """
        if self.mail is None:
            return {}
        return {
            f"{count} item{'s' if count > 1 else ''} of mail": {"mail": count}
            for count in range(self.mail[0], self.mail[1] + 1)
        }

    def outcomes(self, state: _State, action: int) -> Sequence[Outcome]:
        """Moves are certain; a visit to the mail room takes one item."""
        cell, mail = state
        after = self.grid.move(cell, action)
        taken = self.mail is not None and mail > 0 and self.at.get(after) == "mail"
        return (Outcome(1.0, (after, mail - taken)),)

    def label(self, state: _State, action: int, after: _State) -> Events:  # noqa: ARG002
        """The event of the cell; in the mail room it depends on whether there was mail."""
        event = self.at.get(after[0])
        if event is None:
            return frozenset()
        if event == "mail" and self.mail is not None and state[1] == 0:
            return frozenset({EMPTY})
        return frozenset({event})

    def observe(self, state: _State) -> NDArray[np.int64]:
        """See ``observation``."""
        cell, mail = state
        more = [mail] if self.mail is not None and self.view == "markov" else []
        return np.array([*cell, *more], dtype=np.int64)

    def render(self) -> str | NDArray[np.uint8] | None:
        """The office as text (``"ansi"``) or as an image (``"rgb_array"``)."""
        if self.render_mode is None or self.state is None:
            return None
        marks = {cell: _MARKS.get(event, event) for cell, event in self.at.items()}
        if self.render_mode == "ansi":  # one character each, and c is also a place
            marks |= {cell: "u" for cell, event in self.at.items() if event == "coffee"}
            return self.grid.as_text(marks, self.state[0])
        return self.grid.as_image(marks, self.state[0])


def _toro_icarte() -> tuple[Grid, Cell, dict[Cell, str]]:
    """The map of the reward-machine literature: x from 0 to 11, y from 0 to 8, upwards."""
    rows, columns = 9, 12

    def cell(x: int, y: int) -> Cell:
        return rows - 1 - y, x

    blocked = set()
    for x in (2, 5, 8):
        blocked |= {frozenset({cell(x, y), cell(x + 1, y)}) for y in range(rows) if y not in (1, 7)}
    for y, doors in ((2, (1, 10)), (5, (1, 4, 7, 10))):
        blocked |= {
            frozenset({cell(x, y), cell(x, y + 1)}) for x in range(columns) if x not in doors
        }
    places = {
        "a": [(1, 1)],
        "b": [(1, 7)],
        "c": [(10, 7)],
        "d": [(10, 1)],
        "mail": [(7, 4)],
        "coffee": [(8, 2), (3, 6)],
        "office": [(4, 4)],
        "decoration": [(4, 1), (7, 1), (4, 7), (7, 7), (1, 4), (10, 4)],
    }
    at = {cell(x, y): event for event, found in places.items() for x, y in found}
    return Grid(rows, columns, blocked=frozenset(blocked)), cell(2, 1), at


def _range(mail: Any) -> tuple[int, int]:
    return as_range(mail, "the mail", "the most mail")
