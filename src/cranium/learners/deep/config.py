"""What learners with networks are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cranium.aamdp.features import CELLS, Cells
from cranium.arguments import check_choice, check_count, check_number, check_switch
from cranium.errors import InvalidArgumentError, shorten
from cranium.learners.config import Configurations, LearnerConfig
from cranium.learners.schedules import Schedule, check_rate

__all__ = ["ActorConfig", "DeepConfig", "NetworkConfig"]

EXPLORATION = Schedule(1.0, 0.1, over=10_000)
Counters = Literal["raw", "log", "bits"]


@dataclass(frozen=True)
class NetworkConfig(LearnerConfig):
    """The settings of all learners with networks.

    Attributes:
        configurations: The configurations for which a transition from the replay buffer is
            relabelled: only the ``"current"`` one, those whose counter values were ``"seen"`` when
            the learner chose an action, or all that are ``"reachable"``.
        num_counterfactuals: The number of configurations for each transition, the real one
            included. The default is all of them if there are at most 16, and otherwise 8, drawn
            anew each time.
        hidden: The units of the hidden layers.
        learning_rate: Of Adam.
        batch: How many experiences are drawn for each update; with what is imagined, that many
            times more are learned from.
        replay: How many experiences are kept.
        warmup: How many samples are taken before the first update.
        train_every: How many samples are taken for each update.
        counters: How counters are shown to the network: see :class:`~cranium.aamdp.BoxEncoding`.
        clip: The greatest value that ``"bits"`` tells apart. A machine asks only whether a counter
            is zero, and what looks alike is learned together, for values never met, too.
        cells: How whole numbers of the ground observation are shown, such as the cells of a grid:
            each ``"one-hot"``, all of them ``"joint"``, or ``"scaled"``.
        shaping: Whether potentials are added that are worked out on the machine alone: Φ = V.
        shaping_discount: The discount with which they are worked out.

    Example:
        >>> NetworkConfig(hidden=(64, 64)).learning_rate
        0.0001
        >>> NetworkConfig(batch=0)
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: batch is a whole number of at least 1, not 0
    """

    configurations: Configurations = "reachable"
    num_counterfactuals: int | None = None
    hidden: tuple[int, ...] = (128, 128)
    learning_rate: float = 1e-4
    batch: int = 32
    replay: int = 50_000
    warmup: int = 100
    train_every: int = 1
    counters: Counters = "bits"
    clip: int = 2
    cells: Cells = "one-hot"
    shaping: bool = False
    shaping_discount: float = 0.9

    _shares: ClassVar[tuple[str, ...]] = ("discount", "shaping_discount")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("configurations are", self.configurations, ("current", "seen", "reachable"))
        check_choice("counters are", self.counters, ("raw", "log", "bits"))
        check_choice("cells are", self.cells, CELLS)
        for name in ("batch", "replay", "train_every", "clip"):
            check_between(name, getattr(self, name))
        check_between("warmup", self.warmup, least=0)
        if self.num_counterfactuals is not None:
            check_count("num_counterfactuals", self.num_counterfactuals)
        if not isinstance(self.hidden, tuple | list) or not self.hidden:
            raise InvalidArgumentError(
                f"hidden are the units of the layers, as in (128, 128), not {shorten(self.hidden)}"
            )
        object.__setattr__(self, "hidden", tuple(self.hidden))
        for units in self.hidden:
            check_between("the units of a hidden layer", units)
        if not 1e-30 <= check_number("learning_rate", self.learning_rate) <= 1:
            raise InvalidArgumentError(  # less is nothing, in single precision
                f"learning_rate is from 1e-30 to 1, not {self.learning_rate}"
            )
        if self.shaping_discount == 1:
            raise InvalidArgumentError("shaping_discount is below 1, not 1")
        check_switch("shaping", self.shaping)


MOST = {"replay": 10_000_000, "warmup": 10**9, "target_every": 10**9}
"""Settings that may be greater than 100,000."""


def check_between(name: str, value: object, least: int = 1) -> None:
    """Accept a whole number that is large enough, and small enough for tables."""
    check_count(name, value, least=least, most=MOST.get(name, 100_000))


@dataclass(frozen=True)
class DeepConfig(NetworkConfig):
    """The settings of networks that value actions: DQN, and what imagines configurations with it.

    The discount is lower than that of tables: with 0.99 the actions of a state differ by less than
    a network errs.

    Attributes:
        target_every: How many samples the target network stays as it is.
        exploration: ε of ε-greedy.
        double: Whether the next action is chosen by the network that learns (double DQN).
        heads: Whether one pass gives the values of all configurations, each with a head of its
            own; else the configuration is an input.
        huber: Up to which error an update grows with it (the Huber loss). In a world of chance,
            where returns differ by much more than that, values come nearer to the median than to
            the mean: then choose it greater than what a task pays, or pay in smaller units.

    Example:
        >>> DeepConfig(heads=True).discount
        0.95
    """

    discount: float = 0.95
    learning_rate: float = 2.5e-4
    target_every: int = 1_000
    exploration: float | Schedule = EXPLORATION
    double: bool = False
    heads: bool = False
    huber: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("target_every", self.target_every)
        if not 1e-6 <= check_number("huber", self.huber) <= 1e6:
            raise InvalidArgumentError(f"huber is from 1e-6 to 1e6, not {self.huber}")
        check_rate("exploration", self.exploration)
        for name in ("double", "heads"):
            check_switch(name, getattr(self, name))


@dataclass(frozen=True)
class ActorConfig(NetworkConfig):
    """The settings of TD3, for continuous actions: one network acts, two value what it does.

    Actions are from -1 to 1 inside, whatever the environment calls them.

    Attributes:
        noise: The deviation of what is added to actions, to explore.
        target_noise: The deviation of what is added to the next action when it is valued.
        noise_clip: How much of that at most.
        delay: How many updates of the values there are for one of the actor.
        polyak: How far the target networks follow in each update.
        restraint: What the actor pays for the squares of its outputs before tanh. Without it, it
            follows the errors of values that know no reward yet to where tanh is flat, and stays
            there. Rewards that are much greater than 1 need more of it.

    Example:
        >>> ActorConfig(noise=0.2).delay
        2
    """

    learning_rate: float = 1e-3
    batch: int = 64
    warmup: int = 2_000
    noise: float = 0.1
    target_noise: float = 0.2
    noise_clip: float = 0.5
    delay: int = 2
    polyak: float = 0.01
    restraint: float = 3e-3

    _shares = ("discount", "shaping_discount", "polyak")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("delay", self.delay)
        check_between("delay × train_every", self.delay * self.train_every)
        for name in ("noise", "target_noise", "noise_clip", "restraint"):
            if check_number(name, getattr(self, name)) < 0:
                raise InvalidArgumentError(f"{name} is 0 or more, not {getattr(self, name)}")
