"""An exploration rule of a user's own: explore among the better half of the actions only."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class UpperHalf:
    """ε-greedy, but random actions are drawn among those that are no worse than the median."""

    rate: float = 0.1

    def probabilities(self, values, rate):
        """Mix the best action with the better half: [A]."""
        good, best = values >= np.median(values), values == values.max()
        return rate * good / good.sum() + (1 - rate) * best / best.sum()
