"""Comparison of two or more methods over several tasks, as proposed by Agarwal et al. (2021).

"Deep Reinforcement Learning at the Edge of the Statistical Precipice" (the library rliable) asks
for interval estimates instead of single numbers: the probability of improvement, performance
profiles and the interquartile mean (IQM), each with a stratified bootstrap over the runs. This
module also has a paired test over common seeds, and bands around learning curves.

*Strata* are the runs of each task. A run that was not solved within its budget is *censored* and
written as None. It counts as worse than every solved run, and as equal to other censored runs.
Every interval is a 95 % percentile interval. It is None if some stratum has only one run, because
one run says nothing about the variance. With few runs, such intervals are too narrow. The values of
several tasks should be on one scale, unless they are only compared within a task.

``lower_is_better`` is true for samples until solved, and false for returns and success. Missing
values, and values that are not finite, raise ``InvalidArgumentError``.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from cranium.arguments import check_count, check_number
from cranium.errors import InvalidArgumentError, shorten
from cranium.experiments.statistics import (
    RESAMPLES,
    TAILS,
    bootstrap_interval,
    bootstrap_intervals,
    interquartile_mean,
)

__all__ = [
    "Estimate",
    "PairedTest",
    "aggregate_iqm",
    "area_under_curve",
    "curve_band",
    "curve_on_grid",
    "paired_test",
    "performance_profile",
    "probability_of_improvement",
]

Floats = NDArray[np.float64]
Numbers = Sequence[float] | Floats
Runs = Sequence[float | None] | Floats
Strata = Sequence[Runs] | Floats
Curve = Sequence[Sequence[float]] | Floats
Curves = Sequence[Curve] | Floats

FEWEST_RANKED = 6
"""With fewer pairs that differ, no signed-rank test has a p-value below 0.05."""
MOST_EXACT = 50
"""Up to here SciPy computes exact p-values of differences without ties; we do so with ties."""


@dataclass(frozen=True)
class Estimate:
    """A statistic with its 95 % interval.

    Attributes:
        value: The statistic; None if it depends on the value of a censored run.
        low: The lower end of the interval; None if it is censored, or some stratum has one run.
        high: The upper end, likewise.

    Example:
        >>> aggregate_iqm([[1, 2, 3, None]]).value
        2.5
    """

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class PairedTest:
    """The result of a two-sided paired test of ``a`` against ``b``.

    Attributes:
        p_value: The probability of a result at least as extreme if neither is better.
        pairs: The number of pairs, with ties.
        better: In how many pairs ``a`` is better.
        worse: In how many pairs ``a`` is worse. The others are ties, which neither test counts.
        test: The name of the test.

    Example:
        >>> paired_test([1, 2, 3], [2, 2, None])
        PairedTest(p_value=0.5, pairs=3, better=2, worse=0, test='sign')
    """

    p_value: float
    pairs: int
    better: int
    worse: int
    test: Literal["wilcoxon signed-rank", "sign"]


def probability_of_improvement(
    a: Strata, b: Strata, *, lower_is_better: bool = True, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate:
    """The probability that a run of ``a`` is better than one of ``b``, averaged over the tasks.

    For each task this is the Mann-Whitney statistic: the share of all pairs of runs in which that
    of ``a`` is better, plus half of the ties. Both have the same tasks in the same order; their
    numbers of runs may differ. If all runs of ``a`` are better, the bootstrap interval is a single
    point, however few runs there are.

    Example:
        >>> probability_of_improvement([[1, 2], [5, None]], [[3, 4], [5, None]]).value
        0.75
    """
    first, second = _read_strata(a, lower_is_better), _read_strata(b, lower_is_better)
    if len(first) != len(second):
        fix = "give the runs of the same tasks, in the same order"
        raise InvalidArgumentError(f"a has {len(first)} tasks, b has {len(second)}", fix=fix)
    size, rng = _check_bootstrap(resamples, seed), np.random.default_rng(seed)
    value, drawn = 0.0, np.zeros((size, 1))
    for ours, theirs in zip(first, second, strict=True):
        wins = (ours[:, None] < theirs) + 0.5 * (ours[:, None] == theirs)
        value += float(wins.sum()) / wins.size
        chosen, against = _draw_counts(len(ours), size, rng), _draw_counts(len(theirs), size, rng)
        drawn += ((chosen @ wins) * against).sum(axis=1, keepdims=True) / wins.size
    low, high = _compute_percentiles(drawn / len(first), [*first, *second])
    return Estimate(value / len(first), low[0], high[0])


def performance_profile(
    strata: Strata,
    thresholds: Numbers,
    *,
    lower_is_better: bool = True,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[Estimate, ...]:
    """The share of runs that are at least as good as each threshold, with pointwise intervals.

    The shares of the tasks are averaged, so every task has the same weight. A censored run reaches
    no threshold. A run that is equal to a threshold reaches it.

    Example:
        >>> [at.value for at in performance_profile([[1, 3], [2, None]], [1, 2, 3])]
        [0.25, 0.5, 0.75]
    """
    costs = _read_strata(strata, lower_is_better)
    points = _read_numbers("a threshold", thresholds)
    limits = points if lower_is_better else -points
    size, rng = _check_bootstrap(resamples, seed), np.random.default_rng(seed)
    shares, drawn = np.zeros(len(points)), np.zeros((size, len(points)))
    for runs in costs:
        reached = (runs[:, None] <= limits).astype(float)
        shares += reached.sum(axis=0) / len(runs)
        drawn += _draw_counts(len(runs), size, rng) @ reached / len(runs)
    low, high = _compute_percentiles(drawn / len(costs), costs)
    return tuple(map(Estimate, (shares / len(costs)).tolist(), low, high))


def aggregate_iqm(
    strata: Strata, *, lower_is_better: bool = True, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate:
    """The interquartile mean of the runs of all tasks together, with its interval.

    Every run has the same weight. The bounds of the interval hold whatever the censored values are,
    provided that they are worse than every solved value.

    Example:
        >>> aggregate_iqm([[1, 2, 3, 4], [5, 6, 7, None]]).value
        4.5
        >>> aggregate_iqm([[0.2, 0.4, 0.6, 0.8]], lower_is_better=False).value
        0.5
    """
    costs = _read_strata(strata, lower_is_better)
    _check_bootstrap(resamples, seed)
    ends = [interquartile_mean(np.concatenate(costs)), np.inf, np.inf]
    if min(map(len, costs)) > 1:
        ends[1:] = bootstrap_interval(costs, resamples=resamples, seed=seed)
    if not lower_is_better:
        ends = [0.0 - ends[0], 0.0 - ends[2], 0.0 - ends[1]]
    return Estimate(*(float(end) if np.isfinite(end) else None for end in ends))


def paired_test(a: Runs, b: Runs, *, lower_is_better: bool = True) -> PairedTest:
    """Test whether ``a`` or ``b`` is better over the same seeds, in the same order; two-sided.

    This is the Wilcoxon signed-rank test. A pair of two equal or two censored runs is a tie and is
    dropped. A pair with one censored run has the largest rank; several such pairs share it. If
    fewer than six pairs differ, it is the sign test. P-values are exact for up to 50 such pairs,
    with tied ranks too; beyond that they are SciPy's normal approximation.

    Example:
        >>> paired_test([1, 2, 3, 4, 5, 6], [3, 5, 8, 11, None, None]).p_value
        0.03125
    """
    ours, theirs = _read_runs("a", a, lower_is_better), _read_runs("b", b, lower_is_better)
    if len(ours) != len(theirs):
        fix = "give one run of each for every seed; None is a run that was not solved"
        raise InvalidArgumentError(f"a has {len(ours)} runs, b has {len(theirs)}", fix=fix)
    differ = ours != theirs
    gains = theirs[differ] - ours[differ]
    better, worse = int((gains > 0).sum()), int((gains < 0).sum())
    if len(gains) < FEWEST_RANKED:
        found = stats.binomtest(better, len(gains)).pvalue if len(gains) else 1.0
        return PairedTest(float(found), len(ours), better, worse, "sign")
    ranks = stats.rankdata(np.abs(gains))  # infinite ones share the largest rank
    if len(set(ranks)) < len(ranks) <= MOST_EXACT:
        found = _compute_exact_p_value(ranks, gains > 0)
    else:
        found = stats.wilcoxon(np.sign(gains) * ranks).pvalue
    return PairedTest(float(found), len(ours), better, worse, "wilcoxon signed-rank")


def _compute_exact_p_value(ranks: Floats, positive: NDArray[np.bool_]) -> float:
    """The two-sided p-value of the signed-rank sum, if every sign is drawn with a fair coin."""
    doubled = np.rint(2 * ranks).astype(int)  # ties have the mean of their ranks, a half at times
    total, reached = int(doubled.sum()), int(doubled[positive].sum())
    chances = np.eye(1, total + 1)[0]
    for rank in doubled:
        chances[rank:] += chances[:-rank].copy()
        chances /= 2
    return min(1.0, 2 * float(chances[: min(reached, total - reached) + 1].sum()))


def curve_on_grid(curves: Curves, grid: Numbers, *, initial: float | None = None) -> Floats:
    """Read learning curves on a common grid of samples, as an array of shape (curves, grid).

    A curve is ``[[samples, value], ...]``, sorted by samples. The last value is carried forward. Of
    several values for the same samples, the last one counts. ``initial`` is the value before the
    first point of a curve; without it, a grid that begins before some curve is refused.

    Example:
        >>> curve_on_grid([[[0, 0.1], [10, 0.5]], [[5, 1.0]]], [0, 9, 10, 99], initial=0.0).tolist()
        [[0.1, 0.1, 0.5, 0.5], [0.0, 1.0, 1.0, 1.0]]
    """
    points = _read_numbers("a point of the grid", grid)
    if not len(curves):
        raise InvalidArgumentError("there are no curves", fix="give the curve of one seed or more")
    found = np.empty((len(curves), len(points)))
    for row, curve in enumerate(curves):
        samples, values = _read_curve(curve, float(points.min()), initial)
        found[row] = values[np.searchsorted(samples, points, side="right") - 1]
    return found


def curve_band(
    curves: Curves,
    grid: Numbers,
    *,
    initial: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[Estimate, ...]:
    """The interquartile mean of learning curves at each point of a grid, with a bootstrap band.

    The bootstrap resamples whole curves. Arguments and errors are those of ``curve_on_grid``.

    Example:
        >>> band = curve_band([[[0, 0.0], [10, 1.0]], [[0, 0.5], [20, 1.0]]], [0, 10, 20])
        >>> [(at.low, at.value, at.high) for at in band]
        [(0.0, 0.25, 0.5), (0.5, 0.75, 1.0), (1.0, 1.0, 1.0)]
    """
    table = curve_on_grid(curves, grid, initial=initial)
    size = _check_bootstrap(resamples, seed)
    middle = [interquartile_mean(column) for column in table.T]
    if len(table) < 2:  # one curve has no variance
        return tuple(Estimate(value, None, None) for value in middle)
    low, high = bootstrap_intervals(table, resamples=size, seed=seed)
    return tuple(map(Estimate, middle, low.tolist(), high.tolist()))


def area_under_curve(curve: Curve, steps: float, *, initial: float | None = None) -> float:
    """The mean height of a step-wise learning curve from 0 to ``steps`` samples.

    It is the area under the curve, divided by the budget ``steps``. The last value is carried
    forward, later points are ignored, and ``initial`` is the value before the first point.

    Example:
        >>> area_under_curve([[0, 0.0], [25, 1.0]], 100)
        0.75
        >>> area_under_curve([[50, 1.0]], 100, initial=0.5)
        0.75
    """
    budget = check_number("steps", steps, 0, above=True)
    samples, values = _read_curve(curve, 0.0, initial)
    edges = np.clip(np.append(samples, budget), 0.0, budget)
    return float(np.diff(edges) / budget @ values)


def _read_curve(curve: Curve, begin: float, initial: float | None) -> tuple[Floats, Floats]:
    """The samples and values of a curve that is known from ``begin`` on."""
    if any(not isinstance(point, Sequence | np.ndarray) or len(point) != 2 for point in curve):
        fix = "a curve is [[samples, value], ...]: of an array with more columns, take [:, :2]"
        raise InvalidArgumentError(f"not a learning curve: {shorten(curve)}", fix=fix)
    samples = _read_numbers("a number of samples", [point[0] for point in curve])
    values = _read_numbers("a value of a curve", [point[1] for point in curve])
    if (np.diff(samples) < 0).any():
        raise InvalidArgumentError("the samples of a curve decrease", fix="sort it by samples")
    if samples[0] <= begin:
        return samples, values
    if initial is None:
        said = f"a curve begins at {samples[0]:g} samples: its value at {begin:g} is unknown"
        fix = "give the value before the first evaluation as initial, or begin later"
        raise InvalidArgumentError(said, fix=fix)
    return np.insert(samples, 0, begin), np.insert(values, 0, check_number("initial", initial))


def _read_strata(strata: Strata, lower_is_better: bool) -> list[Floats]:
    if not len(strata):
        raise InvalidArgumentError("there are no tasks", fix="give the runs of one task or more")
    return [_read_runs(f"task {n}", runs, lower_is_better) for n, runs in enumerate(strata)]


def _read_runs(what: str, runs: Runs, lower_is_better: bool) -> Floats:
    """The costs of runs: lower is better, and censored ones are infinite."""
    if not isinstance(runs, Sequence | np.ndarray):
        fix = "put the runs of a single task into a list of their own: [[1, 2, None]]"
        raise InvalidArgumentError(f"{what} is a list of runs, not {shorten(runs)}", fix=fix)
    fix = "give one run or more; None is a run that was not solved within its budget"
    numbers = _read_numbers(f"a run of {what}", [0.0 if x is None else x for x in runs], fix)
    return np.where([x is None for x in runs], np.inf, numbers if lower_is_better else -numbers)


def _read_numbers(what: str, values: Numbers, fix: str = "give finite numbers") -> Floats:
    if not len(values):
        raise InvalidArgumentError(f"{what} is missing", fix=fix)
    if all(type(value) is float or type(value) is int for value in values):
        with suppress(OverflowError):  # of a whole number that no float is near
            found = np.array(values, np.float64)
            if np.isfinite(found).all():
                return found
    try:
        return np.array([check_number(what, value) for value in values])
    except InvalidArgumentError as problem:
        raise InvalidArgumentError(problem.message, fix=fix) from None


def _check_bootstrap(resamples: int, seed: int) -> int:
    check_count("seed", seed, least=0)
    return check_count("resamples", resamples)


def _draw_counts(size: int, resamples: int, rng: np.random.Generator) -> Floats:
    """How often each run is drawn, in each resample."""
    return rng.multinomial(size, np.full(size, 1 / size), size=resamples).astype(float)


def _compute_percentiles(drawn: Floats, strata: Sequence[Floats]) -> list[list[float | None]]:
    """The lower and upper ends of the intervals of statistics drawn as (resamples, statistics)."""
    if min(map(len, strata)) < 2:  # one run has no variance
        return [[None] * drawn.shape[1]] * 2
    found: list[list[float | None]]
    found = np.quantile(drawn, TAILS, axis=0, method="inverted_cdf").tolist()
    return found
