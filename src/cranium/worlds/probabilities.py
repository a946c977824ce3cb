"""Probability distributions that environments and models give, checked."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum, isfinite

from cranium.errors import WorldError, shorten

__all__ = ["TOLERANCE", "as_probabilities", "check_probabilities"]

TOLERANCE = 1e-9
"""The greatest distance of a sum of probabilities from 1, because of rounding."""
SINGLE_TOLERANCE = 5e-7
"""The same for probabilities in single precision, which are then divided by their sum."""


def check_probabilities(chances: Iterable[float], what: str, *, slack: float = TOLERANCE) -> None:
    """Check that probabilities are a distribution, or raise :class:`WorldError`.

    Example:
        >>> check_probabilities([0.5, 0.3], "the starts")
        Traceback (most recent call last):
        cranium.errors.WorldError: the starts have probabilities that sum to 0.8
          fix: probabilities are numbers from 0 to 1 that sum to 1
    """
    every, fix = list(chances), "probabilities are numbers from 0 to 1 that sum to 1"
    for chance in every:
        try:
            good = isfinite(chance) and chance >= 0
        except (TypeError, OverflowError):
            good = False
        if not good:
            raise WorldError(f"{what} have the probability {shorten(chance)}", fix=fix)
    if abs(fsum(every) - 1) > slack:
        raise WorldError(f"{what} have probabilities that sum to {fsum(every):.10g}", fix=fix)


def as_probabilities(chances: Iterable[float], what: str) -> list[float]:
    """Return probabilities as floats that sum to 1, or raise :class:`WorldError`.

    Numbers in single precision hardly ever sum to 1; they are divided by their sum.

    Example:
        >>> import numpy as np
        >>> as_probabilities(np.array([0.1, 0.9], np.float32), "the starts")
        [0.10000000372529039, 0.8999999962747096]
    """
    every = list(chances)
    check_probabilities(every, what, slack=SINGLE_TOLERANCE)
    total = fsum(every)
    exact = abs(total - 1) <= TOLERANCE
    return [float(chance) if exact else float(chance) / total for chance in every]
