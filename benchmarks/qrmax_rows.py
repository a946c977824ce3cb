"""The published rows of QR-MAX: training steps until its stopping test passes.

From github.com/Alee08/qrmax at 022b15b, ``paper_results/table4_officeworld_15_configs.csv`` and
``table6_officeworld_steps.csv`` (arXiv 2512.14617). Three rows are in both tables, with other
numbers. Table 6 is the mean over the seeds 0 to 9; Table 4 does not say, its suite has 30 seeds.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ROWS", "Published", "best_of"]

LEARNERS_4 = ("Q-learning", "R-MAX", "QR-MAX", "QRM", "R-MAX-RM", "QR-MAX-RM")
LEARNERS_6 = ("QR-MAX", "QR-MAX-RM", "R-MAX", "QRM", "UCBVI-sB", "UCBVI-B", "UCBVI-H")


class Published(NamedTuple):
    """A row: steps by learner; of value iteration, successes in per cent and their length."""

    table: int
    map: str
    task: str
    steps: dict[str, int]
    success: float | None = None
    length: float | None = None


def _table_4(name: str, task: str, success: float, length: float, *steps: int) -> Published:
    told = dict(zip(LEARNERS_4, steps, strict=True))
    return Published(4, name, task, told, success, length)


def _table_6(name: str, task: str, *steps: int, **more: int) -> Published:
    return Published(6, name, task, {**dict(zip(LEARNERS_6, steps, strict=True)), **more})


ROWS = (
    _table_4("map1", "exp1", 66.76, 21.08, 128_973, 59_691, 30_376, 66_693, 21_777, 10_964),
    _table_4("map1", "exp2", 39.4, 39.31, 201_835, 77_797, 27_619, 129_804, 26_232, 9_339),
    _table_4("map1", "exp3", 38.68, 40.94, 355_070, 155_347, 30_325, 122_827, 28_682, 6_087),
    _table_4("map1", "exp4", 34.37, 42.23, 469_313, 103_211, 29_950, 135_119, 26_953, 6_062),
    _table_4("map1", "exp5", 15.47, 77.86, 1_267_449, 287_066, 38_312, 231_870, 30_238, 4_107),
    _table_4("map2", "exp1", 54.69, 52.46, 334_894, 213_942, 83_593, 225_491, 74_250, 28_729),
    _table_4("map2", "exp2", 37.92, 53.1, 326_306, 88_636, 56_445, 220_334, 49_577, 19_214),
    _table_4("map2", "exp3", 37.25, 63.04, 723_051, 316_672, 62_583, 280_763, 63_066, 12_415),
    _table_4("map2", "exp4", 28.18, 73.8, 889_842, 196_334, 61_775, 249_912, 47_873, 12_445),
    _table_4("map2", "exp5", 14.15, 123.39, 2_613_669, 723_441, 83_076, 438_213, 65_523, 8_396),
    _table_4("map3", "exp1", 33.32, 55.83, 501_559, 201_731, 98_663, 297_975, 73_832, 33_815),
    _table_4("map3", "exp2", 32.57, 63.76, 553_517, 170_926, 99_952, 353_658, 66_949, 33_853),
    _table_4("map3", "exp3", 32.42, 68.69, 1_105_417, 388_562, 110_808, 406_122, 111_349, 21_856),
    _table_4("map3", "exp4", 21.27, 81.91, 1_466_896, 495_878, 112_165, 449_594, 107_115, 21_869),
    _table_4("map3", "exp5", 6.55, 156.46, 5_471_046, 1_581_301, 159_597, 891_160, 128_950, 14_717),
    _table_6(
        "map0",
        "exp0",
        14_483,
        4_150,
        49_759,
        162_040,
        142_015,
        159_092,
        191_983,
        PSRL=88_437,
        OPSRL=128_188,
    ),
    _table_6("map1", "exp5", 24_222, 3_125, 272_080, 225_140, 250_800, 555_977, 1_320_070),
    _table_6("map4", "exp6", 20_150, 5_630, 82_000, 9_910_340, 80_160, 90_030, 101_120),
    _table_6("map2", "exp5", 83_076, 3_767, 723_441, 438_213, 1_150_000, 1_400_000, 1_890_000),
    _table_6("map3", "exp5", 159_597, 5_806, 1_581_301, 891_160, 1_410_000, 1_620_000, 2_030_000),
)


def best_of(name: str, task: str, learner: str) -> int | None:
    """The fewest steps that any table publishes for a learner on a row."""
    told = [row.steps.get(learner) for row in ROWS if (row.map, row.task) == (name, task)]
    return min((steps for steps in told if steps is not None), default=None)
