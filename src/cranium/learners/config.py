"""The settings of learners: rates, exploration, discount, counterfactual configurations.

Configs are frozen: what a result was made with can be read off it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Literal

from cranium.arguments import check_count, check_number
from cranium.counterfactual.sets import AnyConfigurationSet, configuration_set
from cranium.errors import InvalidArgumentError, shorten
from cranium.learners.agent import Agent, AgentFactory
from cranium.learners.exploration import Exploration, Optimism, exploration_rule
from cranium.learners.schedules import Schedule, Visits, check_rate

__all__ = [
    "AgentConfig",
    "Configurations",
    "LearnerConfig",
    "OptionsConfig",
    "PlannerConfig",
    "TabularConfig",
]

Configurations = Literal["current", "seen", "reachable"]
Shaping = bool | Literal["published"]


@dataclass(frozen=True)
class LearnerConfig:
    """What all learners are told.

    Attributes:
        discount: γ.

    Example:
        >>> LearnerConfig().discount
        0.99
    """

    discount: float = 0.99

    _shares: ClassVar[tuple[str, ...]] = ("discount",)

    def __post_init__(self) -> None:
        for name in self._shares:
            check_number(name, getattr(self, name), 0, 1)

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, for files and records.

        Example:
            >>> LearnerConfig().as_dict()
            {'discount': 0.99}
        """
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}


def _plain(value: object) -> Any:
    """A setting as numbers, names, lists and dictionaries; an object of a user's as its text."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if value is None or isinstance(value, bool | int | float | str | tuple | list):
        return value
    return repr(value)


@dataclass(frozen=True)
class AgentConfig(LearnerConfig):
    """The settings of an agent that is not one of this package's.

    Attributes:
        agent: The agent, or the class or function that makes it.
        defaults: The settings that it knows, and their defaults.
        settings: Those that were given.

    Example:
        >>> AgentConfig(agent=print, settings={"learning_rate": 0.1}).as_dict()
        {'discount': 0.99, 'learning_rate': 0.1}
    """

    agent: Agent[Any, Any] | AgentFactory = field(kw_only=True)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, for files and records."""
        given = {**self.defaults, **self.settings}
        return {"discount": self.discount, **{name: _plain(given[name]) for name in given}}


@dataclass(frozen=True)
class TabularConfig(LearnerConfig):
    """The settings of Q-learning on the product, with or without counterfactual experience.

    Attributes:
        configurations: The configurations for which every transition is relabelled: only the
            ``"current"`` one (Q-learning, Algorithm 2), those whose counter values were ``"seen"``
            when the learner chose an action (CQL as in the paper, Algorithm 1), or all that are
            ``"reachable"``; or a set of configurations of your own
            (:class:`cranium.counterfactual.ConfigurationSet`).
        learning_rate: α: a number, a schedule, or 1 / visits.
        exploration: ε of ε-greedy: a number or a schedule; or a rule, such as ``Boltzmann(0.1)``
            (:class:`cranium.learners.Exploration`).
        initial_value: What every Q value is at first. Above what can be earned it makes the learner
            try everything. Left out it is 0.5, hopeful without being patient; with shaping it is 0,
            because a potential is the same as a hope of its size.
        shaping: Whether potentials are added that are worked out on the machine alone: Φ = V.
            ``"published"`` is the variant of the reward-machine literature, Φ = −V, for reward
            machines.
        shaping_discount: The discount with which they are worked out.

    Example:
        >>> TabularConfig(configurations="seen").discount
        0.99
        >>> TabularConfig(discount=2)
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: discount is a number from 0 to 1, not 2
    """

    configurations: AnyConfigurationSet = "reachable"
    learning_rate: float | Schedule | Visits = 0.5
    exploration: float | Schedule | Exploration = 0.05
    initial_value: float | None = None
    shaping: Shaping = False
    shaping_discount: float = 0.9

    _shares = ("discount", "shaping_discount")

    def __post_init__(self) -> None:
        super().__post_init__()
        exploration_rule(self.exploration)
        if not isinstance(self.learning_rate, Visits):
            check_rate("learning_rate", self.learning_rate)
        if self.initial_value is not None:
            check_number("initial_value", self.initial_value)
        if self.shaping_discount == 1:
            raise InvalidArgumentError("shaping_discount is below 1, not 1")
        configuration_set(self.configurations)
        if not isinstance(self.shaping, bool) and self.shaping != "published":
            raise InvalidArgumentError(
                f'shaping is True, False or "published", not {shorten(self.shaping)}'
            )

    @property
    def first_value(self) -> float:
        """The initial value, also if it was left out."""
        if self.initial_value is not None:
            return float(self.initial_value)
        if isinstance(self.exploration, Optimism):
            return float(self.exploration.initial_value)
        return 0.0 if self.shaping is True else 0.5


@dataclass(frozen=True)
class OptionsConfig(LearnerConfig):
    """The settings of hierarchical options (HRM): a policy over options, and one for each.

    Attributes:
        learning_rate: α, of both levels.
        exploration: ε of ε-greedy, of both levels.
        initial_value: What every value is at first.
        success_reward: What an option is paid for reaching its target, on its own level.
        failure_reward: What it is paid for leaving its machine state for another one.

    Example:
        >>> OptionsConfig(exploration=0.2).learning_rate
        0.5
    """

    learning_rate: float = 0.5
    exploration: float = 0.05
    initial_value: float = 0.5
    success_reward: float = 1.0
    failure_reward: float = 0.0

    _shares = ("discount", "learning_rate", "exploration")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("initial_value", "success_reward", "failure_reward"):
            check_number(name, getattr(self, name))


@dataclass(frozen=True)
class PlannerConfig(LearnerConfig):
    """The settings of the model-based learner.

    Attributes:
        generalise: Whether to guess, until contradicted, that actions do the same elsewhere, and
            that what only events change matters only for events (for observations that are whole
            numbers). Without it every action is tried everywhere, as R-max does.
        patience: How many steps longer than hoped for the known way may be before guesses are
            doubted, and everything untried is tried.
        trials: How often a pair is tried, once the world has turned out to be random, before what
            it led to is believed (the threshold of R-max). If the environment's own
            reward is added, it may be random although the next state is not: then every pair is
            tried so often.
        tolerance: How exactly values are worked out.
        highest_reward: What one step may pay at most, besides the constant rewards of the machine;
            needed with reward functions and with the reward of the environment.

    Example:
        >>> PlannerConfig(trials=50).discount
        0.99
    """

    generalise: bool = True
    patience: int = 100
    trials: int = 20
    tolerance: float = 1e-6
    highest_reward: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.discount == 1:
            raise InvalidArgumentError("the planner needs a discount below 1, not 1")
        if not isinstance(self.generalise, bool):
            raise InvalidArgumentError(f"generalise is true or false, not {self.generalise!r}")
        check_count("patience", self.patience)
        check_count("trials", self.trials)
        if check_number("tolerance", self.tolerance) <= 0:
            raise InvalidArgumentError(f"tolerance is above 0, not {self.tolerance}")
        if self.highest_reward is not None:
            check_number("highest_reward", self.highest_reward)
