"""Check the settings of replay buffers."""

from __future__ import annotations

from contextlib import suppress

from cranium.aamdp.encoding import Encoding
from cranium.counterfactual.sets import (
    AnyConfigurationSet,
    ConfigurationSet,
    Reachable,
    Seen,
    configuration_set,
)
from cranium.errors import InvalidArgumentError, SpaceError
from cranium.tables.configurations import reachable_configurations
from cranium.tables.space import MOST_LISTED

__all__ = ["choose_set"]


def choose_set(configurations: AnyConfigurationSet | None, encoding: Encoding) -> ConfigurationSet:
    """Return the set that was asked for, or the default for a product.

    The default is every reachable configuration, if a ``counter_limit`` was given and there are at
    most 2,000, and otherwise those that were seen. Without a limit of its own, a product has one so
    high that no episode passes it, and most configurations below it never occur.
    """
    limit = encoding.counter_limit
    if configurations is None:
        if limit is not None and encoding.can_overflow:
            with suppress(SpaceError):
                reachable_configurations(encoding.automaton, limit, max_configurations=MOST_LISTED)
                return Reachable()
        return Seen()
    chosen = configuration_set(configurations)
    unlimited = type(chosen) is Reachable and chosen.limit is None and not chosen.seen_only
    if unlimited and limit is None:
        raise InvalidArgumentError(
            "without a limit for the counters, endlessly many configurations are reachable",
            fix="give the product a horizon or a counter_limit, or use configurations='seen'",
        )
    return chosen
