"""Learners by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from cranium.errors import InvalidArgumentError, UnknownNameError, shorten
from cranium.learners.config import LearnerConfig, OptionsConfig, PlannerConfig, TabularConfig
from cranium.learners.deep.config import ActorConfig, DeepConfig

__all__ = ["LEARNERS", "choose_config"]

LEARNERS: Mapping[str, LearnerConfig] = {
    "ql": TabularConfig(configurations="current"),
    "cql": TabularConfig(configurations="reachable"),
    "crm": TabularConfig(configurations="reachable"),
    "hrm": OptionsConfig(),
    "planner": PlannerConfig(),
    "dqn": DeepConfig(configurations="current"),
    "cdqn": DeepConfig(),
    "dcrm": DeepConfig(),
    "td3": ActorConfig(configurations="current"),
    "ctd3": ActorConfig(),
}
"""Learners by their ids, and their defaults: Q-learning on the product, CQL, CQL on a reward
machine, options on a reward machine, model-based. With networks: DQN on the product, counterfactual
DQN, the same on a reward machine; for continuous actions TD3 on the product, counterfactual TD3."""
REAL_ONLY = {"ql": "cql", "dqn": "cdqn", "td3": "ctd3"}
"""Those that imagine nothing, and what does."""


def choose_config(
    learner: str, config: LearnerConfig | None, settings: Mapping[str, Any]
) -> LearnerConfig:
    """The config of a learner: its defaults or one that is given, with some settings changed.

    Example:
        >>> choose_config("cql", None, {"shaping": True}).first_value
        0.0
        >>> choose_config("planner", None, {"epsilon": 1})
        Traceback (most recent call last):
        cranium.errors.UnknownNameError: no such setting of planner: 'epsilon'
          fix: known: discount, generalise, patience, trials, tolerance, highest_reward
    """
    if not isinstance(learner, str) or learner not in LEARNERS:
        raise UnknownNameError.of("learner", learner, LEARNERS)
    default = LEARNERS[learner]
    if config is not None and type(config) is not type(default):
        raise InvalidArgumentError(
            f"the config of {learner} is a {type(default).__name__}, not {shorten(config)}"
        )
    chosen = config or default
    names = [field.name for field in fields(chosen)]
    for name in settings:
        if name not in names:
            raise UnknownNameError.of(f"setting of {learner}", name, names)
    if learner in REAL_ONLY:
        more = settings.get("num_counterfactuals")
        if settings.get("configurations", "current") != "current" or more:
            raise InvalidArgumentError(
                f"{learner} learns from what really happens and imagines no configurations",
                fix=f"use {REAL_ONLY[learner]}",
            )
        settings = {**settings, "configurations": "current"}
    return replace(chosen, **settings)
