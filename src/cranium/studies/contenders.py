"""The learners of a study: what the user gives, and what it is hashed as."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import FunctionType
from typing import Any

from cranium.errors import CraniumError, InvalidArgumentError, shorten
from cranium.experiments.study_trial import Trainer
from cranium.learners import Agent, LearnerConfig
from cranium.learners.agent import AgentFactory
from cranium.learners.code_digest import code_digest
from cranium.learners.config import AgentConfig
from cranium.learners.registry import LEARNERS, choose_config, learner_name

__all__ = ["Contender", "read_contender", "used_settings"]

ABSENT = "absent means"
"""The metadata of a field of a config that was added later: the value that means what was done
before. With that value the field is not part of the key, so that earlier records are still used."""


@dataclass(frozen=True)
class Contender:
    """A learner with its settings.

    Attributes:
        learner: What :func:`cranium.train` is given, or a trainer.
        settings: The settings that the user gave.
    """

    learner: str | Agent | AgentFactory | Trainer
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """The name of the learner, with a digest of its code if it is the user's own."""
        if isinstance(self.learner, str):
            agent = LEARNERS[self.learner].config
            own = agent.agent if isinstance(agent, AgentConfig) else None
            return self.learner if own is None else f"{self.learner} {digest_of(own)}"
        told = getattr(self.learner, "description", None)
        if isinstance(told, str):
            return told
        return f"{learner_name(self.learner)} {digest_of(self.learner)}"  # type: ignore[arg-type]

    def resolve(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """All settings that are used, defaults included, as plain data."""
        given = {**self.settings, **more}
        if isinstance(self.learner, Trainer):
            return {name: str(value) for name, value in given.items()}
        return used_settings(choose_config(self.learner, None, given))

    @property
    def defaults(self) -> dict[str, Any]:
        """The settings that can be tuned, with their present values."""
        if isinstance(self.learner, Trainer):
            return {**getattr(self.learner, "settings", {}), **self.settings}
        return choose_config(self.learner, None, self.settings).as_dict()


def read_contender(name: str, value: object) -> Contender:
    """Read a learner of a study: an id, an agent or its class, or a pair with settings.

    Example:
        >>> read_contender("CQL", ("cql", {"shaping": True})).resolve({})["shaping"]
        True
        >>> read_contender("CQL", "cqll")
        Traceback (most recent call last):
        cranium.errors.UnknownNameError: the learner 'CQL': no such learner: 'cqll'
          fix: did you mean 'cql'? known: ql, cql, crm, hrm, planner, dqn, cdqn, dcrm, td3, ctd3
    """
    learner, settings = value, {}
    if isinstance(value, tuple):
        if len(value) != 2 or not isinstance(value[1], Mapping):
            raise InvalidArgumentError(
                f"the learner {name!r} is {shorten(value)}",
                fix='with settings it is a pair, such as ("cql", {"shaping": True})',
            )
        learner, settings = value[0], dict(value[1])
    found = Contender(learner, settings)  # type: ignore[arg-type]
    try:
        found.resolve({})
    except CraniumError as problem:
        told = f"the learner {name!r}: {problem.message}"
        raise type(problem)(told, fix=problem.fix) from None
    return found


def used_settings(config: LearnerConfig) -> dict[str, Any]:
    """The settings of a config as plain data, without fields that were added and are not used.

    Example:
        >>> from cranium.learners import TabularConfig
        >>> used_settings(TabularConfig())["learning_rate"]
        0.5
    """
    found = config.as_dict()
    for each in fields(config):
        if ABSENT in each.metadata and found.get(each.name) == each.metadata[ABSENT]:
            del found[each.name]
    return found


def digest_of(thing: object) -> str:
    """A digest of the code of a function, a class or an object of one.

    Example:
        >>> class One:
        ...     def act(self): return 1
        >>> class Two:
        ...     def act(self): return 2
        >>> digest_of(One) == digest_of(Two)
        False
    """
    if isinstance(thing, FunctionType):
        return code_digest(thing) or thing.__qualname__
    kind = thing if inspect.isclass(thing) else type(thing)
    parts = [kind.__qualname__]
    for base in kind.__mro__[:-1]:
        for name, member in sorted(vars(base).items()):
            inner = getattr(member, "__func__", getattr(member, "fget", member))
            if isinstance(inner, FunctionType):
                parts.append(f"{name} {code_digest(inner)}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
