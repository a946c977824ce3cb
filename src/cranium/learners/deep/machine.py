"""The tables of a machine as JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import jax
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from cranium.learners.tabular import kernels
from cranium.learners.tabular.arrays import LearnerTables
from cranium.tables.pay import pay

__all__ = ["JaxMachine", "build_machine", "jax_pay", "to_device"]

Array = jax.Array
jax_pay = cast("Callable[[Array, Array, Array], Array]", pay)
"""The rule for rewards, :func:`cranium.tables.pay.pay`, with the types of JAX."""


def to_device(values: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Convert to a JAX array by way of NumPy: JAX itself would compile something per shape."""
    found: Array = jax.device_put(np.asarray(values, dtype))
    return found


class JaxMachine(NamedTuple):
    """The tables of a machine: L labels, X configurations, M features.

    It follows :class:`~cranium.counterfactual.MachineTables`.
    """

    next_configuration: Array  # [L, X]; negative where the machine refuses the label
    reward: Array  # [L, X]; the constant part
    reward_function: Array  # [L, X]; the reward function that pays besides; -1 for none
    ending: Array  # [X]; GOES_ON, which is 0, or how the machine ends the episode there
    counters: Array  # [X]; the number of its counter values
    potential: Array  # [X]; zero in terminal configurations, and without shaping
    features: Array  # [X, M]
    initial: Array  # the initial configuration
    non_terminal: Array  # [K]
    candidates: Array  # [X, X] or [1, X]; of a set for each real configuration; [0, X] without one

    @property
    def terminal(self) -> Array:
        """How the machine ends the episode in a configuration, 0 if it does not: [X]."""
        return self.ending


def build_machine(
    tables: LearnerTables,
    features: NDArray[np.float32],
    potential: NDArray[np.float64] | None,
    *,
    candidates: NDArray[np.bool_] | None = None,
    list_non_terminal: bool = True,
    can_overflow: bool = True,
) -> JaxMachine:
    """Copy the tables of a machine into JAX arrays.

    If no episode can overflow, transitions to the overflow configuration are marked as refused, so
    that they are never relabelled to.

    The arrays are copies, because JAX may use an array without copying it, and these change later.
    Any new shape would be compiled again. So there is room for as many labels as the next power of
    two, and non-terminal configurations are listed only if asked for.
    """
    arrays = tables.arrays
    is_terminal = arrays.ending != kernels.GOES_ON
    room = ((0, (1 << (len(arrays.reward) - 1).bit_length()) - len(arrays.reward)), (0, 0))
    following = arrays.next_configuration
    if not can_overflow:
        over = (following >= 0) & (arrays.ending[np.maximum(following, 0)] == kernels.OVERFLOWED)
        following = np.where(over, -1, following)
    potentials = np.zeros(len(is_terminal)) if potential is None else potential
    non_terminal = np.flatnonzero(~is_terminal)
    if candidates is None:
        candidates = np.zeros((0, len(is_terminal)), np.bool_)
    return JaxMachine(
        to_device(np.pad(following, room), np.int32),
        to_device(np.pad(arrays.reward, room), np.float32),
        to_device(np.pad(arrays.function, room), np.int32),
        to_device(arrays.ending.copy(), np.int32),
        to_device(arrays.counters.copy(), np.int32),
        to_device(np.where(is_terminal, 0.0, potentials), np.float32),
        to_device(features.copy(), np.float32),
        to_device(tables.space.start, np.int32),
        to_device(non_terminal if list_non_terminal else non_terminal[:0], np.int32),
        to_device(candidates),
    )
