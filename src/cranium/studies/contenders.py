"""The learners of a study: what the user gives, and what it is hashed as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from cranium.errors import CraniumError, InvalidArgumentError, shorten
from cranium.experiments.study_trial import Trainer, is_trainer
from cranium.experiments.tuning import Search
from cranium.learners import Agent, LearnerConfig
from cranium.learners.agent import AgentFactory
from cranium.learners.config import AgentConfig
from cranium.learners.registry import LEARNERS, choose_config, learner_name
from cranium.studies.digests import digest_of, is_own_code

__all__ = ["ABSENT", "Contender", "Method", "read_contender", "used_settings"]

ABSENT = "absent means"
"""The metadata of a field of a config that was added later: the value that means what was done
before. With that value the field is not part of the key, so that earlier records are still used."""
RESERVED = frozenset({"steps", "seed", "until", "evaluate_every"})
"""What a study tells :func:`cranium.train` itself."""
OPTIONS = ("counter_limit", "discretise", "evaluation_episodes", "gap", "instances", "path")
"""What :func:`cranium.train` is told besides the settings of a learner. They stand among them."""


@dataclass(frozen=True)
class Method:
    """A learner of a study with what is its own; what is left out is that of the study.

    Args:
        learner: An id, an agent of your own or its class, or a trainer.
        settings: Its settings.
        problems: The problems that it is run on, by name, if they are not those of the study: the
            same task as another automaton, for example, such as a reward machine.
        tune: The search for its settings.
        steps: The budget of its trials.
        evaluate_every: The number of samples between two evaluations.

    Example:
        >>> Method("crm", {"shaping": True}, problems={"N = 1": ("Letter", "A B C D")}).learner
        'crm'
    """

    learner: object
    settings: Mapping[str, Any] = field(default_factory=dict)
    problems: Mapping[str, Any] | None = field(default=None, kw_only=True)
    tune: Search | None = field(default=None, kw_only=True)
    steps: int | None = field(default=None, kw_only=True)
    evaluate_every: int | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Contender:
    """A learner with its settings.

    Attributes:
        learner: What :func:`cranium.train` is given, or a trainer.
        settings: The settings that the user gave, and options of :func:`cranium.train`.
    """

    learner: str | AgentFactory | Trainer
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def trained(self) -> str | AgentFactory | Trainer:
        """What workers train. They do not know which names the file of the study registers."""
        if isinstance(self.learner, str):
            config = LEARNERS[self.learner].config
            if isinstance(config, AgentConfig):
                agent: AgentFactory = config.agent  # type: ignore[assignment]
                return agent
        return self.learner

    @property
    def description(self) -> str:
        """The name of the learner, with a digest of its code if it is the user's own."""
        told = getattr(self.learner, "description", None)
        if is_trainer(self.learner) and isinstance(told, str):
            return told
        own = self.trained
        name = learner_name(self.learner)  # type: ignore[arg-type]
        return name if isinstance(own, str) else f"{name} {digest_of(own)}"

    def resolve(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """All settings that are used, defaults included, as plain data."""
        given = {**self.settings, **more}
        if is_trainer(self.learner):
            told = {**getattr(self.learner, "settings", {}), **given}
            return {name: _to_data(value) for name, value in told.items()}
        for name in given:
            if name in RESERVED:
                raise InvalidArgumentError(
                    f"{name} is not a setting of a learner in a study",
                    fix=f"give the study its {name}, or rename the setting of the agent",
                )
        learner: str | AgentFactory = self.learner  # type: ignore[assignment]
        options = {name: _to_data(given.pop(name)) for name in OPTIONS if name in given}
        return {**used_settings(choose_config(learner, None, given)), **options}

    @property
    def defaults(self) -> dict[str, Any]:
        """The settings that can be tuned, with their present values."""
        if is_trainer(self.learner):
            return {**getattr(self.learner, "settings", {}), **self.settings}
        learner: str | AgentFactory = self.learner  # type: ignore[assignment]
        given = {name: each for name, each in self.settings.items() if name not in OPTIONS}
        return choose_config(learner, None, given).as_dict()


def read_contender(name: str, value: object) -> Contender:
    """Read a learner of a study: an id, an agent or its class, or a pair with settings.

    Example:
        >>> read_contender("CQL", ("cql", {"shaping": True})).resolve({})["shaping"]
        True
        >>> read_contender("CQL", ("cql",))
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: the learner 'CQL' is ('cql',)
          fix: with settings it is a pair, such as ("cql", {"shaping": True})
    """
    learner, settings = value, {}
    if isinstance(value, Method):
        learner, settings = value.learner, dict(value.settings)
    if isinstance(value, tuple):
        if len(value) != 2 or not isinstance(value[1], Mapping):
            raise InvalidArgumentError(
                f"the learner {name!r} is {shorten(value)}",
                fix='with settings it is a pair, such as ("cql", {"shaping": True})',
            )
        learner, settings = value[0], dict(value[1])
    if isinstance(learner, Agent) and not isinstance(learner, type):
        raise InvalidArgumentError(
            f"the learner {name!r} is an agent, which trials cannot share",
            fix="give its class, or a function that makes it, such as lambda problem: …",
        )
    found = Contender(learner, settings)  # type: ignore[arg-type]
    try:
        found.resolve({})
    except (TypeError, ValueError) as problem:
        if not isinstance(problem, CraniumError):
            raise InvalidArgumentError(
                f"the learner {name!r} is {shorten(learner)}: {problem}",
                fix='give an id, such as "cql", or the class of an agent',
            ) from None
        told = f"the learner {name!r}: {problem.message}"
        raise type(problem)(told, fix=problem.fix) from None
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
    if isinstance(config, AgentConfig):
        given = {"discount": config.discount, **config.defaults, **config.settings}
    else:
        given = {each.name: getattr(config, each.name) for each in fields(config)}
    found = {name: _to_data(value) for name, value in given.items()}
    for each in fields(config):
        if ABSENT in each.metadata and found.get(each.name) == each.metadata[ABSENT]:
            del found[each.name]
    return found


def _to_data(value: object) -> Any:
    """A setting as plain data that is the same in every process; own objects as a digest."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _to_data(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_to_data(each) for each in value]
    kind = type(value)
    if is_dataclass(value) and not isinstance(value, type) and not is_own_code(kind):
        told = {each.name: _to_data(getattr(value, each.name)) for each in fields(value)}
        return {"kind": kind.__name__, **told}
    name = getattr(value, "__name__", kind.__name__)
    return f"{name} {digest_of(value)}"
