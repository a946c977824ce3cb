"""A set of configurations of a user's own: those whose counters are near the real ones."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Neighbours:
    """The configurations in which no counter differs from the real one by more than ``distance``."""

    distance: int = 1
    sample: int | None = None  # take all of them
    seen_only: bool = False

    def candidates(self, configurations, real):
        """Compare the counters of all configurations with those of the real ones: [B, X]."""
        own = configurations.counters[real][:, None]
        return (abs(configurations.counters - own) <= self.distance).all(axis=-1)
