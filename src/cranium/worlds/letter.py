"""LetterEnv: letters on a grid, some of which are replaced after they have been seen often enough.

The dynamics are those of the paper's own package, with the letters of the paper: what is called
A, B, C, D here is called A, E, B, C there. (The drawing in the paper has D in another corner.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cranium.arguments import check_count
from cranium.errors import InvalidArgumentError, shorten
from cranium.worlds.arguments import as_range, check_options
from cranium.worlds.finite import FiniteEnv
from cranium.worlds.grid import MOVES, Cell, Grid
from cranium.worlds.protocols import Events, Instances, Outcome, ResetOptions

__all__ = ["LetterEnv", "LetterSpec"]

Times = int | tuple[int, int] | None
View = Literal["markov", "paper", "cell"]


@dataclass(frozen=True)
class LetterSpec:
    """A letter at a cell.

    Attributes:
        letter: Its name, which is the event of being on its cell.
        cell: Row and column.
        times: The number of observations after which it is replaced: a number, or the least and the
            greatest of a number that is drawn anew (uniformly) in every episode; None for ever.
        then: The letter that replaces it.

    Example:
        >>> world = LetterEnv([LetterSpec("key", (0, 0), times=2, then="dust")], rows=3, columns=3,
        ...                   start=(2, 2))
        >>> world.vocabulary
        ('key', 'dust')
    """

    letter: str
    cell: Cell
    times: Times = None
    then: str | None = None


_State = tuple[Cell, tuple[int, ...]]


class LetterEnv(FiniteEnv[_State, NDArray[np.int64]]):
    """Letters on a grid. A letter is observed on every step that ends on its cell.

    A letter that may be observed N times still reads as itself the N-th time; from the next visit
    on the cell reads as its replacement.

    Args:
        letters: The letters; by default those of the experiment, A^N B C D^N with N = 1.
        rows: The height of the grid.
        columns: Its width.
        start: The cell in which an episode starts; None for any cell, drawn uniformly.
        observation: ``"markov"`` is the cell and how often each letter that is replaced can still
            be observed; ``"paper"`` is the cell and the letter there; ``"cell"`` the cell alone.
            With the last a label is no function of the observed (s, a, s′), and only the first is
            Markov.
        render_mode: ``"ansi"`` or ``"rgb_array"``.

    ``reset(options={"times": {"A": 3}})`` fixes how often a letter is observed in that episode,
    ``{"start": (4, 4)}`` where it begins.

    Example:
        >>> env = LetterEnv.experiment(2)
        >>> observation, _ = env.reset(seed=0)
        >>> observation.tolist()
        [4, 4, 2]
        >>> env.events, sorted(env.vocabulary)
        (frozenset(), ['A', 'B', 'C', 'D'])
    """

    action_names = tuple(MOVES)

    def __init__(
        self,
        letters: Sequence[LetterSpec] | None = None,
        *,
        rows: int = 6,
        columns: int = 6,
        start: Cell | None = (4, 4),
        observation: View = "markov",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(render_mode)
        self.grid = Grid(check_count("rows", rows), check_count("columns", columns))
        self.letters = tuple(_experiment((1, 1)) if letters is None else letters)
        self.start = _cell(start)
        self.view = observation
        self._check()
        self.limited = tuple(spec for spec in self.letters if spec.times is not None)
        self.at = {spec.cell: spec for spec in self.letters}
        names = [*(spec.letter for spec in self.letters), *(s.then for s in self.limited)]
        self.vocabulary = tuple(dict.fromkeys(name for name in names if name is not None))
        self.action_space = spaces.Discrete(len(MOVES))
        self.observation_space = spaces.MultiDiscrete(self._sizes())

    @classmethod
    def experiment(cls, times: Times = 1, **options: Any) -> LetterEnv:
        """The world of the experiment, Figure "letter-res": words A^N B C D^N.

        Example:
            >>> LetterEnv.experiment((1, 5)).letters[0]
            LetterSpec(letter='A', cell=(1, 1), times=(1, 5), then='B')
        """
        return cls(_experiment(times), **options)

    @classmethod
    def running_example(cls, times: Times = (1, 5), **options: Any) -> LetterEnv:
        """The world of the running example, Figure "letterenv": words A^N B C^N.

        The paper draws N from all natural numbers; here it has a greatest value.

        Example:
            >>> LetterEnv.running_example(3).vocabulary
            ('A', 'C', 'D', 'B')
        """
        return cls(_experiment(times), **options)

    # The model

    def initial(self, options: ResetOptions) -> Sequence[tuple[float, _State]]:
        """All starts, equally likely."""
        check_options(options, ("times", "start"))
        fixed = options.get("times", {})
        if not isinstance(fixed, Mapping):
            raise InvalidArgumentError(
                f"times are given as {{letter: number}}, not {shorten(fixed)}"
            )
        for name in fixed:
            if name not in [spec.letter for spec in self.limited]:
                raise InvalidArgumentError(f"no letter that is replaced is called {shorten(name)}")
        start = _cell(options.get("start", self.start))
        if start is not None and start not in self.grid.cells:
            raise InvalidArgumentError(f"the start is a cell of the grid, not {shorten(start)}")
        cells = self.grid.cells if start is None else [start]
        spans = []
        for spec in self.limited:
            low, high = _range(fixed.get(spec.letter, spec.times))
            if high > _range(spec.times)[1]:
                raise InvalidArgumentError(
                    f"{spec.letter} is observed at most {_range(spec.times)[1]} times, not {high}"
                )
            spans.append(range(low, high + 1))
        states = [(cell, left) for cell in cells for left in product(*spans)]
        return [(1 / len(states), state) for state in states]

    def instances(self) -> Instances:
        """One for each way of drawing how often the letters are observed.

        Example:
            >>> list(LetterEnv.experiment((1, 3)).instances())
            ['A once', 'A 2 times', 'A 3 times']
        """
        names = [spec.letter for spec in self.limited]
        spans = [range(low, high + 1) for low, high in (_range(s.times) for s in self.limited)]
        return {
            ", ".join(_often(n, c) for n, c in zip(names, counts, strict=True)): {
                "times": dict(zip(names, counts, strict=True))
            }
            for counts in product(*spans)
            if names
        }

    def outcomes(self, state: _State, action: int) -> Sequence[Outcome]:
        """Moves are certain; being on the cell of a letter uses up one observation."""
        cell, left = state
        after = self.grid.move(cell, action)
        used = tuple(
            max(count - 1, -1) if spec.cell == after else count
            for spec, count in zip(self.limited, left, strict=True)
        )
        return (Outcome(1.0, (after, used)),)

    def label(self, state: _State, action: int, after: _State) -> Events:  # noqa: ARG002
        """The letter that is read on the cell where the step ends."""
        letter = self._read(after)
        return frozenset() if letter is None else frozenset({letter})

    def observe(self, state: _State) -> NDArray[np.int64]:
        """See ``observation``."""
        cell, left = state
        if self.view == "markov":
            return np.array([*cell, *(max(count, 0) for count in left)], dtype=np.int64)
        if self.view == "cell":
            return np.array(cell, dtype=np.int64)
        letter = self._read(state)
        index = 0 if letter is None else self.vocabulary.index(letter) + 1
        return np.array([*cell, index], dtype=np.int64)

    def _read(self, state: _State) -> str | None:
        """The letter at the agent's cell: a count below zero means that it has been replaced."""
        cell, left = state
        spec = self.at.get(cell)
        if spec is None:
            return None
        gone = spec in self.limited and left[self.limited.index(spec)] < 0
        return spec.then if gone else spec.letter

    # Around it

    def render(self) -> str | NDArray[np.uint8] | None:
        """The grid as text (``"ansi"``) or as an image (``"rgb_array"``)."""
        if self.render_mode is None or self.state is None:
            return None
        cell, left = self.state
        counts = dict(zip(self.limited, left, strict=True))
        marks = {
            spec.cell: spec.letter if counts.get(spec, 1) > 0 else spec.then or "-"
            for spec in self.letters
        }
        if self.render_mode == "ansi":
            return self.grid.as_text(marks, cell)
        return self.grid.as_image(marks, cell)

    def _sizes(self) -> list[int]:
        sizes = [self.grid.rows, self.grid.columns]
        if self.view == "markov":
            return sizes + [_range(spec.times)[1] + 1 for spec in self.limited]
        return sizes if self.view == "cell" else [*sizes, len(self.vocabulary) + 1]

    def _check(self) -> None:
        if self.view not in ("markov", "paper", "cell"):
            raise InvalidArgumentError(
                f"an observation is markov, paper or cell, not {shorten(self.view)}"
            )
        for spec in self.letters:
            if not isinstance(spec, LetterSpec) or not isinstance(spec.letter, str):
                raise InvalidArgumentError(f"a letter is a LetterSpec, not {shorten(spec)}")
            if (spec.times is None) != (spec.then is None):
                raise InvalidArgumentError(
                    f"{spec.letter} is replaced after some times by another letter: give both, "
                    f"times={spec.times!r} and then={spec.then!r}, or neither"
                )
        cells = [spec.cell for spec in self.letters]
        for spec in self.letters:
            if spec.cell not in self.grid.cells:
                raise InvalidArgumentError(f"{spec.letter} is at {spec.cell}, which is no cell")
            if cells.count(spec.cell) > 1:
                raise InvalidArgumentError(f"there are two letters at {spec.cell}")
            if spec.times is not None:
                _range(spec.times)
        if self.start is not None and self.start not in self.grid.cells:
            raise InvalidArgumentError(f"the start {shorten(self.start)} is no cell")


def _experiment(times: Times) -> tuple[LetterSpec, ...]:
    return (
        LetterSpec("A", (1, 1), times, "B"),
        LetterSpec("C", (1, 4)),
        LetterSpec("D", (4, 1)),
    )


def _cell(where: Any) -> Cell | None:
    if where is None:
        return None
    if not isinstance(where, tuple | list) or len(where) != 2:
        raise InvalidArgumentError(f"a cell is a row and a column, not {shorten(where)}")
    return where[0], where[1]


def _often(letter: str, count: int) -> str:
    return f"{letter} once" if count == 1 else f"{letter} {count} times"


def _range(times: Any) -> tuple[int, int]:
    """The least and the greatest number of observations."""
    what = "how often a letter is observed"
    return as_range(times, what, f"{what} at most")
