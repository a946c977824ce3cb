"""The maps of the crafting world: three that are drawn, and as many as there are seeds."""

from __future__ import annotations

import numpy as np

from cranium.worlds.grid import Cell, Grid, read_map

__all__ = ["DRAWN", "SIGNS", "SIZES", "draw_map", "random_map"]

SIGNS = {
    "w": "wood",
    "g": "grass",
    "i": "iron",
    "t": "toolshed",
    "b": "workbench",
    "f": "factory",
    "$": "gold",
    "*": "gem",
}
"""The meanings of the characters of a map, in the order of the vocabulary."""

SIZES = (5, 100)
"""The least and the greatest size of a random map."""

_MATERIALS = ("wood", "grass", "iron")
_WALLS = 0.15

# No tree, meadow, toolshed or factory of these touches a wall: what is to happen again there takes
# a step away and one back.
DRAWN = {
    "small": """\
.......
.w...t.
...i...
$..@..b
.......
.g.#.f.
...#..*
""",
    "medium": """\
...........
.w..#...t..
....#......
..i.#..g...
....#......
##.###.###.
.....@.....
.b..#....w.
....#..f...
.g..#......
....$...i.*
""",
    "large": """\
......#......#.......
.w....#......#....t..
......#..i...#.......
.............#..g....
...g..#....w.........
......#......#......*
##.######.#######.###
......#......#.......
..f...#......#...b...
......#..@...#.......
.....................
......#......#...w...
.i....#..g...#.......
......#......#.......
##.#########.####.###
......#......#.......
.$....#..i...#....f..
......#......#.......
.............#.......
...t..#...b......w...
......#......#......i
""",
}


def draw_map(layout: str) -> tuple[Grid, Cell, dict[Cell, str]]:
    """One of the drawn maps: the grid, the start, and what is on which cell.

    Example:
        >>> grid, start, at = draw_map("small")
        >>> start, at[1, 1]
        ((3, 3), 'wood')
    """
    return read_map(DRAWN[layout], SIGNS)


def random_map(size: int, seed: int) -> tuple[Grid, Cell, dict[Cell, str]]:
    """A square map that is drawn from a seed; the same seed gives the same map.

    Every place can be reached from the start, and from every empty cell, without entering another
    place. So no task is spoiled by an event on the way.

    Example:
        >>> grid, start, at = random_map(7, seed=1)
        >>> grid.rows, sorted(set(at.values())) == sorted(SIGNS.values())
        (7, True)
    """
    rng = np.random.default_rng(seed)
    plain = Grid(size, size)
    every = plain.cells
    places = [name for name in SIGNS.values() for _ in range(_how_many(name, size))]
    while True:  # a try is good nearly always if the map is large, of the smallest every 50th
        order = [every[i] for i in rng.permutation(len(every))]
        first = round(_WALLS * len(order))
        walls, start, rest = order[:first], order[first], order[first + 1 :]
        at = dict(zip(rest, places, strict=False))
        reached = plain.reach(start, avoid={*walls, *at})
        if all(any(plain.move(cell, move) in reached for move in range(4)) for cell in at):
            shut = frozenset(cell for cell in every if cell not in reached and cell not in at)
            return Grid(size, size, shut), start, at


def _how_many(name: str, size: int) -> int:
    return size // 3 if name in _MATERIALS else 1
