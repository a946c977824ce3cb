"""The reward of a transition: the one definition that every learner and every kernel follows."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["array_namespace", "pay"]


def array_namespace(array: object) -> ModuleType:
    """Return the module whose functions work on an array: ``numpy`` or ``jax.numpy``.

    Example:
        >>> array_namespace(np.zeros(3)) is np
        True
    """
    if isinstance(array, np.ndarray | np.generic):  # before NumPy 2, arrays do not tell
        return np
    namespace: ModuleType = array.__array_namespace__()  # type: ignore[attr-defined]
    return namespace


def pay(
    reward: NDArray[np.floating[Any]],
    function: NDArray[np.integer[Any]] | None,
    extra: NDArray[np.floating[Any]],
) -> NDArray[np.floating[Any]]:
    """Compute rewards: the table's, plus a reward function's, plus the ground reward.

    The arrays may be NumPy's or JAX's: the result is of the same kind.

    Args:
        reward: The constant rewards of the machine's table: [...].
        function: The number of the reward function that pays besides, or -1 for none: [...]. None
            if there are no reward functions at all.
        extra: What the world adds in this transition: first the ground reward (0 if it is not
            added), then the value of each reward function. Its leading axes broadcast against the
            others: [..., 1 + F].

    Returns:
        The rewards: [...].

    Example:
        >>> table, function = np.array([1.0, 0.0]), np.array([-1, 0])
        >>> pay(table, function, np.array([[0.5, 7.0]]))  # ground reward 0.5, function pays 7
        array([1.5, 7.5])
    """
    total: NDArray[np.floating[Any]] = reward + extra[..., 0]
    if function is None or extra.shape[-1] == 1:
        return total
    xp = array_namespace(reward)
    values = xp.broadcast_to(extra, (*function.shape, extra.shape[-1]))
    column = xp.maximum(function, 0)[..., None] + 1
    paid = xp.take_along_axis(values, column, axis=-1)[..., 0]
    more: NDArray[np.floating[Any]] = total + xp.where(function >= 0, paid, 0.0)
    return more
