"""Relabel transitions: what would have happened in other configurations of the machine.

This is the paper's counterfactual experience, as one rule. The compiled kernels of the tabular
learners write it out for speed; a property test holds them to this definition.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cranium.tables.pay import array_namespace, pay

__all__ = ["MachineTables", "Relabelled", "relabel"]


class MachineTables(Protocol):
    """The tables of a machine that relabelling reads: L labels, X configurations."""

    @property
    def next_configuration(self) -> NDArray[np.integer[Any]]:
        """The next configuration; negative where the machine refuses the label: [L, X]."""

    @property
    def reward(self) -> NDArray[np.floating[Any]]:
        """The constant part of the reward: [L, X]."""

    @property
    def reward_function(self) -> NDArray[np.integer[Any]]:
        """The number of the reward function that pays besides, -1 for none: [L, X]."""

    @property
    def terminal(self) -> NDArray[np.bool_ | np.integer[Any]]:
        """Whether the machine ends the episode in a configuration; any number but 0 does: [X]."""


class Relabelled(NamedTuple):
    """B transitions in K configurations each; [B] instead of [B, K] if sources are given so."""

    source: NDArray[np.integer[Any]]  # [B, K]; the configuration before
    target: NDArray[np.integer[Any]]  # [B, K]; and after; 0 where the weight is 0
    reward: NDArray[np.floating[Any]]  # [B, K]; 0 where the weight is 0
    terminated: NDArray[np.bool_]  # [B, K]; by the machine or by the environment
    weight: NDArray[np.floating[Any]]  # [B, K]; 0 where nothing can be learned, otherwise 1


def relabel(
    tables: MachineTables,
    source: NDArray[np.integer[Any]],
    label: NDArray[np.integer[Any]],
    ground_terminated: NDArray[np.bool_],
    extra: NDArray[np.floating[Any]],
) -> Relabelled:
    """Relabel real transitions with other configurations.

    A transition counts nothing in a configuration in which the machine refuses its label, or in
    which nobody knows what a reward function would have paid (NaN). Truncation plays no part here:
    a learner bootstraps through it, and never through termination.

    The arrays may be NumPy's or JAX's; the result is of the same kind.

    Args:
        tables: The tables of the machine, such as ``space.tables``.
        source: The configurations to relabel each transition with: [B, K], [1, K] if they are the
            same for all transitions, or [B] if there is one for each. The result has that shape.
        label: The label of each transition, as a row of the tables: [B].
        ground_terminated: Whether the environment itself terminated there: [B].
        extra: The ground reward (0 if it is not added), then the value of each reward function for
            (s, a, s′): [B, 1 + F].

    Example:
        >>> import cranium
        >>> from cranium.tables import ConfigurationSpace
        >>> machine = cranium.library.load("anbcn")
        >>> space = ConfigurationSpace(machine, ["A", "B", "C"], counter_limit=3).complete()
        >>> label, ended = np.array([space.label_index("C")]), np.array([False])
        >>> all_of_them = enumerate(space.configurations)
        >>> sources = np.array([[x for x, (state, _) in all_of_them if state == "matching"]])
        >>> found = relabel(space.tables, sources, label, ended, np.zeros((1, 1)))
        >>> for x, y, r in zip(found.source[0], found.target[0], found.reward[0]):
        ...     print(space.decode(x), "→", space.decode(y), "pays", r)
        ⟨matching, 1⟩ → ⟨done, 0⟩ pays 1.0
        ⟨matching, 2⟩ → ⟨matching, 1⟩ pays 0.0
        ⟨matching, 3⟩ → ⟨matching, 2⟩ pays 0.0
    """
    xp = array_namespace(source)
    if source.ndim > label.ndim:
        label, ground_terminated, extra = label[:, None], ground_terminated[:, None], extra[:, None]
    target = tables.next_configuration[label, source]
    function = tables.reward_function[label, source] if extra.shape[-1] > 1 else None
    reward = pay(tables.reward[label, source], function, extra)
    counts = (target >= 0) & ~xp.isnan(reward)
    target = xp.where(counts, target, 0)
    return Relabelled(
        source if source.shape == target.shape else xp.broadcast_to(source, target.shape),
        target,
        xp.where(counts, reward, 0.0),
        ground_terminated | (tables.terminal[target] != 0),
        counts.astype(reward.dtype),
    )
