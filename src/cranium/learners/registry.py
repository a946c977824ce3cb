"""Learners by their names: those of this package, and those that users and packages add."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from importlib.metadata import entry_points
from typing import Any

from cranium.errors import InvalidArgumentError, UnknownNameError, shorten
from cranium.learners.agent import Agent, AgentFactory
from cranium.learners.config import (
    AgentConfig,
    LearnerConfig,
    OptionsConfig,
    PlannerConfig,
    TabularConfig,
)
from cranium.learners.deep.config import ActorConfig, DeepConfig

__all__ = ["LEARNERS", "Learner", "choose_config", "register"]

GROUP = "cranium.learners"
"""The entry-point group of packages that bring learners."""
REAL_ONLY = {"ql": "cql", "dqn": "cdqn", "td3": "ctd3"}
"""Learners without counterfactual experience, and their counterparts with it."""


@dataclass(frozen=True)
class Learner:
    """A registered learner.

    Attributes:
        name: Its name, as in ``cranium.train(env, name)`` and ``cranium train --learner NAME``.
        summary: What it is, in a sentence.
        config: Its default settings.

    Example:
        >>> LEARNERS["cql"].summary
        'Counterfactual Q-learning, the method of the paper.'
        >>> LEARNERS["cql"].settings["exploration"]
        0.05
    """

    name: str
    summary: str
    config: LearnerConfig

    @property
    def settings(self) -> dict[str, Any]:
        """The names of the settings, and their default values."""
        if isinstance(self.config, AgentConfig):
            return dict(self.config.defaults)
        return {each.name: getattr(self.config, each.name) for each in fields(self.config)}


class _Registry(Mapping[str, Learner]):
    """All learners by name; those of installed packages are looked for when they are needed."""

    def __init__(self, *learners: Learner) -> None:
        self._known = {learner.name: learner for learner in learners}
        self._searched = False

    def add(self, learner: Learner) -> None:
        if learner.name in self._known:
            raise InvalidArgumentError(
                f"there is a learner called {learner.name!r} already", fix="choose another name"
            )
        self._known[learner.name] = learner

    def _search(self) -> None:
        """Register what installed packages offer as entry points."""
        if self._searched:
            return
        self._searched = True
        for point in entry_points(group=GROUP):
            try:
                agent = point.load()
                if not self._is_registered(point.name, agent):  # the module may have done so
                    register(point.name, agent)
            except Exception as problem:  # a package of somebody else's must not stop ours
                told = f"the learner {point.name!r} ({point.value}) cannot be used: {problem}"
                warnings.warn(told, stacklevel=2)

    def _is_registered(self, name: str, agent: AgentFactory) -> bool:
        config = self._known[name].config if name in self._known else None
        return isinstance(config, AgentConfig) and config.agent is agent

    def __getitem__(self, name: str) -> Learner:
        if name not in self._known:
            self._search()
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        if name not in self._known:
            self._search()
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        self._search()
        return iter(list(self._known))

    def __len__(self) -> int:
        self._search()
        return len(self._known)


_REGISTRY = _Registry(
    Learner(
        "ql",
        "Q-learning on the product, without counterfactual experience.",
        TabularConfig(configurations="current"),
    ),
    Learner("cql", "Counterfactual Q-learning, the method of the paper.", TabularConfig()),
    Learner("crm", "Counterfactual Q-learning on a reward machine (CRM).", TabularConfig()),
    Learner("hrm", "Hierarchical options on a reward machine (HRM).", OptionsConfig()),
    Learner(
        "planner",
        "Model-based: learns the environment and plans with the machine.",
        PlannerConfig(),
    ),
    Learner(
        "dqn",
        "DQN on the product, without counterfactual experience.",
        DeepConfig(configurations="current"),
    ),
    Learner("cdqn", "Counterfactual DQN, for large or continuous observations.", DeepConfig()),
    Learner("dcrm", "Counterfactual DQN on a reward machine.", DeepConfig()),
    Learner(
        "td3",
        "TD3 on the product, for continuous actions.",
        ActorConfig(configurations="current"),
    ),
    Learner("ctd3", "Counterfactual TD3, for continuous actions.", ActorConfig()),
)
LEARNERS: Mapping[str, Learner] = _REGISTRY
"""All learners by name, with their default settings: ours, registered ones, installed ones."""


def register(name: str, agent: AgentFactory, *, summary: str | None = None) -> None:
    """Register a learner, so that it can be called by its name everywhere.

    A package does the same without a call, by an entry point in the group ``cranium.learners``.

    Args:
        name: The name, as in ``cranium.train(env, name)`` and ``cranium train --learner NAME``.
        agent: The class of the agents, or a function that makes one. It is called with a
            :class:`~cranium.learners.Problem` and its settings, as keyword arguments.
        summary: What it is, in a sentence. Left out, the first line of its docstring.

    Example:
        >>> register("cql", object)
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: there is a learner called 'cql' already
          fix: choose another name
    """
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        raise InvalidArgumentError(f"the name of a learner is a word, not {shorten(name)}")
    if summary is None:
        summary = (inspect.getdoc(agent) or "").partition("\n")[0]
    _REGISTRY.add(Learner(name, summary, agent_config(agent)))


def agent_config(agent: Agent[Any, Any] | AgentFactory) -> AgentConfig:
    """Return the config of an agent, or of its class, with the defaults of its constructor.

    Example:
        >>> class Lazy:
        ...     def __init__(self, problem, *, discount=0.9): ...
        >>> agent_config(Lazy).defaults
        {'discount': 0.9}
    """
    if isinstance(agent, Agent) and not isinstance(agent, type):
        return AgentConfig(discount=float(getattr(agent, "discount", 0.99)), agent=agent)
    if not callable(agent):
        raise UnknownNameError.of("learner", agent, LEARNERS)
    defaults: dict[str, Any] = {}
    for each in list(inspect.signature(agent).parameters.values())[1:]:
        if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD):
            defaults[each.name] = None if each.default is each.empty else each.default
    discount = defaults.get("discount", 0.99)
    return AgentConfig(
        discount=discount if isinstance(discount, int | float) else 0.99,
        agent=agent,
        defaults=defaults,
    )


def choose_config(
    learner: str | Agent[Any, Any] | AgentFactory,
    config: LearnerConfig | None,
    settings: Mapping[str, Any],
) -> LearnerConfig:
    """Return the config of a learner: its defaults or the given one, with some settings changed.

    Example:
        >>> choose_config("cql", None, {"shaping": True}).first_value
        0.0
        >>> choose_config("planner", None, {"epsilon": 1})
        Traceback (most recent call last):
        cranium.errors.UnknownNameError: no such setting of planner: 'epsilon'
          fix: known: discount, generalise, patience, trials, tolerance, highest_reward
    """
    if isinstance(learner, str):
        if learner not in LEARNERS:
            raise UnknownNameError.of("learner", learner, LEARNERS)
        default = LEARNERS[learner].config
    else:
        default = agent_config(learner)
    name = learner_name(learner)
    if config is not None and type(config) is not type(default):
        raise InvalidArgumentError(
            f"the config of {name} is a {type(default).__name__}, not {shorten(config)}"
        )
    chosen = config or default
    if isinstance(chosen, AgentConfig):
        return _agent_settings(name, chosen, settings)
    names = [field.name for field in fields(chosen)]
    for setting in settings:
        if setting not in names:
            raise UnknownNameError.of(f"setting of {name}", setting, names)
    if name in REAL_ONLY:
        more = settings.get("num_counterfactuals")
        if settings.get("configurations", "current") != "current" or more:
            raise InvalidArgumentError(
                f"{name} learns from real transitions only, without counterfactual configurations",
                fix=f"use {REAL_ONLY[name]}",
            )
        settings = {**settings, "configurations": "current"}
    return replace(chosen, **settings)


def _agent_settings(name: str, config: AgentConfig, settings: Mapping[str, Any]) -> AgentConfig:
    for setting in settings:
        if setting not in config.defaults:
            raise UnknownNameError.of(f"setting of {name}", setting, config.defaults)
    discount = settings.get("discount", config.discount)
    return replace(config, discount=discount, settings={**config.settings, **settings})


def learner_name(learner: str | Agent[Any, Any] | AgentFactory) -> str:
    """Return the name of a learner, or of the class of an agent.

    Example:
        >>> learner_name("cql"), learner_name(dict)
        ('cql', 'dict')
    """
    if isinstance(learner, str):
        return learner
    return str(getattr(learner, "__name__", type(learner).__name__))
