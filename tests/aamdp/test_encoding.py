"""Encodings: what is encoded can be decoded, and lies in the declared space."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

import cranium
from cranium import Configuration
from cranium.aamdp import BoxEncoding, DictEncoding, TabularEncoding
from cranium.aamdp.features import ObservationNumbers
from cranium.errors import InvalidArgumentError, SpaceError, WorldError
from cranium.learners import ActorConfig, DeepConfig
from cranium.tables.configurations import OVERFLOW, reachable_configurations

OFFICE = cranium.library.load("office")
LIMIT = 6
GROUNDS = {
    "discrete": spaces.Discrete(7, start=3),
    "multi": spaces.MultiDiscrete([4, 5, 3]),
    "start": spaces.MultiDiscrete([4, 5], start=[10, -2]),
    "binary": spaces.MultiBinary(4),
    "whole": spaces.Box(np.array([-3, 0]), np.array([4, 250]), dtype=np.int16),
    "box": spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, 100.0]), dtype=np.float64),
    "dict": spaces.Dict({"x": spaces.Discrete(3), "y": spaces.Box(0, 1, (2,), np.float32)}),
}
ENCODINGS = {
    "dict": DictEncoding,
    "raw": lambda: BoxEncoding("raw"),
    "log": lambda: BoxEncoding("log"),
    "bits": lambda: BoxEncoding("bits", clip=LIMIT),
    "table": TabularEncoding,
    "joint": lambda: BoxEncoding("raw", cells="joint"),
    "scaled": lambda: BoxEncoding("raw", cells="scaled"),
}
WHOLE = ("table", "joint", "scaled")
PAIRS = [(g, e) for g in GROUNDS for e in ENCODINGS if not (e in WHOLE and g in ("box", "dict"))]


CONFIGURATIONS = reachable_configurations(OFFICE, LIMIT)


@pytest.mark.parametrize(("ground", "encoding"), PAIRS)
@given(st.data())
def test_what_is_encoded_can_be_decoded(ground, encoding, data):
    made = ENCODINGS[encoding]()
    made.bind(GROUNDS[ground], OFFICE, LIMIT)
    GROUNDS[ground].seed(data.draw(st.integers(0, 1000)))
    seen = GROUNDS[ground].sample()
    configuration = data.draw(st.sampled_from(CONFIGURATIONS))
    shown = made.encode(seen, configuration)
    assert made.space.contains(shown)
    back, same = made.decode(shown)
    assert same == configuration
    flat = spaces.flatten(GROUNDS[ground], seen).astype(np.float32)
    assert np.array_equal(spaces.flatten(GROUNDS[ground], back).astype(np.float32), flat)


def test_without_counters_none_are_shown():
    made = DictEncoding()
    made.bind(spaces.Discrete(3), cranium.library.load("mail-delivery"), 0)
    assert list(made.space) == ["ground", "machine_state"]
    for configuration in (Configuration("carrying", ()), OVERFLOW):
        shown = made.encode(2, configuration)
        assert list(shown) == ["ground", "machine_state"]
        assert made.space.contains(shown)
        assert made.decode(shown) == (2, configuration)


def test_tables_number_every_pair_differently():
    made = TabularEncoding()
    ground = spaces.MultiDiscrete([2, 3])
    made.bind(ground, OFFICE, 2)
    cells = [np.array([r, c]) for r in range(2) for c in range(3)]
    every = [made.encode(cell, x) for cell in cells for x in made.configurations]
    assert sorted(every) == list(range(made.space.n))


def test_the_bits_show_zero_and_clip_what_is_greater():
    made = BoxEncoding("bits", clip=2)
    made.bind(spaces.Discrete(1), OFFICE, 100)
    shown = made.encode(0, Configuration("deliver", (0, 50)))
    rest = shown[1 + len(made.names) :].reshape(2, 5)
    assert rest.tolist() == [[1, 0, 1, 0, 0], [0, 1, 0, 0, 1]]
    assert made.decode(shown)[1].counters == (0, 2), "what was clipped is lost, and only that"


def test_by_default_a_vector_shows_counters_as_the_networks_do_that_were_measured():
    """docs/deep.md compares values of clip: 2 is the best, and what both give unless asked."""
    made = BoxEncoding()
    assert (made.counters, made.clip, made.cells) == ("bits", 2, "one-hot")
    for config in (DeepConfig(), ActorConfig()):
        assert (config.counters, config.clip, config.cells) == ("bits", 2, "one-hot")
    made.bind(spaces.Discrete(1), OFFICE, 100)
    two, many = (
        made.encode_configuration(Configuration("deliver", (0, n))).tolist() for n in (2, 50)
    )
    assert two == many


def test_cells_are_shown_part_by_part_together_or_as_fractions():
    ground = spaces.MultiDiscrete([3, 1, 5], start=[2, 7, 0])
    shown = {}
    for cells in ("one-hot", "joint", "scaled"):
        made = BoxEncoding(cells=cells)
        made.bind(ground, OFFICE, 3)
        shown[cells] = made.encode_ground(np.array([4, 7, 1])).tolist()
    assert shown["one-hot"] == [0, 0, 1, 1, 0, 1, 0, 0, 0]
    assert shown["joint"] == [float(i == 2 * 5 + 1) for i in range(15)]
    assert shown["scaled"] == [1, 0, 0.25]


def test_jointly_every_observation_has_a_feature_of_its_own():
    made = BoxEncoding(cells="joint")
    made.bind(spaces.MultiDiscrete([3, 4]), OFFICE, 3)
    every = [made.encode_ground(np.array([r, c])) for r in range(3) for c in range(4)]
    assert np.array_equal(np.array(every), np.eye(12))


@pytest.mark.parametrize("cells", ["joint", "scaled"])
@pytest.mark.parametrize("ground", ["box", "dict"])
def test_only_whole_numbers_can_be_shown_jointly_or_scaled(cells, ground):
    with pytest.raises(WorldError, match=f'cells="{cells}" is for vectors of bounded integers'):
        BoxEncoding(cells=cells).bind(GROUNDS[ground], OFFICE, 3)


@pytest.mark.parametrize(
    "made",
    [BoxEncoding(cells=cells) for cells in ("one-hot", "joint", "scaled")] + [TabularEncoding()],
)
@pytest.mark.parametrize(
    ("ground", "seen"),
    [
        *[("multi", seen) for seen in ([4, 0, 0], [-1, 0, 0], [0, 0], [0.5, 1, 1], [0] * 4)],
        *[("discrete", seen) for seen in (2, 10, -1, 3.5)],
        ("binary", [0, 1, 2, 0]),
    ],
)
def test_what_is_not_in_its_space_is_not_shown(made, ground, seen):
    made.bind(GROUNDS[ground], OFFICE, 3)
    with pytest.raises(WorldError, match=r"is not in (Multi)?(Discrete|Binary)"):
        made.encode(np.array(seen), OFFICE.start)


@pytest.mark.parametrize(
    "made", [BoxEncoding(cells="joint"), BoxEncoding(cells="scaled"), TabularEncoding()]
)
@pytest.mark.parametrize("seen", [[5, 0], [-4, 0], [0, 251], [0], [0, 0, 0]])
def test_whole_numbers_in_a_box_have_bounds_too(made, seen):
    made.bind(GROUNDS["whole"], OFFICE, 3)
    with pytest.raises(WorldError, match="is not in Box"):
        made.encode(np.array(seen), OFFICE.start)


def test_numbers_of_large_unsigned_numbers_are_exact():
    cells = ObservationNumbers(spaces.Box(0, 2**20 - 1, (3,), np.uint64))
    for seen in ([524289, 5, 7], [524289, 5, 8], [2**20 - 1] * 3):
        number = cells.encode(np.array(seen, np.uint64))
        assert number == (seen[0] << 40) + (seen[1] << 20) + seen[2]
        assert cells.decode(number).tolist() == seen


def test_bounds_hold_at_the_limit_and_for_an_overflow():
    for kind in ("raw", "log", "bits"):
        made = BoxEncoding(kind, clip=3)
        made.bind(spaces.Discrete(2), OFFICE, 12345)
        for configuration in (Configuration("deliver", (12345, 12345)), OVERFLOW):
            assert made.space.contains(made.encode(1, configuration)), kind


def test_what_has_no_encoding_is_refused():
    with pytest.raises(WorldError, match="not a fixed number of bounded integers"):
        TabularEncoding().bind(GROUNDS["box"], OFFICE, 3)
    with pytest.raises(WorldError, match="needs a limit"):
        TabularEncoding().bind(GROUNDS["discrete"], OFFICE, None)
    with pytest.raises(WorldError, match="no fixed length"):
        BoxEncoding().bind(spaces.Sequence(spaces.Discrete(2)), OFFICE, 3)
    with pytest.raises(SpaceError, match="too many to number"):
        TabularEncoding().bind(spaces.MultiDiscrete([256] * 100), OFFICE, 1)
    with pytest.raises(InvalidArgumentError, match="clip is a whole number"):
        BoxEncoding("bits", clip=-1)
    with pytest.raises(InvalidArgumentError, match="raw, log or bits, not 'all'"):
        BoxEncoding("all")
    with pytest.raises(InvalidArgumentError, match="cells are one-hot, joint or scaled, not 'xy'"):
        BoxEncoding(cells="xy")
    with pytest.raises(SpaceError, match="10,000 observations are too many"):
        BoxEncoding(cells="joint").bind(spaces.Discrete(10_000), OFFICE, 1)
    image = spaces.Box(0, 255, (84, 84, 3), np.uint8)
    for many in (BoxEncoding(cells="joint"), TabularEncoding()):
        with pytest.raises(SpaceError, match=r"more than 2\^62 observations"):
            many.bind(image, OFFICE, 1)
    for kind in (np.int32, np.int64):
        wide = spaces.Box(np.iinfo(kind).min, np.iinfo(kind).max, (1,), kind)
        with pytest.raises(SpaceError, match="too many values to tell their fractions apart"):
            BoxEncoding(cells="scaled").bind(wide, OFFICE, 1)
    endless = spaces.Box(0, 2**64 - 1, (1,), np.uint64)
    with pytest.raises(WorldError, match="not a fixed number of bounded integers"):
        TabularEncoding().bind(endless, OFFICE, 1)
