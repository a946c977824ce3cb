"""Automated reward shaping: potentials that are worked out on the machine alone.

The value of a configuration, if every label could be read at will, says how near the task is to its
end. Added as a potential (r + γΦ(x′) − Φ(x)) it guides the learner and leaves the optimal policy as
it is. The same value is the most that a learner may hope for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import RewardFunction
from cranium.automata.successors import Successors
from cranium.automata.transition import Configuration
from cranium.tables.configurations import apply_limit, is_overflow, reachable_configurations

__all__ = ["machine_values"]

MOST = 300
"""About how many configurations of each machine state are looked at."""
Floats = NDArray[np.float64]


def machine_values(
    automaton: CountingRewardAutomaton,
    configurations: Sequence[Configuration],
    *,
    discount: float,
    counter_limit: int | None = None,
    bonus: float = 0.0,
    tolerance: float = 1e-12,
) -> Floats:
    """V(x): value iteration on the machine, where the best label is always read.

    Terminal configurations have the value 0, as they must for the policy to stay optimal. Counters
    are followed up to a limit (the one that is given, or 300, 17, 6 for one, two, three counters,
    if that is less, but no less than the machine begins with); a configuration beyond it has the
    value of the one at the limit.

    Args:
        automaton: The machine.
        configurations: Whose values are wanted.
        discount: With which discount.
        counter_limit: The limit of the counters.
        bonus: What every step may pay besides the constant rewards.
        tolerance: How exactly.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("anbcn")
        >>> machine_values(machine, [machine.start, Configuration("counting", (1,))], discount=0.9)
        array([0.81, 0.9 ])
    """
    limit = int(MOST ** (1 / max(automaton.num_counters, 1)) + 1e-9)
    limit = limit if counter_limit is None else min(limit, counter_limit)
    limit = max(limit, *automaton.start.counters, 0)
    value, best = _all_values(automaton, limit, discount, bonus, tolerance)

    def look(configuration: Configuration) -> float:
        if is_overflow(configuration) or automaton.is_terminal(configuration):
            return 0.0
        at = Configuration(
            configuration.state, tuple(min(count, limit) for count in configuration.counters)
        )
        return value[at] if at in value else best.get(configuration.state, 0.0)

    return np.array([look(configuration) for configuration in configurations])


@lru_cache(maxsize=32)
def _all_values(
    automaton: CountingRewardAutomaton, limit: int, discount: float, bonus: float, tolerance: float
) -> tuple[dict[Configuration, float], dict[str, float]]:
    """The values of all configurations, and the best value of each machine state."""
    known = reachable_configurations(automaton, limit)
    numbers = {configuration: number for number, configuration in enumerate(known)}
    edges: list[tuple[int, int, float]] = []
    successors = Successors(automaton)
    for number, configuration in enumerate(known):
        if is_overflow(configuration) or automaton.is_terminal(configuration):
            continue
        for successor in successors.of(configuration):
            if successor.step is not None:
                after = numbers[apply_limit(successor.step.configuration, limit)]
                edges.append((number, after, _constant(successor.step.reward) + bonus))
    value = _iterate(len(known), edges, discount, tolerance)
    best: dict[str, float] = {}
    for configuration, found in zip(known, value, strict=True):
        best[configuration.state] = max(best.get(configuration.state, -np.inf), float(found))
    return dict(zip(known, value.tolist(), strict=True)), best


def _constant(reward: Any) -> float:
    return 0.0 if isinstance(reward, RewardFunction) else float(reward)


def _iterate(
    size: int, edges: list[tuple[int, int, float]], discount: float, tolerance: float
) -> Floats:
    value = np.zeros(size)
    if not edges:
        return value
    sources, targets, rewards = (np.array(column) for column in zip(*edges, strict=True))
    # The edges of a configuration stand together, in the order of the configurations.
    first = np.flatnonzero(np.diff(sources, prepend=-1))
    alive = sources[first]
    while True:
        gained = np.maximum.reduceat(rewards + discount * value[targets], first)
        change = np.abs(gained - value[alive]).max()
        value[alive] = gained
        if change <= tolerance:
            return value
