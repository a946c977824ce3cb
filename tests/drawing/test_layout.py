"""Pictures: nothing on top of anything else, the way to success straight, limits that are said."""

from __future__ import annotations

from itertools import combinations

import pytest
from support.machines import LIBRARY, PICTURES, chain, tangle

import cranium
from cranium import RewardMachine, Transition
from cranium.drawing import to_dot, to_mermaid, to_svg, to_tikz
from cranium.drawing.image import boxes, render
from cranium.drawing.layout.arrange import MAX_STATES, lay_out
from cranium.drawing.layout.layers import assign_layers
from cranium.drawing.layout.routes import curve_enters
from cranium.errors import DrawingError


@pytest.fixture(params=PICTURES)
def machine(request):
    return PICTURES[request.param]()


def test_no_text_or_state_overlaps_another(machine):
    found = boxes(machine)
    assert sum(box.what.startswith("state ") for box in found) >= len(machine.states)
    overlaps = [(a.what, b.what) for a, b in combinations(found, 2) if a.overlaps(b)]
    assert overlaps == []


def test_no_arrow_runs_through_a_text_or_a_state(machine):
    layout = lay_out(machine)
    blocks = [*layout.labels, *layout.names]
    rectangles = [
        (t.x - t.block.width / 2, t.y - t.block.height / 2, t.x + t.block.width / 2, t.y + t.block.height / 2)
        for t in blocks
    ]  # fmt: skip
    outlines = [
        # Arrows end on the outline itself, so a little is taken off.
        (o.x - o.shape.width / 2 + 5, o.y - o.shape.height / 2 + 5,
         o.x + o.shape.width / 2 - 5, o.y + o.shape.height / 2 - 5)
        for o in layout.outlines
    ]  # fmt: skip
    for number, curve in enumerate(layout.curves):
        for other, rectangle in enumerate([*rectangles, *outlines]):
            assert not curve_enters(curve, rectangle), (number, other)


def test_everything_is_inside_the_picture(machine):
    layout = lay_out(machine)
    for box in boxes(machine):
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= layout.width
        assert box.y1 <= layout.height
    for x, y in (point for curve in layout.curves for point in (curve[0], curve[-1])):
        assert 0 <= x <= layout.width
        assert 0 <= y <= layout.height


@pytest.mark.slow
def test_library_pictures_are_compact():
    for name in LIBRARY:
        layout = lay_out(cranium.library.load(name))
        assert layout.width < 950
        assert layout.height < 700
        assert len(to_svg(cranium.library.load(name))) < 100_000


def test_way_to_success_is_straight():
    layout = lay_out(cranium.library.load("office"))
    heights = {
        outline.y for outline in layout.outlines if outline.is_accepting or not outline.is_terminal
    }
    assert max(heights) - min(heights) < 1


def test_crowded_terminal_state_is_drawn_for_each_of_its_sources():
    nodes = [node.state for node in assign_layers(chain(6)).nodes]
    assert nodes.count("failed") == 6
    assert nodes.count("done") == 1
    assert [node.state for node in assign_layers(cranium.library.load("office")).nodes].count(
        "failed"
    ) == 1


@pytest.mark.slow
def test_large_machines():
    largest = chain(MAX_STATES - 2)
    assert render(largest, "png").startswith(b"\x89PNG")
    with pytest.raises(DrawingError, match="at most 150 states") as refusal:
        render(chain(300), "svg")
    assert "machine.dot" in refusal.value.fix
    assert to_dot(chain(300)).count("->") > 300
    with pytest.raises(DrawingError, match="at most 600 arrows"):
        render(tangle(130, 6, seed=4), "svg")
    with pytest.raises(DrawingError, match="places"):
        render(chain(140, resets=True), "svg")


def test_machines_without_much_to_draw():
    alone = RewardMachine(propositions=["A"], initial="u", transitions=[])
    apart = RewardMachine(
        propositions=["A"], initial="u", states=["u", "v", "w"], terminal=["never"],
        transitions=[
            Transition(source="v", guard="A", target="w"),
            Transition(source="w", guard="A", target="v"),
        ],
    )  # fmt: skip
    for machine in (alone, apart):
        found = boxes(machine)
        assert not any(a.overlaps(b) for a, b in combinations(found, 2))
        for write in (to_dot, to_mermaid, to_tikz):
            assert write(machine)
