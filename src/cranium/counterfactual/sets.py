"""Sets of configurations: the ones for which a learner relabels a transition.

A set is written once and serves the tabular loop, the networks in JAX and every replay buffer,
because it only says which configurations belong to it. How they are visited is not its concern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cranium.automata.transition import Configuration
from cranium.errors import InvalidArgumentError, shorten

__all__ = [
    "AnyConfigurationSet",
    "ConfigurationArrays",
    "ConfigurationSet",
    "Current",
    "Reachable",
    "Seen",
    "compute_candidates",
    "configuration_set",
]


class ConfigurationArrays(NamedTuple):
    """The X configurations of a machine with k counters, as arrays that a set chooses from.

    Example:
        >>> found = ConfigurationArrays.of([Configuration("u", (0,)), Configuration("v", (2,))])
        >>> found.counters
        array([[0],
               [2]])
    """

    machine_state: NDArray[np.int64]  # [X]; states are numbered in the order in which they occur
    counters: NDArray[np.int64]  # [X, k]; -1 in the overflow configuration

    @classmethod
    def of(cls, configurations: Sequence[Configuration]) -> Self:
        """Convert configurations, in their order."""
        numbers: dict[str, int] = {}
        states = [numbers.setdefault(each.state, len(numbers)) for each in configurations]
        width = max((len(each.counters) for each in configurations), default=0)
        counters = np.full((len(states), width), -1, np.int64)
        for row, configuration in zip(counters, configurations, strict=True):
            if len(configuration.counters) == width:
                row[:] = configuration.counters
        return cls(np.array(states, np.int64), counters)


@runtime_checkable
class ConfigurationSet(Protocol):
    """The interface of a set of configurations. Any object with these attributes will do.

    The real configuration of a transition is always relabelled, too, and terminal configurations
    never are: a set need not care about either.

    Attributes:
        sample: How many of the candidates are drawn for each transition, uniformly. None takes all
            of them, and so does a number that is not less than how many there are.
        seen_only: Whether candidates are left out as long as their counter values have not
            occurred in training.
    """

    @property
    def sample(self) -> int | None:
        """How many candidates are drawn for each transition; None takes all."""

    @property
    def seen_only(self) -> bool:
        """Whether candidates wait until their counter values have occurred."""

    def candidates(
        self, configurations: ConfigurationArrays, real: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Decide which configurations belong to the set.

        It is called when configurations become known, not in every step, so it may take its time.

        Args:
            configurations: The X configurations that are known so far.
            real: The numbers of B configurations in which a transition may really have happened.

        Returns:
            Whether each configuration belongs to the set for each of these: [B, X], or [1, X] if
            that does not depend on the real configuration.
        """


@dataclass(frozen=True)
class Current:
    """Only the real configuration: plain Q-learning (Algorithm 2).

    Example:
        >>> arrays = ConfigurationArrays.of([Configuration("u", (c,)) for c in range(3)])
        >>> Current().candidates(arrays, np.array([1]))
        array([[False,  True, False]])
    """

    sample: int | None = None
    seen_only: bool = False

    def candidates(
        self, configurations: ConfigurationArrays, real: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return the real configurations."""
        numbers = np.arange(len(configurations.machine_state))
        found: NDArray[np.bool_] = np.asarray(real)[:, None] == numbers
        return found


@dataclass(frozen=True)
class Reachable:
    """Every configuration that the machine can reach.

    Attributes:
        limit: The largest counter value of a configuration in the set. By default there is no
            other limit than that of the product.
        sample: How many of them are drawn for each transition; None takes all.

    Example:
        >>> arrays = ConfigurationArrays.of([Configuration("u", (c,)) for c in range(3)])
        >>> Reachable(limit=1).candidates(arrays, np.array([2]))
        array([[ True,  True, False]])
    """

    limit: int | None = None
    sample: int | None = None
    seen_only: bool = False

    def candidates(
        self,
        configurations: ConfigurationArrays,
        real: NDArray[np.int64],  # noqa: ARG002 - the set is the same for all
    ) -> NDArray[np.bool_]:
        """Return the configurations with counters up to the limit."""
        found = np.ones(len(configurations.machine_state), np.bool_)
        if self.limit is not None:
            found &= (configurations.counters <= self.limit).all(axis=1)
        return found[None]


@dataclass(frozen=True)
class Seen(Reachable):
    """The configurations whose counter values have occurred: the paper's cache (Algorithm 1).

    Example:
        >>> Seen().seen_only
        True
    """

    seen_only: bool = True


AnyConfigurationSet = Literal["current", "seen", "reachable"] | ConfigurationSet
"""A set of configurations, or the name of one."""


def configuration_set(configurations: AnyConfigurationSet) -> ConfigurationSet:
    """Return the set that a name stands for; a set is returned as it is.

    Example:
        >>> configuration_set("seen")
        Seen(limit=None, sample=None, seen_only=True)
        >>> configuration_set("all")
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: configurations are current, seen, reachable or a set of
          configurations, not 'all'
          fix: a set is an object with `sample`, `seen_only` and `candidates(configurations, real)`
    """
    if isinstance(configurations, str):
        named: dict[str, ConfigurationSet] = {
            "current": Current(),
            "seen": Seen(),
            "reachable": Reachable(),
        }
        if configurations in named:
            return named[configurations]
    elif isinstance(configurations, ConfigurationSet) and not isinstance(configurations, type):
        return configurations
    raise InvalidArgumentError(
        "configurations are current, seen, reachable or a set of configurations, not "
        f"{shorten(configurations)}",
        fix="a set is an object with `sample`, `seen_only` and `candidates(configurations, real)`",
    )


def compute_candidates(
    chosen: ConfigurationSet, configurations: ConfigurationArrays, real: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Call ``chosen.candidates``, and check the type and the shape of what it returns.

    Example:
        >>> arrays = ConfigurationArrays.of([Configuration("u", (c,)) for c in range(3)])
        >>> compute_candidates(Reachable(limit=1), arrays, np.arange(3))
        array([[ True,  True, False]])
    """
    count = len(configurations.machine_state)
    found = np.asarray(chosen.candidates(configurations, real))
    if found.dtype != np.bool_ or found.shape not in ((1, count), (len(real), count)):
        raise InvalidArgumentError(
            f"{type(chosen).__name__}.candidates returned {found.dtype} {found.shape}",
            fix=f"return booleans of the shape {(len(real), count)}, or {(1, count)}",
        )
    return found
