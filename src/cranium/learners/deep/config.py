"""The settings of deep learners."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from cranium.aamdp.features import CELLS, Cells
from cranium.arguments import check_choice, check_count, check_number, check_switch
from cranium.counterfactual.sets import AnyConfigurationSet, configuration_set
from cranium.errors import InvalidArgumentError, shorten
from cranium.learners.config import LearnerConfig
from cranium.learners.deep.protocols import Network, Optimiser
from cranium.learners.exploration import Exploration, exploration_rule
from cranium.learners.schedules import Schedule

__all__ = ["ActorConfig", "DeepConfig", "NetworkConfig"]

EXPLORATION = Schedule(1.0, 0.1, over=10_000)
Counters = Literal["raw", "log", "bits"]


@dataclass(frozen=True)
class NetworkConfig(LearnerConfig):
    """The settings of all learners with networks.

    Attributes:
        configurations: The configurations for which a transition from the replay buffer is
            relabelled: only the ``"current"`` one, those whose counter values were ``"seen"`` when
            the learner chose an action, or all that are ``"reachable"``; or a set of configurations
            of your own (:class:`cranium.counterfactual.ConfigurationSet`).
        num_counterfactuals: The number of configurations for each transition, the real one
            included. The default is all of them if there are at most 16, and otherwise 8, drawn
            anew each time. A set that is an object says this itself (``sample``).
        hidden: The number of units in each hidden layer.
        learning_rate: The learning rate of Adam.
        optimiser: An optimiser of your own instead of Adam, with its own learning rate: any
            ``optax.GradientTransformation``.
        batch: The number of real transitions in a batch; each is relabelled with every chosen
            configuration.
        replay: The capacity of the replay buffer, in transitions.
        warmup: The number of samples before the first update.
        train_every: The number of samples between two updates.
        counters: How counters are encoded: see :class:`~cranium.aamdp.BoxEncoding`.
        clip: The largest value that ``"bits"`` distinguishes. A machine only tests whether counters
            are zero, and a network generalises to values that it cannot distinguish from others.
        cells: How integers of the ground observation are encoded, such as the cells of a grid:
            each ``"one-hot"``, all of them ``"joint"``, or ``"scaled"``.
        shaping: Whether to add potential-based shaping, computed on the machine alone: Φ = V.
        shaping_discount: The discount with which the potentials are computed.

    Example:
        >>> NetworkConfig(hidden=(64, 64)).learning_rate
        0.0001
        >>> NetworkConfig(batch=0)
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: batch is a whole number of at least 1, not 0
    """

    configurations: AnyConfigurationSet = "reachable"
    num_counterfactuals: int | None = None
    hidden: tuple[int, ...] = (128, 128)
    learning_rate: float = 1e-4
    optimiser: Optimiser[Any, Any] | None = field(default=None, kw_only=True)
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
        configuration_set(self.configurations)
        check_choice("counters are", self.counters, ("raw", "log", "bits"))
        check_choice("cells are", self.cells, CELLS)
        for name in ("batch", "replay", "train_every", "clip"):
            check_between(name, getattr(self, name))
        check_between("warmup", self.warmup, least=0)
        if self.num_counterfactuals is not None:
            check_count("num_counterfactuals", self.num_counterfactuals)
            if not isinstance(self.configurations, str):
                raise InvalidArgumentError(
                    "a set of configurations says itself how many of them are drawn",
                    fix="give the set a `sample`, and leave num_counterfactuals out",
                )
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
        if not (self.optimiser is None or isinstance(self.optimiser, Optimiser)):
            raise InvalidArgumentError(
                f"optimiser is an object with `init` and `update`, not {shorten(self.optimiser)}",
                fix="give an optax.GradientTransformation, such as optax.adamw(1e-3)",
            )

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values; of a network or an optimiser, the type."""
        objects = {
            name: type(getattr(self, name)).__name__
            for name in ("network", "optimiser")
            if getattr(self, name, None) is not None
        }
        absent: dict[str, Any] = dict.fromkeys(objects)
        found = LearnerConfig.as_dict(replace(self, **absent))
        return {k: v for k, v in found.items() if k not in ("network", "optimiser")} | objects


MOST = {"replay": 10_000_000, "warmup": 10**9, "target_every": 10**9}
"""The limits of settings that may be greater than 100,000."""


def check_between(name: str, value: object, least: int = 1) -> None:
    """Accept an integer between the limits."""
    check_count(name, value, least=least, most=MOST.get(name, 100_000))


def check_custom_network(network: object) -> None:
    """Accept an object that follows :class:`~cranium.learners.Network`."""
    if not isinstance(network, Network) or isinstance(network, type):
        raise InvalidArgumentError(
            f"network is an object with `init` and `apply`, not {shorten(network)}",
            fix="give a flax.linen module, or a named tuple of two functions",
        )


@dataclass(frozen=True)
class DeepConfig(NetworkConfig):
    """The settings of DQN and counterfactual DQN, for discrete actions.

    The discount is lower than that of tables: with 0.99 the values of the actions of a state differ
    by less than the error of the network.

    Attributes:
        target_every: The number of samples between two updates of the target network.
        exploration: ε of ε-greedy: a number or a schedule; or a rule, such as ``Boltzmann(0.1)``
            (:class:`cranium.learners.Exploration`).
        double: Whether the online network chooses the next action (double DQN).
        heads: Whether the network has an output head for each configuration. Otherwise the
            configuration is an input.
        network: A network of your own instead of the multilayer perceptron
            (:class:`cranium.learners.Network`); ``hidden`` is not used then.
        huber: The error at which the Huber loss becomes linear. In a stochastic world where returns
            differ by much more than that, values come closer to the median than to the mean: then
            choose it larger than the rewards of the task, or scale the rewards down.

    Example:
        >>> DeepConfig(heads=True).discount
        0.95
    """

    discount: float = 0.95
    learning_rate: float = 2.5e-4
    target_every: int = 1_000
    exploration: float | Schedule | Exploration = EXPLORATION
    double: bool = False
    heads: bool = False
    huber: float = 1.0
    network: Network[Any] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("target_every", self.target_every)
        if not 1e-6 <= check_number("huber", self.huber) <= 1e6:
            raise InvalidArgumentError(f"huber is from 1e-6 to 1e6, not {self.huber}")
        exploration_rule(self.exploration)
        for name in ("double", "heads"):
            check_switch(name, getattr(self, name))
        if self.network is None:
            return
        check_custom_network(self.network)
        if self.heads:
            raise InvalidArgumentError(
                "a network of your own has no head for each configuration",
                fix="leave heads out",
            )


@dataclass(frozen=True)
class ActorConfig(NetworkConfig):
    """The settings of TD3 and counterfactual TD3, for continuous actions.

    Internally, actions range from -1 to 1, whatever the bounds of the environment.

    Attributes:
        noise: The standard deviation of the exploration noise.
        target_noise: The standard deviation of the noise on the next action (target smoothing).
        noise_clip: The bound of that noise.
        delay: The number of updates of the critics for one of the actor.
        polyak: The step of the target networks towards the networks in each update.
        restraint: The weight of a penalty on the squares of the actor's outputs before tanh.
            Without it, the actor follows the errors of critics that have met no reward yet to
            where tanh is flat, and stays there. Rewards much larger than 1 need a larger weight.

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
