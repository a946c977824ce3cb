"""Steps and runs of a machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cranium.automata.reward import Reward, RewardFunction, total
from cranium.automata.transition import Configuration, Transition
from cranium.errors import RewardError

__all__ = ["Experience", "Step", "Trace"]

Experience = tuple[object, object, object]
"""(s, a, s′): an observation, an action and the next observation."""


class Step(NamedTuple):
    """The effect of reading one label.

    ``fired`` holds the transition that read the label and the silent ones after it; it is empty
    when none was enabled and the machine's ``otherwise`` decided.

    Example:
        >>> import cranium
        >>> machine = cranium.library.load("anbcn")
        >>> step = machine.step(machine.start, "A")
        >>> print(step.configuration, step.reward, [t.number for t in step.fired])
        ⟨counting, 1⟩ 0.0 [1]
    """

    configuration: Configuration
    reward: Reward
    fired: tuple[Transition, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """A run of a machine on a word.

    Attributes:
        word: The labels of the word, as bitmasks.
        start: The configuration before the first label.
        steps: One :class:`Step` for each label that was read.
        ended: Whether the run ended in a terminal state.
        succeeded: Whether that state is an accepting one.
        experiences: The (s, a, s′) that came with the labels, for reward functions.

    Example:
        >>> import cranium
        >>> trace = cranium.library.load("anbcn").run("A B C")
        >>> trace.accepted, trace.total_reward, trace.unread
        (True, 1.0, 0)
        >>> print(*trace.configurations)
        ⟨counting, 0⟩ ⟨counting, 1⟩ ⟨matching, 1⟩ ⟨done, 0⟩
    """

    word: tuple[int, ...]
    start: Configuration
    steps: tuple[Step, ...]
    ended: bool
    succeeded: bool
    experiences: tuple[Experience, ...] | None = None

    @property
    def unread(self) -> int:
        """The number of labels that were left when a terminal state was reached.

        Example:
            >>> import cranium
            >>> cranium.library.load("anbcn").run("B A A").unread
            2
        """
        return len(self.word) - len(self.steps)

    @property
    def accepted(self) -> bool:
        """Whether the whole word was read and ended in an accepting state.

        Example:
            >>> import cranium
            >>> [cranium.library.load("anbcn").run(word).accepted for word in ("A B C", "A B C C")]
            [True, False]
        """
        return self.succeeded and not self.unread

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """The start and the configuration after each label that was read.

        Example:
            >>> import cranium
            >>> print(*cranium.library.load("anbcn").run("A A").configurations)
            ⟨counting, 0⟩ ⟨counting, 1⟩ ⟨counting, 2⟩
        """
        return (self.start, *(step.configuration for step in self.steps))

    @property
    def rewards(self) -> tuple[float, ...]:
        """The reward of each step; reward functions need the run's ``experiences``.

        Example:
            >>> import cranium
            >>> cranium.library.load("anbcn").run("A B C").rewards
            (0.0, 0.0, 1.0)
        """
        return tuple(self._value(index, step.reward) for index, step in enumerate(self.steps))

    @property
    def total_reward(self) -> float:
        """The sum of the rewards.

        Example:
            >>> import cranium
            >>> cranium.library.load("anbcn").run("A B C").total_reward
            1.0
        """
        return total(self.rewards)

    def _value(self, index: int, reward: Reward) -> float:
        if not isinstance(reward, RewardFunction):
            return reward
        if self.experiences is None:
            raise RewardError(
                f"step {index + 1} pays by the reward function {reward.name!r}, "
                "which needs to know what happened",
                fix="give run(word, experiences=[(s, a, s'), ...])",
            )
        return reward(*self.experiences[index])
