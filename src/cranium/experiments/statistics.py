"""Statistics over trials, with censored values.

Mean and standard deviation, as in the paper, and the interquartile mean with a 95 % interval from a
stratified bootstrap. A trial that was not solved within its budget is *censored*: it is only known
that it would have taken longer. It counts as longer than all others. A statistic that depends on
its value is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranium.errors import InvalidArgumentError

__all__ = [
    "Summary",
    "bootstrap_interval",
    "bootstrap_intervals",
    "interquartile_mean",
    "summarise",
]

RESAMPLES = 2_000
TAILS = (0.025, 0.975)
"""Not computed from 0.95, because rounding would select the next value."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Summary:
    """Statistics of some trials.

    Attributes:
        run: The number of trials.
        solved: How many of them were solved.
        mean: The mean; None unless all were solved.
        deviation: The standard deviation (of the sample); None unless all were solved.
        median: The median; None if it is censored.
        iqm: The interquartile mean; None if the middle half has a censored trial.
        low: The lower end of its 95 % interval, whatever the censored values are; None if there is
            only one trial, or none was solved.
        high: The upper end; None if it is censored.

    Example:
        >>> found = summarise([100, 200, 300, 400, None])
        >>> found.solved, found.run, found.mean, found.median, found.iqm
        (4, 5, None, 300.0, 300.0)
    """

    run: int
    solved: int
    mean: float | None
    deviation: float | None
    median: float | None
    iqm: float | None
    low: float | None
    high: float | None


def summarise(
    values: Sequence[float | None],
    parts: Sequence[Sequence[float | None]] = (),
    *,
    seed: int = 0,
) -> Summary:
    """Compute the statistics of trials; None is a trial that was not solved.

    If the values are sums, ``parts`` are the summands: the bootstrap resamples each by itself.

    Example:
        >>> summarise([1.0, 2.0, 3.0, 4.0]).iqm
        2.5
        >>> summarise([None, None]).iqm is None
        True
    """
    if not values:
        return Summary(0, 0, None, None, None, None, None, None)
    filled = _fill_censored(values)
    solved = int(np.isfinite(filled).sum())
    whole = solved == len(filled)
    several = len(filled) > 1  # one trial has no variance
    low = high = np.inf
    if several:
        strata = [_fill_censored(part) for part in parts] or [filled]
        low, high = bootstrap_interval(strata, added=bool(parts), seed=seed)
    return Summary(
        run=len(filled),
        solved=solved,
        mean=float(filled.mean()) if whole else None,
        deviation=float(filled.std(ddof=1)) if whole and several else None,
        median=_none_if_infinite(_compute_median(filled)),
        iqm=_none_if_infinite(interquartile_mean(filled)),
        low=_none_if_infinite(low),
        high=_none_if_infinite(high),
    )


def interquartile_mean(values: Floats) -> float:
    """The mean of the middle half; infinite if that contains an infinite value.

    Example:
        >>> interquartile_mean(np.array([0.0, 1.0, 2.0, 3.0, 100.0, 200.0, 4.0, 5.0]))
        3.5
        >>> interquartile_mean(np.array([1.0, 2.0, 3.0, np.inf]))
        2.5
    """
    return float(_trim_means(np.asarray(values, float)[None])[0])


def _trim_means(values: Floats) -> Floats:
    # Infinite values are sorted last, so they are trimmed first. The numbers are those of
    # scipy.stats.trim_mean, whose checks take far longer than the mean of a few values.
    size = values.shape[-1]
    cut = size // 4
    middle = np.partition(values, (cut, size - cut - 1), axis=-1)[..., cut : size - cut]
    found: Floats = middle.mean(axis=-1)
    return found


def bootstrap_interval(
    strata: Sequence[Floats], *, added: bool = False, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """The 95 % interval of the interquartile mean over all strata, by the percentile bootstrap.

    Each stratum (the trials of one task, say) is resampled by itself, so that every resample has as
    many trials of each. If they are ``added``, it is the interval of the interquartile mean of
    their sums.

    Example:
        >>> low, high = bootstrap_interval([np.arange(100.0)])
        >>> 40 < low < 49.5 < high < 60
        True
    """
    if not strata or any(len(values) == 0 for values in strata):
        raise InvalidArgumentError("an interval needs at least one trial of each stratum")
    rng = np.random.default_rng(seed)
    drawn = [
        np.asarray(values, float)[rng.integers(len(values), size=(resamples, len(values)))]
        for values in strata
    ]
    if added:
        size = min(part.shape[1] for part in drawn)
        together = np.sum([part[:, :size] for part in drawn], axis=0)
    else:
        together = np.concatenate(drawn, axis=1)
    # A censored value is at least the longest solved one, and has no upper bound: the interval
    # holds whatever it is. Quantiles are not interpolated, which infinite values do not allow.
    solved = together[np.isfinite(together)]
    least = np.minimum(together, solved.max()) if solved.size else together
    low = np.quantile(_trim_means(least), TAILS[0], method="inverted_cdf")
    high = np.quantile(_trim_means(together), TAILS[1], method="inverted_cdf")
    return float(low), float(high)


def bootstrap_intervals(
    table: Floats, *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[Floats, Floats]:
    """The lower and upper ends of the intervals of each column of a table of finite numbers.

    They are those of :func:`bootstrap_interval`. The same rows are drawn for every column.

    Example:
        >>> low, high = bootstrap_intervals(np.arange(6.0).reshape(3, 2), seed=4)
        >>> (low[0], high[0]) == bootstrap_interval([np.array([0.0, 2.0, 4.0])], seed=4)
        True
    """
    size = len(table)
    chosen = np.random.default_rng(seed).integers(size, size=(resamples, size))
    means = np.array([_trim_means(column[chosen]) for column in table.T])
    low, high = np.quantile(means, TAILS, axis=1, method="inverted_cdf")
    return low, high


def _fill_censored(values: Sequence[float | None]) -> Floats:
    return np.array([np.inf if value is None else value for value in values], float)


def _compute_median(values: Floats) -> float:
    middle = np.sort(values)
    low, high = middle[(len(middle) - 1) // 2], middle[len(middle) // 2]
    return float(low if low == high else (low + high) / 2)


def _none_if_infinite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
