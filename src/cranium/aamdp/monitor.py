"""Follow a task step by step without an environment, in production."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from cranium.aamdp.labelling import check_labelling_function
from cranium.aamdp.task_step import TaskReader, TaskStep, end_of_step, evaluate_reward, task_info
from cranium.arguments import check_count
from cranium.automata.automaton import CountingRewardAutomaton
from cranium.automata.transition import Configuration
from cranium.errors import EpisodeEndedError, InvalidArgumentError, shorten
from cranium.tables.configurations import check_start, is_overflow
from cranium.worlds.protocols import LabellingFunction, Observation, as_events

__all__ = ["Monitor", "MonitorStatus"]


@dataclass(frozen=True)
class MonitorStatus:
    """The progress of a task after a step.

    Attributes:
        configuration: ⟨u, c⟩, the current configuration of the machine.
        label: The events of the last step that are propositions of the task.
        reward: The reward of the last step.
        total_reward: The sum of all rewards of the episode.
        steps: The number of steps of the episode.
        success: Whether the task is complete.
        terminal: Whether the machine is in a terminal state, or the environment ended the episode:
            what a product calls terminated.
        truncated: Whether the horizon is reached.
        ground_terminated: Whether the environment itself ended the episode.
        why: If the episode ended without success, a sentence that says why; else empty.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("anbcn")
        >>> status = Monitor(machine, lambda s, a, s2: s2).update(None, "look", "C")
        >>> status.state, status.failed
        ('failed', True)
        >>> print(status.why)
        the label {C}, read in ⟨counting, 0⟩, led to the terminal state 'failed'
    """

    configuration: Configuration
    label: frozenset[str] = frozenset()
    reward: float = 0.0
    total_reward: float = 0.0
    steps: int = 0
    success: bool = False
    terminal: bool = False
    truncated: bool = False
    ground_terminated: bool = False
    why: str = ""

    @property
    def state(self) -> str:
        """The machine state."""
        return self.configuration.state

    @property
    def counters(self) -> tuple[int, ...]:
        """The counters; an empty tuple if one of them passed the limit."""
        return () if self.overflow else self.configuration.counters

    @property
    def over(self) -> bool:
        """Whether the episode is over: it was terminated or truncated."""
        return self.terminal or self.truncated

    @property
    def failed(self) -> bool:
        """Whether the episode is over without success."""
        return self.over and not self.success

    @property
    def overflow(self) -> bool:
        """Whether the task has ended because a counter passed the limit."""
        return is_overflow(self.configuration)

    @property
    def info(self) -> Mapping[str, Any]:
        """The same keys as in the ``info`` of a product: an argument of :meth:`cranium.Policy.act`.

        Example:
            >>> import cranium
            >>> monitor = Monitor(cranium.library.load("anbcn"), lambda s, a, s2: s2)
            >>> monitor.update(None, "look", "A").info["counters"]
            (1,)
        """
        info = task_info(self.label, self.configuration, success=self.success)
        return MappingProxyType({**info, "ground_terminated": self.ground_terminated})


class Monitor:
    """Follow a task from a sequence of (s, a, s′), as the product does.

    It needs no environment, so it can run on a robot, in a service, or over a log. For the same
    steps it has the same configurations and rewards as :class:`cranium.AutomatonAugmentedMDP`. It
    does not add the environment's own reward.

    Args:
        machine: The task.
        labelling: L(s, a, s′): the function that names the events of a step.
        horizon: After how many steps an episode is truncated. By default there is no horizon.
        counter_limit: Γ. If a counter passes it, the episode ends without success. By default
            there is no limit.

    Attributes:
        machine: The task.
        horizon: After how many steps an episode is truncated, if it is.
        status: The current status.

    Example:
        >>> import cranium
        >>> machine = cranium.compile_language("fish^N sell^N")
        >>> monitor = Monitor(machine, cranium.labelling_from_cells({1: "fish", 2: "sell"}))
        >>> for before, action, after in [(0, "right", 1), (1, "stay", 1), (1, "right", 2)]:
        ...     status = monitor.update(before, action, after)
        >>> status.counters, status.reward, status.terminal
        ((1,), 0.0, False)
        >>> status = monitor.update(2, "stay", 2)
        >>> status.success, status.total_reward, status.steps
        (True, 1.0, 4)
    """

    def __init__(
        self,
        machine: CountingRewardAutomaton,
        labelling: LabellingFunction,
        *,
        horizon: int | None = None,
        counter_limit: int | None = None,
    ) -> None:
        if not isinstance(machine, CountingRewardAutomaton):
            raise InvalidArgumentError(
                f"a task is an automaton, not {shorten(machine)}",
                fix="cranium.compile_language(…) or cranium.load(…) makes one",
            )
        self.machine = machine
        self.horizon = None if horizon is None else check_count("the horizon", horizon)
        self._labelling = check_labelling_function(labelling)
        if counter_limit is not None:
            check_count("the counter limit", counter_limit, least=0)
            check_start(machine, counter_limit)
        self._reader = TaskReader(machine, labelling, counter_limit)
        self._refused = False
        self.status = MonitorStatus(machine.start)

    def reset(self) -> MonitorStatus:
        """Start an episode and return its first status.

        Example:
            >>> import cranium
            >>> monitor = Monitor(cranium.library.load("anbcn"), lambda s, a, s2: s2)
            >>> monitor.update(None, "look", "A").counters, monitor.reset().counters
            ((1,), (0,))
        """
        self._refused = False
        self.status = MonitorStatus(self.machine.start)
        return self.status

    def update(
        self,
        before: Observation,
        action: object,
        after: Observation,
        *,
        terminated: bool = False,
    ) -> MonitorStatus:
        """Read the events of one step and return the new status.

        Args:
            before: s, the observation before the step.
            action: a, the action.
            after: s′, the observation after the step.
            terminated: Whether the environment ended the episode with this step, such as a robot
                that has fallen. The events of the step are read all the same.

        Raises:
            EpisodeEndedError: The episode is over, or the last ``update`` raised an error.
            LabelError: The labelling returned an event that neither it nor the task declares.
            RunError: The machine has an error in this step, as it would have in a product.

        Example:
            >>> import cranium
            >>> monitor = Monitor(cranium.library.load("anbcn"), lambda s, a, s2: s2)
            >>> monitor.update(None, "look", "D")
            Traceback (most recent call last):
            cranium.errors.LabelError: no such event of this task: 'D'
              fix: known: A, B, C; or declare it: @cranium.labelling('D', …)
        """
        status = self.status
        if status.over or self._refused:
            raise EpisodeEndedError(
                "the last step could not be read, so the configuration is not known"
                if self._refused
                else f"the episode is over, in the state {status.state!r}",
                fix="call reset() before update()",
            )
        self._refused = True  # until it is read
        names = as_events(self._labelling(before, action, after))
        read = self._reader.read(status.configuration, names)
        reward = evaluate_reward(read.reward, before, action, after)
        self._refused = False
        steps = status.steps + 1
        ended, truncated = end_of_step(
            machine_ended=read.ends,
            terminated=terminated,
            truncated=False,
            at_horizon=steps == self.horizon,
        )
        self.status = MonitorStatus(
            configuration=read.configuration,
            label=read.label,
            reward=reward,
            total_reward=status.total_reward + reward,
            steps=steps,
            success=read.success,
            terminal=ended,
            truncated=truncated,
            ground_terminated=bool(terminated),
            why=""
            if read.success or not (ended or truncated)
            else self._why(read, terminated=terminated),
        )
        return self.status

    def _why(self, read: TaskStep, *, terminated: bool) -> str:
        """Say why the episode ended without success."""
        if not read.ends:
            ending = (
                "the environment ended the episode"
                if terminated
                else f"the horizon of {self.horizon:,} steps was reached"
            )
            return f"{ending} in {read.configuration}, before the task was complete"
        label = "{" + ", ".join(sorted(read.label)) + "}"
        how = f"the label {label}, read in {self.status.configuration},"
        if is_overflow(read.configuration):
            return f"{how} led to a counter above the counter limit {self._reader.counter_limit}"
        state = f"the terminal state {read.configuration.state!r}"
        if not read.fired:
            return f"{how} enables no transition, and otherwise leads to {state}"
        through = ", then ".join(f"from {t.source!r} to {t.target!r}" for t in read.fired)
        return f"{how} led to {state}" + (f": {through}" if len(read.fired) > 1 else "")
