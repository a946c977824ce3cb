"""What is said of many trials: against hand-computed cases, a slow reference, and known laws."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cranium.errors import InvalidArgumentError
from cranium.experiments.statistics import bootstrap_interval, interquartile_mean, summarise

numbers = st.floats(-1e6, 1e6)
samples = st.lists(numbers, min_size=1, max_size=23)
trials = st.lists(st.none() | st.integers(1, 1000), min_size=1, max_size=15)


def iqm(*values):
    return interquartile_mean(np.array(values, float))


# By hand


@pytest.mark.parametrize(
    ("values", "middle"),
    [
        ([7], 7),
        ([1, 3], 2),
        ([1, 3, 8], 4),  # a quarter of three is less than one: nothing is cut off
        ([4, 1, 2, 3], 2.5),
        ([100, 1, 2, 3, 4], 3),  # one from each end, as for four
        ([5, 1, 2, 3, 9, 4], 3.5),
        ([7, 1, 2, 3, 60, 5, 4], 4.2),  # 2, 3, 4, 5, 7 are left
        ([0, 1, 2, 3, 100, 200, 4, 5], 3.5),  # two from each end
        ([-50, 1, 2, 3, 4, 5, 6, 7, 500], 4),
    ],
)
def test_the_interquartile_mean_by_hand(values, middle):
    assert iqm(*values) == pytest.approx(middle)
    assert summarise(values).iqm == pytest.approx(middle)


def test_mean_deviation_and_median_by_hand():
    found = summarise([2, 4, 4, 4, 5, 5, 7, 9])
    assert (found.run, found.solved) == (8, 8)
    assert found.mean == 5
    assert found.deviation == pytest.approx(math.sqrt(32 / 7))  # of the sample: n - 1
    assert found.median == 4.5
    assert summarise([3, 1, 2]).median == 2


def test_of_nothing_nothing_is_said():
    found = summarise([])
    assert (found.run, found.solved) == (0, 0)
    assert {found.mean, found.deviation, found.median, found.iqm, found.low, found.high} == {None}


def test_one_trial_says_nothing_of_how_they_differ():
    found = summarise([7])
    assert (found.mean, found.median, found.iqm) == (7, 7, 7)
    assert (found.deviation, found.low, found.high) == (None, None, None)


# Trials that were not solved


def test_a_trial_that_was_not_solved_is_in_no_mean():
    found = summarise([100, 200, 300, 400, None])
    assert (found.run, found.solved) == (5, 4)
    assert found.mean is None
    assert found.deviation is None
    assert found.median == 300  # it took longer than all others, however long that is
    assert found.iqm == 300


@pytest.mark.parametrize(
    ("values", "median", "middle"),
    [
        ([1, 2, 3, None], 2.5, 2.5),
        ([1, 2, None, None], None, None),  # between a number and infinity there is no median
        ([1, 2, 3, None, None], 3, None),
        ([1, None, 3, 2, None, 4, 5], 4, None),
        ([1, None, 3, 2, None, 4, 5, 6], 4.5, 4.5),
        ([None], None, None),
        ([None, None, None, None], None, None),
    ],
)
def test_there_is_no_number_where_those_not_solved_would_decide_it(values, median, middle):
    found = summarise(values)
    assert found.median == median
    assert found.iqm == middle
    assert found.solved == sum(value is not None for value in values)
    assert found.run == len(values)


def test_an_interval_that_reaches_those_not_solved_has_no_upper_end():
    found = summarise([10, 20, 30, 40, 50, 60, None, None])
    assert found.iqm == 45
    assert found.low is not None
    assert 10 < found.low < 45
    assert found.high is None


def test_an_interval_has_no_end_at_all_if_none_was_solved():
    found = summarise([None] * 20)
    assert (found.low, found.high) == (None, None)
    found = summarise([10, *[None] * 19])
    assert (found.low, found.high) == (10, None)  # it takes 10 or more


def test_one_in_a_hundred_that_was_not_solved_leaves_the_interval_finite():
    found = summarise([*range(1, 100), None])
    assert found.high is not None
    assert found.low < found.iqm < found.high


@pytest.mark.slow
@given(trials)
def test_more_that_is_not_solved_never_looks_better(values):
    before, after = summarise(values), summarise([*values, None])
    for name in ("median", "iqm"):
        old, new = getattr(before, name), getattr(after, name)
        if old is None:
            continue
        assert new is None or new >= old - 1e-9


@pytest.mark.slow
@given(trials, st.integers(1001, 10**9))
def test_what_is_known_holds_however_long_the_others_would_have_taken(values, longer):
    known = summarise(values)
    one_possible = summarise([longer if value is None else value for value in values])
    if known.median is not None:
        assert known.median == one_possible.median
    if known.iqm is not None:
        assert known.iqm == pytest.approx(one_possible.iqm)
    if known.mean is not None:
        assert known.mean == one_possible.mean
    if known.low is not None:
        assert known.low <= one_possible.low * (1 + 1e-12)
    if known.high is not None:
        assert known.high >= one_possible.high * (1 - 1e-12)
    if None not in values:
        assert known == one_possible


# Laws


@given(samples)
def test_the_interquartile_mean_lies_between_the_least_and_the_greatest(values):
    slack = 1e-9 * max(map(abs, values))
    assert min(values) - slack <= iqm(*values) <= max(values) + slack


@pytest.mark.slow
@given(samples, st.randoms(use_true_random=False))
def test_the_order_does_not_matter(values, random):
    shuffled = random.sample(values, len(values))
    assert iqm(*shuffled) == pytest.approx(iqm(*values), rel=1e-9, abs=1e-6)
    assert summarise(shuffled).median == summarise(values).median


@given(samples, st.floats(-1e3, 1e3), st.floats(0.01, 100))
def test_shifted_and_scaled_values_have_a_shifted_and_scaled_mean(values, shift, scale):
    moved = iqm(*(scale * value + shift for value in values))
    assert moved == pytest.approx(scale * iqm(*values) + shift, rel=1e-6, abs=1e-3)


@pytest.mark.slow
@given(samples)
def test_the_median_is_that_of_the_standard_library(values):
    assert summarise(values).median == pytest.approx(statistics.median(values))


@given(samples)
def test_outliers_within_a_quarter_do_not_matter(values):
    count = len(values) // 4
    assume(count)
    ordered = sorted(values)
    wild = [*[-1e12] * count, *ordered[count : len(values) - count], *[1e12] * count]
    assert iqm(*wild) == pytest.approx(iqm(*values), rel=1e-9, abs=1e-6)


# The bootstrap


def slow_interval(strata, resamples, seed):
    """The obvious loops, with the same random numbers."""
    rng = np.random.default_rng(seed)
    drawn = [rng.integers(len(s), size=(resamples, len(s))).tolist() for s in strata]
    found = []
    for number in range(resamples):
        values = []
        for stratum, places in zip(strata, drawn, strict=True):
            values += [stratum[place] for place in places[number]]
        values.sort()
        cut = len(values) // 4
        middle = values[cut : len(values) - cut]
        found.append(sum(middle) / len(middle))
    found.sort()
    return found[math.ceil(0.025 * resamples) - 1], found[math.ceil(0.975 * resamples) - 1]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("sizes", [(10,), (3, 7), (1, 5, 9), (13, 13)])
def test_the_interval_is_that_of_the_obvious_loops(sizes, seed):
    rng = np.random.default_rng(100 + seed)
    strata = [rng.lognormal(size=size) + 3 * number for number, size in enumerate(sizes)]
    found = bootstrap_interval(strata, resamples=400, seed=seed)
    assert found == pytest.approx(slow_interval(strata, 400, seed))


def test_the_interval_holds_whatever_those_took_that_were_not_solved():
    values = np.array([1, 1, 252, np.inf, np.inf, np.inf, np.inf])
    found = bootstrap_interval([values], resamples=400)
    at_least = slow_interval([np.minimum(values, 252)], 400, 0)
    at_most = slow_interval([values], 400, 0)
    assert found == (at_least[0], at_most[1])
    assert at_most[0] > at_least[0]  # one that was not solved may lower the lower end


def test_every_stratum_keeps_its_size():
    # One number for each: whatever is drawn, there are five of the first and three of the other.
    low, high = bootstrap_interval([np.full(5, 1.0), np.full(3, 9.0)])
    assert low == high == iqm(1, 1, 1, 1, 1, 9, 9, 9)
    # Thrown together, it would differ from resample to resample.
    low, high = bootstrap_interval([np.array([1, 1, 1, 1, 1, 9, 9, 9])])
    assert low < high


def test_the_same_seed_gives_the_same_interval_and_another_one_another():
    values = np.random.default_rng(0).normal(size=30)
    assert bootstrap_interval([values], seed=4) == bootstrap_interval([values], seed=4)
    assert bootstrap_interval([values], seed=4) != bootstrap_interval([values], seed=5)
    assert summarise(list(values), seed=4) == summarise(list(values), seed=4)


@pytest.mark.slow
def test_the_interval_covers_the_true_value_in_about_95_of_100_cases():
    # The middle half of a uniform distribution on [0, 1] has the mean 1/2; that of an exponential
    # one is the integral of its quantiles, -log(1 - p), from 1/4 to 3/4, times 2.
    exponential = 1 + 2 * (0.25 * math.log(0.25) - 0.75 * math.log(0.75))
    rng = np.random.default_rng(1)
    for draw, truth in ((rng.random, 0.5), (rng.standard_exponential, exponential)):
        covered = 0
        for repetition in range(400):
            low, high = bootstrap_interval([draw(60)], resamples=400, seed=repetition)
            covered += low <= truth <= high
        assert 0.91 <= covered / 400 <= 0.98


def test_an_interval_of_nothing_is_refused():
    for strata in ([], [np.array([])], [np.ones(3), np.array([])]):
        with pytest.raises(InvalidArgumentError, match="at least one trial"):
            bootstrap_interval(strata)
