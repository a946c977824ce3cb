"""What is said of many trials.

Mean and standard deviation, as in the paper, and the interquartile mean with a 95 % interval from a
stratified bootstrap. A trial that was not solved within its budget is *censored*: all that is known
is that it would have taken longer. It counts as longer than all others, and where that is not
enough to know a number, there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from cranium.errors import InvalidArgumentError

__all__ = ["Summary", "bootstrap_interval", "interquartile_mean", "summarise"]

RESAMPLES = 2_000
TAILS = (0.025, 0.975)
"""Not worked out from 0.95: rounding would take the next one."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Summary:
    """What was found in some trials.

    Attributes:
        run: How many there were.
        solved: How many of them were solved.
        mean: The mean; None unless all were solved.
        deviation: The standard deviation (of the sample); None unless all were solved.
        median: The median; None if it belongs to those that were not solved.
        iqm: The mean of the middle half; None if that has any that was not solved.
        low: The lower end of its 95 % interval, whatever those took that were not solved; None if
            there is only one trial, or none was solved.
        high: The upper end; None if it belongs to those that were not solved, too.

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
    """Summarise trials; None is one that was not solved.

    If the values are sums, ``parts`` are what was added up: each is drawn from by itself.

    Example:
        >>> summarise([1.0, 2.0, 3.0, 4.0]).iqm
        2.5
        >>> summarise([None, None]).iqm is None
        True
    """
    if not values:
        return Summary(0, 0, None, None, None, None, None, None)
    filled = _filled(values)
    solved = int(np.isfinite(filled).sum())
    whole = solved == len(filled)
    several = len(filled) > 1  # one says nothing of how they differ
    low = high = np.inf
    if several:
        strata = [_filled(part) for part in parts] or [filled]
        low, high = bootstrap_interval(strata, added=bool(parts), seed=seed)
    return Summary(
        run=len(filled),
        solved=solved,
        mean=float(filled.mean()) if whole else None,
        deviation=float(filled.std(ddof=1)) if whole and several else None,
        median=_known(_median(filled)),
        iqm=_known(interquartile_mean(filled)),
        low=_known(low),
        high=_known(high),
    )


def interquartile_mean(values: Floats) -> float:
    """The mean of the middle half, along the last axis; infinite if that reaches into what is not.

    Example:
        >>> interquartile_mean(np.array([0.0, 1.0, 2.0, 3.0, 100.0, 200.0, 4.0, 5.0]))
        3.5
        >>> interquartile_mean(np.array([1.0, 2.0, 3.0, np.inf]))
        2.5
    """
    return float(_trimmed(np.asarray(values, float)[None])[0])


def _trimmed(values: Floats) -> Floats:
    # By sorting, infinite ones are cut off first; where one is left the mean is infinite.
    found: Floats = stats.trim_mean(values, 0.25, axis=-1)
    return found


def bootstrap_interval(
    strata: Sequence[Floats], *, added: bool = False, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """The 95 % interval of the interquartile mean over all strata, by the percentile bootstrap.

    Each stratum (the trials of one task, say) is drawn from by itself, so that every resample has
    as many trials of each as there were. If they are ``added``, it is the interval of the
    interquartile mean of their sums.

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
    # What was not solved took at least as long as the longest that was, and any time at most: the
    # interval is to hold whatever it was. Not interpolated: between a number and infinity there is
    # nothing.
    solved = together[np.isfinite(together)]
    least = np.minimum(together, solved.max()) if solved.size else together
    low = np.quantile(_trimmed(least), TAILS[0], method="inverted_cdf")
    high = np.quantile(_trimmed(together), TAILS[1], method="inverted_cdf")
    return float(low), float(high)


def _filled(values: Sequence[float | None]) -> Floats:
    return np.array([np.inf if value is None else value for value in values], float)


def _median(values: Floats) -> float:
    middle = np.sort(values)
    low, high = middle[(len(middle) - 1) // 2], middle[len(middle) // 2]
    return float(low if low == high else (low + high) / 2)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
