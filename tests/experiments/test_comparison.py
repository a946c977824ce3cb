"""Comparisons of methods: against hand-computed cases, slow oracles, SciPy and known laws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cranium.errors import InvalidArgumentError
from cranium.experiments.comparison import (
    Estimate,
    aggregate_iqm,
    area_under_curve,
    curve_band,
    curve_on_grid,
    paired_test,
    performance_profile,
    probability_of_improvement,
)
from cranium.experiments.statistics import bootstrap_interval, summarise

run = st.none() | st.integers(-4, 4)
runs = st.lists(run, min_size=1, max_size=6)
strata = st.lists(runs, min_size=1, max_size=4)
two_strata = st.lists(st.tuples(runs, runs), min_size=1, max_size=4)
pairs = st.lists(st.tuples(run, run), min_size=1, max_size=9)
directions = st.booleans()


@st.composite
def learning_curves(draw):
    samples = sorted(draw(st.lists(st.integers(0, 30), min_size=1, max_size=6)))
    return [[place, draw(st.integers(-5, 5))] for place in samples]


def is_better(x, y, lower):
    """Whether one run is better than another, from the definition."""
    if x is None or y is None:
        return x is not None and y is None
    return x < y if lower else x > y


def draw_runs(rng, values, resamples):
    """The bootstrap resamples of a task, run by run."""
    counts = rng.multinomial(len(values), [1 / len(values)] * len(values), size=resamples)
    return [[v for v, n in zip(values, row, strict=True) for _ in range(n)] for row in counts]


def slow_interval(found):
    ordered = sorted(found)
    size = len(ordered)
    return ordered[math.ceil(0.025 * size) - 1], ordered[math.ceil(0.975 * size) - 1]


# Probability of improvement


def slow_improvement(a, b, lower):
    total = Fraction(0)
    for ours, theirs in zip(a, b, strict=True):
        for x in ours:
            for y in theirs:
                win = is_better(x, y, lower) + Fraction(x == y, 2)
                total += win / (len(ours) * len(theirs) * len(a))
    return float(total)


@given(two_strata, directions)
def test_improvement_is_that_of_the_double_loop(tasks, lower):
    a, b = zip(*tasks, strict=True)
    found = probability_of_improvement(a, b, lower_is_better=lower, resamples=10)
    assert found.value == pytest.approx(slow_improvement(a, b, lower))
    several = all(len(values) > 1 for values in (*a, *b))
    assert (found.low is not None) == (found.high is not None) == several


@settings(max_examples=30)
@given(two_strata.map(lambda tasks: [(a * 2, b * 2) for a, b in tasks]), directions)
def test_its_interval_is_that_of_the_obvious_loops(tasks, lower):
    a, b = zip(*tasks, strict=True)
    found = probability_of_improvement(a, b, lower_is_better=lower, resamples=40, seed=3)
    rng = np.random.default_rng(3)
    drawn = [(draw_runs(rng, x, 40), draw_runs(rng, y, 40)) for x, y in tasks]
    each = [
        slow_improvement([x[n] for x, _ in drawn], [y[n] for _, y in drawn], lower)
        for n in range(40)
    ]
    assert (found.low, found.high) == pytest.approx(slow_interval(each))


def test_improvement_of_one_task_is_the_mann_whitney_statistic():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, 12), rng.integers(2, 11, 15)
    found = probability_of_improvement([a], [b], lower_is_better=False)
    assert found.value == pytest.approx(stats.mannwhitneyu(a, b).statistic / (12 * 15))


def test_every_task_has_the_same_weight():
    assert probability_of_improvement([[1], [2] * 9], [[2], [1] * 9]).value == 0.5


def test_a_censored_run_is_worse_in_both_directions():
    for lower in (True, False):
        found = probability_of_improvement([[5, 5]], [[None, None]], lower_is_better=lower)
        assert found == Estimate(1, 1, 1)


@pytest.mark.slow
def test_the_interval_covers_the_true_probability_in_about_95_of_100_cases():
    # For exponential runs of rates 2 and 1, the first is shorter with probability 2/3.
    rng, covered = np.random.default_rng(2), 0
    for repetition in range(300):
        a, b = rng.exponential(0.5, (2, 30)), rng.exponential(1.0, (2, 30))
        found = probability_of_improvement(a, b, resamples=400, seed=repetition)
        covered += found.low <= 2 / 3 <= found.high
    assert 0.91 <= covered / 300 <= 0.985


# Performance profiles


@given(strata, st.lists(st.integers(-5, 5), min_size=1, max_size=5), directions)
def test_a_profile_is_that_of_the_double_loop(tasks, thresholds, lower):
    found = performance_profile(tasks, thresholds, lower_is_better=lower, resamples=20, seed=1)
    rng = np.random.default_rng(1)
    drawn = [draw_runs(rng, values, 20) for values in tasks]

    def share(some, limit):
        each = [
            sum(not is_better(limit, x, lower) for x in values) / len(values) for values in some
        ]
        return sum(each) / len(each)

    for limit, at in zip(thresholds, found, strict=True):
        assert at.value == pytest.approx(share(tasks, limit))
        if min(map(len, tasks)) == 1:
            assert (at.low, at.high) == (None, None)
        else:
            each = [share([values[n] for values in drawn], limit) for n in range(20)]
            assert (at.low, at.high) == pytest.approx(slow_interval(each))


def test_six_tasks_that_are_all_solved_have_the_share_one_without_rounding():
    (at,) = performance_profile([[1, 1, 1]] * 6, [1])
    assert at == Estimate(1, 1, 1)


# Interquartile mean


@pytest.mark.slow
@given(runs)
def test_the_aggregate_of_one_task_is_its_summary(values):
    found, known = aggregate_iqm([values]), summarise(values)
    assert (found.value, found.low, found.high) == (known.iqm, known.low, known.high)


@given(strata)
def test_the_other_direction_is_the_mirror_image(tasks):
    mirrored = [[None if x is None else -x for x in values] for values in tasks]
    one = aggregate_iqm(tasks, resamples=50)
    other = aggregate_iqm(mirrored, lower_is_better=False, resamples=50)
    for x, y in ((one.value, other.value), (one.low, other.high), (one.high, other.low)):
        assert x == (None if y is None else -y)


def test_the_interval_of_the_aggregate_is_stratified():
    tasks = [[1.0, 1.0, 1.0], [9.0, 9.0, 9.0]]
    assert aggregate_iqm(tasks) == Estimate(5, 5, 5)
    assert aggregate_iqm([[1.0, 2.0], [3.0]]) == Estimate(2, None, None)


# The paired test


def slow_paired_test(both, lower):
    """Enumerate all signs of the ranks, and count those at least as extreme."""
    signed = []
    for x, y in both:
        if x != y:
            size = math.inf if None in (x, y) else abs(x - y)
            signed.append((size, 1 if is_better(x, y, lower) else -1))
    count, better = len(signed), sum(sign > 0 for _, sign in signed)
    if count < 6:
        tail = sum(math.comb(count, k) for k in range(min(better, count - better) + 1))
        return min(1, 2 * tail / 2**count), "sign"
    ranks = []
    for size, _ in signed:
        smaller = sum(other < size for other, _ in signed)
        equal = sum(other == size for other, _ in signed)
        ranks.append(smaller + Fraction(equal + 1, 2))
    observed = abs(sum(r * sign for r, (_, sign) in zip(ranks, signed, strict=True)))
    sums = [
        sum(r * sign for r, sign in zip(ranks, signs, strict=True))
        for signs in itertools.product((-1, 1), repeat=count)
    ]
    return sum(abs(each) >= observed for each in sums) / 2**count, "wilcoxon signed-rank"


@given(pairs | st.lists(st.tuples(run, run), min_size=6, max_size=9), directions)
def test_the_p_value_is_that_of_all_signs(both, lower):
    a, b = zip(*both, strict=True)
    found = paired_test(a, b, lower_is_better=lower)
    expected, name = slow_paired_test(both, lower)
    assert (found.p_value, found.test) == (pytest.approx(expected), name)
    assert found.pairs == len(both)
    assert found.better == sum(is_better(x, y, lower) for x, y in both)
    assert found.worse == sum(is_better(y, x, lower) for x, y in both)


@pytest.mark.slow
@given(st.lists(st.integers(-40, 40), min_size=6, max_size=9, unique_by=abs).map(np.array))
def test_the_p_value_without_ties_is_that_of_all_signs(gains):
    both = [(0, gain) for gain in gains.tolist()]
    expected, _ = slow_paired_test(both, lower=True)
    assert paired_test(np.zeros(len(gains)), gains).p_value == pytest.approx(expected)


@pytest.mark.parametrize("size", [20, 50, 51, 200])
def test_the_p_value_of_many_pairs_is_that_of_scipy(size):
    rng = np.random.default_rng(size)
    a, b = rng.normal(size=size), rng.normal(0.3, size=size)
    assert paired_test(a, b).p_value == pytest.approx(stats.wilcoxon(a, b).pvalue)


@pytest.mark.parametrize("size", [14, 50])
def test_the_p_value_of_up_to_fifty_pairs_with_ties_is_exact(size):
    gains = np.random.default_rng(size).integers(-6, 9, size) + 0.5
    ranks = stats.rankdata(abs(gains))
    ways = {0: 1}  # how many choices of signs have each sum
    for rank in ranks:
        keys = {total + step for total in ways for step in (rank, -rank)}
        ways = {key: ways.get(key - rank, 0) + ways.get(key + rank, 0) for key in keys}
    extreme = sum(n for key, n in ways.items() if abs(key) >= abs(np.sign(gains) @ ranks))
    found = paired_test(0 * gains, gains).p_value
    assert found == pytest.approx(extreme / 2**size, rel=1e-12)


def test_pairs_that_are_all_ties_say_nothing():
    found = paired_test([1, None, 3], [1, None, 3])
    assert (found.p_value, found.pairs, found.better, found.worse) == (1, 3, 0, 0)


def test_a_censored_pair_counts_as_more_than_the_largest_difference():
    a, b = [0, 0, 0, 0, 0, 0, 10**6], [1, 2, 3, 4, 5, 6, 0]
    least = paired_test([*a, None], [*b, 0]).p_value
    assert least == paired_test([*a, 10**9], [*b, 0]).p_value
    assert least > paired_test([*a, 0.5], [*b, 0]).p_value


# Learning curves


def slow_value(curve, place, initial):
    found = initial
    for samples, value in curve:
        if samples <= place:
            found = value
    return found


@given(
    st.lists(learning_curves(), min_size=1, max_size=4),
    st.lists(st.integers(0, 35), min_size=1, max_size=6),
)
def test_curves_on_a_grid_carry_the_last_value_forward(curves, grid):
    found = curve_on_grid(curves, grid, initial=-7)
    assert found.tolist() == [[slow_value(curve, x, -7) for x in grid] for curve in curves]


@settings(max_examples=40)
@given(st.lists(learning_curves(), min_size=2, max_size=6))
def test_a_band_is_the_interval_at_each_point(curves):
    grid = [0, 10, 31]
    found = curve_band(curves, grid, initial=0, resamples=50, seed=2)
    for place, at in zip(grid, found, strict=True):
        column = [slow_value(curve, place, 0) for curve in curves]
        assert at.value == pytest.approx(summarise(column).iqm)
        interval = bootstrap_interval([np.array(column, float)], resamples=50, seed=2)
        assert (at.low, at.high) == pytest.approx(interval)


def test_one_curve_has_no_band():
    assert curve_band([[[0, 1.0]]], [0, 5]) == (Estimate(1, None, None),) * 2


@given(learning_curves(), st.integers(1, 40))
def test_the_area_is_the_mean_over_all_samples(curve, steps):
    heights = [slow_value(curve, place, 3) for place in range(steps)]
    assert area_under_curve(curve, steps, initial=3) == pytest.approx(np.mean(heights))


# Seeds and refused input


def test_the_same_seed_gives_the_same_result_and_another_one_another():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 20)), rng.normal(size=(3, 20))
    curves = [[[0, float(x)]] for x in a[0]]
    for compute in (
        lambda seed: probability_of_improvement(a, b, seed=seed),
        lambda seed: performance_profile(a, np.linspace(-1, 1, 9), seed=seed),
        lambda seed: aggregate_iqm(a, seed=seed),
        lambda seed: curve_band(curves, [0], seed=seed),
    ):
        assert compute(4) == compute(4)
        assert compute(4) != compute(5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired_test([1, 2], [1]), "a has 2 runs, b has 1"),
        (lambda: paired_test([], []), "a run of a is missing"),
        (lambda: paired_test([1], [math.nan]), "a run of b is a number, not nan"),
        (lambda: paired_test([math.inf], [1]), "a run of a is a number, not inf"),
        (lambda: probability_of_improvement([[1]], [[1], [2]]), "a has 1 tasks, b has 2"),
        (lambda: probability_of_improvement([[1], []], [[1], [2]]), "a run of task 1 is missing"),
        (lambda: probability_of_improvement([1, 2], [3, 4]), "task 0 is a list of runs, not 1"),
        (lambda: performance_profile([], [1]), "there are no tasks"),
        (lambda: performance_profile([[1]], []), "a threshold is missing"),
        (lambda: aggregate_iqm([[math.nan]]), "a run of task 0 is a number, not nan"),
        (lambda: curve_on_grid([], [1]), "there are no curves"),
        (lambda: curve_on_grid([[[0, 1]]], []), "a point of the grid is missing"),
        (lambda: curve_on_grid([[[0, 1, 2]]], [1]), "not a learning curve"),
        (lambda: curve_on_grid([[0, 1]], [1]), "not a learning curve"),
        (lambda: curve_on_grid([[[0, math.nan]]], [1]), "a value of a curve is a number"),
        (lambda: curve_on_grid([[[5, 1], [2, 1]]], [9]), "the samples of a curve decrease"),
        (lambda: curve_on_grid([[[5, 1]]], [9, 4]), "begins at 5 samples: its value at 4"),
        (lambda: area_under_curve([[5, 1]], 9), "begins at 5 samples: its value at 0"),
    ],
)
def test_bad_input_is_refused_with_a_fix(call, message):
    with pytest.raises(InvalidArgumentError) as caught:
        call()
    assert message in caught.value.message
    assert caught.value.fix


def test_bad_counts_are_refused():
    for how in ({"resamples": 0}, {"seed": -1}):
        for call in (aggregate_iqm, lambda a, **how: probability_of_improvement(a, a, **how)):
            with pytest.raises(InvalidArgumentError, match="whole number"):
                call([[1, 2]], **how)
    with pytest.raises(InvalidArgumentError, match="above 0"):
        area_under_curve([[0, 1]], 0)
