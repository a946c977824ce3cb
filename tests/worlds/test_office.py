"""OfficeWorld: the map of the paper's figure, mail that runs out, and Toro Icarte's map."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

import cranium
from cranium.aamdp import make_product
from cranium.errors import InvalidArgumentError
from cranium.worlds import OfficeWorld

# From the TikZ source of Figure "env3": lower left corners of cells, y upwards.
FIGURE = {
    "D": [(2, 2)],
    "A": [(2, 10)],
    "B": [(14, 10)],
    "C": [(14, 2)],
    "decoration": [(6, 2), (10, 2), (2, 6), (14, 6), (6, 10), (10, 10)],
    "person": [(6, 6)],
    "coffee": [(5, 9)],
    "mail": [(10, 6)],
}
DOORS = [(2, 4), (2, 8), (6, 8), (10, 8), (14, 8), (14, 4)]
DOORS += [(4, 2), (8, 2), (12, 2), (4, 10), (8, 10), (12, 10)]


def test_the_map_is_that_of_the_figure():
    world = OfficeWorld()
    expected = {(12 - y, x): name for name, cells in FIGURE.items() for x, y in cells}
    assert world.at == expected
    assert world.starts == ((12 - 2, 3),)
    walls = {
        (12 - y, x)
        for x in range(17)
        for y in range(13)
        if (x % 4 == 0 or y % 4 == 0) and (x, y) not in DOORS
    }
    assert world.grid.walls == walls


def test_mail_runs_out_and_the_room_shows_it():
    world = OfficeWorld(mail=2)
    state = ((5, 10), 2)
    labels = []
    for action in (3, 2, 3, 2, 3):  # down to the mail, up again
        after = world.outcomes(state, action)[0].state
        labels.append(sorted(world.label(state, action, after)))
        state = after
    assert labels == [["mail"], [], ["mail"], [], ["empty"]]


def test_the_mail_is_drawn_for_every_episode_and_can_be_fixed():
    world = OfficeWorld(mail=(2, 4))
    assert {int(world.reset(seed=seed)[0][2]) for seed in range(40)} == {2, 3, 4}
    assert world.reset(options={"mail": 3})[0].tolist() == [10, 3, 3]
    assert OfficeWorld(mail=(2, 4), observation="cell").reset(seed=0)[0].tolist() == [10, 3]
    assert "empty" not in OfficeWorld(mail=None).vocabulary


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OfficeWorld(mail=0), "the mail is a whole number of at least 1, not 0"),
        (lambda: OfficeWorld(mail=(3, 1)), "the most mail is a whole number of at least 3, not 1"),
        (lambda: OfficeWorld(layout="home"), "paper or toro-icarte, not 'home'"),
        (lambda: OfficeWorld(observation="all"), "markov or cell, not 'all'"),
        (lambda: OfficeWorld(mail=2).reset(options={"mail": 5}), "at most 2 items of mail, not 5"),
        (lambda: OfficeWorld(mail=None).reset(options={"mail": 5}), "never runs out"),
        (lambda: OfficeWorld().reset(options={"post": 5}), "no such option for reset: 'post'"),
    ],
)
def test_nonsense_is_refused(make, message):
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    ("task", "steps"),
    [("coffee", 15), ("mail", 29), ("coffee-and-mail", 29), ("patrol", 30)],
)
def test_the_shortest_ways_of_toro_icartes_tasks(task, steps):
    """Found by hand on the map: every decoration on the way costs a detour of two steps."""
    optimum = cranium.solve(make_product("ToroOffice", task))
    assert optimum.expected_length == steps
    assert optimum.success_rate == 1


def test_the_paper_tasks_are_solved():
    fetch, coffee, deliver = 36, 8, 5  # the trajectory of the figure, cell by cell, and back
    optimum = cranium.solve(make_product("Office", "mail-delivery", mail=1))
    assert optimum.success_rate == 1
    assert optimum.expected_length < fetch + coffee + deliver
    both = cranium.solve(make_product("Office", "mail-and-coffee", mail=3))
    assert both.success_rate == 1
    ended = list(both.episodes())
    assert ended[0][1] == cranium.library.load("office").start
    events = [
        name
        for (state, _, action), (after, _, _) in pairwise(ended)
        for name in OfficeWorld(mail=3).label(state, action, after)
        if name in cranium.library.load("office").propositions
    ]
    assert events == ["mail"] * 3 + ["empty"] + ["coffee"] * 3 + ["person"] * 2
