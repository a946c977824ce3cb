"""CraftWorld: what happens there, what runs out, and its maps."""

from __future__ import annotations

import re
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranium
from cranium.errors import InvalidArgumentError
from cranium.worlds import CraftWorld, TabularWorld
from cranium.worlds.craft_maps import DRAWN

RIGHT, LEFT, UP, DOWN = range(4)
PLACES = ["wood", "grass", "iron", "toolshed", "workbench", "factory", "gold", "gem"]


def walk(world, state, actions):
    """The events of some moves, and the state after them."""
    events = []
    for action in actions:
        after = world.outcomes(state, action)[0].state
        events.append(sorted(world.label(state, action, after)))
        state = after
    return events, state


# What happens


def test_an_event_happens_on_every_step_that_ends_on_its_cell():
    world = CraftWorld(layout="small")
    events, _ = walk(world, ((1, 2), 0, 0), [LEFT, LEFT, RIGHT, RIGHT])
    assert events == [["wood"], [], ["wood"], []]
    events, _ = walk(world, ((3, 5), 0, 0), [RIGHT, RIGHT, UP])
    assert events == [["workbench"], ["workbench"], []], "a step against the border ends there too"


def test_a_move_against_a_wall_stays():
    world = CraftWorld(layout="small")
    assert walk(world, ((5, 2), 0, 0), [RIGHT]) == ([[]], ((5, 2), 0, 0))


def test_wood_runs_out_in_the_whole_world_and_every_tree_shows_it():
    world = CraftWorld(wood=2)
    one, other = sorted(cell for cell, event in world.at.items() if event == "wood")
    first, state = walk(world, ((one[0], one[1] - 1), 2, 0), [RIGHT, LEFT])
    second, state = walk(world, ((other[0], other[1] - 1), *state[1:]), [RIGHT, LEFT, RIGHT])
    assert first + second == [["wood"], [], ["wood"], [], ["no_wood"]]
    assert walk(world, ((one[0], one[1] - 1), *state[1:]), [RIGHT])[0] == [["no_wood"]]


def test_wood_and_grass_run_out_apart_from_each_other():
    world = CraftWorld(wood=1, grass=2, layout="small")
    events, state = walk(world, ((1, 0), 1, 2), [RIGHT, LEFT, RIGHT])
    assert (events, state[1:]) == ([["wood"], [], ["no_wood"]], (0, 2))
    events, state = walk(world, ((5, 0), 1, 2), [RIGHT, LEFT, RIGHT, LEFT, RIGHT])
    assert (events[::2], state[1:]) == ([["grass"], ["grass"], ["no_grass"]], (1, 0))


def test_what_never_runs_out_has_no_event_for_it():
    assert list(CraftWorld().vocabulary) == PLACES
    assert list(CraftWorld(grass=3).vocabulary) == [*PLACES, "no_grass"]
    world = CraftWorld(grass=3, layout="small")
    events, state = walk(world, ((1, 0), 0, 3), [RIGHT, LEFT] * 20)
    assert events[::2] == [["wood"]] * 20
    assert world.observe(state).tolist() == [1, 0, 3]


def test_the_amounts_are_drawn_for_every_episode_and_can_be_fixed():
    world = CraftWorld(wood=(1, 3), grass=(2, 3), layout="small")
    seen = {tuple(world.reset(seed=seed)[0].tolist()) for seed in range(80)}
    assert seen == {(3, 3, wood, grass) for wood in (1, 2, 3) for grass in (2, 3)}
    assert world.reset(options={"wood": 2, "grass": 3})[0].tolist() == [3, 3, 2, 3]
    assert set(world.instances()) == {f"{w} wood, {g} grass" for w in (1, 2, 3) for g in (2, 3)}
    for options in world.instances().values():
        assert world.reset(options=dict(options))[0].tolist() == [3, 3, *options.values()]
    assert list(CraftWorld(grass=(1, 2)).instances()) == ["1 grass", "2 grass"]
    assert CraftWorld().instances() == {}


def test_an_episode_begins_where_it_is_told_to():
    assert CraftWorld(layout="small").reset()[0].tolist() == [3, 3]
    assert CraftWorld(layout="small", start=[0, 6]).reset()[0].tolist() == [0, 6]
    world = CraftWorld(layout="small", start="anywhere")
    seen = {tuple(world.reset(seed=seed)[0].tolist()) for seed in range(600)}
    assert seen == set(world.grid.cells) - set(world.at)


def test_with_the_cell_alone_the_events_depend_on_something_hidden():
    task = cranium.library.load("craft-planks")
    for view, sound in (("markov", True), ("cell", False)):
        world = CraftWorld(wood=(1, 3), layout="small", observation=view)
        assert len(world.reset(seed=0)[0]) == (3 if sound else 2)
        report = cranium.check_labelling(world, task, steps=3000, warn=False)
        assert report.is_sound is sound


@pytest.mark.parametrize("options", [{}, {"wood": (1, 2), "grass": 2, "start": "anywhere"}])
def test_the_table_of_the_world_is_that_of_the_live_one(options):
    world = CraftWorld(layout="small", **options)
    assert TabularWorld.of(world).verify(world, steps=3000) == 3000


# Maps


def free_cells(world, start):
    """The cells that can be reached without entering a place, found with arithmetic alone."""
    rows, columns = world.grid.rows, world.grid.columns
    shut = set(world.grid.walls) | set(world.at)
    found, queue = {start}, deque([start])
    while queue:
        row, column = queue.popleft()
        for after in ((row, column + 1), (row, column - 1), (row - 1, column), (row + 1, column)):
            inside = 0 <= after[0] < rows and 0 <= after[1] < columns
            if inside and after not in shut and after not in found:
                found.add(after)
                queue.append(after)
    return found


def check_map(world):
    """Nothing is out of reach, and no place lies in the only way to another."""
    free = free_cells(world, world.starts[0])
    assert free == set(world.grid.cells) - set(world.at)
    for row, column in world.at:
        around = {(row, column + 1), (row, column - 1), (row - 1, column), (row + 1, column)}
        assert around & free
    assert set(world.at.values()) == set(PLACES)


@pytest.mark.slow
@settings(max_examples=120)
@given(size=st.integers(5, 16), seed=st.integers(0, 10**9))
def test_random_maps_have_every_place_in_reach_and_come_from_the_seed(size, seed):
    one, other = (CraftWorld(layout="random", size=size, map_seed=seed) for _ in range(2))
    check_map(one)
    assert (one.grid.rows, one.grid.columns) == (size, size)
    assert (one.grid, one.at, one.starts) == (other.grid, other.at, other.starts)


def test_other_seeds_give_other_maps_and_the_largest_can_be_made():
    maps = {frozenset(CraftWorld(layout="random", map_seed=seed).at) for seed in range(20)}
    assert len(maps) == 20
    assert CraftWorld(layout="random").at == CraftWorld(layout="random", map_seed=0, size=11).at
    check_map(CraftWorld(layout="random", size=100))


@pytest.mark.parametrize(("layout", "size"), [("small", 7), ("medium", 11), ("large", 21)])
def test_the_drawn_maps_are_whole_and_what_is_counted_takes_a_step_away(layout, size):
    world = CraftWorld(layout=layout)
    assert {len(line) for line in DRAWN[layout].splitlines()} == {size}
    assert world.grid.rows == size
    check_map(world)
    for cell, event in world.at.items():
        if event in ("wood", "grass", "toolshed", "factory"):
            assert cell not in [world.grid.move(cell, action) for action in range(4)]


def test_the_map_is_shown_as_text_and_as_a_picture():
    world = CraftWorld(layout="small", render_mode="ansi")
    assert world.render() is None
    world.reset(seed=0)
    assert world.render().splitlines()[:4] == [
        ". . . . . . .",
        ". w . . . t .",
        ". . . i . . .",
        "$ . . @ . . b",
    ]
    world = CraftWorld(layout="small", render_mode="rgb_array")
    world.reset(seed=0)
    image = world.render()
    assert image.shape == (7 * 32 + 1, 7 * 32 + 1, 3)
    corners = {event: tuple(image[r * 32 + 2, c * 32 + 2]) for (r, c), event in world.at.items()}
    assert len(set(corners.values())) == len(PLACES), "every kind of place has a colour of its own"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CraftWorld(wood=0), "the wood is a whole number of at least 1, not 0"),
        (lambda: CraftWorld(grass=(3, 1)), "the most grass is a whole number of at least 3, not 1"),
        (lambda: CraftWorld(layout="huge"), "small, medium, large or random, not 'huge'"),
        (lambda: CraftWorld(layout=["small"]), "or random, not ['small']"),
        (lambda: CraftWorld(observation="all"), "markov or cell, not 'all'"),
        (lambda: CraftWorld(map_seed=1), "for random maps, and the layout is medium"),
        (lambda: CraftWorld(layout="small", size=9), "for random maps, and the layout is small"),
        (lambda: CraftWorld(layout="random", size=4), "a whole number of at least 5, not 4"),
        (lambda: CraftWorld(layout="random", size=101), "is at most 100, not 101"),
        (lambda: CraftWorld(layout="random", map_seed=-1), "the seed of a map is a whole number"),
        (lambda: CraftWorld(layout="random", map_seed=1.5), "at least 0, not 1.5"),
        (lambda: CraftWorld(layout="small", start=(1, 1)), "without events, not on (1, 1)"),
        (lambda: CraftWorld(layout="small", start=(5, 3)), "without events, not on (5, 3)"),
        (lambda: CraftWorld(layout="small", start="home"), "without events, not on 'home'"),
        (lambda: CraftWorld(render_mode="human"), "not 'human'"),
        (
            lambda: CraftWorld(wood=2).reset(options={"wood": 5}),
            "there are at most 2 pieces of wood, not 5",
        ),
        (lambda: CraftWorld(wood=2).reset(options={"wood": 0}), "the wood is a whole number"),
        (lambda: CraftWorld(wood=2).reset(options={"grass": 1}), "the grass of this world never"),
        (lambda: CraftWorld().reset(options={"iron": 1}), "no such option for reset: 'iron'"),
    ],
)
def test_nonsense_is_refused(make, message):
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        make()
