"""One step of a task: the label, the next configuration, the reward and the end of an episode.

The product and the monitor both use this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.reward import Reward, RewardFunction
from cranium.automata.transition import Configuration, Transition
from cranium.errors import LabelError, UnknownNameError, WorldError
from cranium.tables.configurations import apply_limit, is_overflow
from cranium.worlds.protocols import LabellingFunction, Observation

__all__ = ["TaskReader", "TaskStep", "end_of_step", "evaluate_reward", "task_info"]


class TaskStep(NamedTuple):
    """The result of reading the events of one step.

    Attributes:
        label: The events that are propositions of the automaton.
        configuration: The next configuration.
        reward: A number, or a function of (s, a, s′).
        ends: Whether the episode ends.
        success: Whether it ends with success.
        fired: The transitions that fired; none if ``otherwise`` applied.
    """

    label: frozenset[str]
    configuration: Configuration
    reward: Reward
    ends: bool
    success: bool
    fired: tuple[Transition, ...]


class TaskReader:
    """Reads events with an automaton.

    Args:
        automaton: The task.
        labelling: The source of the events; if it declares its events, they are checked.
        counter_limit: Γ: a counter above it overflows; None for no limit.

    Example:
        >>> import cranium
        >>> reader = TaskReader(cranium.library.load("anbcn"), None, counter_limit=5)
        >>> reader.read(reader.automaton.start, frozenset({"A"})).configuration
        Configuration(state='counting', counters=(1,))
    """

    def __init__(
        self,
        automaton: CountingRewardAutomaton,
        labelling: LabellingFunction | None,
        counter_limit: int | None,
    ) -> None:
        self.automaton = automaton
        self.counter_limit = counter_limit
        self.declared = _vocabulary(automaton, getattr(labelling, "events", None))

    def read_label(self, names: frozenset[str]) -> tuple[int, frozenset[str]]:
        """Return the label of the events, as a bitmask and as names.

        Raises :class:`LabelError` if an event is not known.

        Example:
            >>> import cranium
            >>> TaskReader(cranium.library.load("anbcn"), None, 5).read_label(frozenset("B"))
            (2, frozenset({'B'}))
        """
        alphabet = self.automaton.alphabet
        known = names & frozenset(alphabet.propositions)
        strange = names - known - self.declared
        if strange:
            unknown = UnknownNameError.of("event of this task", min(strange), alphabet.propositions)
            raise LabelError(
                unknown.message,
                fix=f"{unknown.fix}; or declare it: @cranium.labelling({min(strange)!r}, …)",
            )
        return alphabet.label(known), known

    def read(self, configuration: Configuration, names: frozenset[str]) -> TaskStep:
        """Read the events of a step in a configuration.

        Example:
            >>> import cranium
            >>> reader = TaskReader(cranium.library.load("anbcn"), None, counter_limit=0)
            >>> is_overflow(reader.read(reader.automaton.start, frozenset({"A"})).configuration)
            True
        """
        bits, label = self.read_label(names)
        step = self.automaton.step(configuration, bits)
        after = apply_limit(step.configuration, self.counter_limit)
        reward = step.reward if isinstance(step.reward, RewardFunction) else float(step.reward)
        over = is_overflow(after)
        ends = over or self.automaton.is_terminal(after)
        success = not over and self.automaton.is_accepting(after)
        return TaskStep(label, after, reward, ends, success, step.fired)


def _vocabulary(
    automaton: CountingRewardAutomaton, declared: Iterable[str] | None
) -> frozenset[str]:
    """Return the declared events. Every proposition in a guard must be one of them."""
    if declared is None:
        return frozenset()
    used = {p for t in automaton.transitions for p in t.guard.propositions}
    for name in automaton.propositions:
        if name in used and name not in declared:
            unknown = UnknownNameError.of("event in this world", name, declared)
            raise WorldError(f"the task reads {name!r}, but {unknown.message}", fix=unknown.fix)
    return frozenset(declared)


def evaluate_reward(
    reward: Reward,
    before: Observation,
    action: object,
    after: Observation,
    ground_reward: float | None = None,
) -> float:
    """Return the reward of a step: the machine's for (s, a, s′), plus the ground reward if given.

    For arrays this is :func:`cranium.tables.pay.pay`.

    Example:
        >>> way = RewardFunction("way", lambda s, a, s2: s2 - s)
        >>> evaluate_reward(way, 3, "right", 5), evaluate_reward(1.0, 3, "right", 5, 0.5)
        (2.0, 1.5)
    """
    paid = float(reward(before, action, after) if isinstance(reward, RewardFunction) else reward)
    return paid if ground_reward is None else paid + ground_reward


def end_of_step(
    *, machine_ended: bool, terminated: bool, truncated: bool, at_horizon: bool
) -> tuple[bool, bool]:
    """Return whether a step of the product is terminated, and whether it is truncated.

    This is the rule of the product for how episodes end. Learners bootstrap on truncation, and
    never on termination.

    Args:
        machine_ended: Whether the machine is in a terminal state, or a counter has overflowed.
        terminated: Whether the ground environment terminated.
        truncated: Whether the ground environment truncated.
        at_horizon: Whether this is the last step of the horizon.

    Example:
        >>> end_of_step(machine_ended=True, terminated=False, truncated=False, at_horizon=True)
        (True, True)
    """
    return bool(machine_ended or terminated), bool(truncated or at_horizon)


def task_info(
    label: frozenset[str], configuration: Configuration, *, success: bool
) -> dict[str, Any]:
    """Return the part of ``info`` that is about the task.

    Example:
        >>> info = task_info(frozenset({"A"}), Configuration("counting", (1,)), success=False)
        >>> info["machine_state"], info["counters"]
        ('counting', (1,))
    """
    over = is_overflow(configuration)
    return {
        "label": label,
        "machine_state": configuration.state,
        "counters": () if over else configuration.counters,
        "success": success,
        "overflow": over,
        "ground_terminated": False,
    }
